//! The frames that tiles may show: keyframes, and others as far as they are cheap. Pure: known from the index
//! alone.

use std::ops::Range;

use kinora_index::{Sample, Stretch, Track, VideoTrack, plan::presented_at};

use super::choice::{frames_of, len_of};
use crate::picture::gop::{Reading, gop_by};

/// Pixels that are decoded for an overview beside its keyframes: some second of a core, 7 s of 1080p at 25
/// frames a second.
const OPENINGS_PIXELS_MAX: u64 = 400_000_000;
/// Bytes that are read for them: these 7 s at 17 Mb/s.
const OPENINGS_LEN_MAX: u64 = 16 << 20;

/// The keyframes of a track. Looks at every sample once.
pub(super) struct Keyframes {
    /// Those that are shown, each with its time on the common timeline, rising.
    shown: Vec<(i64, u32)>,
    /// All of them.
    all: Vec<u32>,
}

impl Keyframes {
    pub(super) fn of(track: &Track) -> Self {
        let (mut shown, mut all) = (Vec::new(), Vec::new());
        for Stretch { samples, shown: times } in track.stretches() {
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
        let behind = self.all.partition_point(|number| *number <= sample);
        self.all.get(behind.checked_sub(1)?).copied()
    }

    /// The first one in this range of times.
    pub(super) fn within(&self, times: Range<i64>) -> Option<u32> {
        let first = self.shown.partition_point(|(at, _)| *at < times.start);
        self.shown.get(first).filter(|(at, _)| *at < times.end).map(|(_, number)| *number)
    }

    /// The last one of these samples up to a time.
    fn last_until(&self, time: i64, samples: &Range<u32>) -> Option<u32> {
        let behind = self.shown.partition_point(|(at, _)| *at <= time);
        let (_, number) = self.shown.get(behind.checked_sub(1)?)?;
        samples.contains(number).then_some(*number)
    }

    /// The first one of these samples.
    fn first_of(&self, samples: &Range<u32>) -> Option<u32> {
        let first = self.shown.partition_point(|(_, number)| *number < samples.start);
        self.shown.get(first).map(|(_, number)| *number).filter(|number| samples.contains(number))
    }

    pub(super) fn is_shown(&self, sample: u32) -> bool {
        self.shown.binary_search_by_key(&sample, |(_, number)| *number).is_ok()
    }
}

/// The frames of an overview at times that rise: as good as nothing but keyframes.
pub(super) struct Near<'a> {
    track: &'a Track,
    keyframes: &'a Keyframes,
    /// What was found last by [`opening`](Self::opening), by where its stretch begins.
    known: Option<(u32, Option<Picked>)>,
    /// What openings may still take: frames and bytes.
    left: (u32, u64),
}

impl<'a> Near<'a> {
    pub(super) fn of(track: &'a Track, video: &VideoTrack, keyframes: &'a Keyframes) -> Self {
        let left = (frames_of(OPENINGS_PIXELS_MAX, video), OPENINGS_LEN_MAX);
        Self { track, keyframes, known: None, left }
    }

    /// What is decoded for a time of the common timeline, and which of it is shown: the last keyframe up to
    /// then, or the opening. Neither comes from the other side of a jump.
    pub(super) fn at(&mut self, at: i64) -> Option<Picked> {
        let stretch = self.track.stretch_at(at.saturating_sub(self.track.shift));
        if let Some(keyframe) = self.keyframes.last_until(at, &stretch.samples) {
            return Some((keyframe..keyframe + 1, keyframe));
        }
        if let Some((_, opening)) = self.known.as_ref().filter(|(begins, _)| *begins == stretch.samples.start)
        {
            return opening.clone();
        }
        let opening = self.opening(&stretch);
        self.known = Some((stretch.samples.start, opening.clone()));
        opening
    }

    /// What stands in front of the first keyframe that is shown of a stretch, where an edit list begins
    /// between two: the very first frame. Where that takes too much, the keyframe behind, and where there is
    /// none, the one in front, which the edit list hides.
    fn opening(&mut self, stretch: &Stretch) -> Option<Picked> {
        let Self { track, keyframes, .. } = *self;
        let begins = stretch.shown.start.saturating_add(track.shift).max(0);
        let first = Exact::of(track, keyframes).at(begins);
        if let Some((samples, _)) = &first
            && let Some(frames) = self.left.0.checked_sub(samples.end - samples.start)
            && let Some(len) = self.left.1.checked_sub(len_of(track, samples.clone()))
        {
            self.left = (frames, len);
            return first;
        }
        let in_front = first.map(|(samples, _)| samples.start);
        let keyframe = keyframes.first_of(&stretch.samples).or(in_front)?;
        Some((keyframe..keyframe + 1, keyframe))
    }
}

/// What is decoded for a frame, and which of it is that frame.
pub(super) type Picked = (Range<u32>, u32);

/// The samples of a group of pictures.
type Group<'a> = Box<dyn Iterator<Item = (u32, Sample)> + 'a>;

/// The very frames of times that rise. A group of pictures is read once for all of them.
pub(super) struct Exact<'a> {
    track: &'a Track,
    keyframes: &'a Keyframes,
    /// The group that was looked at last, by its keyframe and where its stretch ends, and what is not read of
    /// it.
    group: Option<((u32, u32), Reading<Group<'a>>)>,
}

impl<'a> Exact<'a> {
    pub(super) fn of(track: &'a Track, keyframes: &'a Keyframes) -> Self {
        Self { track, keyframes, group: None }
    }

    /// What is decoded for the frame that is shown at a time of the common timeline, and which of it is that
    /// frame.
    pub(super) fn at(&mut self, at: i64) -> Option<Picked> {
        let gop = gop_by(self.track, at, |number| self.keyframes.at_or_before(number))?;
        let name = (gop.sync, gop.stretch.samples.end);
        let known = self.group.take().filter(|(known, _)| *known == name);
        let known = known.unwrap_or_else(|| (name, Reading::of(Box::new(gop.samples()))));
        let (_, reading) = self.group.insert(known);
        let shown = reading.shown_at(gop.pts).unwrap_or(gop.sync);
        // A frame is decoded with all in front of it.
        Some((gop.sync..shown + 1, shown))
    }
}
