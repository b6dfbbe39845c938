//! The frames that tiles may show: keyframes, and others if they are cheap. Pure: computed from the index
//! alone.

use std::ops::Range;

use kinora_index::{EditSpan, Sample, Track, VideoTrack, plan::presented_at};

use super::tile_frames::{frames_of, len_of};
use crate::image::gop::{GopReader, gop_with_lookup};

/// Pixels that are decoded for an overview in addition to its keyframes: some second of a core, 7 s of 1080p
/// at 25 frames a second.
const OPENINGS_PIXELS_MAX: u64 = 400_000_000;
/// Bytes that are read for them: these 7 s at 17 Mb/s.
const OPENINGS_LEN_MAX: u64 = 16 << 20;

/// The keyframes of a track. Reads every sample once.
pub(super) struct Keyframes {
    /// Those that are shown, each with its time on the common timeline, rising.
    shown: Vec<(i64, u32)>,
    /// All of them.
    all: Vec<u32>,
}

impl Keyframes {
    pub(super) fn of(track: &Track) -> Self {
        let (mut shown, mut all) = (Vec::new(), Vec::new());
        for EditSpan { samples, shown: times } in track.edit_spans() {
            let numbered = samples.clone().zip(track.samples.range(samples));
            for (number, sample) in numbered.filter(|(_, sample)| sample.is_sync) {
                all.push(number);
                let at = presented_at(track, &sample);
                if times.contains(&sample.pts) && 0 <= at && at < track.end {
                    shown.push((at, number));
                }
            }
        }
        Self { shown, all }
    }

    /// The last one at or before a sample.
    fn at_or_before(&self, sample: u32) -> Option<u32> {
        let count = self.all.partition_point(|number| *number <= sample);
        self.all.get(count.checked_sub(1)?).copied()
    }

    /// The first one in this range of times.
    pub(super) fn first_in_times(&self, times: Range<i64>) -> Option<u32> {
        let first = self.shown.partition_point(|(at, _)| *at < times.start);
        self.shown.get(first).filter(|(at, _)| *at < times.end).map(|(_, number)| *number)
    }

    /// The last one of these samples up to a time.
    fn last_until(&self, time: i64, samples: &Range<u32>) -> Option<u32> {
        let count = self.shown.partition_point(|(at, _)| *at <= time);
        let (_, number) = self.shown.get(count.checked_sub(1)?)?;
        samples.contains(number).then_some(*number)
    }

    /// The first one of these samples.
    fn first_in_samples(&self, samples: &Range<u32>) -> Option<u32> {
        let first = self.shown.partition_point(|(_, number)| *number < samples.start);
        self.shown.get(first).map(|(_, number)| *number).filter(|number| samples.contains(number))
    }

    pub(super) fn is_shown(&self, sample: u32) -> bool {
        self.shown.binary_search_by_key(&sample, |(_, number)| *number).is_ok()
    }
}

/// The frames of an overview at rising times, which are almost only keyframes.
pub(super) struct NearestKeyframes<'a> {
    track: &'a Track,
    keyframes: &'a Keyframes,
    /// Cache of the last [`opening`](Self::opening), by the first sample of its edit span.
    cached: Option<(u32, Option<DecodedFrame>)>,
    /// Remaining budget of openings: frames and bytes.
    budget_left: (u32, u64),
}

impl<'a> NearestKeyframes<'a> {
    pub(super) fn of(track: &'a Track, video: &VideoTrack, keyframes: &'a Keyframes) -> Self {
        let budget_left = (frames_of(OPENINGS_PIXELS_MAX, video), OPENINGS_LEN_MAX);
        Self { track, keyframes, cached: None, budget_left }
    }

    /// The samples to decode for a time of the common timeline, and the shown one: the last keyframe up to
    /// then, or the opening. Neither is from the other side of a jump.
    pub(super) fn at(&mut self, at: i64) -> Option<DecodedFrame> {
        let edit_span = self.track.edit_span_at(at.saturating_sub(self.track.shift));
        if let Some(keyframe) = self.keyframes.last_until(at, &edit_span.samples) {
            return Some((keyframe..keyframe + 1, keyframe));
        }
        if let Some((_, opening)) =
            self.cached.as_ref().filter(|(begins, _)| *begins == edit_span.samples.start)
        {
            return opening.clone();
        }
        let opening = self.opening(&edit_span);
        self.cached = Some((edit_span.samples.start, opening.clone()));
        opening
    }

    /// The very first frame of an edit span that begins between two keyframes. If that exceeds the budget,
    /// the next keyframe; without one, the keyframe before, which the edit list hides.
    fn opening(&mut self, edit_span: &EditSpan) -> Option<DecodedFrame> {
        let Self { track, keyframes, .. } = *self;
        let begins = edit_span.shown.start.saturating_add(track.shift).max(0);
        let first = ExactFrames::of(track, keyframes).at(begins);
        if let Some((samples, _)) = &first
            && let Some(frames) = self.budget_left.0.checked_sub(samples.end - samples.start)
            && let Some(len) = self.budget_left.1.checked_sub(len_of(track, samples.clone()))
        {
            self.budget_left = (frames, len);
            return first;
        }
        let first_sample = first.map(|(samples, _)| samples.start);
        let keyframe = keyframes.first_in_samples(&edit_span.samples).or(first_sample)?;
        Some((keyframe..keyframe + 1, keyframe))
    }
}

/// The samples to decode for a frame, and the number of that frame.
pub(super) type DecodedFrame = (Range<u32>, u32);

/// The samples of a group of pictures.
type Group<'a> = Box<dyn Iterator<Item = (u32, Sample)> + 'a>;

/// The exact frames of rising times. A group of pictures is read once for all of them.
pub(super) struct ExactFrames<'a> {
    track: &'a Track,
    keyframes: &'a Keyframes,
    /// The last group, by its keyframe and the end of its edit span, and the rest of its samples.
    group: Option<((u32, u32), GopReader<Group<'a>>)>,
}

impl<'a> ExactFrames<'a> {
    pub(super) fn of(track: &'a Track, keyframes: &'a Keyframes) -> Self {
        Self { track, keyframes, group: None }
    }

    /// The samples to decode for the frame shown at a time of the common timeline, and the number of that
    /// frame.
    pub(super) fn at(&mut self, at: i64) -> Option<DecodedFrame> {
        let gop = gop_with_lookup(self.track, at, |number| self.keyframes.at_or_before(number))?;
        let group_key = (gop.sync, gop.edit_span.samples.end);
        let cached = self.group.take().filter(|(known, _)| *known == group_key);
        let group = cached.unwrap_or_else(|| (group_key, GopReader::of(Box::new(gop.samples()))));
        let (_, reader) = self.group.insert(group);
        let shown = reader.shown_at(gop.pts).unwrap_or(gop.sync);
        // A frame needs all samples before it in its group.
        Some((gop.sync..shown + 1, shown))
    }
}
