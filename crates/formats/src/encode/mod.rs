//! Encoded renditions: the ladder, the input of an encoder, and segments from its output. `audio/` is about
//! audio, all else about the video.
//!
//! Pure: knows no process and no command line. Begin with [`ladder`](mod@ladder), which lists the
//! renditions. [`Feed`] builds the input of an encoder: exactly the samples of some segments. [`Segmenter`]
//! builds segments with the planned times from its output; [`init_of_rung`] builds their init segment.

mod audio;
mod colour;
mod feed;
mod fragments;
mod frame_times;
mod freeze_frame;
mod init;
mod ladder;
mod letterbox;
mod level;
mod segmenter;
mod watermark;

pub use audio::{
    AudioFeed, AudioSegmenter, EncodedAudioSegment, MARGIN_SAMPLES, encoded_audio_init,
    encoded_audio_segment_count, encoded_audio_segment_samples, encoded_audio_times, silent_segment,
};
pub(crate) use audio::{encoded_sample_entry, segment as frames_segment};
pub use colour::rung_colour_from_decoder;
pub use feed::{Feed, FeedChunk, FeedChunks, FeedError, FeedFormat};
pub use freeze_frame::{FreezeFrame, FreezeFrameFeed, LastFrame};
pub(crate) use init::sample_entry as avc_sample_entry;
pub use init::{InitError, RungInit, init_of_rung};
pub use ladder::{frame_step_of, ladder, ladder_without_copy, tone_map};
pub use letterbox::image_size;
pub use segmenter::{ENCODED_LEN_MAX, EncodedSegment, SegmentError, Segmenter, SegmenterError};
pub use watermark::{Rectangle, overlay_rectangle};
