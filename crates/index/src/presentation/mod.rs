//! Presentations that are not one whole source: clips, joined parts, replaced audio, an image
//! over the video.
//!
//! No sample data is copied: the index of a presentation refers to samples in the objects of its sources. So
//! nothing that derives from an index needs a special case for it. D-0123.
//!
//! Begin with [`crate::Index::of_parts`].

mod clip;
mod join;
mod overlay;
mod replace_audio;
mod same_copy;
mod splice;
#[cfg(test)]
mod tests;

pub use clip::ClipError;
pub use join::{JoinError, SourcePart};
pub use overlay::OverlayError;
