//! The checksum of the bytes of one request (tus 1.0, checksum).

use bytes::Bytes;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Longest request with a checksum in bytes, because it stays in memory until it is verified: twice the
/// usual chunk of the web uploader (C-152, 16 MiB).
pub const CHECKED_BYTES_MAX: u64 = 32 << 20;

/// A checksum from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    /// SHA-1: supported by every tus server.
    Sha1([u8; 20]),
    /// SHA-256.
    Sha256([u8; 32]),
}

impl Checksum {
    /// Whether these bytes have this checksum.
    pub(crate) fn matches(&self, pieces: &[Bytes]) -> bool {
        match self {
            Self::Sha1(expected) => {
                let mut hash = Sha1::new();
                pieces.iter().for_each(|piece| hash.update(piece));
                hash.finalize().as_slice().ct_eq(expected).into()
            }
            Self::Sha256(expected) => {
                let mut hash = Sha256::new();
                pieces.iter().for_each(|piece| hash.update(piece));
                hash.finalize().as_slice().ct_eq(expected).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        let byte = |at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap();
        std::array::from_fn(byte)
    }

    #[test]
    fn checksum_matches_across_any_chunks() {
        // FIPS 180-4, the examples of "abc".
        let sha1 = Checksum::Sha1(bytes("a9993e364706816aba3e25717850c26c9cd0d89d"));
        let sha256 =
            Checksum::Sha256(bytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        for checksum in [sha1, sha256] {
            assert!(checksum.matches(&[Bytes::from_static(b"abc")]));
            assert!(checksum.matches(&[Bytes::from_static(b"a"), Bytes::new(), Bytes::from_static(b"bc")]));
            assert!(!checksum.matches(&[Bytes::from_static(b"abd")]));
            assert!(!checksum.matches(&[]));
        }
    }
}
