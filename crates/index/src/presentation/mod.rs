//! Presentations that are more than one whole source: parts of several joined, and sound in the place of
//! their own.
//!
//! Nothing is copied: the index of a presentation names samples where they lie, in the objects of its
//! sources. So everything that is made from an index is made from it as from that of one source.
//! D-0123.
//!
//! Begin with [`Index::join`].

mod join;
mod other_sound;
mod splice;
#[cfg(test)]
mod tests;

pub use join::{JoinError, JoinedPart};
