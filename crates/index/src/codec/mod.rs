//! Codec configurations (H.264, HEVC, AV1; AAC, Opus) and their RFC 6381 strings.
//!
//! Independent of the container: callers pass the bytes of `avcC`, `hvcC`, `av1C`, `esds` and `dOps` without
//! their box headers.

pub mod aac;
pub mod av1;
mod bits;
pub mod colour;
pub mod h264;
pub mod hevc;
pub mod opus;
#[cfg(test)]
mod testing;
mod vui;
