//! Segments with one still frame, for parts of the source that do not decode.
//!
//! The frame is the last one of the previous segment, as encoded, and converted to a keyframe by another run
//! of the encoder. So it has the size, the colours and the init segment of its rung, for every source.

use std::ops::Range;

use kinora_index::{
    Index, Timeline,
    codec::h264::AvcConfig,
    timing::{Span, TimingError, restamp},
};
use kinora_isobmff::write::{FLAGS_SYNC, TrunEntry, write_head};

use super::{
    fragments::{Avc, CodedSample, FragmentReader},
    segmenter::{SegmentError, SegmenterError},
};

const MICROSECONDS: i128 = 1_000_000;
/// Distance from the only frame to the end of a window. Half a second.
const WINDOW_END_DISTANCE_US: i64 = 500_000;

/// One encoded frame of a rung that is a keyframe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreezeFrame(Vec<u8>);

/// A frame of a rung that must be converted to a keyframe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreezeFrameFeed {
    /// A fragmented MP4 with one track of H.264.
    pub bytes: Vec<u8>,
    /// The frame is the only one that begins in this range of its timeline, in microseconds.
    pub keep_us: Range<u64>,
    /// Maximum number of frames that are decoded for it.
    pub frames: u64,
}

/// The end of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LastFrame {
    /// It has one frame, a keyframe: usually a still one.
    Keyframe(FreezeFrame),
    /// Its last frame depends on previous ones.
    NeedsDecoding(FreezeFrameFeed),
}

impl LastFrame {
    /// The last frame of a segment of a rung, with the init segment of that rung.
    ///
    /// Errors: [`SegmenterError`] if the two are not our output.
    pub fn of(init: &[u8], segment: &[u8]) -> Result<Self, SegmenterError> {
        let parsed = ParsedSegment::of(init, segment)?;
        if let [frame] = parsed.frames.as_slice()
            && frame.is_sync
        {
            return Ok(Self::Keyframe(FreezeFrame(parsed.bytes)));
        }
        let times = parsed.times();
        let &[.., before, last] = times.as_slice() else { return Err(SegmenterError::Truncated) };
        let from = parsed.us(before.saturating_add(last), 2);
        let to = parsed.us(last, 1).saturating_add(WINDOW_END_DISTANCE_US);
        Ok(Self::NeedsDecoding(parsed.feed(init, segment, from..to)))
    }
}

impl FreezeFrameFeed {
    /// The first frame of a segment of a rung, with the init segment of that rung.
    ///
    /// Errors: as for [`LastFrame::of`].
    pub fn of_first(init: &[u8], segment: &[u8]) -> Result<Self, SegmenterError> {
        let parsed = ParsedSegment::of(init, segment)?;
        let times = parsed.times();
        let first = *times.first().ok_or(SegmenterError::Truncated)?;
        let to = match times.get(1) {
            Some(second) => parsed.us(first.saturating_add(*second), 2),
            None => parsed.us(first, 1).saturating_add(WINDOW_END_DISTANCE_US),
        };
        Ok(parsed.feed(init, segment, 0..to))
    }
}

impl FreezeFrame {
    /// The frame that the encoder made of a [`FreezeFrameFeed`].
    ///
    /// `init` is the init segment of the rung. If the encoder wrote other parameter sets, they are inserted
    /// before the frame. Errors: [`SegmenterError`] if the output is not one keyframe.
    pub fn of_output(init: &[u8], output: &[u8]) -> Result<Self, SegmenterError> {
        let (expected, parsed) = (ParsedSegment::of(init, &[])?, ParsedSegment::of(output, &[])?);
        let [frame] = parsed.frames.as_slice() else {
            return Err(if parsed.frames.is_empty() {
                SegmenterError::Truncated
            } else {
                SegmenterError::Malformed("several still frames")
            });
        };
        if !frame.is_sync {
            return Err(SegmenterError::Malformed("a still frame that is not a keyframe"));
        }
        if expected.avcc == parsed.avcc {
            return Ok(Self(parsed.bytes));
        }
        let sets = AvcConfig::parameter_sets_in_band(&parsed.avcc);
        let sets = sets.ok_or(SegmenterError::Malformed("no parameter sets"))?;
        Ok(Self([sets, parsed.bytes].concat()))
    }

    /// Segment `number` of the encoded plan, with only this frame.
    ///
    /// Errors: [`SegmentError::NoFrames`] for a number that is not planned, [`SegmentError::Timing`].
    pub fn segment(&self, index: &Index, number: u32) -> Result<Vec<u8>, SegmentError> {
        let planned = index.plan.encoded_video.get(number as usize);
        let (segment, (track, _)) = planned.zip(index.video()).ok_or(SegmentError::NoFrames)?;
        let timeline = Timeline::of(index, track);
        let span = Span { start: timeline.scaled(segment.start), end: timeline.scaled(segment.end) };
        let stamps = restamp(&[span.start], span, timeline.media_time, timeline.timescale)?;
        let decode_time =
            u64::try_from(span.start).map_err(|_| TimingError::TooLong { ticks: span.start })?;
        let size = u32::try_from(self.0.len()).map_err(|_| TimingError::TooLong { ticks: i64::MAX })?;
        let entries = stamps.iter().map(|stamp| TrunEntry {
            duration: stamp.duration,
            size,
            flags: FLAGS_SYNC,
            composition_offset: stamp.composition_offset,
        });
        let entries: Vec<_> = entries.collect();
        let mut bytes = write_head(number, decode_time, &entries, u64::from(size));
        bytes.extend_from_slice(&self.0);
        Ok(bytes)
    }
}

/// The parsed track of a file.
struct ParsedSegment {
    avcc: Vec<u8>,
    timescale: u32,
    frames: Vec<CodedSample>,
    bytes: Vec<u8>,
}

impl ParsedSegment {
    fn of(init: &[u8], segment: &[u8]) -> Result<Self, SegmenterError> {
        let mut reader = FragmentReader::<Avc>::default();
        let (mut frames, mut bytes) = (Vec::new(), Vec::new());
        for piece in [init, segment] {
            reader.push(piece, |_, coded| {
                frames.extend_from_slice(coded.samples);
                bytes.extend_from_slice(coded.bytes);
                Ok(())
            })?;
        }
        reader.finish()?;
        let [track] = reader.tracks() else {
            return Err(SegmenterError::Tracks { found: reader.tracks().len(), expected: 1 });
        };
        Ok(Self { avcc: track.description.avcc.clone(), timescale: track.timescale, frames, bytes })
    }

    /// Presentation times of the frames, rising.
    fn times(&self) -> Vec<i64> {
        let mut times: Vec<_> = self.frames.iter().map(|frame| frame.pts).collect();
        times.sort_unstable();
        times
    }

    /// An instant in microseconds; `ticks` counts units of 1 / `divisor` of a tick.
    fn us(&self, ticks: i64, divisor: i128) -> i64 {
        let us = i128::from(ticks) * MICROSECONDS;
        i64::try_from(us.div_euclid(i128::from(self.timescale) * divisor)).unwrap_or(i64::MAX)
    }

    fn feed(&self, init: &[u8], segment: &[u8], keep_us: Range<i64>) -> FreezeFrameFeed {
        let positive = |time: i64| u64::try_from(time).unwrap_or(0);
        FreezeFrameFeed {
            bytes: [init, segment].concat(),
            keep_us: positive(keep_us.start)..positive(keep_us.end),
            frames: self.frames.len() as u64,
        }
    }
}
