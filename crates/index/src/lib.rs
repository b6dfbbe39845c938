//! The sample index of a source, and what follows from it alone: the segment plan, timestamps, names of
//! renditions.
//!
//! Knows no container, no playlist and no encoder: readers of containers (`kinora-isobmff`,
//! `kinora-matroska`) depend on this crate and build its types. Does no I/O, reads no clock, draws no
//! randomness.
//!
//! Begin with [`Index`]. [`plan`](mod@plan) cuts its tracks into segments, [`timing`] is the one rule for
//! timestamps, [`codec`] reads codec configurations. [`checkpoint`] is the form in which a reader is stored.

mod bytes;
pub mod checkpoint;
pub mod codec;
mod index;
pub mod plan;
mod presentation;
mod rung;
mod stored;
mod timeline;
pub mod timing;

pub use index::{
    AUDIO_TRACKS_MAX, AudioFacts, AudioTrack, Container, ENCODED_AUDIO_CHANNELS, ENCODED_AUDIO_CODEC,
    ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, Index, JOINTS_MAX, Joint, LAYOUT_CHANNELS_MAX,
    LEFT_OUT_DETAIL_LEN_MAX, LEFT_OUT_MAX, LeftOut, NOT_COPIED_DETAIL_LEN_MAX, NotCopied, NotCopiedReason,
    OBJECTS_MAX, PARTS_MAX, Part, Sample, SampleEntry, SampleObject, SampleObjectKind, SampleTable,
    SampleTableBuilder, Samples, Segment, SegmentPlan, SourceFacts, SourceName, Stretch, TITLE_LEN_MAX,
    Track, TrackLabel, TrackMedia, VideoFacts, VideoTrack, default_audio,
};
pub use presentation::{JoinError, JoinedPart};
pub use rung::{DECODED_PIXELS_MAX, NoSuchRung, PictureSize, Rung, RungName, ToneMap, name_of_picture};
pub use stored::{IndexError, IndexId};
pub use timeline::Timeline;
