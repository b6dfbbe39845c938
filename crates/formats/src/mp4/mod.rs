//! ISO base media files: what a source says, and what players read.
//!
//! Begin with [`Scanner`], which reads a source from its passing bytes, and [`mod@write`], which makes init and media segments.

pub(crate) mod boxes;
mod error;
mod read;
mod scan;
pub mod write;

pub use error::{ReadError, ReadFailureCode};
pub use scan::{MOOF_LEN_MAX, MOOV_LEN_MAX, Scanner};
