//! What codec configurations say (H.264, HEVC, AV1; AAC, Opus) and the RFC 6381 strings made from them.
//!
//! Knows no container: the bytes of `avcC`, `hvcC`, `av1C`, `esds` and `dOps` come in without their box
//! headers.

pub mod aac;
pub mod av1;
mod bits;
pub mod colour;
pub mod h264;
pub mod hevc;
pub mod opus;
#[cfg(test)]
mod testing;
mod usability;
