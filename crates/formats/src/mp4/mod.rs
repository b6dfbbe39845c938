//! ISO base media files: what a source says, and what players read.

pub mod write;
