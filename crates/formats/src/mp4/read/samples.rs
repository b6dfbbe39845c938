//! Samples of a track in strictly rising decode time, and what is found out on the way through them.

use super::{super::error::ReadError, tables::RawSample};
use crate::index::{Sample, SampleTable, SampleTableBuilder};

/// All samples of one track.
#[derive(Debug)]
pub(super) struct TrackSamples {
    pub(super) table: SampleTable,
    /// Earliest presentation time.
    pub(super) first_pts: i64,
    /// When the last sample is over.
    pub(super) natural_end: i64,
    /// First byte of the source behind all samples.
    pub(super) end_offset: u64,
}

/// Reads all samples of an audio track. Leaves out empty packets, moves equal times apart by a tick.
pub(super) fn audio_samples(
    raw: impl Iterator<Item = Result<RawSample, ReadError>>,
) -> Result<TrackSamples, ReadError> {
    let mut builder = SampleTableBuilder::default();
    let (mut first_pts, mut last_pts, mut natural_end, mut end_offset) = (None, None::<i64>, 0, 0);
    for sample in InOrder::new(raw) {
        let mut sample = sample?;
        if let Some(last) = last_pts {
            sample.pts = sample.pts.max(last + 1);
        }
        // Every packet can be decoded alone, whatever a table of sync samples says.
        sample.is_sync = true;
        first_pts.get_or_insert(sample.pts);
        last_pts = Some(sample.pts);
        natural_end = sample.pts + i64::from(sample.duration);
        end_offset = end_offset.max(sample.offset + u64::from(sample.size));
        builder.push(sample);
    }
    Ok(TrackSamples { table: builder.finish(), first_pts: first_pts.unwrap_or(0), natural_end, end_offset })
}

/// Rows as samples: empty ones left out, decode times strictly rising, durations reaching to the next sample.
pub(super) struct InOrder<I> {
    raw: I,
    /// Read, but not handed out before the next one says how long it lasts.
    held: Option<Sample>,
    /// `stts` delta of the held sample.
    delta: u32,
    /// Duration of the sample handed out last.
    duration_before: u32,
}

impl<I> InOrder<I> {
    pub(super) fn new(raw: I) -> Self {
        InOrder { raw, held: None, delta: 0, duration_before: 0 }
    }
}

impl<I: Iterator<Item = Result<RawSample, ReadError>>> Iterator for InOrder<I> {
    type Item = Result<Sample, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        for row in self.raw.by_ref() {
            let row = match row {
                Ok(row) if row.size == 0 => continue,
                Ok(row) => row,
                Err(error) => return Some(Err(error)),
            };
            // A delta of 0 would put two samples at one instant: the second comes a tick later, and no other moves.
            let dts = self.held.map_or(row.dts, |held| row.dts.max(held.dts + 1));
            let next = Sample {
                dts,
                pts: dts + i64::from(row.composition),
                duration: 0,
                offset: row.offset,
                size: row.size,
                is_sync: row.is_sync,
            };
            self.delta = row.delta;
            if let Some(mut held) = self.held.replace(next) {
                let Ok(duration) = u32::try_from(dts - held.dts) else {
                    return Some(Err(ReadError::damaged("one sample lasts more than 2^32 ticks")));
                };
                held.duration = duration;
                self.duration_before = duration;
                return Some(Ok(held));
            }
        }
        let mut last = self.held.take()?;
        // Writers that do not know how long the last sample lasts write 0: as long as the one before it.
        last.duration = if self.delta > 0 { self.delta } else { self.duration_before.max(1) };
        Some(Ok(last))
    }
}
