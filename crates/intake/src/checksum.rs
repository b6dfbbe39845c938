//! What the bytes of one request must add up to (tus 1.0, checksum).

use bytes::Bytes;
use sha1::Sha1;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// The most bytes of a request that names a checksum, for they wait in memory until it is known to hold: the
/// usual chunk of the web uploader (C-152, 16 MiB) twice over.
pub const CHECKED_BYTES_MAX: u64 = 32 << 20;

/// A checksum, as the client says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksum {
    /// SHA-1: the one that every tus server knows.
    Sha1([u8; 20]),
    /// SHA-256.
    Sha256([u8; 32]),
}

impl Checksum {
    /// Whether these bytes add up to it.
    pub(crate) fn holds(&self, pieces: &[Bytes]) -> bool {
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
    fn a_checksum_holds_for_its_bytes_however_they_are_cut() {
        // FIPS 180-4, the examples of "abc".
        let sha1 = Checksum::Sha1(bytes("a9993e364706816aba3e25717850c26c9cd0d89d"));
        let sha256 =
            Checksum::Sha256(bytes("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
        for checksum in [sha1, sha256] {
            assert!(checksum.holds(&[Bytes::from_static(b"abc")]));
            assert!(checksum.holds(&[Bytes::from_static(b"a"), Bytes::new(), Bytes::from_static(b"bc")]));
            assert!(!checksum.holds(&[Bytes::from_static(b"abd")]));
            assert!(!checksum.holds(&[]));
        }
    }
}
