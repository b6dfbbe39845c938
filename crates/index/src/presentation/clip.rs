//! Cuts a range out of one source, frame exact at both ends.

use std::{collections::BTreeSet, ops::Range};

use sha2::{Digest as _, Sha256};

use crate::index::{
    EditPoint, EditSpan, Index, NotCopied, NotCopiedReason, Part, SampleObject, SourceName, Track, TrackMedia,
};
use crate::plan::{PlanError, PresentedFrame, plan_playable, presented_at, presented_frames};

/// The index of a clip has this many seconds of audio before its start: decoders need packets before the
/// first one they play. Opus needs the most, 80 ms (RFC 7845, 4.6).
const AUDIO_LEAD_S: i64 = 1;

/// Why a range cannot be cut out of a source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClipError {
    /// Nothing of the source is presented in the range.
    #[error("nothing of the source is between {start_us} and {end_us} microseconds; it lasts {duration_us}")]
    Outside {
        /// Start of the range.
        start_us: u64,
        /// End of the range.
        end_us: u64,
        /// Duration of the source.
        duration_us: u64,
    },
    /// The range cannot be cut into segments.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Index {
    /// The index of a presentation that shows a range of this source, in microseconds of its common timeline.
    ///
    /// Shows the frames with `start <= pts < end`; the first of them is at 0. Audio is cut at the same
    /// instants, exact to its sample. No sample data is copied.
    ///
    /// The start of its part is the time of the first frame, rounded down. So the same range of the source
    /// gives an equal clip, and a time of the clip plus that start is the time of the source.
    ///
    /// The overlay of the source is that of the clip.
    ///
    /// Video is copied only if the copy shows exactly these frames: if it begins with a closed keyframe, and
    /// no frame needs one that is shown after the end. Same arguments, same index.
    ///
    /// Errors: `Outside` if the range shows no frame, or without video has no audio; `Plan` if what is left
    /// cannot be cut into segments.
    pub fn clip(&self, source: SourceName, range_us: Range<u64>) -> Result<Self, ClipError> {
        let duration_us = self.facts().duration_us;
        let outside = || ClipError::Outside { start_us: range_us.start, end_us: range_us.end, duration_us };
        let range_us = range_us.start..range_us.end.min(duration_us);
        let video = self.video().map(|(track, _)| clip_video(track, &range_us).ok_or_else(outside));
        let video = video.transpose()?;
        let zero = match &video {
            Some((_, zero)) => *zero,
            None if range_us.is_empty() => return Err(outside()),
            None => {
                Instant { ticks: i64::try_from(range_us.start).map_err(|_| outside())?, timescale: MICROS }
            }
        };
        let shown_us = zero.micros_down().unwrap_or(range_us.start)..range_us.end;
        let audio_tracks = self.audio_tracks().map(|(track, _)| clip_audio(track, zero, range_us.end));
        let mut tracks: Vec<_> =
            video.into_iter().map(|(track, _)| track).chain(audio_tracks.flatten()).collect();
        if tracks.is_empty() {
            return Err(outside());
        }
        let plan = plan_playable(&mut tracks)?;
        let numbers = used_objects(&tracks);
        let used = numbers.iter().filter_map(|number| self.objects.get(usize::from(*number)));
        let objects = used.map(|object| SampleObject { source: object.source.or(Some(source)), ..*object });
        let renumbered = |track: Track| Track {
            samples: track.samples.clone().with_objects_renumbered(&numbers),
            ..track
        };
        let tracks = tracks.into_iter().map(renumbered).collect();
        Ok(Self {
            source_len: self.source_len,
            source_sha256: fingerprint(self, &shown_us),
            container: self.container,
            objects: objects.collect(),
            parts: clip_parts(&self.parts, source, &shown_us),
            is_truncated: self.is_truncated && duration_us <= range_us.end,
            left_out: self.left_out.clone(),
            overlay: self.overlay,
            tracks,
            plan,
        })
    }
}

/// The numbers of the objects that contain samples of these tracks, increasing. The others are not kept: the
/// bytes of a source would be stored as long as a presentation that shows nothing of it.
fn used_objects(tracks: &[Track]) -> Vec<u8> {
    let used: BTreeSet<_> = tracks.iter().flat_map(|track| track.samples.objects()).collect();
    used.into_iter().collect()
}

/// The parts of a clip of this range: of the source, or of the parts of a presentation that is cut again.
fn clip_parts(parts: &[Part], source: SourceName, range_us: &Range<u64>) -> Vec<Part> {
    if parts.is_empty() {
        return vec![Part { source, shown_us: range_us.clone() }];
    }
    let mut end = 0_u64;
    let cut = parts.iter().filter_map(|part| {
        let start = end;
        end = start.saturating_add(part.shown_us.end.saturating_sub(part.shown_us.start));
        let from = range_us.start.max(start);
        let to = range_us.end.min(end);
        let shown = |at: u64| part.shown_us.start.saturating_add(at.saturating_sub(start));
        (from < to).then(|| Part { source: part.source, shown_us: shown(from)..shown(to) })
    });
    cut.collect()
}

/// Ticks per second of microseconds.
const MICROS: u32 = 1_000_000;

/// A time of the common timeline of the source.
#[derive(Debug, Clone, Copy)]
struct Instant {
    ticks: i64,
    timescale: u32,
}

impl Instant {
    /// In ticks of another clock, rounded to the nearest.
    fn on(self, timescale: u32) -> i64 {
        let of = i128::from(self.timescale.max(1));
        let twice = 2 * i128::from(self.ticks) * i128::from(timescale) + of;
        i64::try_from(twice.div_euclid(2 * of)).unwrap_or(i64::MAX)
    }

    /// In microseconds, rounded down; `None` before 0.
    fn micros_down(self) -> Option<u64> {
        let us = i128::from(self.ticks) * i128::from(MICROS) / i128::from(self.timescale.max(1));
        u64::try_from(us).ok()
    }
}

/// The first tick at or after an instant.
fn ticks_up(us: u64, timescale: u32) -> i64 {
    let ticks = (u128::from(us) * u128::from(timescale)).div_ceil(u128::from(MICROS));
    i64::try_from(ticks).unwrap_or(i64::MAX)
}

/// The video track of the clip, and the time of its first frame; `None` if the range shows no frame.
fn clip_video(track: &Track, range_us: &Range<u64>) -> Option<(Track, Instant)> {
    let start = ticks_up(range_us.start, track.timescale);
    let end = ticks_up(range_us.end, track.timescale).min(track.end);
    let in_range = presented_frames(track).filter(|frame| (start..end).contains(&frame.at));
    let shown = in_range.reduce(|all, frame| PresentedFrame {
        at: all.at.min(frame.at),
        samples: all.samples.start.min(frame.samples.start)..all.samples.end.max(frame.samples.end),
    })?;
    // A jump that is not in the clip still hides the frames behind it that are decoded before.
    let jump = track.edit_points.iter().find(|point| shown.samples.end <= point.sample);
    let end = jump.map_or(end, |point| end.min(point.pts.saturating_add(track.shift)));
    // A clip from the start of the source hides what the edit list of the source hides.
    let zero = if range_us.start == 0 { 0 } else { shown.at };
    let mut clip = part_of_track(track, shown.samples, zero, end);
    let why_not = exact_copy_problem(&clip, range_us.start == 0);
    if let (TrackMedia::Video(video), Some(why)) = (&mut clip.media, why_not) {
        video.not_copied = video.not_copied.take().or(Some(NotCopied::new(NotCopiedReason::Edits, why)));
    }
    Some((clip, Instant { ticks: zero, timescale: track.timescale }))
}

/// Why a copy would show other frames than the clip has; `None` if it shows the same (M-44).
fn exact_copy_problem(clip: &Track, is_from_start: bool) -> Option<&'static str> {
    // Segments of a copy may not contain a joint, and players begin with configuration 0.
    if !clip.edit_points.is_empty() {
        return Some("the clip contains a joint");
    }
    let mut times = clip.samples.iter().map(|sample| presented_at(clip, &sample));
    if !is_from_start && times.clone().any(|at| at < 0) {
        return Some("the clip does not begin with a closed keyframe");
    }
    times.any(|at| clip.end <= at).then_some("frames at the end of the clip need later frames")
}

/// An audio track of the clip; `None` if nothing of it is heard.
fn clip_audio(track: &Track, zero: Instant, end_us: u64) -> Option<Track> {
    let begin = zero.on(track.timescale);
    let end = ticks_up(end_us, track.timescale).min(track.end);
    let lead = AUDIO_LEAD_S * i64::from(track.timescale);
    let pts = |at: i64| at.saturating_sub(track.shift);
    // The lead is of the same edit span: what is behind a joint does not belong to the same audio.
    let first = track.edit_spans().find(|span| pts(begin) < span.shown.end)?;
    let last = track.edit_spans().take_while(|span| span.shown.start < pts(end)).last()?;
    let from = position(track, &first, pts(begin.saturating_sub(lead)))
        .min(position(track, &first, pts(begin)).saturating_sub(1))
        .max(first.samples.start);
    let samples = from..position(track, &last, pts(end));
    (begin < end && !samples.is_empty()).then(|| part_of_track(track, samples, begin, end))
}

/// The number of the first sample of an edit span that is presented at `pts` or later; the end of the span
/// if there is none.
fn position(track: &Track, span: &EditSpan, pts: i64) -> u32 {
    if track.edit_points.is_empty() {
        return track.samples.first_at_or_after_pts(pts).unwrap_or(track.samples.len());
    }
    // Times are comparable inside one span only.
    let mut samples = span.samples.clone().zip(track.samples.range(span.samples.clone()));
    samples.find(|(_, sample)| pts <= sample.pts).map_or(span.samples.end, |(number, _)| number)
}

/// These samples of the track, with `zero` as the start of the timeline; both times are in ticks of the
/// common timeline.
fn part_of_track(track: &Track, samples: Range<u32>, zero: i64, end: i64) -> Track {
    let at = |point: &EditPoint| point.pts.saturating_add(track.shift);
    // A part without samples has the number of the sample after it, which may be the first one of the clip
    // or the one after its last.
    let is_inside = |point: &&EditPoint| {
        (samples.start..=samples.end).contains(&point.sample) && zero < at(point) && at(point) < end
    };
    let points = track.edit_points.iter().filter(is_inside);
    // A clip that begins in a part with another configuration than the first one.
    let first = track.edit_points.iter().rfind(|point| point.sample <= samples.start && at(point) <= zero);
    let first = first.filter(|point| point.configuration != 0).map(|point| EditPoint { sample: 0, ..*point });
    let others = points.map(|point| EditPoint { sample: point.sample - samples.start, ..*point });
    let edit_points: Vec<_> = first.into_iter().chain(others).collect();
    let clip = Track {
        samples: track.samples.range(samples).collect(),
        edit_points,
        shift: track.shift.saturating_sub(zero),
        end: end.saturating_sub(zero),
        ..track.clone()
    };
    let ticks = u128::try_from(clip.end).unwrap_or(0).max(1);
    let average = u128::from(clip.samples_bytes()) * 8 * u128::from(clip.timescale) / ticks;
    Track { bitrate_average: u64::try_from(average).unwrap_or(u64::MAX).min(track.bitrate_peak), ..clip }
}

/// Hash of the content: of the source and of the range.
fn fingerprint(index: &Index, range_us: &Range<u64>) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(index.source_sha256);
    hash.update(range_us.start.to_be_bytes());
    hash.update(range_us.end.to_be_bytes());
    hash.finalize().into()
}
