//! What joins the formats: a source of any kind becomes an index, and an index what an encoder reads.
//!
//! Uses the crates of single formats (`kinora-isobmff`, `kinora-matroska`) and `kinora-index`. Knows no
//! workspace, does no I/O, reads no clock, draws no randomness. Bytes come in, plain data goes out.
//!
//! Begin with [`Scanner`], which tells from the first bytes ([`sniff`]) what a source is and builds its
//! index. What an encoder is given, and what becomes of its answer, is in [`encode`].

pub mod encode;
mod filler;
pub mod foreign;
mod scan;
pub mod sniff;

pub use filler::{BLACK_CODEC, FILLER_FRAME_END_MAX, FILLER_FRAMES_MAX, Filler};
pub use scan::{Scanned, Scanner};
