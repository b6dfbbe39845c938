//! Matroska and WebM: what a source says, and the feed of a decoder. RFC 9559.
//!
//! Begin with [`write_feed`], which hands the frames of one track to a decoder.

#[allow(dead_code, reason = "what only the reader uses")]
mod ebml;
mod feed;

pub use feed::{feed_frame, feed_header, write_feed};
