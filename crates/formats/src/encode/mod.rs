//! Encoded renditions: which there are, what an encoder is given, and what becomes of its answer. `audio/` is
//! about sound, all else about the video.
//!
//! Pure: knows no process and no command line. Begin with [`ladder`], which says what is wanted. [`Feed`]
//! makes the bytes an encoder reads, exactly the samples of some segments; [`Collector`] takes the bytes it
//! writes and makes segments of them that last as planned; [`init_of_rung`] makes their init segment.

mod audio;
mod collect;
mod colour;
mod feed;
mod fragments;
mod init;
mod ladder;
mod level;
mod pictures;
mod still;

pub use audio::{
    AudioCollector, AudioFeed, EncodedAudio, encoded_audio_init, encoded_audio_len, encoded_audio_segments,
    encoded_audio_times, silent_segment,
};
pub(crate) use audio::{encoded_sample_entry, segment as frames_segment};
pub use collect::{CollectError, Collector, ENCODED_LEN_MAX, Encoded, SegmentError};
pub use colour::colour_of_pictures;
pub use feed::{Feed, FeedChunk, FeedChunks, FeedError, FeedFormat};
pub(crate) use init::sample_entry as avc_sample_entry;
pub use init::{InitError, RungInit, init_of_rung};
pub use ladder::{ladder, ladder_without_copy};
pub use still::{Last, Still, StillFeed};
