//! Truncated sources: finds the playable prefix. M-6.

use kinora_index::{EditPoint, Sample, SampleTable, Track, TrackMedia, default_audio, plan::presented_at};

use super::super::error::ReadError;

/// A shorter prefix is a failure, not a media. M-6.
const PREFIX_S_MIN: i64 = 1;
/// How much earlier than the rest another audio track may end. Tracks are interleaved by a second or less; a
/// track that lacks more is in a missing part of the file.
const LAG_S_MAX: i64 = 2;

/// Cuts the tracks to the samples in the first `len` bytes, all at the same instant.
///
/// The video and the default audio track determine the instant. Other audio tracks remain only if they
/// extend to it.
///
/// Video is cut only where all frames before the cut are presented before all frames after it, so that no
/// frame is missing. Errors: `Truncated` if less than a second is left.
pub(super) fn playable_prefix(mut tracks: Vec<Track>, len: u64) -> Result<Vec<Track>, ReadError> {
    let audio = default_audio(&tracks);
    let video = tracks.iter().position(|track| matches!(track.media, TrackMedia::Video(_)));

    let audio_limit = audio.map(|n| &tracks[n]).and_then(|track| {
        let missing = track.samples.get(samples_within(track, len))?;
        Some(MediaTime { ticks: presented_at(track, &missing), timescale: track.timescale })
    });
    let cut = match video.map(|n| &mut tracks[n]) {
        Some(track) => {
            let (count, cut) =
                clean_cut(track, samples_within(track, len), audio_limit).ok_or_else(too_short)?;
            track.end = track.end.min(cut.ticks);
            truncate(track, count);
            Some(cut)
        }
        None => audio_limit,
    };
    if cut.is_some_and(|cut| cut.ticks < PREFIX_S_MIN * i64::from(cut.timescale)) {
        return Err(too_short());
    }

    let mut number = 0;
    tracks.retain_mut(|track| {
        let is_default = audio == Some(number);
        number += 1;
        let is_audio = matches!(track.media, TrackMedia::Audio(_));
        let is_long_enough = !is_audio || cut_audio(track, cut, len) || is_default;
        is_long_enough && !track.samples.is_empty()
    });
    Ok(tracks)
}

/// Rejects tracks that are all shorter than the minimum length of a prefix.
pub(super) fn check_length(tracks: &[Track]) -> Result<(), ReadError> {
    let is_long = |track: &Track| track.end >= PREFIX_S_MIN * i64::from(track.timescale);
    if tracks.iter().any(is_long) { Ok(()) } else { Err(too_short()) }
}

fn too_short() -> ReadError {
    ReadError::Truncated("less than a second of it can be played".into())
}

/// Cuts an audio track at an instant, or where its bytes are missing. Returns whether it extends to about
/// its planned end.
fn cut_audio(track: &mut Track, cut: Option<MediaTime>, len: u64) -> bool {
    let limit = cut.map_or(i64::MAX, |cut| cut.in_ticks_of(track.timescale));
    let count_present = samples_within(track, len);
    if count_present == track.samples.len() && track.end <= limit {
        return true;
    }
    let before_cut = |sample: &Sample| presented_at(track, sample) < limit;
    let present = track.samples.range(0..count_present).take_while(before_cut);
    let (count, last) = present.fold((0, None), |(count, _), sample| (count + 1, Some(sample)));
    let last_end = last.map_or(0, |last| presented_at(track, &last).saturating_add(last.duration.into()));
    let planned_end = track.end.min(limit);
    truncate(track, count);
    track.end = track.end.min(last_end);
    planned_end.saturating_sub(last_end) <= LAG_S_MAX * i64::from(track.timescale)
}

/// An instant on the common timeline.
#[derive(Debug, Clone, Copy)]
struct MediaTime {
    ticks: i64,
    timescale: u32,
}

impl MediaTime {
    /// In another timescale, rounded down.
    fn in_ticks_of(self, timescale: u32) -> i64 {
        let ticks = (i128::from(self.ticks) * i128::from(timescale)).div_euclid(i128::from(self.timescale));
        i64::try_from(ticks).unwrap_or(i64::MAX)
    }
}

/// The number of samples before the first one that is not completely in the file.
fn samples_within(track: &Track, len: u64) -> u32 {
    let is_present = |sample: &Sample| sample.offset + u64::from(sample.size) <= len;
    track.samples.iter().take_while(is_present).count() as u32
}

/// How many of the first `present` samples of the video track are playable, and the instant their
/// presentation ends, which is not after `limit`.
fn clean_cut(track: &Track, present: u32, limit: Option<MediaTime>) -> Option<(u32, MediaTime)> {
    let samples = &track.samples;
    let limit =
        limit.map_or(i64::MAX, |limit| limit.in_ticks_of(track.timescale).saturating_sub(track.shift));
    let mut inside = present.min(samples.first_at_or_after_pts(limit).unwrap_or(u32::MAX));
    loop {
        // Frames of two GOPs never interleave, so each GOP can be checked alone.
        let last = samples.len().checked_sub(1)?;
        let start = samples.sync_at_or_before(inside.min(last)).unwrap_or(0);
        let mut gop = vec![samples.get(start)?];
        gop.extend(samples.range(start + 1..samples.len()).take_while(|sample| !sample.is_sync));
        let next = first_presented_pts(samples, start + gop.len() as u32)
            .unwrap_or_else(|| track.end.saturating_sub(track.shift));
        let is_playable = |&(count, end): &(usize, i64)| start + count as u32 <= present && end <= limit;
        if let Some((count, end)) = clean_cuts(&gop, next).into_iter().find(is_playable) {
            return Some((
                start + count as u32,
                MediaTime { ticks: end.saturating_add(track.shift), timescale: track.timescale },
            ));
        }
        inside = start.checked_sub(1)?;
    }
}

/// Presentation time of the first frame of the GOP that begins at this sample. A leading frame may come
/// before its keyframe.
fn first_presented_pts(samples: &SampleTable, sync: u32) -> Option<i64> {
    let keyframe = samples.get(sync)?;
    let leading = samples.range(sync + 1..samples.len());
    let leading = leading.take_while(|sample| !sample.is_sync && sample.pts < keyframe.pts);
    Some(leading.map(|sample| sample.pts).fold(keyframe.pts, i64::min))
}

/// The valid cuts of a GOP, latest first: the number of samples before, and the presentation time of the
/// first frame after.
///
/// `next` is the presentation time of the frame after the GOP.
fn clean_cuts(gop: &[Sample], next: i64) -> Vec<(usize, i64)> {
    let mut latest_before = vec![i64::MIN];
    for sample in gop {
        latest_before.push(sample.pts.max(latest_before[latest_before.len() - 1]));
    }
    let mut earliest_after = next;
    let mut cuts = Vec::new();
    for count in (0..=gop.len()).rev() {
        if let Some(after) = gop.get(count) {
            earliest_after = earliest_after.min(after.pts);
        }
        if latest_before[count] < earliest_after {
            cuts.push((count, earliest_after));
        }
    }
    cuts
}

/// Retains the first `count` samples, and none after an edit point that is no longer reached.
fn truncate(track: &mut Track, count: u32) {
    let is_reached =
        |point: &EditPoint| point.sample < count && point.pts.saturating_add(track.shift) < track.end;
    let reached = track.edit_points.iter().take_while(|edit_point| is_reached(edit_point)).count();
    let count = track.edit_points.get(reached).map_or(count, |joint| count.min(joint.sample));
    track.edit_points.truncate(reached);
    if count < track.samples.len() {
        track.samples = track.samples.range(0..count).collect::<SampleTable>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gop_is_truncated_only_without_frame_gaps() {
        let gop = |times: &[i64]| {
            let sample = |&pts: &i64| Sample {
                dts: 0,
                pts,
                duration: 1,
                object: 0,
                offset: 0,
                size: 1,
                is_sync: false,
            };
            times.iter().map(sample).collect::<Vec<_>>()
        };
        assert_eq!(clean_cuts(&gop(&[0, 1, 2]), 3), [(3, 3), (2, 2), (1, 1), (0, 0)]);
        assert_eq!(clean_cuts(&gop(&[0, 4, 2, 1, 3, 5]), 6), [(6, 6), (5, 5), (1, 1), (0, 0)]);
        // An edit ends the track before the last frame is presented.
        assert_eq!(clean_cuts(&gop(&[0, 2, 1]), 2), [(1, 1), (0, 0)]);
        assert_eq!(clean_cuts(&[], 7), [(0, 7)]);
    }
}
