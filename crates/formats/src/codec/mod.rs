//! What codec configurations say: parameter sets of H.264, configuration of AAC, and the RFC 6381 strings made from them.
//!
//! Knows no container: the bytes of `avcC` and `esds` come in without their box headers.

pub mod aac;
mod bits;
pub mod h264;
