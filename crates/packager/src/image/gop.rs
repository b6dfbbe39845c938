//! Groups of pictures (GOP): the samples to decode for a time. Computed from the index alone, which is read
//! only as far as needed.

use std::ops::Range;

use kinora_index::{EditSpan, Sample, Track, plan::presented_at};

/// Largest number of frames that are decoded before a frame that is shown before them. ITU-T H.264, A.3.1,
/// and H.265, A.4.2: a decoder buffers 16; VP9 and AV1 show their frames in the order of decoding.
pub(super) const REORDERED_MAX: usize = 16;

/// The group of pictures at a time.
pub(super) struct Gop<'a> {
    track: &'a Track,
    /// Its keyframe.
    pub(super) sync: u32,
    /// The samples between two jumps of the edit list that contain it.
    pub(super) edit_span: EditSpan,
    /// The time in ticks of the source.
    pub(super) pts: i64,
}

/// The group of pictures at a time of the common timeline, in ticks of the track. `None` without a keyframe.
pub(super) fn gop_at(track: &Track, at: i64) -> Option<Gop<'_>> {
    gop_with_lookup(track, at, |number| track.samples.sync_at_or_before(number))
}

/// As [`gop_at`], with a lookup for the last keyframe at or before a sample.
pub(super) fn gop_with_lookup(
    track: &Track,
    at: i64,
    sync_at_or_before: impl Fn(u32) -> Option<u32>,
) -> Option<Gop<'_>> {
    // An edit list states in times of the source which samples are shown.
    let pts = at.saturating_sub(track.shift);
    let edit_span = track.edit_span_at(pts);
    let near =
        first_at_or_after(track, &edit_span, pts).unwrap_or_else(|| edit_span.samples.end.saturating_sub(1));
    let mut sync = sync_at_or_before(near)?;
    let starts_at = |sync| track.samples.get(sync).map(|sample| presented_at(track, &sample));
    // The sample at or after a time may open a GOP that begins after it.
    while edit_span.samples.start < sync && at < starts_at(sync)? {
        sync = sync_at_or_before(sync - 1)?;
    }
    Some(Gop { track, sync, edit_span, pts })
}

impl<'a> Gop<'a> {
    /// All samples in decode order, with the leading pictures of the next keyframe; each with its number.
    pub(super) fn samples(&self) -> impl Iterator<Item = (u32, Sample)> + use<'a> {
        samples_from(self.track, self.sync, self.edit_span.samples.end)
    }
}

/// The samples from a sync sample to the next, and on to its last leading picture. Leading pictures are
/// shown before that keyframe, and refer to both. None from `span_end` on.
pub(super) fn samples_from(track: &Track, sync: u32, span_end: u32) -> impl Iterator<Item = (u32, Sample)> {
    let mut rest = (sync..span_end).zip(track.samples.range(sync..span_end)).peekable();
    // When the next keyframe is shown, once it was passed.
    let mut next: Option<i64> = None;
    let samples = std::iter::from_fn(move || {
        let (number, sample) = rest.next()?;
        match next {
            None if sample.is_sync && number != sync => {
                let is_leading =
                    |(_, following): &(u32, Sample)| !following.is_sync && following.pts < sample.pts;
                next = Some(sample.pts);
                rest.peek().is_some_and(is_leading).then_some((number, sample))
            }
            Some(next) if sample.is_sync || next <= sample.pts => None,
            _ => Some((number, sample)),
        }
    });
    samples.fuse()
}

/// Reads through a group of pictures for rising times: each sample once, and only as far as the last time
/// needs.
pub(super) struct GopReader<I> {
    samples: I,
    /// The latest begun sample in display order: its time and its number.
    shown: Option<(i64, u32)>,
    /// Samples that were read and begin later.
    read_ahead: Vec<(i64, u32)>,
}

impl<I: Iterator<Item = (u32, Sample)>> GopReader<I> {
    pub(super) fn of(samples: I) -> Self {
        Self { samples, shown: None, read_ahead: Vec::new() }
    }

    /// The sample shown at a time of the source, which must not be before earlier ones. `None` before the
    /// first sample.
    pub(super) fn shown_at(&mut self, pts: i64) -> Option<u32> {
        let due = self.read_ahead.extract_if(.., |(begins, _)| *begins <= pts);
        self.shown = due.chain(self.shown).max();
        while self.read_ahead.len() <= REORDERED_MAX {
            let Some((number, sample)) = self.samples.next() else { break };
            if sample.pts <= pts {
                self.shown = self.shown.max(Some((sample.pts, number)));
            } else {
                self.read_ahead.push((sample.pts, number));
            }
        }
        self.shown.map(|(_, number)| number)
    }
}

/// The first sample of an edit span in decode order that is shown at or after a time of the source.
fn first_at_or_after(track: &Track, edit_span: &EditSpan, pts: i64) -> Option<u32> {
    if track.edit_points.is_empty() {
        return track.samples.first_at_or_after_pts(pts);
    }
    let mut samples = edit_span.samples.clone().zip(track.samples.range(edit_span.samples.clone()));
    samples.find(|(_, sample)| pts <= sample.pts).map(|(number, _)| number)
}

/// The samples of a group up to the one shown at a time of the source, in decode order, and one more, which
/// ends it. `None` if they exceed `budget`, which begins with the first of them.
pub(super) fn decode_until(
    samples: impl Iterator<Item = (u32, Sample)>,
    budget: &Range<u32>,
    pts: i64,
) -> Option<Range<u32>> {
    // A sample after this many is not shown before all of them.
    let read = samples.take(budget.len() + REORDERED_MAX + 1);
    let last = read.filter(|(_, sample)| sample.pts <= pts).map(|(number, _)| number).last();
    let end = last.unwrap_or(budget.start).saturating_add(2);
    (end <= budget.end).then_some(budget.start..end)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// One group in which every fourth frame is decoded first and shown last of four.
    fn reordered(count: u32) -> impl Iterator<Item = (u32, Sample)> {
        (0..count).map(|number| {
            let reorder = if number == 0 { 0 } else { [4, 1, 2, 3][(number as usize - 1) % 4] };
            let pts = i64::from(number.saturating_sub(1) / 4 * 4) + reorder;
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
    fn gop_reader_reads_each_sample_once() {
        let read = Cell::new(0_u32);
        let counted = reordered(1_000_000).inspect(|_| read.set(read.get() + 1));
        let mut reading = GopReader::of(counted);
        for pts in (0..1000).chain([1000, 1000]) {
            let shown = reading.shown_at(pts).unwrap();
            let (_, sample) = reordered(shown + 1).last().unwrap();
            assert_eq!(sample.pts, pts);
        }
        assert!(read.get() <= 1001 + 20, "{} were read", read.get());
        assert_eq!(GopReader::of(reordered(9)).shown_at(-1), None);
        assert_eq!(GopReader::of(reordered(9)).shown_at(100), Some(5), "the last that is shown");
    }

    #[test]
    fn costly_gop_is_rejected_without_reading() {
        let read = Cell::new(0_u32);
        let samples = || reordered(1_000_000).inspect(|_| read.set(read.get() + 1));
        assert_eq!(decode_until(samples(), &(0..100), 900_000), None);
        assert!(read.get() <= 117, "{} were read", read.get());
        assert_eq!(decode_until(samples(), &(0..100), 90), Some(0..93));
        assert_eq!(decode_until(samples(), &(0..100), 98), None);
        assert_eq!(decode_until(samples(), &(0..100), -1), Some(0..2));
    }
}
