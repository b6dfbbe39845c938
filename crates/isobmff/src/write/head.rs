//! Heads of media segments: a `moof` and the header of the `mdat`, in front of byte ranges of the objects in
//! which the samples lie.

use std::ops::Range;

use kinora_index::{
    AudioTrack, Index, Sample, Segment, Timeline, Track, TrackMedia,
    plan::{packets, packets_before, presented_at, silent_packet},
    timing::{Span, Stamp, TimingError, restamp},
};

use super::bytes::Boxes;
use super::{ByteRange, TRACK_ID, WriteError};

/// A segment that can be sent: some bytes, then ranges of objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentHead {
    /// Everything in front of the first sample of the source: boxes, and silence where a late track has not
    /// begun.
    pub bytes: Vec<u8>,
    /// The samples, in the order they are sent; what is adjacent in the source is one range.
    pub ranges: Vec<ByteRange>,
    /// Length of the whole segment: head and ranges.
    pub total_len: u64,
}

impl SegmentHead {
    /// The pieces of a part of the segment: which bytes of the head, then which ranges of the source.
    ///
    /// Positions count from the start of the segment; what lies past its end is left out.
    pub fn part(&self, wanted: Range<u64>) -> (Range<usize>, Vec<ByteRange>) {
        let head = |position: u64| usize::try_from(position).unwrap_or(usize::MAX).min(self.bytes.len());
        let mut ranges = Vec::new();
        let mut position = self.bytes.len() as u64;
        for range in &self.ranges {
            let from = wanted.start.saturating_sub(position).min(range.len);
            let to = wanted.end.saturating_sub(position).min(range.len);
            if from < to {
                ranges.push(ByteRange { offset: range.offset + from, len: to - from, ..*range });
            }
            position += range.len;
        }
        (head(wanted.start)..head(wanted.end.max(wanted.start)), ranges)
    }
}

/// Bytes of a head without its samples' fields: `moof`, `mfhd`, `traf`, `tfhd`, `tfdt`, `trun` and a 64-bit
/// `mdat` header.
pub const HEAD_FIXED_MAX: u64 = 8 + 16 + 8 + 28 + 20 + 24 + 16;
/// Bytes a sample takes in a `trun`: duration, size, flags, composition offset.
pub const HEAD_SAMPLE_MAX: u64 = 16;

/// A bound of the length of a segment, without making its head. Looks at every sample of it.
pub fn segment_len_max(track: &Track, segment: &Segment) -> u64 {
    let mut count = u64::from(segment.samples.end.saturating_sub(segment.samples.start));
    let mut payload: u64 =
        track.samples.range(segment.samples.clone()).map(|sample| u64::from(sample.size)).sum();
    if let TrackMedia::Audio(audio) = track.media_at(segment.samples.start) {
        let silent = u64::from(packets_before(track, audio, segment).0);
        count += silent;
        payload += silent * silent_packet(audio).map_or(0, |(packet, _)| packet.len() as u64);
    }
    HEAD_FIXED_MAX + HEAD_SAMPLE_MAX * count + payload
}

/// Flags of a sample that depends on no other. ISO/IEC 14496-12, 8.8.3.1.
pub const FLAGS_SYNC: u32 = 0x0200_0000;
/// Flags of a sample that depends on others, and is not a sync sample.
pub const FLAGS_NOT_SYNC: u32 = 0x0101_0000;

// Fields of tfhd. ISO/IEC 14496-12, 8.8.7.
const TFHD_DURATION: u32 = 0x08;
const TFHD_SIZE: u32 = 0x10;
const TFHD_FLAGS: u32 = 0x20;
const TFHD_BASE_IS_MOOF: u32 = 0x02_0000;

// Fields of trun. ISO/IEC 14496-12, 8.8.8.
const TRUN_DATA_OFFSET: u32 = 0x01;
const TRUN_FIRST_FLAGS: u32 = 0x04;
const TRUN_DURATION: u32 = 0x100;
const TRUN_SIZE: u32 = 0x200;
const TRUN_FLAGS: u32 = 0x400;
const TRUN_COMPOSITION_OFFSET: u32 = 0x800;

/// What a segment sends, sample by sample.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// Ticks until the next one is decoded.
    pub duration: u32,
    /// Bytes.
    pub size: u32,
    /// [`FLAGS_SYNC`] or [`FLAGS_NOT_SYNC`].
    pub flags: u32,
    /// Ticks from when it is decoded until it is shown.
    pub composition_offset: i32,
}

/// The head of segment `number` of a track, and where its samples lie in the source.
///
/// Same index, same head. Errors: [`WriteError::NoSuchSegment`] for a number the plan does not list; the
/// others mean a damaged index.
pub fn segment_head(index: &Index, track: &Track, number: u32) -> Result<SegmentHead, WriteError> {
    let segment = index.segments(track).get(number as usize).ok_or(WriteError::NoSuchSegment { number })?;
    let configuration = track.configuration_at(segment.samples.start);
    let timeline = Timeline::of_configuration(index, track, configuration);

    let mut payload = Payload::default();
    let (entries, decode_time) = match track.configuration(configuration) {
        TrackMedia::Video(_) => video_entries(track, segment, &timeline, &mut payload),
        TrackMedia::Audio(audio) => audio_entries(track, audio, segment, &timeline, &mut payload),
    }
    .map_err(|source| WriteError::Timing { number, source })?;
    if entries.is_empty() {
        return Err(WriteError::NoSamples { number });
    }

    let mut bytes = write_head(number, decode_time, &entries, payload.silence.len() as u64 + payload.len);
    bytes.extend_from_slice(&payload.silence);
    let total_len = bytes.len() as u64 + payload.len;
    Ok(SegmentHead { bytes, ranges: payload.ranges, total_len })
}

/// What the `mdat` holds.
#[derive(Debug, Default)]
pub struct Payload {
    /// Samples we make, in front of those of the source.
    silence: Vec<u8>,
    /// Where those of the source lie, adjacent ones joined.
    pub ranges: Vec<ByteRange>,
    /// Length of the ranges.
    pub len: u64,
}

impl Payload {
    /// Adds a sample behind the others.
    pub fn push(&mut self, sample: &Sample) {
        let len = u64::from(sample.size);
        self.len += len;
        match self.ranges.last_mut() {
            Some(last) if last.object == sample.object && last.end() == sample.offset => last.len += len,
            _ if len == 0 => {}
            _ => self.ranges.push(ByteRange { object: sample.object, offset: sample.offset, len }),
        }
    }
}

/// Video by the one rule for timestamps.
fn video_entries(
    track: &Track,
    segment: &Segment,
    timeline: &Timeline,
    payload: &mut Payload,
) -> Result<(Vec<Entry>, u64), TimingError> {
    let count = segment.samples.len();
    let mut presentation = Vec::with_capacity(count);
    let mut entries = Vec::with_capacity(count);
    for sample in track.samples.range(segment.samples.clone()) {
        payload.push(&sample);
        presentation.push(timeline.scaled(presented_at(track, &sample)));
        let flags = if sample.is_sync { FLAGS_SYNC } else { FLAGS_NOT_SYNC };
        entries.push(Entry { duration: 0, size: sample.size, flags, composition_offset: 0 });
    }
    if entries.is_empty() {
        return Ok((entries, 0));
    }
    let span = Span { start: timeline.scaled(segment.start), end: timeline.scaled(segment.end) };
    let stamps = restamp(&presentation, span, timeline.media_time)?;
    for (entry, Stamp { duration, composition_offset, .. }) in entries.iter_mut().zip(stamps) {
        entry.duration = duration;
        entry.composition_offset = composition_offset;
    }
    Ok((entries, decode_time(span.start)?))
}

/// Audio on its own clock: a packet lasts until the next one begins. Silence fills the wait for the first.
fn audio_entries(
    track: &Track,
    audio: &AudioTrack,
    segment: &Segment,
    timeline: &Timeline,
    payload: &mut Payload,
) -> Result<(Vec<Entry>, u64), TimingError> {
    let mut entries: Vec<Entry> = Vec::with_capacity(segment.samples.len());
    let mut begun = None;
    let mut before = segment.start;
    let (silent_count, silent_ticks) = packets_before(track, audio, segment);
    if let Some((packet, _)) = silent_packet(audio).filter(|_| 0 < silent_count) {
        let size = u32::try_from(packet.len()).expect("a silent packet has some bytes");
        payload.silence = packet.repeat(silent_count as usize);
        entries = vec![
            Entry { duration: silent_ticks, size, flags: FLAGS_SYNC, composition_offset: 0 };
            silent_count as usize
        ];
        begun = Some(segment.start);
        // The last one lasts until the first packet: what is left of a packet is its.
        before = segment.start.saturating_add(i64::from(silent_ticks) * i64::from(silent_count - 1));
    }
    for (_, packet) in packets(track, audio, segment.samples.clone()) {
        let at = presented_at(track, &packet);
        if let Some(entry) = entries.last_mut() {
            entry.duration = lasting(before, at)?;
        }
        begun.get_or_insert(at);
        payload.push(&packet);
        entries.push(Entry { duration: 0, size: packet.size, flags: FLAGS_SYNC, composition_offset: 0 });
        before = at;
    }
    let Some(last) = entries.last_mut() else { return Ok((entries, 0)) };
    last.duration = lasting(before, segment.end)?;
    let begun = begun.unwrap_or(segment.start).saturating_add(timeline.media_time);
    Ok((entries, decode_time(begun)?))
}

fn lasting(from: i64, to: i64) -> Result<u32, TimingError> {
    let ticks = to.saturating_sub(from);
    u32::try_from(ticks).map_err(|_| TimingError::TooLong { ticks })
}

fn decode_time(ticks: i64) -> Result<u64, TimingError> {
    u64::try_from(ticks).map_err(|_| TimingError::TooLong { ticks })
}

/// The value all entries share, if they do.
fn common<T: PartialEq>(entries: &[Entry], field: impl Fn(&Entry) -> T) -> Option<T> {
    let first = field(entries.first()?);
    entries.iter().all(|entry| field(entry) == first).then_some(first)
}

/// Writes `moof` and the header of `mdat`. `entries` is not empty.
pub fn write_head(number: u32, decode_time: u64, entries: &[Entry], payload_len: u64) -> Vec<u8> {
    let duration = common(entries, |entry| entry.duration);
    let size = common(entries, |entry| entry.size);
    // One keyframe in front of the rest is the usual segment: the rest is the default, the first one the
    // exception.
    let rest = if entries.len() == 1 { entries } else { &entries[1..] };
    let default_flags = common(rest, |entry| entry.flags);
    let has_first_flags = default_flags.is_some_and(|flags| flags != entries[0].flags);
    let has_offsets = entries.iter().any(|entry| entry.composition_offset != 0);

    let mut boxes = Boxes::with_capacity(HEAD_FIXED_MAX as usize + HEAD_SAMPLE_MAX as usize * entries.len());
    let mut data_offset_position = 0;
    boxes.boxed(b"moof", |boxes| {
        boxes.full_box(b"mfhd", 0, 0, |boxes| boxes.u32(number.saturating_add(1)));
        boxes.boxed(b"traf", |boxes| {
            let flags = TFHD_BASE_IS_MOOF
                | if duration.is_some() { TFHD_DURATION } else { 0 }
                | if size.is_some() { TFHD_SIZE } else { 0 }
                | if default_flags.is_some() { TFHD_FLAGS } else { 0 };
            boxes.full_box(b"tfhd", 0, flags, |boxes| {
                boxes.u32(TRACK_ID);
                [duration, size, default_flags].into_iter().flatten().for_each(|value| boxes.u32(value));
            });
            boxes.full_box(b"tfdt", 1, 0, |boxes| boxes.u64(decode_time));
            let flags = TRUN_DATA_OFFSET
                | if has_first_flags { TRUN_FIRST_FLAGS } else { 0 }
                | if duration.is_none() { TRUN_DURATION } else { 0 }
                | if size.is_none() { TRUN_SIZE } else { 0 }
                | if default_flags.is_none() { TRUN_FLAGS } else { 0 }
                | if has_offsets { TRUN_COMPOSITION_OFFSET } else { 0 };
            boxes.full_box(b"trun", 1, flags, |boxes| {
                boxes.u32(u32::try_from(entries.len()).expect("a plan counts samples in 32 bits"));
                data_offset_position = boxes.len();
                boxes.u32(0);
                if has_first_flags {
                    boxes.u32(entries[0].flags);
                }
                for entry in entries {
                    run_entry(boxes, entry, flags);
                }
            });
        });
    });
    media_data_header(&mut boxes, payload_len);
    let data_offset = u32::try_from(boxes.len()).expect("16 bytes a sample, and the plan limits the samples");
    boxes.patch_u32(data_offset_position, data_offset);
    boxes.finish()
}

fn run_entry(boxes: &mut Boxes, entry: &Entry, flags: u32) {
    if flags & TRUN_DURATION != 0 {
        boxes.u32(entry.duration);
    }
    if flags & TRUN_SIZE != 0 {
        boxes.u32(entry.size);
    }
    if flags & TRUN_FLAGS != 0 {
        boxes.u32(entry.flags);
    }
    if flags & TRUN_COMPOSITION_OFFSET != 0 {
        boxes.i32(entry.composition_offset);
    }
}

/// A size of 1 says that the real one follows in 64 bits. ISO/IEC 14496-12, 4.2.
pub(super) fn media_data_header(boxes: &mut Boxes, payload_len: u64) {
    match u32::try_from(payload_len.saturating_add(8)) {
        Ok(size) => {
            boxes.u32(size);
            boxes.raw(b"mdat");
        }
        Err(_) => {
            boxes.u32(1);
            boxes.raw(b"mdat");
            boxes.u64(payload_len.saturating_add(16));
        }
    }
}
