//! Public keys that verify tokens.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256, VerificationAlgorithm,
};
use kinora_domain::{PublicKey, TokenAlgorithm};

/// Why a key cannot verify tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnusableKey {
    /// A point not on the curve, or an impossible modulus. Every verification would fail.
    #[error("must be a valid public key; these values are not one")]
    Invalid,
    /// A key for which any client can make a valid signature.
    #[error(
        "must not be an Ed25519 key of small order, whose signatures can be forged; create a new key pair"
    )]
    Forgeable,
}

/// The y of the points of Ed25519 whose order is 8 or less, without the sign of x (`ge25519_has_small_order`
/// of libsodium; Chalkias, Garillot, Nikolaenko: Taming the many EdDSAs, table 1). Their multiples have at
/// most 8 values, so a signature can be guessed without any key.
const SMALL_ORDER: [[u8; 32]; 5] = [
    // Order 4: 0.
    [0; 32],
    // Order 1: 1.
    [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    // Order 8, twice.
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98, 0xf0, 0xd5,
        0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53, 0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67, 0x0f, 0x2a,
        0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac, 0x03, 0x7a,
    ],
    // Order 2: p - 1.
    [
        0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f,
    ],
];

/// The key, ready to verify with (RFC 7518, 3.3 and 3.4; RFC 8037). Does not check that a point of Ed25519
/// is on the curve: half of all are not.
pub fn parse_verifying_key(key: &PublicKey) -> Result<ParsedPublicKey, UnusableKey> {
    let algorithm: &'static dyn VerificationAlgorithm = match key.algorithm {
        TokenAlgorithm::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
        TokenAlgorithm::Es256 => &ECDSA_P256_SHA256_FIXED,
        TokenAlgorithm::EdDsa => {
            check_point(key.key())?;
            &ED25519
        }
    };
    ParsedPublicKey::new(algorithm, key.key()).map_err(|_| UnusableKey::Invalid)
}

/// Checks a point of Ed25519 as far as its bytes allow: y, and in the last bit the sign of x.
fn check_point(point: &[u8]) -> Result<(), UnusableKey> {
    let mut y: [u8; 32] = point.try_into().map_err(|_| UnusableKey::Invalid)?;
    y[31] &= 0x7f;
    // RFC 8032, 5.1.3: a y of p, 2^255 - 19, or more is invalid. The low byte comes first.
    if y[0] >= 0xed && y[1..31].iter().all(|byte| *byte == 0xff) && y[31] == 0x7f {
        return Err(UnusableKey::Invalid);
    }
    if SMALL_ORDER.contains(&y) { Err(UnusableKey::Forgeable) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_point(point: [u8; 32]) -> Option<UnusableKey> {
        // RFC 8410, 10.1.
        let head = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
        parse_verifying_key(&PublicKey::from_spki([&head[..], &point].concat()).unwrap()).err()
    }

    /// The same y with the other sign of x.
    fn other_sign(mut point: [u8; 32]) -> [u8; 32] {
        point[31] ^= 0x80;
        point
    }

    #[test]
    fn small_order_ed25519_points_are_rejected() {
        for point in SMALL_ORDER {
            for point in [point, other_sign(point)] {
                assert_eq!(of_point(point), Some(UnusableKey::Forgeable), "{point:x?}");
            }
        }
    }

    #[test]
    fn non_canonical_ed25519_points_are_rejected() {
        let mut from_p_on = [0xff; 32];
        for low in 0xed..=0xff {
            from_p_on[0] = low;
            for point in [from_p_on, other_sign(from_p_on)] {
                assert_eq!(of_point(point), Some(UnusableKey::Invalid), "{point:x?}");
            }
        }
        // The generator (RFC 8032, 5.1), and values that differ from those above in one byte.
        let mut generator = [0x66; 32];
        generator[0] = 0x58;
        let mut below_p = [0xff; 32];
        below_p[0] = 0xeb;
        let mut other = [0xff; 32];
        other[17] = 0xfe;
        for point in [generator, below_p, other] {
            for point in [point, other_sign(point)] {
                assert_eq!(of_point(point), None, "{point:x?}");
            }
        }
    }

    #[test]
    fn rsa_exponent_1_is_rejected() {
        let pem = include_str!("../../domain/tests/keys/rsa2048.pub.pem");
        let key = PublicKey::from_pem(pem).unwrap();
        assert!(parse_verifying_key(&key).is_ok());
        // An `RSAPublicKey` (RFC 8017, A.1.1) ends with its exponent, here 65537; one of a byte makes it two
        // bytes shorter.
        let modulus = &key.key().strip_suffix(&[0x02, 0x03, 0x01, 0x00, 0x01]).unwrap()[4..];
        let is_key = |exponent: u8| {
            let key = [&[0x30, 0x82, 0x01, 0x08], modulus, &[0x02, 0x01, exponent]].concat();
            ParsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &key).is_ok()
        };
        assert_eq!([1, 3].map(is_key), [false, true]);
    }
}
