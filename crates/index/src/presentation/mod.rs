//! Presentations of more than one whole source: joined parts, and replaced audio.
//!
//! No sample data is copied: the index of a presentation refers to samples in the objects of its sources. So
//! nothing that derives from an index needs a special case for it. D-0123.
//!
//! Begin with [`crate::Index::join`].

mod join;
mod replace_audio;
mod splice;
#[cfg(test)]
mod tests;

pub use join::{JoinError, JoinedPart};
