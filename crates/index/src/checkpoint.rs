//! The binary format of a checkpoint: little-endian, with a version and a checksum.
//!
//! ```text
//! "KINORASC"   8 bytes
//! version      4 bytes
//! checksum     8 bytes: the first of SHA-256 over the body
//! body         the state, serialized with postcard
//! ```
//!
//! The format does not depend on the state. Each type declares its serialization (its fields, in order), and
//! its `is_valid` checks the invariants of the code that uses it. Bytes from the object store are untrusted
//! beyond those checks.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"KINORASC";
/// Increases with every change of the body: of any type in it, or of the meaning of its numbers. Other
/// versions are rejected, because a stored source can always be scanned again.
const VERSION: u32 = 5;
const CHECKSUM_LEN: usize = 8;
const HEAD_LEN: usize = MAGIC.len() + size_of::<u32>() + CHECKSUM_LEN;

/// Why a scan cannot resume from these bytes. All are final; the source must be scanned again from its first
/// byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// The magic number is missing.
    #[error("the bytes are not the checkpoint of a scanner")]
    NotACheckpoint,
    /// Another version wrote the bytes.
    #[error("the checkpoint of a scanner has version {0}, expected {VERSION}")]
    UnknownVersion(u32),
    /// The checksum does not match.
    #[error("the checkpoint of a scanner is damaged")]
    Damaged,
}

/// Serializes a state to the bytes that [`decode`] reads. Equal states have equal bytes. Writes into one
/// buffer, without a copy.
pub fn encode(state: &impl Serialize) -> Vec<u8> {
    let head = [MAGIC, &VERSION.to_le_bytes()[..], &[0; CHECKSUM_LEN]].concat();
    let mut bytes = postcard::to_extend(state, head)
        .expect("a vector takes any length, and every sequence of a state knows its own");
    let (head, body) = bytes.split_at_mut(HEAD_LEN);
    head[HEAD_LEN - CHECKSUM_LEN..].copy_from_slice(&checksum(body));
    bytes
}

/// Reads the bytes of [`encode`]. The result takes memory in proportion to the bytes. The caller must
/// validate it before use.
pub fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, CheckpointError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(CheckpointError::NotACheckpoint)?;
    let (version, rest) = rest.split_first_chunk::<4>().ok_or(CheckpointError::NotACheckpoint)?;
    let version = u32::from_le_bytes(*version);
    if version != VERSION {
        return Err(CheckpointError::UnknownVersion(version));
    }
    let (sum, body) = rest.split_first_chunk::<CHECKSUM_LEN>().ok_or(CheckpointError::Damaged)?;
    if *sum != checksum(body) {
        return Err(CheckpointError::Damaged);
    }
    match postcard::take_from_bytes(body) {
        Ok((state, [])) => Ok(state),
        _ => Err(CheckpointError::Damaged),
    }
}

fn checksum(body: &[u8]) -> [u8; CHECKSUM_LEN] {
    let digest: [u8; 32] = Sha256::digest(body).into();
    std::array::from_fn(|n| digest[n])
}

/// Upper limit of every time of a track in progress, in ticks, see `TICKS_MAX` of fragments. Tables of a
/// `moov` add up to less than 2^55. Sums of a few such times do not overflow.
const TICKS_MAX: u64 = 1 << 56;

/// Whether the arithmetic on times of a track in progress is safe with this time.
pub fn is_valid_time(ticks: i64) -> bool {
    ticks.unsigned_abs() <= TICKS_MAX
}

/// Serializes byte strings as a whole, not byte by byte: an incomplete `moov` has many.
pub mod byte_string {
    use std::fmt;

    use serde::{Deserializer, Serializer, de};

    /// For `#[serde(with)]`.
    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    /// For `#[serde(with)]`.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        struct Visitor;

        impl de::Visitor<'_> for Visitor {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }

        deserializer.deserialize_bytes(Visitor)
    }
}
