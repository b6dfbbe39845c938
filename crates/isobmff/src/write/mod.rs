//! Writes what players read: init segments and the heads of media segments, as fragmented MP4.
//!
//! Sample data is never touched: a segment is a head made here and byte ranges of the source behind it. Knows
//! no addresses, reads no files. Begin with [`init_segment`] and [`segment_head`]; [`read_plan`] turns ranges
//! into few reads. [`MovieFile`] is all of it in one file, with one `moov` in front.
//!
//! One file of segments holds one track, and both tracks follow one timeline: tick 0 of a track's media plus
//! the `media_time` of its edit list is 0 on the common timeline. See [`Timeline`](kinora_index::Timeline).

use kinora_index::timing::TimingError;

mod bytes;
mod file;
mod head;
mod iframes;
mod init;
mod reads;

pub use bytes::Boxes;
pub use file::{FilePiece, FileTrack, MovieFile};
pub use head::{
    Entry, FLAGS_NOT_SYNC, FLAGS_SYNC, HEAD_FIXED_MAX, HEAD_SAMPLE_MAX, Payload, SegmentHead, segment_head,
    segment_len_max, write_head,
};
pub use iframes::{iframe_head, iframes};
pub use init::{IDENTITY, InitKind, InitTrack, init_segment, sample_entry, write_init};
pub use reads::{ByteRange, READ_GAP_MAX, Read, read_plan};

/// The number of the one track in every file we write.
const TRACK_ID: u32 = 1;

/// Why a track cannot be packaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The plan lists no segment with this number.
    #[error("the plan has no segment {number}")]
    NoSuchSegment {
        /// The number asked for, from 0.
        number: u32,
    },
    /// The plan names samples that the table does not have, or none.
    #[error("segment {number} has no samples")]
    NoSamples {
        /// The segment, from 0.
        number: u32,
    },
    /// The index holds something else than one sample entry box.
    #[error("the sample entry of the index is damaged")]
    SampleEntry,
    /// A time between samples does not fit the tables of a progressive file.
    #[error("{ticks} ticks do not fit a table")]
    FileTiming {
        /// The number that does not fit.
        ticks: i64,
    },
    /// A track has more samples than a progressive file is made of.
    #[error("{samples} samples are too many for a progressive file")]
    FileTooLong {
        /// How many.
        samples: usize,
    },
    /// The times of the samples do not fit the segment.
    #[error("segment {number} cannot be timed")]
    Timing {
        /// The segment, from 0.
        number: u32,
        /// What does not fit.
        source: TimingError,
    },
}
