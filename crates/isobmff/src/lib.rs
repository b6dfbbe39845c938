//! ISO base media files (MP4, QuickTime): reads sources, and writes segments and files for players.
//!
//! Builds the tracks of an index from `moov` and `moof`. Writes init segments, heads of media segments and
//! whole files from an index. Parses no other container, writes no playlist, and does no I/O.
//!
//! Begin with [`walk`], which reads the bytes of a source in order, and [`mod@write`]. Readers of other
//! containers also use [`read`] to build tracks from samples.

pub mod boxes;
mod error;
pub mod read;
pub mod walk;
pub mod write;

pub use error::{ReadError, ReadFailureCode};
pub use walk::{BoxSpill, MOOF_LEN_MAX, MOOV_LEN_MAX, PushError};
