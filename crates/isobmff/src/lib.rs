//! ISO base media files (MP4, QuickTime): what a source says, and what players read.
//!
//! Builds the tracks of an index from `moov` and `moof`, and writes init segments, heads of media segments
//! and whole files from an index. Knows no other container and no playlist; does no I/O.
//!
//! Begin with [`walk`], which takes the passing bytes of a source, and [`mod@write`]. [`read`] is also what
//! readers of other containers use to make tracks of samples.

pub mod boxes;
mod error;
pub mod read;
pub mod walk;
pub mod write;

pub use error::{ReadError, ReadFailureCode};
pub use walk::{Aside, MOOF_LEN_MAX, MOOV_LEN_MAX, PushError};
