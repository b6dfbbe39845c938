//! Sources that end too early: what is playable of them. Pipeline, 3.3.

use super::super::error::ReadError;
use crate::index::{SampleTable, Track, TrackMedia};

/// A shorter prefix is a failure, not a media. Pipeline, 3.3.
const PREFIX_S_MIN: i128 = 1;

/// Cuts the tracks to the samples that lie in the first `len` bytes, all at the same instant.
///
/// Video is cut where all pictures before are shown before all pictures behind, so none is missing in between.
/// Errors: `Truncated` when less than a second is left.
pub(super) fn playable_prefix(mut tracks: Vec<Track>, len: u64) -> Result<Vec<Track>, ReadError> {
    let is_video = |track: &&mut Track| matches!(track.media, TrackMedia::Video(_));
    let audio_limit = tracks
        .iter()
        .filter(|track| matches!(track.media, TrackMedia::Audio(_)))
        .filter_map(|track| Some(Instant::of(track, track.samples.get(first_missing(track, len)?)?.pts)))
        .next();

    let cut = match tracks.iter_mut().find(is_video) {
        Some(track) => {
            let (count, cut) = clean_cut(track, len, audio_limit);
            keep(track, count);
            track.end = track.end.min(cut.ticks);
            Some(cut)
        }
        None => audio_limit,
    };
    let Some(cut) = cut else { return Ok(tracks) };
    if i128::from(cut.ticks) < PREFIX_S_MIN * i128::from(cut.timescale) {
        return Err(ReadError::Truncated("less than a second of it can be played".into()));
    }

    for track in tracks.iter_mut().filter(|track| matches!(track.media, TrackMedia::Audio(_))) {
        let present = first_missing(track, len).unwrap_or(track.samples.len());
        let count = track
            .samples
            .range(0..present)
            .take_while(|sample| Instant::of(track, sample.pts).is_before(&cut))
            .count() as u32;
        let last_end = count
            .checked_sub(1)
            .and_then(|last| track.samples.get(last))
            .map(|last| last.pts + i64::from(last.duration) + track.shift);
        keep(track, count);
        track.end = last_end.map_or(0, |end| track.end.min(end));
    }
    tracks.retain(|track| !track.samples.is_empty());
    Ok(tracks)
}

/// An instant on the common timeline.
#[derive(Debug, Clone, Copy)]
struct Instant {
    ticks: i64,
    timescale: u32,
}

impl Instant {
    fn of(track: &Track, pts: i64) -> Self {
        Instant { ticks: pts.saturating_add(track.shift), timescale: track.timescale }
    }

    fn is_before(&self, other: &Instant) -> bool {
        i128::from(self.ticks) * i128::from(other.timescale)
            < i128::from(other.ticks) * i128::from(self.timescale)
    }
}

/// The first sample in decode order that is not wholly in the file.
fn first_missing(track: &Track, len: u64) -> Option<u32> {
    let position = track.samples.iter().position(|sample| sample.offset + u64::from(sample.size) > len)?;
    u32::try_from(position).ok()
}

/// How many samples of the video track to keep, and the instant their presentation ends.
///
/// Looks at one GOP only: pictures of two GOPs never mix, so the last clean cut lies in the GOP of the first missing picture, or in
/// the one where the audio ends.
fn clean_cut(track: &Track, len: u64, audio_limit: Option<Instant>) -> (u32, Instant) {
    let samples = &track.samples;
    let count = samples.len();
    let present = first_missing(track, len).unwrap_or(count);
    let is_too_late = |instant: &Instant| audio_limit.is_some_and(|limit| limit.is_before(instant));

    let mut gop_end = present;
    loop {
        let inside = gop_end.min(count.saturating_sub(1));
        let start = samples.sync_at_or_before(inside).unwrap_or(0);
        // Pictures behind the GOP are shown after all of it; of the GOP itself all are needed, present or not.
        let behind = (inside + 1..count).find(|&n| samples.get(n).is_some_and(|sample| sample.is_sync));
        let mut earliest_behind = match behind.and_then(|n| samples.get(n)) {
            Some(sample) => Instant::of(track, sample.pts),
            None => Instant { ticks: track.end, timescale: track.timescale },
        };
        let gop: Vec<_> = samples.range(start..behind.unwrap_or(count)).collect();
        let mut latest_before: Vec<i64> = gop
            .iter()
            .scan(i64::MIN, |latest, sample| {
                *latest = sample.pts.max(*latest);
                Some(*latest)
            })
            .collect();
        for kept in (0..=gop.len()).rev() {
            if let Some(sample) = gop.get(kept) {
                let shown = Instant::of(track, sample.pts);
                if shown.is_before(&earliest_behind) {
                    earliest_behind = shown;
                }
            }
            latest_before.truncate(kept);
            let is_clean =
                latest_before.last().is_none_or(|&pts| Instant::of(track, pts).is_before(&earliest_behind));
            let kept_count = start + kept as u32;
            if is_clean && kept_count <= present && !is_too_late(&earliest_behind) {
                return (kept_count, earliest_behind);
            }
        }
        if start == 0 {
            return (0, Instant { ticks: 0, timescale: track.timescale });
        }
        gop_end = start - 1;
    }
}

fn keep(track: &mut Track, count: u32) {
    if count < track.samples.len() {
        track.samples = track.samples.range(0..count).collect::<SampleTable>();
    }
}
