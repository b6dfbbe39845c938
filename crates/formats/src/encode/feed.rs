//! The input of a video encoder: a small file of exactly the samples of some segments, on its own timeline.
//!
//! Times are exact: ticks of the source, no edit list, no negative offset, and some seconds of lead so that
//! none is negative. The track of the feed has the rotation matrix and the pixel aspect of the source: the
//! encoder rotates and scales the frames. M-22.

use std::{ops::Range, sync::Arc};

use kinora_index::{Index, SampleEntry, SampleTable, Timeline, Track, TrackMedia, plan::presented_at};
use kinora_isobmff::write::{
    ByteRange, FLAGS_NOT_SYNC, FLAGS_SYNC, InitKind, InitTrack, SamplePayload, TrunEntry, sample_entry,
    write_head, write_init,
};
use kinora_matroska::{FeedFrame, feed_header, write_feed_frame};

use super::frame_times::{LEAD_S_MIN, SegmentRun};

mod single_frames;

/// Bytes at which a chunk ends: small enough to begin soon, large enough for an efficient read.
const CHUNK_LEN: u64 = 1 << 20;
/// Samples at which a chunk ends: many small samples need large heads.
const CHUNK_SAMPLES: usize = 4096;
/// Maximum size of a fed sample in bytes: a frame of 8192 x 4320 in the largest ProRes has about 40 MB.
const SAMPLE_LEN_MAX: u32 = 64 << 20;
/// Approximate bytes before a frame in Matroska.
pub(super) const FRAME_HEAD_LEN: usize = 64;
/// Maximum number of segments in one run: more than a day. Limits the memory for times.
const RUN_SEGMENTS_MAX: usize = 1 << 15;

/// The samples of some segments of the video, as a file for an encoder.
///
/// Cheap to clone, and borrows no index. Same index and same numbers, same bytes.
#[derive(Debug, Clone)]
pub struct Feed {
    run: Arc<SegmentRun>,
    table: SampleTable,
    samples: Range<u32>,
    /// Added to a presentation time of the source for that on the common timeline.
    track_shift: i64,
    /// Added to a decode time of the source for that of the feed.
    decode_shift: i64,
    /// Added to a presentation time of the source for that of the feed.
    presentation_shift: i64,
    header: Arc<[u8]>,
    format: FeedFormat,
    /// Whether a Matroska feed contains durations too; ticks are microseconds then.
    writes_durations: bool,
}

/// The container of a feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FeedFormat {
    /// A fragmented MP4, times in ticks of the source.
    Mp4,
    /// A Matroska, times in microseconds.
    Matroska,
}

/// Consecutive samples of a feed that are read and written together: up to 1 MiB, or one larger sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedChunk {
    /// Their numbers, in decode order.
    pub samples: Range<u32>,
    /// Their byte ranges, adjacent ones joined. [`read_plan`](kinora_isobmff::write::read_plan) merges them
    /// into few reads.
    pub ranges: Vec<ByteRange>,
    /// Total length of all ranges in bytes.
    pub len: u64,
}

/// Why a feed cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    /// The plan has no such segments, or none were requested.
    #[error("the plan has no segments {numbers:?}")]
    NoSuchSegments {
        /// The requested numbers.
        numbers: Range<u32>,
    },
    /// An edit list jumps between the segments, or another configuration begins: each side needs its own
    /// decoder.
    #[error("the segments {numbers:?} lie on both sides of an edit")]
    AcrossEditPoint {
        /// The requested numbers.
        numbers: Range<u32>,
    },
    /// The index does not contain how the samples are decoded.
    #[error("the sample entry of the index is damaged")]
    SampleEntry,
    /// A sample is too large, or its times do not fit a file.
    #[error("sample {number} cannot be fed: {what}")]
    Sample {
        /// Its number.
        number: u32,
        /// The reason.
        what: &'static str,
    },
    /// The number of bytes differs from that of the chunk.
    #[error("{given} bytes came for a chunk of {expected}")]
    Bytes {
        /// Bytes given.
        given: usize,
        /// Bytes of the ranges.
        expected: u64,
    },
}

impl Feed {
    /// The feed of the segments with these numbers of the encoded plan, one of its
    /// [runs](Index::encoded_runs). Reads every sample of them once.
    ///
    /// Errors: all but [`FeedError::Bytes`].
    pub fn of_segments(index: &Index, numbers: Range<u32>) -> Result<Self, FeedError> {
        let none = || FeedError::NoSuchSegments { numbers: numbers.clone() };
        let (track, _) = index.video().filter(|(track, _)| track.timescale != 0).ok_or_else(none)?;
        let segments = index.plan.encoded_video.get(numbers.start as usize..numbers.end as usize);
        let segments = segments.filter(|segments| segments.len() <= RUN_SEGMENTS_MAX).ok_or_else(none)?;
        let (first, last) = segments.first().zip(segments.last()).ok_or_else(none)?;
        if 1 < index.encoded_runs(numbers.clone()).len() {
            return Err(FeedError::AcrossEditPoint { numbers });
        }
        // Segments that begin inside a GOP share samples with the previous one.
        let from = segments.iter().map(|segment| segment.samples.start).min().unwrap_or(0);
        let to = segments.iter().map(|segment| segment.samples.end).max().unwrap_or(0);
        let samples = from..to.min(track.samples.len());
        if samples.is_empty() {
            return Err(none());
        }

        let mut times = Vec::with_capacity(samples.len());
        // The largest negative composition offset, and the first decode time.
        let (mut negative_offset_max, mut first_dts) = (0, i64::MAX);
        for (number, sample) in samples.clone().zip(track.samples.range(samples.clone())) {
            if SAMPLE_LEN_MAX < sample.size {
                return Err(FeedError::Sample { number, what: "it is larger than 64 MiB" });
            }
            negative_offset_max = negative_offset_max.max(sample.dts.saturating_sub(sample.pts));
            first_dts = first_dts.min(sample.dts);
            times.push(presented_at(track, &sample));
        }
        times.sort_unstable();
        let cuts = segments.iter().map(|segment| segment.start).chain([last.end]).collect();
        let decoded_before = first
            .start
            .saturating_sub(first_dts.saturating_sub(negative_offset_max).saturating_add(track.shift));
        let second = i64::from(track.timescale);
        let timeline = Timeline::of(index, track);
        let lead_s = LEAD_S_MIN.max(decoded_before.saturating_add(second - 1).div_euclid(second));
        let run = SegmentRun { numbers, cuts, times, timescale: track.timescale, timeline, lead_s };
        let presentation_shift = run.feed_ticks(track.shift);
        let (format, header) = header(track, track.media_at(samples.start))?;
        Ok(Self {
            format,
            header: header.into(),
            table: track.samples.clone(),
            samples,
            track_shift: track.shift,
            decode_shift: presentation_shift.saturating_sub(negative_offset_max),
            presentation_shift,
            run: Arc::new(run),
            // Encoders do not need durations, and existing encoder output must not change.
            writes_durations: false,
        })
    }

    /// The container of the bytes.
    pub fn format(&self) -> FeedFormat {
        self.format
    }

    /// The numbers of the segments.
    pub fn numbers(&self) -> Range<u32> {
        self.run.numbers.clone()
    }

    /// The samples that are fed, in decode order. Neighbouring runs may share some.
    pub fn samples(&self) -> Range<u32> {
        self.samples.clone()
    }

    /// The bytes before all chunks.
    pub fn header(&self) -> Vec<u8> {
        self.header.to_vec()
    }

    /// The chunks in order. The iterator borrows nothing.
    pub fn chunks(&self) -> FeedChunks {
        FeedChunks { table: self.table.clone(), rest: self.samples.clone() }
    }

    /// The bytes of the feed for one of its chunks. `bytes` are the concatenated bytes of its ranges.
    ///
    /// Errors: [`FeedError::Bytes`], and [`FeedError::Sample`] for times that no file can represent.
    pub fn wrap(&self, chunk: &FeedChunk, bytes: &[u8]) -> Result<Vec<u8>, FeedError> {
        if u64::try_from(bytes.len()) != Ok(chunk.len) {
            return Err(FeedError::Bytes { given: bytes.len(), expected: chunk.len });
        }
        match self.format {
            FeedFormat::Mp4 => {
                let mut feed_bytes = self.fragment_head(chunk)?;
                feed_bytes.extend_from_slice(bytes);
                Ok(feed_bytes)
            }
            FeedFormat::Matroska => self.matroska_blocks(chunk, bytes),
        }
    }

    /// The bytes of a fragment before its sample data.
    fn fragment_head(&self, chunk: &FeedChunk) -> Result<Vec<u8>, FeedError> {
        let mut entries: Vec<TrunEntry> = Vec::with_capacity(chunk.samples.len());
        let mut decode_time = None;
        let mut before = 0;
        for (number, sample) in chunk.samples.clone().zip(self.table.range(chunk.samples.clone())) {
            let time_error = |what| FeedError::Sample { number, what };
            let feed_dts = sample.dts.saturating_add(self.decode_shift);
            let feed_pts = sample.pts.saturating_add(self.presentation_shift);
            if let Some(last) = entries.last_mut() {
                last.duration = u32::try_from(feed_dts.saturating_sub(before))
                    .map_err(|_| time_error("it is decoded before the one in front, or hours after it"))?;
            }
            let composition_offset = i32::try_from(feed_pts.saturating_sub(feed_dts))
                .map_err(|_| time_error("it is shown hours after it is decoded"))?;
            let flags = if sample.is_sync { FLAGS_SYNC } else { FLAGS_NOT_SYNC };
            entries.push(TrunEntry {
                duration: sample.duration,
                size: sample.size,
                flags,
                composition_offset,
            });
            decode_time = decode_time.or(u64::try_from(feed_dts).ok());
            before = feed_dts;
        }
        let base_decode_time =
            decode_time.ok_or(FeedError::Sample { number: chunk.samples.start, what: "it is not there" })?;
        Ok(write_head(chunk.samples.start, base_decode_time, &entries, chunk.len))
    }

    /// The samples of a chunk, each after its time.
    fn matroska_blocks(&self, chunk: &FeedChunk, bytes: &[u8]) -> Result<Vec<u8>, FeedError> {
        let mut feed_bytes = Vec::with_capacity(bytes.len() + FRAME_HEAD_LEN * chunk.samples.len());
        let mut rest = bytes;
        for (number, sample) in chunk.samples.clone().zip(self.table.range(chunk.samples.clone())) {
            let Some((frame, after)) = rest.split_at_checked(sample.size as usize) else {
                return Err(FeedError::Sample { number, what: "it is not there" });
            };
            rest = after;
            let time_us = self.run.feed_us(sample.pts.saturating_add(self.track_shift));
            let time_us = u64::try_from(time_us)
                .map_err(|_| FeedError::Sample { number, what: "it is shown before all others" })?;
            let duration_us = self.writes_durations.then(|| sample.duration.max(1).into());
            write_feed_frame(
                &mut feed_bytes,
                FeedFrame { time_us, duration_us, is_key: sample.is_sync, bytes: frame },
            );
        }
        Ok(feed_bytes)
    }

    /// Converts a presentation time `ticks` of the common timeline to microseconds of the feed; rounded
    /// down.
    pub fn time_us(&self, ticks: i64) -> i64 {
        self.run.feed_us(ticks)
    }

    /// The range of feed times, in microseconds, whose frames are encoded.
    ///
    /// The others are only decoded. No frame is near the ends of the range, so rounding does no harm.
    pub fn window_us(&self) -> Range<i64> {
        let ends = |cut: Option<&i64>| self.run.feed_cut_us(cut.copied().unwrap_or(0));
        ends(self.run.cuts.first())..ends(self.run.cuts.last())
    }

    /// Instants of the feed in microseconds: the first frame after each must become a keyframe. One for each
    /// segment but the first.
    pub fn keyframes_us(&self) -> Vec<i64> {
        let inner = self.run.cuts.get(1..self.run.cuts.len() - 1).unwrap_or(&[]);
        inner.iter().map(|cut| self.run.feed_cut_us(*cut)).collect()
    }

    pub(super) fn run(&self) -> &Arc<SegmentRun> {
        &self.run
    }
}

/// The bytes before the samples of a track with this configuration.
pub(super) fn header(track: &Track, media: &TrackMedia) -> Result<(FeedFormat, Vec<u8>), FeedError> {
    if let SampleEntry::Matroska(entry) = media.sample_entry() {
        return Ok((FeedFormat::Matroska, feed_header(entry)));
    }
    let init = write_init(&InitTrack {
        timescale: track.timescale,
        media_time: None,
        language: "und",
        kind: InitKind::of(media),
        sample_entry: sample_entry(media).map_err(|_| FeedError::SampleEntry)?,
    });
    Ok((FeedFormat::Mp4, init))
}

/// The chunks of a feed, in order.
#[derive(Debug, Clone)]
pub struct FeedChunks {
    pub(super) table: SampleTable,
    pub(super) rest: Range<u32>,
}

impl FeedChunks {
    /// All samples of a track.
    pub fn of_track(track: &Track) -> Self {
        Self { table: track.samples.clone(), rest: 0..track.samples.len() }
    }
}

impl Iterator for FeedChunks {
    type Item = FeedChunk;

    fn next(&mut self) -> Option<FeedChunk> {
        let mut payload = SamplePayload::default();
        let mut end = self.rest.start;
        for (count, sample) in self.table.range(self.rest.clone()).enumerate() {
            let is_full =
                CHUNK_LEN < payload.len.saturating_add(u64::from(sample.size)) || CHUNK_SAMPLES <= count;
            if 0 < count && is_full {
                break;
            }
            payload.push(&sample);
            end += 1;
        }
        let samples = self.rest.start..end;
        self.rest.start = end;
        (!samples.is_empty()).then_some(FeedChunk { samples, ranges: payload.ranges, len: payload.len })
    }
}
