//! The chunks of a file and their order.

use std::ops::Range;

use kinora_index::{Track, TrackMedia, plan::packets};

use super::tables::TrackTables;
use crate::write::ByteRange;
use crate::write::segment_head::SamplePayload;

/// Duration of one chunk, as in common writers: a player that reads ahead buffers little of the other track.
pub(super) const CHUNK_US: i64 = 500_000;

/// Consecutive samples of one track in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// First byte in the file.
    pub(super) position: u64,
    /// First sample, by its number in the track.
    pub(super) first: u32,
    /// The sample after the last one.
    pub(super) end: u32,
    /// Index of the track.
    pub(super) track: u8,
}

/// A chunk without a position.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnplacedChunk {
    /// First sample.
    pub(super) first: u32,
    /// The sample after the last one.
    pub(super) end: u32,
    /// How many of these are in the file.
    pub(super) count: u32,
    /// Length in bytes.
    pub(super) len: u64,
    /// Decode time of the first one, in microseconds of the file.
    pub(super) at_us: i64,
}

impl Chunk {
    /// The byte ranges for a part of the chunk, in the object of its track; `part` counts from the start of
    /// the chunk.
    pub(super) fn ranges(&self, track: &Track, part: Range<u64>) -> Vec<ByteRange> {
        let mut payload = SamplePayload::default();
        match &track.media {
            TrackMedia::Video(_) => {
                track.samples.range(self.first..self.end).for_each(|sample| payload.push(&sample));
            }
            TrackMedia::Audio(audio) => {
                packets(track, audio, self.first..self.end).for_each(|(_, packet)| payload.push(&packet));
            }
        }
        let mut position = 0;
        let mut ranges = Vec::with_capacity(payload.ranges.len());
        for range in payload.ranges {
            let from = part.start.saturating_sub(position).min(range.len);
            let to = part.end.saturating_sub(position).min(range.len);
            if from < to {
                ranges.push(ByteRange { offset: range.offset + from, len: to - from, ..range });
            }
            position += range.len;
        }
        ranges
    }
}

/// The chunks of all tracks in file order, sorted by decode time, with positions relative to the first; and
/// their total length in bytes.
pub(super) fn interleaved(parts: &[TrackTables]) -> (Vec<Chunk>, u64) {
    let mut next = vec![0; parts.len()];
    let mut chunks = Vec::with_capacity(parts.iter().map(|part| part.chunks.len()).sum());
    let mut position = 0;
    loop {
        let waiting = parts.iter().enumerate().filter_map(|(track, part)| {
            part.chunks.get(next[track]).map(|chunk| (chunk.at_us, track, *chunk))
        });
        let Some((_, track, chunk)) = waiting.min_by_key(|(at, track, _)| (*at, *track)) else {
            return (chunks, position);
        };
        next[track] += 1;
        // A file has few tracks.
        let number = u8::try_from(track).unwrap_or(u8::MAX);
        chunks.push(Chunk { position, first: chunk.first, end: chunk.end, track: number });
        position += chunk.len;
    }
}
