//! Joins the formats: converts a source of any kind to an index, and an index to the input of an encoder.
//!
//! Uses the crates of single formats (`kinora-isobmff`, `kinora-matroska`) and `kinora-index`. Knows no
//! workspace, does no I/O, reads no clock, draws no randomness. Its input is bytes, its output plain data.
//!
//! Begin with [`Scanner`], which detects the format from the first bytes ([`sniff`]) and builds the index.
//! Input and output of encoders are in [`encode`].

pub mod encode;
mod filler;
pub mod remux_source;
mod scan;
pub mod sniff;

pub use filler::{BLACK_CODEC, FILLER_FRAME_END_MAX, FILLER_FRAMES_MAX, Filler};
pub use scan::{Scanned, Scanner};
