//! Which samples lie together, and in which order.

use std::ops::Range;

use kinora_index::{Track, TrackMedia, plan::packets};

use super::tables::Tables;
use crate::write::ByteRange;
use crate::write::head::Payload;

/// Time of one chunk, as common writers have it: players that read ahead of what they show need hold no more
/// of the other track.
pub(super) const CHUNK_US: i64 = 500_000;

/// Samples of one track that lie together in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chunk {
    /// First byte in the file.
    pub(super) position: u64,
    /// First sample, as the track counts them.
    pub(super) first: u32,
    /// The sample behind the last one.
    pub(super) end: u32,
    /// Which track.
    pub(super) track: u8,
}

/// A chunk that has no place yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loose {
    /// First sample.
    pub(super) first: u32,
    /// The sample behind the last one.
    pub(super) end: u32,
    /// How many of these are sent.
    pub(super) count: u32,
    /// Bytes.
    pub(super) len: u64,
    /// When the first one is decoded, in microseconds of the file.
    pub(super) at_us: i64,
}

impl Chunk {
    /// Where the bytes of a part of it lie in the object of its track; the part counts from its own start.
    pub(super) fn ranges(&self, track: &Track, part: Range<u64>) -> Vec<ByteRange> {
        let mut payload = Payload::default();
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

/// The chunks of all tracks in the order of the file, by when they are decoded, with places that count from
/// the first; and the length of all of them.
pub(super) fn interleaved(parts: &[Tables]) -> (Vec<Chunk>, u64) {
    let mut next = vec![0; parts.len()];
    let mut order = Vec::with_capacity(parts.iter().map(|part| part.chunks.len()).sum());
    let mut position = 0;
    loop {
        let waiting = parts.iter().enumerate().filter_map(|(track, part)| {
            part.chunks.get(next[track]).map(|chunk| (chunk.at_us, track, *chunk))
        });
        let Some((_, track, chunk)) = waiting.min_by_key(|(at, track, _)| (*at, *track)) else {
            return (order, position);
        };
        next[track] += 1;
        // A file has few tracks.
        let number = u8::try_from(track).unwrap_or(u8::MAX);
        order.push(Chunk { position, first: chunk.first, end: chunk.end, track: number });
        position += chunk.len;
    }
}
