//! The sample index of a source, and all that derives from it alone: the segment plan, timestamps, names of
//! renditions.
//!
//! Independent of containers, playlists and encoders: container readers (`kinora-isobmff`,
//! `kinora-matroska`) depend on this crate and build its types. Does no I/O, reads no clock, uses no
//! randomness.
//!
//! Begin with [`Index`]. [`plan`](mod@plan) cuts its tracks into segments, [`timing`] is the one rule for
//! timestamps, [`codec`] parses codec configurations. [`checkpoint`] is the stored form of a reader.

mod bytes;
pub mod checkpoint;
pub mod codec;
mod index;
pub mod plan;
mod presentation;
mod rung;
mod serialize;
mod timeline;
pub mod timing;

pub use index::{
    AUDIO_TRACKS_MAX, AudioFacts, AudioTrack, Container, EDIT_POINTS_MAX, ENCODED_AUDIO_CHANNELS,
    ENCODED_AUDIO_CODEC, ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, EditPoint, EditSpan, Index,
    LAYOUT_CHANNELS_MAX, NOT_COPIED_DETAIL_LEN_MAX, NotCopied, NotCopiedReason, OBJECTS_MAX,
    OVERLAY_SIDE_MAX, Overlay, OverlayAlign, OverlayLength, PARTS_MAX, Part, SKIPPED_TRACK_DETAIL_LEN_MAX,
    SKIPPED_TRACKS_MAX, Sample, SampleEntry, SampleObject, SampleObjectKind, SampleTable, SampleTableBuilder,
    Samples, Segment, SegmentPlan, SkippedTrack, SourceFacts, SourceName, TITLE_LEN_MAX, Track, TrackLabel,
    TrackMedia, VideoFacts, VideoTrack, default_audio,
};
pub use presentation::{ClipError, JoinError, OverlayError, SourcePart};
pub use rung::{
    DECODED_PIXELS_MAX, FrameSize, ParseRungNameError, Rung, RungName, ToneMap, rung_name_of_size,
};
pub use serialize::{IndexError, IndexId};
pub use timeline::Timeline;
