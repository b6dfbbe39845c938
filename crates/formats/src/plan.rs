//! Where segments begin and end.

use std::ops::Range;

/// The cuts of one source. Every rendition of the source shares them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SegmentPlan {
    /// Segments of the video track; empty without one.
    pub video: Vec<Segment>,
    /// Segments of the audio track; empty without one.
    pub audio: Vec<Segment>,
}

/// One segment of one track.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Its samples, in decode order.
    pub samples: Range<u32>,
    /// First presented instant on the common timeline, in the track's ticks.
    pub start: i64,
    /// End on the common timeline: the start of the next segment, or the end of the track.
    pub end: i64,
}
