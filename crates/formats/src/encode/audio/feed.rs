//! What an encoder of sound reads: a small file of the packets around some segments, or of all from one on.

use std::{ops::Range, sync::Arc};

use super::{LEAD_S, LEAD_SAMPLES, cuts};
use crate::{
    encode::feed::{FRAME_HEAD_LEN, FeedChunk, FeedChunks, FeedError, FeedFormat, header},
    index::{Index, SampleTable},
    matroska::feed_frame,
    mp4::write::{Entry, FLAGS_SYNC, write_head},
    plan::{ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE},
};

/// Packets from this long before the first frame are fed: two frames of lead, what a resampler needs, 80 ms for Opus (RFC 7845, 4.6), and the bits that a
/// frame of MP3 keeps in those before it.
const BEFORE_MS: i64 = 400;
/// Packets until this long after the last frame are fed: two frames of lead, and what a resampler looks ahead.
const AFTER_MS: i64 = 150;

/// The packets of an audio track around some frames, as a file for an encoder.
///
/// Cheap to clone, and tied to no borrowed index. Same arguments, same bytes.
#[derive(Debug, Clone)]
pub struct AudioFeed {
    table: SampleTable,
    packets: Range<u32>,
    timescale: u32,
    /// Added to a time of the source to get that of the feed, in ticks of the source.
    shift: i64,
    header: Arc<[u8]>,
    format: FeedFormat,
    frames: Range<u64>,
    is_silent: bool,
}

impl AudioFeed {
    /// The feed of some segments of the encoded rendition of an audio track, counted from 0 in the order of the source.
    ///
    /// Errors: all but [`FeedError::Bytes`].
    pub fn of_segments(index: &Index, audio: usize, numbers: Range<u32>) -> Result<Self, FeedError> {
        let none = || FeedError::NoSuchSegments { numbers: numbers.clone() };
        let ends = cuts(index, audio).and_then(|cuts| {
            let (from, to) = (cuts.get(numbers.start as usize)?, cuts.get(numbers.end as usize)?);
            (from < to).then_some(*from..*to)
        });
        Self::begin(index, audio, ends.ok_or_else(none)?, false).ok_or_else(none)?
    }

    /// The feed of all segments from number `first` on, for an encoder that goes on to the end.
    ///
    /// Errors: as [`AudioFeed::of_segments`].
    pub fn of_rest(index: &Index, audio: usize, first: u32) -> Result<Self, FeedError> {
        let none = || FeedError::NoSuchSegments { numbers: first..first.saturating_add(1) };
        let ends = cuts(index, audio).and_then(|cuts| {
            let (from, to) = (cuts.get(first as usize)?, cuts.last()?);
            (from < to).then_some(*from..*to)
        });
        Self::begin(index, audio, ends.ok_or_else(none)?, true).ok_or_else(none)?
    }

    fn begin(
        index: &Index,
        audio: usize,
        frames: Range<u64>,
        is_to_end: bool,
    ) -> Option<Result<Self, FeedError>> {
        let (track, _) = index.audio_tracks().nth(audio).filter(|(track, _)| 0 < track.timescale)?;
        let ticks = |frame: u64, more_ms: i64| {
            let samples = i128::from(frame) * i128::from(ENCODED_AUDIO_FRAME) * i128::from(track.timescale);
            let more = i128::from(more_ms) * i128::from(track.timescale) / 1000;
            let ticks = samples / i128::from(ENCODED_AUDIO_RATE) + more - i128::from(track.shift);
            i64::try_from(ticks).unwrap_or(i64::MAX)
        };
        let len = track.samples.len();
        let at = |ticks: i64| track.samples.first_at_or_after_pts(ticks).unwrap_or(len);
        // The packet that sounds at an instant begins before it.
        let from = at(ticks(frames.start, -BEFORE_MS)).saturating_sub(1);
        let to = if is_to_end { len } else { at(ticks(frames.end, AFTER_MS)) };
        let shift = track.shift.saturating_add(LEAD_S * i64::from(track.timescale));
        // What lies further before 0 is not heard and has no place.
        let first = track.samples.first_at_or_after_pts(shift.saturating_neg()).unwrap_or(len);
        let packets = from.max(first).min(to)..to;
        let begins = track.samples.get(packets.start).filter(|_| !packets.is_empty());
        let is_silent = begins.is_none_or(|packet| !is_to_end && ticks(frames.end, 0) <= packet.pts);
        let built = header(track).map(|(format, header)| Self {
            table: track.samples.clone(),
            packets,
            timescale: track.timescale,
            shift,
            header: header.into(),
            format,
            frames,
            is_silent,
        });
        Some(built)
    }

    /// Nothing sounds before the last frame: an encoder would have nothing to begin with.
    pub fn is_silent(&self) -> bool {
        self.is_silent
    }

    /// What the bytes are packed in.
    pub fn format(&self) -> FeedFormat {
        self.format
    }

    /// Where the frames lie in the feed, in samples at 48 kHz.
    pub fn positions(&self) -> Range<u64> {
        let position = |frame: u64| LEAD_SAMPLES + frame * u64::from(ENCODED_AUDIO_FRAME);
        position(self.frames.start)..position(self.frames.end)
    }

    /// What comes in front of all chunks.
    pub fn header(&self) -> Vec<u8> {
        self.header.to_vec()
    }

    /// The chunks in order. The iterator borrows nothing.
    pub fn chunks(&self) -> FeedChunks {
        FeedChunks { table: self.table.clone(), rest: self.packets.clone() }
    }

    /// The bytes of the feed for one of its chunks. `bytes` are those of its ranges, one behind the other.
    ///
    /// Errors: [`FeedError::Bytes`], and [`FeedError::Sample`] for times no file can say.
    pub fn wrap(&self, chunk: &FeedChunk, bytes: &[u8]) -> Result<Vec<u8>, FeedError> {
        if u64::try_from(bytes.len()) != Ok(chunk.len) {
            return Err(FeedError::Bytes { given: bytes.len(), expected: chunk.len });
        }
        match self.format {
            FeedFormat::Mp4 => self.fragment(chunk, bytes),
            FeedFormat::Matroska => self.blocks(chunk, bytes),
        }
    }

    fn fragment(&self, chunk: &FeedChunk, bytes: &[u8]) -> Result<Vec<u8>, FeedError> {
        let mut entries: Vec<Entry> = Vec::with_capacity(chunk.samples.len());
        let mut begun = None;
        let mut before = 0;
        for (number, packet) in chunk.samples.clone().zip(self.table.range(chunk.samples.clone())) {
            let at = packet.pts.saturating_add(self.shift);
            if let Some(last) = entries.last_mut() {
                last.duration = u32::try_from(at.saturating_sub(before)).map_err(|_| FeedError::Sample {
                    number,
                    what: "it sounds before the one in front, or hours after it",
                })?;
            }
            entries.push(Entry {
                duration: packet.duration,
                size: packet.size,
                flags: FLAGS_SYNC,
                composition_offset: 0,
            });
            begun = begun.or(u64::try_from(at).ok());
            before = at;
        }
        let begun =
            begun.ok_or(FeedError::Sample { number: chunk.samples.start, what: "it is not there" })?;
        let mut fed = write_head(chunk.samples.start, begun, &entries, chunk.len);
        fed.extend_from_slice(bytes);
        Ok(fed)
    }

    fn blocks(&self, chunk: &FeedChunk, bytes: &[u8]) -> Result<Vec<u8>, FeedError> {
        let mut fed = Vec::with_capacity(bytes.len() + FRAME_HEAD_LEN * chunk.samples.len());
        let mut rest = bytes;
        for (number, packet) in chunk.samples.clone().zip(self.table.range(chunk.samples.clone())) {
            let wrong = |what| FeedError::Sample { number, what };
            let (own, after) =
                rest.split_at_checked(packet.size as usize).ok_or_else(|| wrong("it is not there"))?;
            rest = after;
            let ticks = i128::from(packet.pts.saturating_add(self.shift));
            let time_us =
                (ticks * 2_000_000 + i128::from(self.timescale)).div_euclid(2 * i128::from(self.timescale));
            let time_us = u64::try_from(time_us).map_err(|_| wrong("it sounds long before all others"))?;
            feed_frame(&mut fed, time_us, true, own);
        }
        Ok(fed)
    }
}
