//! Writes the files that players read: init segments and the heads of media segments, as fragmented MP4.
//!
//! Sample data is never touched: a segment is a generated head and byte ranges of the source after it. This
//! module builds no URLs and reads no files. Begin with [`init_segment`] and
//! [`segment_head`](mod@segment_head); [`read_plan`](mod@read_plan) merges ranges into few reads.
//! [`MovieFile`] is one file with all samples and one `moov` at its start.
//!
//! One file of segments contains one track, and both tracks follow one timeline: tick 0 of a track's media
//! plus the `media_time` of its edit list is 0 on the common timeline. See
//! [`Timeline`](kinora_index::Timeline).

use kinora_index::timing::TimingError;

mod box_writer;
mod iframes;
mod init;
mod progressive;
mod read_plan;
mod segment_head;

pub use box_writer::BoxWriter;
pub use iframes::{iframe_head, iframes};
pub use init::{IDENTITY_MATRIX, InitKind, InitTrack, init_segment, sample_entry, write_init};
pub use progressive::{FilePiece, FileTrack, MovieFile};
pub use read_plan::{ByteRange, PlannedRead, READ_GAP_MAX, read_plan};
pub use segment_head::{
    FLAGS_NOT_SYNC, FLAGS_SYNC, HEAD_FIXED_MAX, HEAD_SAMPLE_MAX, SamplePayload, SegmentHead, TrunEntry,
    segment_head, segment_len_max, write_head,
};

/// The number of the one track in every file we write.
const TRACK_ID: u32 = 1;

/// Why a track cannot be packaged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The plan has no segment with this number.
    #[error("the plan has no segment {number}")]
    NoSuchSegment {
        /// The requested number, from 0.
        number: u32,
    },
    /// The plan refers to samples that the table does not have, or to none.
    #[error("segment {number} has no samples")]
    NoSamples {
        /// The segment, from 0.
        number: u32,
    },
    /// The index contains something else than one sample entry box.
    #[error("the sample entry of the index is damaged")]
    SampleEntry,
    /// A time between samples does not fit the tables of a progressive file.
    #[error("{ticks} ticks do not fit a table")]
    FileTiming {
        /// The value that does not fit.
        ticks: i64,
    },
    /// A track has more samples than the limit of a progressive file.
    #[error("{samples} samples are too many for a progressive file")]
    FileTooLong {
        /// Number of samples.
        samples: usize,
    },
    /// The times of the samples do not fit the segment.
    #[error("segment {number} cannot be timed")]
    Timing {
        /// The segment, from 0.
        number: u32,
        /// The timing error.
        source: TimingError,
    },
}
