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
    pub(super) durations: Vec<u8>,
    /// `ctts`: runs of composition offsets, none negative; empty if all are 0.
    pub(super) composition_offsets: Vec<u8>,
    /// `stss`: numbers of the sync samples, from 1; `None` if all samples are.
    pub(super) syncs: Option<Vec<u8>>,
    /// `stsz`: sizes.
    pub(super) sizes: Vec<u8>,
    /// Number of samples.
    pub(super) count: u32,
    /// Sum of all durations, in ticks.
    pub(super) media_duration: u64,
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
                            decode_time: sample.dts.saturating_add(track.shift),
                            presentation_time: presented_at(track, &sample),
                            sample,
                        }
                    })
                };
                build_tables(file, samples(), samples())
            }
            // Audio is presented in decode order.
            TrackMedia::Audio(audio) => {
                let samples = || {
                    packets(track, audio, range.clone()).map(|(number, sample)| {
                        let at = presented_at(track, &sample);
                        TimedSample { number, decode_time: at, presentation_time: at, sample }
                    })
                };
                build_tables(file, samples(), samples())
            }
        }
    }
}

/// A sample with its times on the timeline of its track.
#[derive(Debug, Clone, Copy)]
struct TimedSample {
    number: u32,
    decode_time: i64,
    presentation_time: i64,
    sample: Sample,
}

fn build_tables(
    file: &FileTrack<'_>,
    first_pass: impl Iterator<Item = TimedSample>,
    samples: impl Iterator<Item = TimedSample>,
) -> Result<TrackTables, WriteError> {
    let (mut composition_shift, mut first_presentation_time, mut has_offsets) = (0, i64::MAX, false);
    for TimedSample { decode_time, presentation_time, .. } in first_pass {
        composition_shift = composition_shift.max(decode_time.saturating_sub(presentation_time));
        first_presentation_time = first_presentation_time.min(presentation_time);
        has_offsets |= decode_time != presentation_time;
    }

    let timescale = i64::from(file.track.timescale.max(1));
    let chunk_ticks = (CHUNK_US * timescale / 1_000_000).max(1);
    let (mut durations, mut composition_offsets) = (RunLengths::default(), RunLengths::default());
    let mut tables = TrackTables {
        sizes: Vec::with_capacity(file.samples.len() * 4),
        syncs: Some(Vec::new()),
        ..TrackTables::default()
    };
    let (mut first_decode_time, mut before) = (None, None::<TimedSample>);
    let mut chunk_began = 0;
    for timed in samples {
        if let Some(before) = before.replace(timed) {
            let duration = ticks_u32(timed.decode_time.saturating_sub(before.decode_time))?;
            durations.push(duration);
            tables.media_duration += u64::from(duration);
        }
        first_decode_time.get_or_insert(timed.decode_time);
        if has_offsets {
            let offset =
                timed.presentation_time.saturating_sub(timed.decode_time).saturating_add(composition_shift);
            // Readers disagree about the highest bit.
            i32::try_from(offset).map_err(|_| WriteError::FileTiming { ticks: offset })?;
            composition_offsets.push(ticks_u32(offset)?);
        }
        tables.count += 1;
        if timed.sample.is_sync
            && let Some(syncs) = &mut tables.syncs
        {
            syncs.extend_from_slice(&tables.count.to_be_bytes());
        }
        tables.sizes.extend_from_slice(&timed.sample.size.to_be_bytes());
        if tables.chunks.is_empty() || timed.decode_time.saturating_sub(chunk_began) >= chunk_ticks {
            chunk_began = timed.decode_time;
            let at_us =
                i128::from(timed.decode_time.saturating_add(file.start)) * 1_000_000 / i128::from(timescale);
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
    let (Some(first_decoded), Some(last)) = (first_decode_time, before) else {
        return Err(WriteError::NoSamples { number: 0 });
    };
    let duration = last.sample.duration.max(1);
    durations.push(duration);
    tables.media_duration += u64::from(duration);
    tables.durations = durations.finish();
    tables.composition_offsets = composition_offsets.finish();
    tables.sizes.shrink_to_fit();
    if tables.syncs.as_ref().is_some_and(|syncs| syncs.len() == tables.sizes.len()) {
        tables.syncs = None;
    }

    // Samples before 0 on the timeline of the track are decoded and not presented.
    let from = first_presentation_time.max(0);
    let non_negative = |ticks: i64| u64::try_from(ticks).map_err(|_| WriteError::FileTiming { ticks });
    tables.start = non_negative(from.saturating_add(file.start).max(0))?;
    tables.media_time = non_negative(from.saturating_sub(first_decoded).saturating_add(composition_shift))?;
    tables.duration = non_negative(file.track.end.saturating_sub(from).max(1))?;
    Ok(tables)
}

fn ticks_u32(ticks: i64) -> Result<u32, WriteError> {
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
