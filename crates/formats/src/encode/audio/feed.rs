//! The input of an audio encoder: a small file with the packets of some segments, or of all from one on.

use std::{ops::Range, sync::Arc};

use kinora_index::{
    ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, EditSpan, Index, Sample, SampleTable, Track, TrackMedia,
};
use kinora_isobmff::write::{FLAGS_SYNC, TrunEntry, write_head};
use kinora_matroska::{FeedFrame, write_feed_frame};

use super::{LEAD_S, LEAD_SAMPLES, MARGIN_SAMPLES, cuts, encoded_audio_segment_count};
use crate::encode::feed::{FRAME_HEAD_LEN, FeedChunk, FeedChunks, FeedError, FeedFormat, header};

/// Packets from this long before the first frame are fed: for two frames of overlap, the look-behind of a
/// resampler, 80 ms of Opus (RFC 7845, 4.6), and the bit reservoir of MP3.
const INPUT_BEFORE_MS: i64 = 400;
/// Packets until this long after the last frame are fed: for two frames of overlap, and the look-ahead of
/// a resampler.
const INPUT_AFTER_MS: i64 = 150;

/// A longer pause ends a feed. An encoder writes the silence of a whole pause at once, about half a MB per
/// second. D-0054.
const PAUSE_MAX_S: i64 = 30;
/// Maximum duration of a packet: FLAC has at most 65,535 samples, at 8 kHz or more. If the container says
/// more, the rest is a pause after the packet.
const PACKET_MAX_S: i64 = 10;
/// Frames on both sides of a cut whose windows contain samples of it.
const OVERLAP_FRAMES: u64 = 2;

/// The packets of an audio track for some frames, as a file for an encoder.
///
/// Cheap to clone, and borrows no index. Same arguments, same bytes.
#[derive(Debug, Clone)]
pub struct AudioFeed {
    table: SampleTable,
    packets: Range<u32>,
    timescale: u32,
    /// Added to a time of the source for that of the feed, in ticks of the source.
    shift: i64,
    header: Arc<[u8]>,
    format: FeedFormat,
    numbers: Range<u32>,
    frames: Range<u64>,
    /// `frames`, and those of the lead before them.
    read: Range<u64>,
    heard: Range<u64>,
    channels: u32,
}

impl AudioFeed {
    /// The feeds of some segments of the encoded rendition of an audio track, counted from 0 in the order of
    /// the source: one for each part of the presentation that is heard in them, in order. Empty if
    /// nothing is heard: an encoder would have no input.
    ///
    /// Errors: all but [`FeedError::Bytes`].
    pub fn of_segments(
        index: &Index,
        audio_number: usize,
        numbers: Range<u32>,
    ) -> Result<Vec<Self>, FeedError> {
        Self::of_segments_with_lead(index, audio_number, numbers, 0)
    }

    /// As [`AudioFeed::of_segments`], with `lead` more frames before the segments, for a filter that
    /// needs earlier samples.
    ///
    /// Errors: all but [`FeedError::Bytes`].
    pub fn of_segments_with_lead(
        index: &Index,
        audio_number: usize,
        numbers: Range<u32>,
        lead: u64,
    ) -> Result<Vec<Self>, FeedError> {
        let none = || FeedError::NoSuchSegments { numbers: numbers.clone() };
        let frames = frames(index, audio_number, &numbers).ok_or_else(none)?;
        let track = track(index, audio_number).ok_or_else(none)?;
        let read = with_lead(&frames, lead);
        let windows = || track.edit_spans().map(|span| FeedWindow { track, span });
        // Audio of the lead alone is not heard.
        if !windows().any(|window| window.is_audible(window.packets(&frames), &frames)) {
            return Ok(Vec::new());
        }
        let feeds = windows().filter_map(|window| {
            let packets = window.packets(&read);
            let is_heard = window.is_audible(packets.clone(), &read);
            is_heard.then(|| window.feed(numbers.clone(), frames.clone(), read.clone(), packets))
        });
        feeds.collect()
    }

    /// The feed of segment `first` and the following ones, for an encoder that continues to the end of the
    /// track, to a long pause in it, or to the end of its part: [`numbers`](Self::numbers) has the segments.
    ///
    /// Errors: as [`AudioFeed::of_segments`]; [`FeedError::AcrossEditPoint`] if several parts are heard in
    /// the first segment.
    pub fn of_segments_from(index: &Index, audio_number: usize, first: u32) -> Result<Self, FeedError> {
        Self::of_segments_from_with_lead(index, audio_number, first, 0)
    }

    /// As [`AudioFeed::of_segments_from`], with `lead` more frames before the first segment.
    ///
    /// Errors: as for it; [`FeedError::AcrossEditPoint`] also if another part is heard in the lead.
    pub fn of_segments_from_with_lead(
        index: &Index,
        audio_number: usize,
        first: u32,
        lead: u64,
    ) -> Result<Self, FeedError> {
        let none = || FeedError::NoSuchSegments { numbers: first..first.saturating_add(1) };
        let count = encoded_audio_segment_count(index, audio_number);
        let track = track(index, audio_number).ok_or_else(none)?;
        let first_frames = frames(index, audio_number, &(first..first.saturating_add(1))).ok_or_else(none)?;
        let mut windows = track.edit_spans().map(|span| FeedWindow { track, span });
        let window = windows
            .find(|window| window.is_alone(&with_lead(&first_frames, lead)))
            .ok_or(FeedError::AcrossEditPoint { numbers: first..first.saturating_add(1) })?;
        let numbers = first..Self::run_end(index, audio_number, first..count);
        let rest = frames(index, audio_number, &numbers).ok_or_else(none)?;
        let packets = window.packets(&with_lead(&rest, lead)).start..window.span.samples.end;
        let cuts = cuts(index, audio_number).unwrap_or_default();
        let cuts = cuts.get(..=numbers.end as usize).unwrap_or(cuts);
        let (packets, end) = window.until_pause(packets, first, cuts);
        let numbers = first..end;
        let frames = frames(index, audio_number, &numbers).ok_or_else(none)?;
        let read = with_lead(&frames, lead);
        window.feed(numbers, frames, read, packets)
    }

    /// The end of the first run of these segments. A run is of one part, or a single segment next to a
    /// joint, in which several parts are heard.
    pub fn run_end(index: &Index, audio_number: usize, numbers: Range<u32>) -> u32 {
        let after_first = numbers.start.saturating_add(1).min(numbers.end);
        let Some(track) = track(index, audio_number).filter(|track| !track.edit_points.is_empty()) else {
            return numbers.end;
        };
        let is_alone = |window: &FeedWindow<'_>, number: u32| {
            frames(index, audio_number, &(number..number.saturating_add(1)))
                .is_some_and(|frames| window.is_alone(&frames))
        };
        let mut windows = track.edit_spans().map(|span| FeedWindow { track, span });
        let Some(window) = windows.find(|window| is_alone(window, numbers.start)) else { return after_first };
        (after_first..numbers.end).find(|number| !is_alone(&window, *number)).unwrap_or(numbers.end)
    }

    /// The segments in the feed.
    pub fn numbers(&self) -> Range<u32> {
        self.numbers.clone()
    }

    /// The frame in which the last packet begins. If the output of an encoder ends long before this frame, it
    /// was cut short.
    pub fn audible_end(&self) -> u64 {
        let last = self.packets.end.checked_sub(1).filter(|_| !self.packets.is_empty());
        let Some(last) = last.and_then(|last| self.table.get(last)) else { return 0 };
        let ticks = last.pts.saturating_add(self.shift) - LEAD_S * i64::from(self.timescale);
        let samples = i128::from(ticks) * i128::from(ENCODED_AUDIO_RATE) / i128::from(self.timescale);
        let frame = u64::try_from(samples / i128::from(ENCODED_AUDIO_FRAME)).unwrap_or(0);
        frame.min(self.frames.end)
    }

    /// The samples of the feed that are heard, as positions in it. They lie in the segments, in the lead and
    /// in the [`MARGIN_SAMPLES`] on both sides of them.
    pub fn heard(&self) -> Range<u64> {
        self.heard.clone()
    }

    /// Whether no other part is heard in its segments and on both sides of them.
    pub fn is_alone(&self) -> bool {
        self.heard == with_margins(&self.read)
    }

    /// Number of channels of its packets.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// The container of the bytes.
    pub fn format(&self) -> FeedFormat {
        self.format
    }

    /// The positions of the frames in the feed, in samples at 48 kHz.
    pub fn positions(&self) -> Range<u64> {
        position(self.frames.start)..position(self.frames.end)
    }

    /// As [`positions`](Self::positions), with the frames of the lead.
    pub fn positions_with_lead(&self) -> Range<u64> {
        position(self.read.start)..position(self.read.end)
    }

    /// The bytes before all chunks.
    pub fn header(&self) -> Vec<u8> {
        self.header.to_vec()
    }

    /// The chunks in order. The iterator borrows nothing.
    pub fn chunks(&self) -> FeedChunks {
        FeedChunks { table: self.table.clone(), rest: self.packets.clone() }
    }

    /// The bytes of the feed for one of its chunks. `bytes` are the concatenated bytes of its ranges.
    ///
    /// Errors: [`FeedError::Bytes`], and [`FeedError::Sample`] for times that no file can represent.
    pub fn wrap(&self, chunk: &FeedChunk, bytes: &[u8]) -> Result<Vec<u8>, FeedError> {
        if u64::try_from(bytes.len()) != Ok(chunk.len) {
            return Err(FeedError::Bytes { given: bytes.len(), expected: chunk.len });
        }
        match self.format {
            FeedFormat::Mp4 => self.fragment(chunk, bytes),
            FeedFormat::Matroska => self.matroska_blocks(chunk, bytes),
        }
    }

    fn fragment(&self, chunk: &FeedChunk, bytes: &[u8]) -> Result<Vec<u8>, FeedError> {
        let mut entries: Vec<TrunEntry> = Vec::with_capacity(chunk.samples.len());
        let mut decode_time = None;
        let mut before = 0;
        for (number, packet) in chunk.samples.clone().zip(self.table.range(chunk.samples.clone())) {
            let at = packet.pts.saturating_add(self.shift);
            if let Some(last) = entries.last_mut() {
                last.duration = u32::try_from(at.saturating_sub(before)).map_err(|_| FeedError::Sample {
                    number,
                    what: "its time is before that of the previous one, or hours after it",
                })?;
            }
            entries.push(TrunEntry {
                duration: packet.duration,
                size: packet.size,
                flags: FLAGS_SYNC,
                composition_offset: 0,
            });
            decode_time = decode_time.or(u64::try_from(at).ok());
            before = at;
        }
        let base_decode_time =
            decode_time.ok_or(FeedError::Sample { number: chunk.samples.start, what: "it is not there" })?;
        let mut feed_bytes = write_head(chunk.samples.start, base_decode_time, &entries, chunk.len);
        feed_bytes.extend_from_slice(bytes);
        Ok(feed_bytes)
    }

    fn matroska_blocks(&self, chunk: &FeedChunk, bytes: &[u8]) -> Result<Vec<u8>, FeedError> {
        let mut feed_bytes = Vec::with_capacity(bytes.len() + FRAME_HEAD_LEN * chunk.samples.len());
        let mut rest = bytes;
        for (number, packet) in chunk.samples.clone().zip(self.table.range(chunk.samples.clone())) {
            let wrong = |what| FeedError::Sample { number, what };
            let (packet_bytes, after) =
                rest.split_at_checked(packet.size as usize).ok_or_else(|| wrong("it is not there"))?;
            rest = after;
            let ticks = i128::from(packet.pts.saturating_add(self.shift));
            let time_us =
                (ticks * 2_000_000 + i128::from(self.timescale)).div_euclid(2 * i128::from(self.timescale));
            let time_us =
                u64::try_from(time_us).map_err(|_| wrong("its time is long before that of all others"))?;
            write_feed_frame(
                &mut feed_bytes,
                FeedFrame { time_us, duration_us: None, is_key: true, bytes: packet_bytes },
            );
        }
        Ok(feed_bytes)
    }
}

/// The frames of some segments; `None` if the plan does not list them.
fn frames(index: &Index, audio_number: usize, numbers: &Range<u32>) -> Option<Range<u64>> {
    let cuts = cuts(index, audio_number)?;
    let (from, to) = (cuts.get(numbers.start as usize)?, cuts.get(numbers.end as usize)?);
    (from < to).then_some(*from..*to)
}

/// Frames with those of a lead, as far as the track has them.
fn with_lead(frames: &Range<u64>, lead: u64) -> Range<u64> {
    frames.start.saturating_sub(lead)..frames.end
}

/// The position of a frame in a feed.
fn position(frame: u64) -> u64 {
    LEAD_SAMPLES + frame * u64::from(ENCODED_AUDIO_FRAME)
}

/// The positions that an encoder of these frames reads.
fn with_margins(frames: &Range<u64>) -> Range<u64> {
    position(frames.start) - MARGIN_SAMPLES..position(frames.end) + MARGIN_SAMPLES
}

/// An audio track, counted from 0 in the order of the source.
fn track(index: &Index, audio_number: usize) -> Option<&Track> {
    index.audio_tracks().nth(audio_number).map(|(track, _)| track).filter(|track| 0 < track.timescale)
}

/// A part of a track, for conversions between its packets and the frames of the grid.
struct FeedWindow<'a> {
    track: &'a Track,
    span: EditSpan,
}

impl FeedWindow<'_> {
    /// The start of a frame plus `offset_ms`, in ticks of the source.
    fn ticks(&self, frame: u64, offset_ms: i64) -> i64 {
        let timescale = i128::from(self.track.timescale);
        let samples = i128::from(frame) * i128::from(ENCODED_AUDIO_FRAME) * timescale;
        let offset_ticks = i128::from(offset_ms) * timescale / 1000;
        let ticks = samples / i128::from(ENCODED_AUDIO_RATE) + offset_ticks - i128::from(self.track.shift);
        i64::try_from(ticks).unwrap_or(i64::MAX)
    }

    /// The end of a packet.
    fn packet_end(&self, packet: &Sample) -> i64 {
        let longest = PACKET_MAX_S * i64::from(self.track.timescale);
        packet.pts.saturating_add(i64::from(packet.duration).min(longest))
    }

    /// The position in a feed of a time of the source, rounded to the nearest; saturates at both ends.
    fn position_of(&self, pts: i64) -> u64 {
        let timescale = i128::from(self.track.timescale);
        let ticks = i128::from(pts) + i128::from(self.shift());
        let twice = 2 * ticks * i128::from(ENCODED_AUDIO_RATE) + timescale;
        u64::try_from(twice.div_euclid(2 * timescale).max(0)).unwrap_or(u64::MAX)
    }

    /// The positions among those of these frames, with margins, at which the part is heard; may be empty.
    fn heard(&self, frames: &Range<u64>) -> Range<u64> {
        let window = with_margins(frames);
        let shown = &self.span.shown;
        // Without an edit point the audio of a side is unbounded.
        let from = if shown.start == i64::MIN { 0 } else { self.position_of(shown.start) };
        let to = if shown.end == i64::MAX { u64::MAX } else { self.position_of(shown.end) };
        window.start.max(from)..window.end.min(to)
    }

    /// Whether no other part is heard in these frames and their margins.
    fn is_alone(&self, frames: &Range<u64>) -> bool {
        self.heard(frames) == with_margins(frames)
    }

    /// The first packet of the part at or after a time of the source.
    fn first_at_or_after(&self, pts: i64) -> u32 {
        let samples = &self.track.samples;
        if self.track.edit_points.is_empty() {
            return samples.first_at_or_after_pts(pts).unwrap_or(samples.len());
        }
        // Times are comparable inside one part only.
        let mut part = self.span.samples.clone().zip(samples.range(self.span.samples.clone()));
        part.find(|(_, packet)| pts <= packet.pts).map_or(self.span.samples.end, |(number, _)| number)
    }

    /// The packets that an encoder of these frames reads.
    fn packets(&self, frames: &Range<u64>) -> Range<u32> {
        let before = self.ticks(0, -INPUT_BEFORE_MS).saturating_sub(self.ticks(0, 0));
        let after = self.ticks(0, INPUT_AFTER_MS).saturating_sub(self.ticks(0, 0));
        let begin = self.ticks(frames.start, 0).max(self.span.shown.start).saturating_add(before);
        let end = self.ticks(frames.end, 0).min(self.span.shown.end).saturating_add(after);
        // The packet that is audible at an instant begins before it.
        let from = self.first_at_or_after(begin).saturating_sub(1).max(self.span.samples.start);
        let to = self.first_at_or_after(end);
        // Packets further before 0 are not presented and have no position.
        let first = self.first_at_or_after(self.shift().saturating_neg());
        from.max(first).min(to)..to
    }

    /// Whether some of these packets are heard in these frames.
    fn is_audible(&self, packets: Range<u32>, frames: &Range<u64>) -> bool {
        // The window of the last frame before a joint contains the beginning of the next part.
        let frames_after = u64::from(!self.track.edit_points.is_empty());
        let from = self.ticks(frames.start.saturating_sub(OVERLAP_FRAMES), 0).max(self.span.shown.start);
        let to = self.ticks(frames.end + frames_after, 0).min(self.span.shown.end);
        let heard = self.heard(frames);
        let is_audible = |packet: Sample| packet.pts < to && from < self.packet_end(&packet);
        from < to && heard.start < heard.end && self.track.samples.range(packets).any(is_audible)
    }

    /// Added to a time of the source for that of the feed.
    fn shift(&self) -> i64 {
        self.track.shift.saturating_add(LEAD_S * i64::from(self.track.timescale))
    }

    /// The packets from segment `first` on that precede a long pause, and the first segment without any of
    /// them. A segment with audio on both sides of a pause is not divided.
    fn until_pause(&self, packets: Range<u32>, first: u32, cuts: &[u64]) -> (Range<u32>, u32) {
        let last = u32::try_from(cuts.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let pause_max = PAUSE_MAX_S * i64::from(self.track.timescale);
        let (mut from, mut before) = (packets.start, None::<Sample>);
        for (number, packet) in packets.clone().zip(self.track.samples.range(packets.clone())) {
            let pause =
                before.replace(packet).filter(|before| pause_max < packet.pts.saturating_sub(before.pts));
            let Some(audible_end) = pause.map(|before| self.packet_end(&before)) else { continue };
            let is_over = |cut: &u64| audible_end <= self.ticks(cut.saturating_sub(OVERLAP_FRAMES), 0);
            let end = cuts.partition_point(|cut| !is_over(cut));
            if end <= first as usize {
                from = number; // it is over before
            } else if cuts.get(end).is_some_and(|cut| self.ticks(*cut, 0) <= packet.pts) {
                return (from..number, u32::try_from(end).unwrap_or(last));
            }
        }
        (from..packets.end, last)
    }

    fn feed(
        &self,
        numbers: Range<u32>,
        frames: Range<u64>,
        read: Range<u64>,
        packets: Range<u32>,
    ) -> Result<AudioFeed, FeedError> {
        let media = self.track.media_at(packets.start);
        let channels = match media {
            TrackMedia::Audio(audio) => audio.channels,
            TrackMedia::Video(_) => 0,
        };
        let (format, header) = header(self.track, media)?;
        let heard = self.heard(&read);
        Ok(AudioFeed {
            table: self.track.samples.clone(),
            packets,
            timescale: self.track.timescale,
            shift: self.shift(),
            header: header.into(),
            format,
            numbers,
            frames,
            read,
            heard,
            channels,
        })
    }
}
