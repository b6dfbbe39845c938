//! The segments of each track: the result of [`plan`](crate::plan), stored with the index.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// The segments of one source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SegmentPlan {
    /// Segments of the copied video track; empty if it is not copied.
    pub video: Vec<Segment>,
    /// Segments of each copied audio track, in the order of the tracks; empty for those that are not copied.
    pub audio: Vec<Vec<Segment>>,
    /// Segments of every encoded rendition of the video track, in its ticks; empty without one.
    ///
    /// They begin at the same times as those of `video`, so that players can switch between renditions.
    /// Without a copy a segment may begin at any frame, and one begins wherever an edit list jumps. Its
    /// samples are those that a decoder needs for the frames of the segment, starting at a sync sample;
    /// those of neighbouring segments overlap. The frame presented at 0 may begin before 0.
    pub encoded_video: Vec<Segment>,
    /// For each audio track, in the order of the tracks, the cuts of its encoded rendition. A cut is a frame
    /// number on the common timeline, with frames of [`ENCODED_AUDIO_FRAME`] samples at
    /// [`ENCODED_AUDIO_RATE`]. Increases from 0 to the first frame after the end of the track; one more than
    /// there are segments. Empty for a copied track that is too long to be encoded.
    pub encoded_audio: Vec<Vec<u64>>,
}

/// Samples in a frame of encoded audio: AAC-LC. ISO/IEC 14496-3, 4.5.1.1.
pub const ENCODED_AUDIO_FRAME: u32 = 1024;
/// Samples per second of encoded audio.
pub const ENCODED_AUDIO_RATE: u32 = 48_000;
/// Channels of encoded audio.
pub const ENCODED_AUDIO_CHANNELS: u32 = 2;
/// RFC 6381 string of encoded audio: AAC-LC.
pub const ENCODED_AUDIO_CODEC: &str = "mp4a.40.2";

/// One segment of one track.
///
/// The segments of a track follow one another without gap or overlap, in samples and in time. The first one
/// starts at 0 regardless of its samples, so that the playlists of one source align: samples before 0 are
/// decoded and hidden. A video that begins late shows its first frame from 0 on. Audio that begins late is
/// silent until then, and segments without samples are silent throughout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Its samples, in decode order; empty for silence.
    pub samples: Range<u32>,
    /// First presented instant on the common timeline, in the track's ticks.
    pub start: i64,
    /// End on the common timeline: the start of the next segment, or the end of the track.
    pub end: i64,
}

impl Segment {
    /// Length in the track's ticks; never negative.
    pub fn duration(&self) -> u64 {
        u64::try_from(self.end.saturating_sub(self.start)).unwrap_or(0)
    }
}

impl SegmentPlan {
    /// Bytes in memory.
    pub fn memory_len(&self) -> usize {
        let audio_sizes = self.audio.iter().map(|segments| size_of_val(&segments[..]));
        let encoded_audio_sizes = self.encoded_audio.iter().map(|cuts| size_of_val(&cuts[..]));
        let video_size = size_of_val(&self.video[..]) + size_of_val(&self.encoded_video[..]);
        video_size + audio_sizes.chain(encoded_audio_sizes).sum::<usize>()
    }
}
