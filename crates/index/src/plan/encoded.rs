//! Segments of encoded video, and the samples that a decoder needs for each.
//!
//! An encoded segment may begin at any frame: its decoder starts at the keyframe before. So keyframes are
//! only preferred, because they cost least. A frame belongs to a segment by its presentation time, in any
//! decode order. A segment ends where an edit list jumps: each is made of one edit span.

use std::{collections::VecDeque, ops::Range};

use super::{
    PlanError, SEGMENT_FIRST_TARGET_S, SEGMENT_MIN_S, SEGMENT_SAMPLES_MAX, SEGMENT_TARGET_S,
    SYNC_SAMPLES_EXACT_MAX, SYNC_SAMPLES_PER_SECOND_MAX, Segment, presented_at,
};
use crate::index::{Sample, Track};

/// Most samples that are decoded for one segment: ten minutes at 60 frames per second. D-0036.
pub const FEED_SAMPLES_MAX: u32 = 36_000;
/// Most bytes that are read for one segment: 4 s of uncompressed 4K take 3 GB. D-0036.
pub const FEED_BYTES_MAX: u64 = 4 << 30;

/// Cuts every encoded rendition of a video track: at the segments `copy` of its copy, or by its own rules
/// without a copy.
///
/// With even slightly different cuts, a player that switches to the copy would replace frames by others that
/// it cannot show before the next keyframe. D-0044. `track.timescale` is not 0. Each segment presents at
/// least one frame.
pub(crate) fn segments(track: &Track, copy: &[Segment]) -> Result<Vec<Segment>, PlanError> {
    if copy.is_empty() {
        segments_starting_at(track, &segment_starts(track)?)
    } else {
        segments_aligned_with_copy(track, copy)
    }
}

/// Segments with the start times of the copy.
pub(super) fn segments_aligned_with_copy(track: &Track, copy: &[Segment]) -> Result<Vec<Segment>, PlanError> {
    segments_starting_at(track, &copy.iter().map(|segment| segment.start).collect::<Vec<_>>())
}

/// A frame that can be decoded, and the samples it needs.
#[derive(Debug, Clone, Copy)]
struct DecodableFrame {
    /// Presentation time on the common timeline.
    at: i64,
    /// Whether it counts as a sync sample.
    is_key: bool,
    /// The sync sample to start at.
    from: SamplePosition,
    /// The position after its sample.
    end: SamplePosition,
}

/// A position among the samples of a track, in decode order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SamplePosition {
    number: u32,
    /// Bytes of all samples of its edit span before it.
    bytes: u64,
}

/// The frames that are presented before the end of the track, in decode order.
///
/// A frame presented before the keyframe it follows may need the GOP before. Frames without a keyframe to
/// start at are skipped. If no sample is marked as sync, the first one of each span counts as sync.
fn decodable_frames(track: &Track) -> impl Iterator<Item = DecodableFrame> + '_ {
    let has_keys = track.samples.iter().any(|sample| sample.is_sync);
    track.edit_spans().flat_map(move |span| {
        let mut position = SamplePosition { number: span.samples.start, bytes: 0 };
        let mut previous_key: Option<SamplePosition> = None;
        let mut key: Option<(SamplePosition, i64)> = None;
        let decodable = move |sample: Sample| {
            let at = presented_at(track, &sample);
            let start = position;
            position = SamplePosition {
                number: start.number + 1,
                bytes: start.bytes.saturating_add(u64::from(sample.size)),
            };
            let is_key = sample.is_sync || (!has_keys && start.number == span.samples.start);
            if is_key {
                previous_key = key.map(|(place, _)| place);
                key = Some((start, at));
            }
            let (key, key_at) = key?;
            let from = if at < key_at { previous_key? } else { key };
            let is_shown = at < track.end && span.shown.contains(&sample.pts);
            is_shown.then_some(DecodableFrame { at, is_key, from, end: position })
        };
        track.samples.range(span.samples.clone()).filter_map(decodable)
    })
}

/// A frame that is presented, and the samples that a decoder needs for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PresentedFrame {
    /// Presentation time on the common timeline.
    pub(crate) at: i64,
    /// From the sync sample to start at.
    pub(crate) samples: Range<u32>,
}

/// The frames that are presented before the end of the track, in decode order.
pub(crate) fn presented_frames(track: &Track) -> impl Iterator<Item = PresentedFrame> + '_ {
    decodable_frames(track)
        .map(|DecodableFrame { at, from, end, .. }| PresentedFrame { at, samples: from.number..end.number })
}

/// Presentation times of these frames, in order; each GOP is sorted separately.
///
/// Not strictly in order where GOPs overlap in time, which readers reject.
fn for_each_presentation_time(track: &Track, mut visit: impl FnMut(i64)) {
    let mut gop = Vec::new();
    for frame in decodable_frames(track) {
        if frame.is_key || SEGMENT_SAMPLES_MAX as usize <= gop.len() {
            gop.sort_unstable();
            gop.drain(..).for_each(&mut visit);
        }
        gop.push(frame.at);
    }
    gop.sort_unstable();
    gop.into_iter().for_each(visit);
}

/// Start times of segments without a copy: the first at 0, others wherever an edit list jumps.
fn segment_starts(track: &Track) -> Result<Vec<i64>, PlanError> {
    let first = decodable_frames(track).map(|frame| frame.at).min();
    let first = first.filter(|_| 0 < track.end).ok_or(PlanError::Empty { track: "video" })?;
    let jumps = track.edit_points.iter().map(|point| point.pts.saturating_add(track.shift));
    let mut chooser = StartChooser {
        second: i64::from(track.timescale),
        first,
        keys: keyframe_times(track, first),
        jumps: jumps.filter(|at| (1..track.end).contains(at)).collect(),
        end: track.end,
        starts: vec![0],
        span_start: 0,
        last_candidate: None,
    };
    chooser.push_keyframes();
    for_each_presentation_time(track, |at| chooser.push_frame(at));
    Ok(chooser.finish())
}

/// Presentation times of keyframes, in order, except the first frame. Empty if every frame is a keyframe:
/// then none is preferred.
///
/// Drops close ones if there are very many.
fn keyframe_times(track: &Track, first: i64) -> Vec<i64> {
    let distance_min = i64::from(track.timescale) / SYNC_SAMPLES_PER_SECOND_MAX;
    let mut keys: Vec<i64> = Vec::new();
    let mut are_all_keyframes = true;
    for frame in decodable_frames(track) {
        are_all_keyframes &= frame.is_key;
        let is_close = keys.last().is_some_and(|last| frame.at.saturating_sub(*last) < distance_min);
        if frame.is_key && first < frame.at && !(is_close && SYNC_SAMPLES_EXACT_MAX <= keys.len()) {
            keys.push(frame.at);
        }
    }
    if are_all_keyframes {
        return Vec::new();
    }
    keys.sort_unstable();
    keys
}

/// Chooses the start times of segments.
struct StartChooser {
    second: i64,
    /// Presentation time of the first frame.
    first: i64,
    keys: Vec<i64>,
    /// Edit list jumps, from here on.
    jumps: VecDeque<i64>,
    /// End of the track.
    end: i64,
    starts: Vec<i64>,
    /// Start of the current edit span.
    span_start: i64,
    /// The last frame before the target that could be the next start.
    last_candidate: Option<i64>,
}

impl StartChooser {
    /// Adds the next frame in presentation order.
    ///
    /// The frame nearest the target becomes a start, if no keyframe is near enough.
    fn push_frame(&mut self, at: i64) {
        while let Some(jump) = self.jumps.pop_front_if(|edit_point| *edit_point <= at) {
            self.join_tail(jump);
            self.span_start = jump;
            self.push_start(jump);
        }
        loop {
            let earliest = self.last().saturating_add(SEGMENT_MIN_S * self.second);
            if at <= self.first || at < earliest {
                return;
            }
            let target = self.last().saturating_add(self.target());
            if at < target {
                self.last_candidate = Some(at);
                return;
            }
            let before = self.last_candidate.filter(|before| target - before <= at.saturating_sub(target));
            self.push_start(before.unwrap_or(at));
            if before.is_none() {
                return;
            }
        }
    }

    fn push_start(&mut self, start: i64) {
        self.starts.push(start);
        self.last_candidate = None;
        self.push_keyframes();
    }

    /// Adds keyframes as starts, each the nearest to its target, while one is between half and twice the
    /// target.
    fn push_keyframes(&mut self) {
        while let Some(key) = self.nearest_key() {
            self.starts.push(key);
        }
    }

    fn nearest_key(&self) -> Option<i64> {
        let (last, target) = (self.last(), self.target());
        let preferred = last.saturating_add(target);
        let span_end = self.jumps.front().copied().unwrap_or(self.end);
        let near = last.saturating_add(target / 2)..=preferred.saturating_add(target).min(span_end - 1);
        let next_index = self.keys.partition_point(|key| *key < preferred);
        let neighbours = self.keys[next_index.saturating_sub(1)..].iter().take(2).copied();
        neighbours.filter(|key| near.contains(key)).min_by_key(|key| key.abs_diff(preferred))
    }

    fn last(&self) -> i64 {
        self.starts.last().copied().unwrap_or(0)
    }

    fn target(&self) -> i64 {
        let is_first = self.starts.len() <= 2;
        self.second * if is_first { SEGMENT_FIRST_TARGET_S } else { SEGMENT_TARGET_S }
    }

    fn finish(mut self) -> Vec<i64> {
        self.join_tail(self.end);
        self.starts
    }

    /// Joins a short last segment of a span to the one before it, unless that one would grow too long.
    fn join_tail(&mut self, end: i64) {
        if let [.., before, last] = self.starts.as_slice()
            && self.span_start < *last
            && end - last < SEGMENT_MIN_S * self.second
            && end - before <= super::SEGMENT_MAX_S * self.second
        {
            self.starts.pop();
        }
    }
}

/// Segments with these start times, each with the samples that its frames need. `starts` increases from 0.
fn segments_starting_at(track: &Track, starts: &[i64]) -> Result<Vec<Segment>, PlanError> {
    let mut needed: Vec<Option<Range<SamplePosition>>> = vec![None; starts.len()];
    // The presentation may start, through an edit, in the middle of an earlier frame.
    let mut shown_at_0: Option<DecodableFrame> = None;
    for frame in decodable_frames(track) {
        if frame.at <= 0 && shown_at_0.is_none_or(|shown| shown.at < frame.at) {
            shown_at_0 = Some(frame);
        }
        if 0 < frame.at {
            let started_count = starts.partition_point(|start| *start <= frame.at);
            if let Some(needed) = started_count.checked_sub(1).and_then(|number| needed.get_mut(number)) {
                include(needed, &frame);
            }
        }
    }
    if let (Some(frame), Some(first)) = (shown_at_0, needed.first_mut()) {
        include(first, &frame);
    }

    let ends = starts.iter().skip(1).copied().chain([track.end]);
    let spans = starts.iter().copied().zip(ends);
    spans
        .zip(needed)
        .map(|((start, end), needed)| {
            let needed = needed.ok_or(PlanError::Empty { track: "video" })?;
            check_feed(track, start, &needed)?;
            Ok(Segment { samples: needed.start.number..needed.end.number, start, end })
        })
        .collect()
}

fn include(needed: &mut Option<Range<SamplePosition>>, frame: &DecodableFrame) {
    let needed = needed.get_or_insert(frame.from..frame.end);
    needed.start = needed.start.min(frame.from);
    needed.end = needed.end.max(frame.end);
}

/// Rejects a segment that needs too much reading and decoding.
fn check_feed(track: &Track, start: i64, needed: &Range<SamplePosition>) -> Result<(), PlanError> {
    let samples = needed.end.number - needed.start.number;
    let bytes = needed.end.bytes - needed.start.bytes;
    if samples <= FEED_SAMPLES_MAX && bytes <= FEED_BYTES_MAX {
        return Ok(());
    }
    Err(PlanError::FeedTooLong { at_seconds: start / i64::from(track.timescale), samples, bytes })
}
