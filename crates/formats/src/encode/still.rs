//! Segments in which one picture stands still, for where nothing of the source decodes.
//!
//! The picture is the last one of the segment before, as it was encoded, made a keyframe by another run of
//! the encoder. So it has the size, the colours and the init segment of its rung, whatever the source is.

use std::ops::Range;

use kinora_index::{
    Index, Timeline,
    codec::h264::AvcConfig,
    timing::{Span, TimingError, restamp},
};
use kinora_isobmff::write::{Entry, FLAGS_SYNC, write_head};

use super::{
    collect::{CollectError, SegmentError},
    fragments::{Avc, Coded, FragmentReader},
};

const MICROSECONDS: i128 = 1_000_000;
/// How far from the only picture the end of a window lies. Half a second.
const OPEN_END_US: i64 = 500_000;

/// One picture of a rung that is a keyframe, encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Still(Vec<u8>);

/// A picture of a rung that is to become a keyframe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StillFeed {
    /// An MP4 in fragments with one track of H.264.
    pub bytes: Vec<u8>,
    /// The picture is the only one that begins in this range of its timeline, in microseconds.
    pub keep_us: Range<u64>,
    /// How many pictures are decoded for it, at most.
    pub pictures: u64,
}

/// The end of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Last {
    /// It has one picture, a keyframe: a still one, most often.
    Still(Still),
    /// Its last picture needs those before it.
    Picture(StillFeed),
}

impl Last {
    /// The last picture of a segment of a rung, with the init segment of that.
    ///
    /// Errors: [`CollectError`] where the two are not what we write.
    pub fn of(init: &[u8], segment: &[u8]) -> Result<Self, CollectError> {
        let read = Read::of(init, segment)?;
        if let [picture] = read.pictures.as_slice()
            && picture.is_sync
        {
            return Ok(Self::Still(Still(read.bytes)));
        }
        let times = read.times();
        let &[.., before, last] = times.as_slice() else { return Err(CollectError::CutShort) };
        let from = read.us(before.saturating_add(last), 2);
        let to = read.us(last, 1).saturating_add(OPEN_END_US);
        Ok(Self::Picture(read.feed(init, segment, from..to)))
    }
}

impl StillFeed {
    /// The first picture of a segment of a rung, with the init segment of that.
    ///
    /// Errors: as for [`Last::of`].
    pub fn of_first(init: &[u8], segment: &[u8]) -> Result<Self, CollectError> {
        let read = Read::of(init, segment)?;
        let times = read.times();
        let first = *times.first().ok_or(CollectError::CutShort)?;
        let to = match times.get(1) {
            Some(second) => read.us(first.saturating_add(*second), 2),
            None => read.us(first, 1).saturating_add(OPEN_END_US),
        };
        Ok(read.feed(init, segment, 0..to))
    }
}

impl Still {
    /// The picture that the encoder made of a [`StillFeed`].
    ///
    /// `init` is the init segment of the rung. If the encoder wrote other parameter sets, they are put in
    /// front of the picture. Errors: [`CollectError`] if the output is not one keyframe.
    pub fn of_output(init: &[u8], output: &[u8]) -> Result<Self, CollectError> {
        let (wanted, read) = (Read::of(init, &[])?, Read::of(output, &[])?);
        let [picture] = read.pictures.as_slice() else {
            return Err(if read.pictures.is_empty() {
                CollectError::CutShort
            } else {
                CollectError::Malformed("several still pictures")
            });
        };
        if !picture.is_sync {
            return Err(CollectError::Malformed("a still picture that is no keyframe"));
        }
        if wanted.avcc == read.avcc {
            return Ok(Self(read.bytes));
        }
        let sets = AvcConfig::parameter_sets_in_band(&read.avcc);
        let sets = sets.ok_or(CollectError::Malformed("no parameter sets"))?;
        Ok(Self([sets, read.bytes].concat()))
    }

    /// Segment `number` of the encoded plan, with nothing but this picture.
    ///
    /// Errors: [`SegmentError::NoPictures`] for a number that is not planned, [`SegmentError::Timing`].
    pub fn segment(&self, index: &Index, number: u32) -> Result<Vec<u8>, SegmentError> {
        let planned = index.plan.encoded_video.get(number as usize);
        let (segment, (track, _)) = planned.zip(index.video()).ok_or(SegmentError::NoPictures)?;
        let timeline = Timeline::of(index, track);
        let span = Span { start: timeline.scaled(segment.start), end: timeline.scaled(segment.end) };
        let stamps = restamp(&[span.start], span, timeline.media_time)?;
        let begun = u64::try_from(span.start).map_err(|_| TimingError::TooLong { ticks: span.start })?;
        let size = u32::try_from(self.0.len()).map_err(|_| TimingError::TooLong { ticks: i64::MAX })?;
        let entries = stamps.iter().map(|stamp| Entry {
            duration: stamp.duration,
            size,
            flags: FLAGS_SYNC,
            composition_offset: stamp.composition_offset,
        });
        let entries: Vec<_> = entries.collect();
        let mut bytes = write_head(number, begun, &entries, u64::from(size));
        bytes.extend_from_slice(&self.0);
        Ok(bytes)
    }
}

/// The one track of a file.
struct Read {
    avcc: Vec<u8>,
    timescale: u32,
    pictures: Vec<Coded>,
    bytes: Vec<u8>,
}

impl Read {
    fn of(init: &[u8], segment: &[u8]) -> Result<Self, CollectError> {
        let mut reader = FragmentReader::<Avc>::default();
        let (mut pictures, mut bytes) = (Vec::new(), Vec::new());
        for piece in [init, segment] {
            reader.push(piece, |_, coded| {
                pictures.extend_from_slice(coded.pictures);
                bytes.extend_from_slice(coded.bytes);
                Ok(())
            })?;
        }
        reader.finish()?;
        let [track] = reader.tracks() else {
            return Err(CollectError::Tracks { found: reader.tracks().len(), expected: 1 });
        };
        Ok(Self { avcc: track.description.avcc.clone(), timescale: track.timescale, pictures, bytes })
    }

    /// When the pictures are shown, rising.
    fn times(&self) -> Vec<i64> {
        let mut times: Vec<_> = self.pictures.iter().map(|picture| picture.shown).collect();
        times.sort_unstable();
        times
    }

    /// An instant in microseconds, given in this part of a tick.
    fn us(&self, ticks: i64, parts: i128) -> i64 {
        let us = i128::from(ticks) * MICROSECONDS;
        i64::try_from(us.div_euclid(i128::from(self.timescale) * parts)).unwrap_or(i64::MAX)
    }

    fn feed(&self, init: &[u8], segment: &[u8], keep_us: Range<i64>) -> StillFeed {
        let positive = |time: i64| u64::try_from(time).unwrap_or(0);
        StillFeed {
            bytes: [init, segment].concat(),
            keep_us: positive(keep_us.start)..positive(keep_us.end),
            pictures: self.pictures.len() as u64,
        }
    }
}
