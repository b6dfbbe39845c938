//! Public keys from clients: their algorithm, and the position of the key in the encoding.
//!
//! A `SubjectPublicKeyInfo` (RFC 5280, 4.1) of the three supported kinds begins with fixed bytes, so only
//! lengths of the ASN.1 are parsed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::pem;

/// The signature algorithm of a token. The key determines it: the token's header must match (RFC 8725, 3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenAlgorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

/// The public half of a signing key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// The algorithm of the signatures it verifies.
    pub algorithm: TokenAlgorithm,
    /// The whole `SubjectPublicKeyInfo` in DER.
    spki: Vec<u8>,
    /// Position of the key itself in `spki`.
    key_offset: usize,
}

/// The text is not a supported public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be the PEM text (BEGIN PUBLIC KEY) of an RSA key of {} to {} bits, a P-256 key or an Ed25519 key",
    PublicKey::RSA_BITS_MIN,
    PublicKey::RSA_BITS_MAX
)]
pub struct BadPublicKey;

/// All bytes of an Ed25519 key's encoding before the key. RFC 8410, 4 and 10.1.
const ED25519_PREFIX: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
const ED25519_KEY_LEN: usize = 32;
/// All bytes of a P-256 key's encoding before the key: id-ecPublicKey on secp256r1. RFC 5480, 2.
const P256_PREFIX: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86,
    0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// An uncompressed point (SEC 1, 2.3.3): 4, x and y.
const P256_KEY_LEN: usize = 65;
/// rsaEncryption with its NULL. RFC 8017, A.1.
const RSA_ALGORITHM: &[u8] =
    &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

impl PublicKey {
    /// Smallest RSA key (RFC 7518, 3.3).
    pub const RSA_BITS_MIN: usize = 2048;
    /// Largest RSA key: slower ones would make verification an attack on the server.
    pub const RSA_BITS_MAX: usize = 8192;
    /// Longest PEM text, in bytes: the largest RSA key has about 1500.
    pub const PEM_BYTES_MAX: usize = 4096;

    /// Parses PEM text (RFC 7468); white space around and inside it is ignored.
    pub fn from_pem(text: &str) -> Result<Self, BadPublicKey> {
        if text.len() > Self::PEM_BYTES_MAX {
            return Err(BadPublicKey);
        }
        let body = text.trim().strip_prefix("-----BEGIN PUBLIC KEY-----").ok_or(BadPublicKey)?;
        let body = body.strip_suffix("-----END PUBLIC KEY-----").ok_or(BadPublicKey)?;
        let body: String = body.split_ascii_whitespace().collect();
        Self::from_spki(STANDARD.decode(body).map_err(|_| BadPublicKey)?)
    }

    /// Parses DER.
    pub fn from_spki(spki: Vec<u8>) -> Result<Self, BadPublicKey> {
        let fixed = |prefix: &[u8], len: usize| spki.starts_with(prefix) && spki.len() == prefix.len() + len;
        let (algorithm, key_offset) = if fixed(ED25519_PREFIX, ED25519_KEY_LEN) {
            (TokenAlgorithm::EdDsa, ED25519_PREFIX.len())
        } else if fixed(P256_PREFIX, P256_KEY_LEN) && spki[P256_PREFIX.len()] == 4 {
            (TokenAlgorithm::Es256, P256_PREFIX.len())
        } else {
            (TokenAlgorithm::Rs256, rsa_key_offset(&spki).ok_or(BadPublicKey)?)
        };
        Ok(Self { algorithm, spki, key_offset })
    }

    /// The key itself: an `RSAPublicKey` (RFC 8017, A.1.1), a point, or the 32 bytes of Ed25519.
    pub fn key(&self) -> &[u8] {
        &self.spki[self.key_offset..]
    }

    /// The PEM text in canonical form.
    pub fn to_pem(&self) -> String {
        pem("PUBLIC KEY", &self.spki)
    }
}

/// The position of the key in an RSA `SubjectPublicKeyInfo`, if its size is supported.
fn rsa_key_offset(spki: &[u8]) -> Option<usize> {
    const SEQUENCE: u8 = 0x30;
    const INTEGER: u8 = 0x02;
    const BIT_STRING: u8 = 0x03;
    let inner = value(spki, SEQUENCE)?.strip_prefix(RSA_ALGORITHM)?;
    // The first byte is the number of unused bits.
    let key = value(inner, BIT_STRING)?.strip_prefix(&[0])?;
    let modulus = value_before(value(key, SEQUENCE)?, INTEGER)?;
    // A positive integer whose first bit is one has a leading zero byte.
    let modulus = modulus.strip_prefix(&[0]).unwrap_or(modulus);
    let bits = (modulus.len() * 8).checked_sub(modulus.first()?.leading_zeros() as usize)?;
    (PublicKey::RSA_BITS_MIN..=PublicKey::RSA_BITS_MAX).contains(&bits).then_some(spki.len() - key.len())
}

/// The value of an element with this tag that spans all bytes.
fn value(bytes: &[u8], tag: u8) -> Option<&[u8]> {
    let (value, rest) = element(bytes, tag)?;
    rest.is_empty().then_some(value)
}

/// The value of the first element, if it has this tag.
fn value_before(bytes: &[u8], tag: u8) -> Option<&[u8]> {
    element(bytes, tag).map(|(value, _)| value)
}

/// Parses an element in DER (X.690, 8.1.3), up to 64 KiB; returns its value and the following bytes.
fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (len, rest) = match bytes.strip_prefix(&[tag])? {
        [len @ 0..=0x7f, rest @ ..] => (usize::from(*len), rest),
        [0x81, len @ 0x80..=0xff, rest @ ..] => (usize::from(*len), rest),
        [0x82, high @ 1..=0xff, low, rest @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        _ => return None,
    };
    rest.split_at_checked(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `openssl genpkey -algorithm ed25519 | openssl pkey -pubout`
    const ED: &str = include_str!("../../tests/keys/ed25519.pub.pem");
    /// `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 | openssl pkey -pubout`
    const EC: &str = include_str!("../../tests/keys/p256.pub.pem");
    /// `openssl genrsa 2048 | openssl pkey -pubout`
    const RSA_2048: &str = include_str!("../../tests/keys/rsa2048.pub.pem");

    #[test]
    fn ed25519_p256_and_rsa_keys_round_trip() {
        for (text, algorithm, len) in [
            (ED, TokenAlgorithm::EdDsa, 32),
            (EC, TokenAlgorithm::Es256, 65),
            (RSA_2048, TokenAlgorithm::Rs256, 270),
        ] {
            let key = PublicKey::from_pem(text).unwrap();
            assert_eq!((key.algorithm, key.key().len()), (algorithm, len));
            assert_eq!(key.to_pem(), text);
            let indented = text.replace('\n', "\r\n  ");
            assert_eq!(PublicKey::from_pem(&indented), Ok(key), "{indented}");
        }
    }

    #[test]
    fn unsupported_keys_and_malformed_pem_are_rejected() {
        let check = |text: &str| assert_eq!(PublicKey::from_pem(text), Err(BadPublicKey), "{text}");
        for other in ["rsa1024", "p384", "x25519", "rsa_pss"] {
            let path = format!("{}/tests/keys/{other}.pub.pem", env!("CARGO_MANIFEST_DIR"));
            check(&std::fs::read_to_string(path).unwrap());
        }
        check("");
        check(&ED.replace("PUBLIC", "PRIVATE"));
        check(&format!("{ED}{ED}"));
        check(&format!("{ED}{}", " ".repeat(PublicKey::PEM_BYTES_MAX)));
        check(&ED.replacen("MCo", "MC*", 1));
        // Truncated at each length, and with one extra byte.
        for text in [ED, EC, RSA_2048] {
            let whole = PublicKey::from_pem(text).unwrap().spki;
            for len in 0..whole.len() {
                assert_eq!(PublicKey::from_spki(whole[..len].to_vec()), Err(BadPublicKey), "{len}");
            }
            assert_eq!(PublicKey::from_spki([&whole[..], &[0]].concat()), Err(BadPublicKey));
        }
    }
}
