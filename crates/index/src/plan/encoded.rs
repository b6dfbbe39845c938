//! Cuts of encoded video, and what a decoder must be given to make the pictures of each segment.
//!
//! An encoded segment may begin at any picture: its decoder begins at the keyframe before it. So keyframes
//! are only preferred here, for they cost least. Pictures belong to segments by the time at which they are
//! shown, whatever the order they are decoded in. Where an edit list jumps a segment ends: each is made of
//! one stretch of the source.

use std::{collections::VecDeque, ops::Range};

use super::{
    ENTRIES_A_SECOND_MAX, ENTRIES_EXACT_MAX, PlanError, SEGMENT_FIRST_TARGET_S, SEGMENT_MIN_S,
    SEGMENT_SAMPLES_MAX, SEGMENT_TARGET_S, Segment, presented_at,
};
use crate::index::{Sample, Track};

/// The most samples that are decoded for one segment: ten minutes of 60 pictures a second. D-0036.
pub const FEED_SAMPLES_MAX: u32 = 36_000;
/// The most bytes that are read for one segment: 4 s of uncompressed pictures of 4K take 3 GB. D-0036.
pub const FEED_BYTES_MAX: u64 = 4 << 30;

/// Cuts every encoded rendition of a video track: as its copy is, whose segments `copy` are, or by its own
/// rules where it has none.
///
/// With other cuts than the copy's, however near, a player that changes to the copy gets pictures that it
/// cannot show before the next keyframe in place of those it had. D-0044. `track.timescale` is not 0.
/// Each segment presents at least one picture.
pub(crate) fn segments(track: &Track, copy: &[Segment]) -> Result<Vec<Segment>, PlanError> {
    if copy.is_empty() { feeds(track, &own_starts(track)?) } else { along(track, copy) }
}

/// Segments that begin where those of the copy begin.
pub(super) fn along(track: &Track, copy: &[Segment]) -> Result<Vec<Segment>, PlanError> {
    feeds(track, &copy.iter().map(|segment| segment.start).collect::<Vec<_>>())
}

/// A picture that a decoder can make, and what it needs for it.
#[derive(Debug, Clone, Copy)]
struct Picture {
    /// When it is shown on the common timeline.
    at: i64,
    /// Counts as a sync sample.
    is_key: bool,
    /// The sync sample to begin at.
    from: Place,
    /// The sample behind it.
    behind: Place,
}

/// A place among the samples of a track, in decode order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    number: u32,
    /// Bytes of all samples of its stretch before it.
    bytes: u64,
}

/// The pictures that are shown before the end of the track, in decode order.
///
/// A picture shown before the keyframe it follows may need the GOP before that. What has no keyframe to begin
/// at is left out; where no sample at all says that it is one, the first one of each stretch is.
fn pictures(track: &Track) -> impl Iterator<Item = Picture> + '_ {
    let has_keys = track.samples.iter().any(|sample| sample.is_sync);
    track.stretches().flat_map(move |stretch| {
        let mut place = Place { number: stretch.samples.start, bytes: 0 };
        let mut before: Option<Place> = None;
        let mut key: Option<(Place, i64)> = None;
        let picture = move |sample: Sample| {
            let at = presented_at(track, &sample);
            let own = place;
            place = Place { number: own.number + 1, bytes: own.bytes.saturating_add(u64::from(sample.size)) };
            let is_key = sample.is_sync || (!has_keys && own.number == stretch.samples.start);
            if is_key {
                before = key.map(|(place, _)| place);
                key = Some((own, at));
            }
            let (key, key_at) = key?;
            let from = if at < key_at { before? } else { key };
            let is_shown = at < track.end && stretch.shown.contains(&sample.pts);
            is_shown.then_some(Picture { at, is_key, from, behind: place })
        };
        track.samples.range(stretch.samples.clone()).filter_map(picture)
    })
}

/// The instants at which these pictures are shown, in order; each GOP is sorted by itself.
///
/// Not quite in order where GOPs overlap in time, which readers do not let pass.
fn in_order_shown(track: &Track, mut take: impl FnMut(i64)) {
    let mut gop = Vec::new();
    for picture in pictures(track) {
        if picture.is_key || SEGMENT_SAMPLES_MAX as usize <= gop.len() {
            gop.sort_unstable();
            gop.drain(..).for_each(&mut take);
        }
        gop.push(picture.at);
    }
    gop.sort_unstable();
    gop.into_iter().for_each(take);
}

/// Where segments begin that follow no copy: the first at 0, others wherever an edit list jumps.
fn own_starts(track: &Track) -> Result<Vec<i64>, PlanError> {
    let first = pictures(track).map(|picture| picture.at).min();
    let first = first.filter(|_| 0 < track.end).ok_or(PlanError::Empty { track: "video" })?;
    let joints = track.joints.iter().map(|joint| joint.pts.saturating_add(track.shift));
    let mut starts = Starts {
        second: i64::from(track.timescale),
        first,
        keys: keys(track, first),
        joints: joints.filter(|at| (1..track.end).contains(at)).collect(),
        end: track.end,
        starts: vec![0],
        stretch: 0,
        before: None,
    };
    starts.take_keys();
    in_order_shown(track, |at| starts.take(at));
    Ok(starts.finish())
}

/// When keyframes are shown, in order, but for the first picture. None where every picture is one: then none
/// is preferred.
///
/// Where there are very many, close ones are left out.
fn keys(track: &Track, first: i64) -> Vec<i64> {
    let distance_min = i64::from(track.timescale) / ENTRIES_A_SECOND_MAX;
    let mut keys: Vec<i64> = Vec::new();
    let mut are_all = true;
    for picture in pictures(track) {
        are_all &= picture.is_key;
        let is_close = keys.last().is_some_and(|last| picture.at.saturating_sub(*last) < distance_min);
        if picture.is_key && first < picture.at && !(is_close && ENTRIES_EXACT_MAX <= keys.len()) {
            keys.push(picture.at);
        }
    }
    if are_all {
        return Vec::new();
    }
    keys.sort_unstable();
    keys
}

/// Chooses where segments begin.
struct Starts {
    second: i64,
    /// When the first picture of all is shown.
    first: i64,
    keys: Vec<i64>,
    /// Where edits jump, from here on.
    joints: VecDeque<i64>,
    /// Where the track ends.
    end: i64,
    starts: Vec<i64>,
    /// Where the stretch begins whose segments are chosen.
    stretch: i64,
    /// The last picture that could be the next start and lies before the target.
    before: Option<i64>,
}

impl Starts {
    /// Takes the next picture in the order they are shown.
    ///
    /// Becomes a start: the picture nearest the target, where no keyframe lies near enough.
    fn take(&mut self, at: i64) {
        while let Some(joint) = self.joints.pop_front_if(|joint| *joint <= at) {
            self.join_tail(joint);
            self.stretch = joint;
            self.push(joint);
        }
        loop {
            let earliest = self.last().saturating_add(SEGMENT_MIN_S * self.second);
            if at <= self.first || at < earliest {
                return;
            }
            let target = self.last().saturating_add(self.target());
            if at < target {
                self.before = Some(at);
                return;
            }
            let before = self.before.filter(|before| target - before <= at.saturating_sub(target));
            self.push(before.unwrap_or(at));
            if before.is_none() {
                return;
            }
        }
    }

    fn push(&mut self, start: i64) {
        self.starts.push(start);
        self.before = None;
        self.take_keys();
    }

    /// Takes keyframes as long as one lies between half the target and twice the target: the nearest to it.
    fn take_keys(&mut self) {
        while let Some(key) = self.near_key() {
            self.starts.push(key);
        }
    }

    fn near_key(&self) -> Option<i64> {
        let (last, target) = (self.last(), self.target());
        let wanted = last.saturating_add(target);
        let stretch_end = self.joints.front().copied().unwrap_or(self.end);
        let near = last.saturating_add(target / 2)..=wanted.saturating_add(target).min(stretch_end - 1);
        let behind = self.keys.partition_point(|key| *key < wanted);
        let around = self.keys[behind.saturating_sub(1)..].iter().take(2).copied();
        around.filter(|key| near.contains(key)).min_by_key(|key| key.abs_diff(wanted))
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

    /// Joins a short last segment of a stretch to the one before it, unless that one would grow too long.
    fn join_tail(&mut self, end: i64) {
        if let [.., before, last] = self.starts.as_slice()
            && self.stretch < *last
            && end - last < SEGMENT_MIN_S * self.second
            && end - before <= super::SEGMENT_MAX_S * self.second
        {
            self.starts.pop();
        }
    }
}

/// Segments that begin at these instants, each with the samples that its pictures need. `starts` rises from
/// 0.
fn feeds(track: &Track, starts: &[i64]) -> Result<Vec<Segment>, PlanError> {
    let mut needed: Vec<Option<Range<Place>>> = vec![None; starts.len()];
    // An edit may begin while a picture is shown that is older.
    let mut shown_at_0: Option<Picture> = None;
    for picture in pictures(track) {
        if picture.at <= 0 && shown_at_0.is_none_or(|shown| shown.at < picture.at) {
            shown_at_0 = Some(picture);
        }
        if 0 < picture.at {
            let begun = starts.partition_point(|start| *start <= picture.at);
            if let Some(needed) = begun.checked_sub(1).and_then(|number| needed.get_mut(number)) {
                include(needed, &picture);
            }
        }
    }
    if let (Some(picture), Some(first)) = (shown_at_0, needed.first_mut()) {
        include(first, &picture);
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

fn include(needed: &mut Option<Range<Place>>, picture: &Picture) {
    let needed = needed.get_or_insert(picture.from..picture.behind);
    needed.start = needed.start.min(picture.from);
    needed.end = needed.end.max(picture.behind);
}

/// Refuses a segment for which too much would have to be read and decoded.
fn check_feed(track: &Track, start: i64, needed: &Range<Place>) -> Result<(), PlanError> {
    let samples = needed.end.number - needed.start.number;
    let bytes = needed.end.bytes - needed.start.bytes;
    if samples <= FEED_SAMPLES_MAX && bytes <= FEED_BYTES_MAX {
        return Ok(());
    }
    Err(PlanError::FeedTooLong { at_seconds: start / i64::from(track.timescale), samples, bytes })
}
