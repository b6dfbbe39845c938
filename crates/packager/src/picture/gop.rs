//! Groups of pictures: which samples are decoded for a moment. Known from the index alone, which is read no
//! further than it takes.

use std::ops::Range;

use kinora_index::{Sample, Stretch, Track, plan::presented_at};

/// Most pictures that are decoded before one that is shown before them. ITU-T H.264, A.3.1, and H.265, A.4.2:
/// a decoder holds 16; VP9 and AV1 show theirs in the order of decoding.
pub(super) const REORDERED_MAX: usize = 16;

/// The group of pictures at a moment.
pub(super) struct Gop<'a> {
    track: &'a Track,
    /// Its keyframe.
    pub(super) sync: u32,
    /// What is shown there of the samples.
    pub(super) stretch: Stretch,
    /// The moment in ticks of the source.
    pub(super) pts: i64,
}

/// The group of pictures at a time of the common timeline, in ticks of the track. `None` where there is no
/// keyframe.
pub(super) fn gop_at(track: &Track, at: i64) -> Option<Gop<'_>> {
    gop_by(track, at, |number| track.samples.sync_at_or_before(number))
}

/// The same with a way of one's own to find the last keyframe at or before a sample.
pub(super) fn gop_by(
    track: &Track,
    at: i64,
    sync_at_or_before: impl Fn(u32) -> Option<u32>,
) -> Option<Gop<'_>> {
    // An edit list tells in the times of the source what is shown of which samples.
    let pts = at.saturating_sub(track.shift);
    let stretch = track.stretch_at(pts);
    let near =
        first_at_or_after(track, &stretch, pts).unwrap_or_else(|| stretch.samples.end.saturating_sub(1));
    let mut sync = sync_at_or_before(near)?;
    let starts_at = |sync| track.samples.get(sync).map(|sample| presented_at(track, &sample));
    // The sample at or after a moment may open a GOP that begins after it.
    while stretch.samples.start < sync && at < starts_at(sync)? {
        sync = sync_at_or_before(sync - 1)?;
    }
    Some(Gop { track, sync, stretch, pts })
}

impl<'a> Gop<'a> {
    /// All of it in decode order, with the pictures that lead the next keyframe; each with its number.
    pub(super) fn samples(&self) -> impl Iterator<Item = (u32, Sample)> + use<'a> {
        samples_from(self.track, self.sync, self.stretch.samples.end)
    }
}

/// From a sync sample to the next, and on to the last of the pictures that lead that one: they are shown
/// before it, and refer to both. None from `stretch_end` on.
pub(super) fn samples_from(
    track: &Track,
    sync: u32,
    stretch_end: u32,
) -> impl Iterator<Item = (u32, Sample)> {
    let mut rest = (sync..stretch_end).zip(track.samples.range(sync..stretch_end)).peekable();
    // When the next keyframe is shown, once it was passed.
    let mut next: Option<i64> = None;
    let samples = std::iter::from_fn(move || {
        let (number, sample) = rest.next()?;
        match next {
            None if sample.is_sync && number != sync => {
                let leads = |(_, behind): &(u32, Sample)| !behind.is_sync && behind.pts < sample.pts;
                next = Some(sample.pts);
                rest.peek().is_some_and(leads).then_some((number, sample))
            }
            Some(next) if sample.is_sync || next <= sample.pts => None,
            _ => Some((number, sample)),
        }
    });
    samples.fuse()
}

/// Reads through a group of pictures while moments rise: each sample once, and no further than the last of
/// them takes.
pub(super) struct Reading<I> {
    samples: I,
    /// What is shown last of what has begun: when, and its number.
    shown: Option<(i64, u32)>,
    /// What was read and begins later.
    ahead: Vec<(i64, u32)>,
}

impl<I: Iterator<Item = (u32, Sample)>> Reading<I> {
    pub(super) fn of(samples: I) -> Self {
        Self { samples, shown: None, ahead: Vec::new() }
    }

    /// The sample that is shown at a time of the source, none before those that were asked for. `None` before
    /// the first one.
    pub(super) fn shown_at(&mut self, pts: i64) -> Option<u32> {
        let begun = self.ahead.extract_if(.., |(begins, _)| *begins <= pts);
        self.shown = begun.chain(self.shown).max();
        while self.ahead.len() <= REORDERED_MAX {
            let Some((number, sample)) = self.samples.next() else { break };
            if sample.pts <= pts {
                self.shown = self.shown.max(Some((sample.pts, number)));
            } else {
                self.ahead.push((sample.pts, number));
            }
        }
        self.shown.map(|(_, number)| number)
    }
}

/// The first sample of a stretch in decode order that is shown at a time of the source or later.
fn first_at_or_after(track: &Track, stretch: &Stretch, pts: i64) -> Option<u32> {
    if track.joints.is_empty() {
        return track.samples.first_at_or_after_pts(pts);
    }
    let mut samples = stretch.samples.clone().zip(track.samples.range(stretch.samples.clone()));
    samples.find(|(_, sample)| pts <= sample.pts).map(|(number, _)| number)
}

/// Those of a group's samples that are decoded before the one that is shown at a time of the source, and one
/// more, which ends it. `None` where that is more than `most`, the first of them.
pub(super) fn until(
    samples: impl Iterator<Item = (u32, Sample)>,
    most: &Range<u32>,
    pts: i64,
) -> Option<Range<u32>> {
    // What is behind so many is not shown before all of them.
    let read = samples.take(most.len() + REORDERED_MAX + 1);
    let last = read.filter(|(_, sample)| sample.pts <= pts).map(|(number, _)| number).last();
    let end = last.unwrap_or(most.start).saturating_add(2);
    (end <= most.end).then_some(most.start..end)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// Of one group whose every fourth picture is decoded first and shown last of four.
    fn reordered(count: u32) -> impl Iterator<Item = (u32, Sample)> {
        (0..count).map(|number| {
            let place = if number == 0 { 0 } else { [4, 1, 2, 3][(number as usize - 1) % 4] };
            let pts = i64::from(number.saturating_sub(1) / 4 * 4) + place;
            let sample = Sample {
                dts: i64::from(number),
                pts,
                duration: 1,
                object: 0,
                offset: 0,
                size: 1,
                is_sync: number == 0,
            };
            (number, sample)
        })
    }

    #[test]
    fn a_group_is_read_once_however_many_moments_are_asked_for_and_not_to_its_end() {
        let read = Cell::new(0_u32);
        let counted = reordered(1_000_000).inspect(|_| read.set(read.get() + 1));
        let mut reading = Reading::of(counted);
        for pts in (0..1000).chain([1000, 1000]) {
            let shown = reading.shown_at(pts).unwrap();
            let (_, sample) = reordered(shown + 1).last().unwrap();
            assert_eq!(sample.pts, pts);
        }
        assert!(read.get() <= 1001 + 20, "{} were read", read.get());
        assert_eq!(Reading::of(reordered(9)).shown_at(-1), None);
        assert_eq!(Reading::of(reordered(9)).shown_at(100), Some(5), "the last that is shown");
    }

    #[test]
    fn what_is_too_much_is_known_without_reading_it() {
        let read = Cell::new(0_u32);
        let samples = || reordered(1_000_000).inspect(|_| read.set(read.get() + 1));
        assert_eq!(until(samples(), &(0..100), 900_000), None);
        assert!(read.get() <= 117, "{} were read", read.get());
        assert_eq!(until(samples(), &(0..100), 90), Some(0..93));
        assert_eq!(until(samples(), &(0..100), 98), None);
        assert_eq!(until(samples(), &(0..100), -1), Some(0..2));
    }
}
