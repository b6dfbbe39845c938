//! Presentations that are not one whole source: clips, joined parts, and replaced audio.
//!
//! No sample data is copied: the index of a presentation refers to samples in the objects of its sources. So
//! nothing that derives from an index needs a special case for it. D-0123.
//!
//! Begin with [`crate::Index::of_parts`].

mod clip;
mod join;
mod replace_audio;
mod same_copy;
mod splice;
#[cfg(test)]
mod tests;

pub use clip::ClipError;
pub use join::{JoinError, SourcePart};
