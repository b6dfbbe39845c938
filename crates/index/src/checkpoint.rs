//! The form of a checkpoint: little-endian, with a version and a checksum.
//!
//! ```text
//! "KINORASC"   8 bytes
//! version      4 bytes
//! checksum     8 bytes: the first of SHA-256 over what follows
//! body         the state, as postcard writes it
//! ```
//!
//! Knows no state. Each type says beside itself how it is written (its fields, in order) and, in `is_sound`,
//! what the code around it relies upon: bytes that a store of objects hands back are believed in nothing
//! else.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 8] = b"KINORASC";
/// Raised with every change of the body: of any type in it, or of what its numbers mean. Others are refused,
/// for a source that is stored can always be scanned again.
const VERSION: u32 = 5;
const CHECKSUM_LEN: usize = 8;
const HEAD_LEN: usize = MAGIC.len() + size_of::<u32>() + CHECKSUM_LEN;

/// Why bytes are no checkpoint to go on from. All are final; the bytes of the source must be scanned from the
/// first one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// They do not begin like one.
    #[error("the bytes are not the checkpoint of a scanner")]
    NotACheckpoint,
    /// Another version wrote it.
    #[error("the checkpoint of a scanner has version {0}, expected {VERSION}")]
    UnknownVersion(u32),
    /// They are not the bytes that were written.
    #[error("the checkpoint of a scanner is damaged")]
    Damaged,
}

/// The bytes that [`opened`] reads. The same state always has the same bytes. They are written once, in their
/// place.
pub fn sealed(state: &impl Serialize) -> Vec<u8> {
    let head = [MAGIC, &VERSION.to_le_bytes()[..], &[0; CHECKSUM_LEN]].concat();
    let mut bytes = postcard::to_extend(state, head)
        .expect("a vector takes any length, and every sequence of a state knows its own");
    let (head, body) = bytes.split_at_mut(HEAD_LEN);
    head[HEAD_LEN - CHECKSUM_LEN..].copy_from_slice(&checksum(body));
    bytes
}

/// Reads what [`sealed`] wrote. What comes out takes memory in proportion to the bytes, and is to be looked
/// over before it is used.
pub fn opened<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, CheckpointError> {
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

/// Ticks that no time of a track in progress comes near, see `TICKS_MAX` of fragments; tables of a `moov` add
/// up to less than 2^55. Sums of a few such times stay in range.
const TICKS_MAX: u64 = 1 << 56;

/// Whether the code that reckons with the times of a track in progress can reckon with this one.
pub fn is_time(ticks: i64) -> bool {
    ticks.unsigned_abs() <= TICKS_MAX
}

/// Byte strings at once, not byte by byte: a `moov` that is not whole yet has many.
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
