//! ISO base media files: what a source says, and what players read.
//!
//! Begin with `walk`, to which [`crate::Scanner`] gives the bytes of a source, and [`mod@write`], which makes init and media segments.

pub(crate) mod boxes;
mod error;
pub(crate) mod read;
pub(crate) mod walk;
pub mod write;

pub(crate) use read::decoded_colour;

pub use error::{ReadError, ReadFailureCode};
pub use walk::{MOOF_LEN_MAX, MOOV_LEN_MAX};
