//! Feeds real encoders with runs of segments and collects their output. Checks the result with ffmpeg, and
//! with a parser that shares no code with the writer.

#![allow(clippy::unwrap_used, reason = "everything here is a test")]

#[allow(dead_code, reason = "the tests of packaging use more of it")]
#[path = "../package/boxes.rs"]
mod boxes;
mod edits;
mod encoder;
mod hostile;
mod ladder;
mod noise;
#[allow(dead_code, reason = "the tests of reading use more of it")]
#[path = "../read/patch_boxes.rs"]
mod patch_boxes;
mod segment_boundaries;

use kinora_formats::Scanner;
use kinora_index::Index;

/// A source: its bytes and its index.
struct Clip {
    bytes: Vec<u8>,
    index: Index,
}

impl Clip {
    /// The output of an ffmpeg with these arguments, as a file.
    fn made_by(arguments: &str) -> Self {
        let bytes = encoder::ffmpeg(
            &format!("{arguments} -movflags +frag_keyframe+empty_moov -f mp4 pipe:1"),
            Vec::new(),
        );
        let mut scanner = Scanner::new(None);
        scanner.push(&bytes).unwrap();
        Self { index: scanner.finish().unwrap().into_index().unwrap(), bytes }
    }
}
