//! The sample tables of one track in the `moov`, as the bytes that are sent.

use kinora_index::{
    Sample, TrackMedia,
    plan::{packets, presented_at},
};

use super::FileTrack;
use super::chunks::{CHUNK_US, UnplacedChunk};
use crate::write::WriteError;

/// Maximum number of samples of a track in a file: 12 h (C-138) at 240 frames per second are 10 million.
/// Their tables take 200 MB.
pub(super) const SAMPLES_MAX: u32 = 1 << 24;

/// The tables of one track.
#[derive(Debug, Default)]
pub(super) struct TrackTables {
    /// `stts`: runs of durations.
    pub(super) times: Vec<u8>,
    /// `ctts`: runs of composition offsets, none negative; empty if all are 0.
    pub(super) offsets: Vec<u8>,
    /// `stss`: numbers of the sync samples, from 1; `None` if all samples are.
    pub(super) syncs: Option<Vec<u8>>,
    /// `stsz`: sizes.
    pub(super) sizes: Vec<u8>,
    /// Number of samples.
    pub(super) count: u32,
    /// Sum of all durations, in ticks.
    pub(super) ticks: u64,
    /// The samples, grouped into chunks.
    pub(super) chunks: Vec<UnplacedChunk>,
    /// Start of the presentation in the file, in ticks of the track; never negative.
    pub(super) start: u64,
    /// The media time that is presented at that start, in ticks of the track; never negative.
    pub(super) media_time: u64,
    /// Presented duration, in ticks of the track; at least 1.
    pub(super) duration: u64,
}

impl TrackTables {
    /// Reads every sample twice: the largest negative composition offset shifts the offsets of all samples.
    pub(super) fn of(file: &FileTrack<'_>) -> Result<Self, WriteError> {
        let track = file.track;
        let range = file.samples.clone();
        if range.len() > SAMPLES_MAX as usize {
            return Err(WriteError::FileTooLong { samples: range.len() });
        }
        match &track.media {
            TrackMedia::Video(_) => {
                let samples = || {
                    (range.start..).zip(track.samples.range(range.clone())).map(|(number, sample)| {
                        TimedSample {
                            number,
                            decoded: sample.dts.saturating_add(track.shift),
                            shown: presented_at(track, &sample),
                            sample,
                        }
                    })
                };
                collect(file, samples(), samples())
            }
            // Audio is presented in decode order.
            TrackMedia::Audio(audio) => {
                let samples = || {
                    packets(track, audio, range.clone()).map(|(number, sample)| {
                        let at = presented_at(track, &sample);
                        TimedSample { number, decoded: at, shown: at, sample }
                    })
                };
                collect(file, samples(), samples())
            }
        }
    }
}

/// A sample with its times on the timeline of its track.
#[derive(Debug, Clone, Copy)]
struct TimedSample {
    number: u32,
    decoded: i64,
    shown: i64,
    sample: Sample,
}

fn collect(
    file: &FileTrack<'_>,
    first_look: impl Iterator<Item = TimedSample>,
    samples: impl Iterator<Item = TimedSample>,
) -> Result<TrackTables, WriteError> {
    let (mut delay, mut first_shown, mut has_offsets) = (0, i64::MAX, false);
    for TimedSample { decoded, shown, .. } in first_look {
        delay = delay.max(decoded.saturating_sub(shown));
        first_shown = first_shown.min(shown);
        has_offsets |= decoded != shown;
    }

    let timescale = i64::from(file.track.timescale.max(1));
    let chunk_ticks = (CHUNK_US * timescale / 1_000_000).max(1);
    let (mut times, mut offsets) = (RunLengths::default(), RunLengths::default());
    let mut tables = TrackTables {
        sizes: Vec::with_capacity(file.samples.len() * 4),
        syncs: Some(Vec::new()),
        ..TrackTables::default()
    };
    let (mut first_decoded, mut before) = (None, None::<TimedSample>);
    let mut chunk_began = 0;
    for timed in samples {
        if let Some(before) = before.replace(timed) {
            let duration = ticks(timed.decoded.saturating_sub(before.decoded))?;
            times.push(duration);
            tables.ticks += u64::from(duration);
        }
        first_decoded.get_or_insert(timed.decoded);
        if has_offsets {
            let offset = timed.shown.saturating_sub(timed.decoded).saturating_add(delay);
            // Readers disagree about the highest bit.
            i32::try_from(offset).map_err(|_| WriteError::FileTiming { ticks: offset })?;
            offsets.push(ticks(offset)?);
        }
        tables.count += 1;
        if timed.sample.is_sync
            && let Some(syncs) = &mut tables.syncs
        {
            syncs.extend_from_slice(&tables.count.to_be_bytes());
        }
        tables.sizes.extend_from_slice(&timed.sample.size.to_be_bytes());
        if tables.chunks.is_empty() || timed.decoded.saturating_sub(chunk_began) >= chunk_ticks {
            chunk_began = timed.decoded;
            let at_us =
                i128::from(timed.decoded.saturating_add(file.start)) * 1_000_000 / i128::from(timescale);
            let at_us = i64::try_from(at_us).unwrap_or(i64::MAX);
            tables.chunks.push(UnplacedChunk {
                first: timed.number,
                end: timed.number,
                count: 0,
                len: 0,
                at_us,
            });
        }
        if let Some(chunk) = tables.chunks.last_mut() {
            chunk.end = timed.number + 1;
            chunk.count += 1;
            chunk.len += u64::from(timed.sample.size);
        }
    }
    let (Some(first_decoded), Some(last)) = (first_decoded, before) else {
        return Err(WriteError::NoSamples { number: 0 });
    };
    let duration = last.sample.duration.max(1);
    times.push(duration);
    tables.ticks += u64::from(duration);
    tables.times = times.finish();
    tables.offsets = offsets.finish();
    tables.sizes.shrink_to_fit();
    if tables.syncs.as_ref().is_some_and(|syncs| syncs.len() == tables.sizes.len()) {
        tables.syncs = None;
    }

    // Samples before 0 on the timeline of the track are decoded and not presented.
    let from = first_shown.max(0);
    let positive = |ticks: i64| u64::try_from(ticks).map_err(|_| WriteError::FileTiming { ticks });
    tables.start = positive(from.saturating_add(file.start).max(0))?;
    tables.media_time = positive(from.saturating_sub(first_decoded).saturating_add(delay))?;
    tables.duration = positive(file.track.end.saturating_sub(from).max(1))?;
    Ok(tables)
}

fn ticks(ticks: i64) -> Result<u32, WriteError> {
    u32::try_from(ticks).map_err(|_| WriteError::FileTiming { ticks })
}

/// A table of runs: (count, value).
#[derive(Debug, Default)]
struct RunLengths {
    bytes: Vec<u8>,
    last: Option<(u32, u32)>,
}

impl RunLengths {
    fn push(&mut self, value: u32) {
        match &mut self.last {
            Some((count, last)) if *last == value => *count += 1,
            _ => {
                self.flush();
                self.last = Some((1, value));
            }
        }
    }

    fn flush(&mut self) {
        if let Some((count, value)) = self.last.take() {
            self.bytes.extend_from_slice(&count.to_be_bytes());
            self.bytes.extend_from_slice(&value.to_be_bytes());
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.flush();
        self.bytes.shrink_to_fit();
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_one_table_entry() {
        let mut runs = RunLengths::default();
        [3, 3, 3, 7, 3].into_iter().for_each(|value| runs.push(value));
        let words: Vec<u32> =
            runs.finish().chunks(4).map(|word| u32::from_be_bytes(word.try_into().unwrap())).collect();
        assert_eq!(words, [3, 3, 1, 7, 1, 3]);
        assert!(RunLengths::default().finish().is_empty());
    }
}
