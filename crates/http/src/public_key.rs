//! Keys that verify tokens.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, VerificationAlgorithm,
};
use kinora_domain::{PublicKey, TokenAlgorithm};

/// The key, ready to verify with (RFC 7518, 3.3 and 3.4; RFC 8037). `None` for one that is none in its numbers: a point that does not lie on the curve, a
/// modulus that cannot be one. It would only ever say no.
pub(crate) fn usable(key: &PublicKey) -> Option<ParsedPublicKey> {
    let algorithm: &'static dyn VerificationAlgorithm = match key.algorithm {
        TokenAlgorithm::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
        TokenAlgorithm::Es256 => &ECDSA_P256_SHA256_FIXED,
        TokenAlgorithm::EdDsa => &ED25519,
    };
    ParsedPublicKey::new(algorithm, key.key()).ok()
}
