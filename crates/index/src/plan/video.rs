//! Cuts of a video track: at sync samples, near the target length.

use super::{
    GOP_MAX_S, PlanError, SEGMENT_FIRST_TARGET_S, SEGMENT_MAX_S, SEGMENT_MIN_S, SEGMENT_TARGET_S,
    SYNC_SAMPLES_EXACT_MAX, SYNC_SAMPLES_PER_SECOND_MAX, Segment, presented_at,
};
use crate::index::{Track, TrackMedia};

/// Ticks per second below which frames that an edit skips take too long even at one tick each.
const SKIPPING_TIMESCALE_MIN: u32 = 90_000;

/// A sync sample at which a segment may begin.
#[derive(Debug, Clone, Copy)]
struct CutCandidate {
    sample: u32,
    /// Presentation time, on the common timeline, of the sample or of its earliest leading picture; 0 for
    /// the first candidate.
    at: i64,
    /// Presentation time of the sample itself.
    keyframe_at: i64,
    /// Latest presentation time of the frames before it in decode order.
    latest_before: i64,
}

/// Cuts a video track. `track.timescale` is not 0.
pub(super) fn segments(track: &Track) -> Result<Vec<Segment>, PlanError> {
    let (candidates, samples_end) = cut_candidates(track)?;
    let mut cuts = choose_cuts(&candidates, track.end, track.timescale);
    merge_tail(&mut cuts, track.end, track.timescale);

    let second = i64::from(track.timescale);
    let ends = cuts.iter().skip(1).map(|cut| (cut.sample, cut.at)).chain([(samples_end, track.end)]);
    let segments: Vec<_> = cuts
        .iter()
        .zip(ends)
        .map(|(cut, (sample, at))| Segment { samples: cut.sample..sample, start: cut.at, end: at })
        .collect();
    check_tick_count(track, &segments)?;
    match segments.iter().find(|segment| GOP_MAX_S * second < segment.end - segment.start) {
        None => Ok(segments),
        Some(long) => Err(PlanError::GopTooLong {
            at_seconds: long.start / second,
            seconds: ((long.end - long.start) as u64).div_ceil(second as u64) as i64,
        }),
    }
}

/// Rejects segments with fewer ticks than frames: an edit moved the end into the first instants, or the
/// clock is damaged.
fn check_tick_count(track: &Track, segments: &[Segment]) -> Result<(), PlanError> {
    let factor = u64::from(factor(track, segments.first()));
    for (number, segment) in segments.iter().enumerate() {
        let samples = segment.samples.end.saturating_sub(segment.samples.start);
        let ticks = segment.duration().saturating_mul(factor);
        if ticks < u64::from(samples) {
            return Err(PlanError::TooShort { number, samples, ticks });
        }
    }
    Ok(())
}

/// The sync samples at which a cut neither loses nor repeats a frame, the first one moved to 0, and the end
/// of the samples that are needed.
///
/// No earlier sample in decode order is presented after such a sample or after those that follow it. If the
/// codec has no leading pictures, no later sample is presented before it either. Otherwise the candidate
/// begins with the earliest of its leading pictures. Drops close candidates if there are very many.
fn cut_candidates(track: &Track) -> Result<(Vec<CutCandidate>, u32), PlanError> {
    let mut candidates: Vec<CutCandidate> = Vec::new();
    let mut samples_end = 0;
    let has_leading = matches!(&track.media, TrackMedia::Video(video) if video.has_leading_samples());
    let mut latest = i64::MIN;
    for (number, sample) in (0..).zip(track.samples.range(0..track.samples.len())) {
        let at = presented_at(track, &sample);
        if at < track.end {
            samples_end = number + 1;
        }
        if sample.is_sync && latest < at {
            let candidate = CutCandidate { sample: number, at, keyframe_at: at, latest_before: latest };
            push_candidate(&mut candidates, candidate, track.timescale);
        } else {
            // Leading pictures: a decoder that starts at this candidate lacks their references. Some codecs
            // skip them, others show them corrupted.
            while let Some(entry) = candidates.last_mut().filter(|entry| at < entry.at) {
                if has_leading && entry.latest_before < at {
                    entry.at = at;
                } else {
                    candidates.pop();
                }
            }
        }
        latest = latest.max(at);
    }
    if samples_end == 0 || track.end <= 0 {
        return Err(PlanError::Empty { track: "video" });
    }

    // Skipped frames are needed only from the last keyframe before the edit on.
    let shown_from = candidates.partition_point(|entry| entry.keyframe_at <= 0).saturating_sub(1);
    candidates.drain(..shown_from);
    candidates.retain(|entry| entry.at < track.end);
    candidates.first_mut().ok_or(PlanError::NoSyncSample)?.at = 0;
    Ok((candidates, samples_end))
}

/// Adds a candidate, unless there are already enough close to it.
fn push_candidate(candidates: &mut Vec<CutCandidate>, candidate: CutCandidate, timescale: u32) {
    let distance_min = i64::from(timescale) / SYNC_SAMPLES_PER_SECOND_MAX;
    let has_many = SYNC_SAMPLES_EXACT_MAX <= candidates.len();
    match candidates.as_mut_slice() {
        // Only the last of those that an edit skips is used.
        [_, .., last] if last.keyframe_at <= 0 && candidate.keyframe_at <= 0 => *last = candidate,
        [.., last] if 0 < last.at && candidate.at - last.at < distance_min && has_many => {}
        _ => candidates.push(candidate),
    }
}

/// Chooses the candidates that become cuts. `candidates` is not empty and increases in both fields.
fn choose_cuts(candidates: &[CutCandidate], end: i64, timescale: u32) -> Vec<CutCandidate> {
    let second = i64::from(timescale);
    let slack = median_gop(candidates, end) / 2;
    let mut cuts: Vec<CutCandidate> = Vec::with_capacity(candidates.len().min(4096));
    let mut last = 0;
    for (index, candidate) in candidates.iter().enumerate() {
        if index == 0 {
            cuts.push(*candidate);
            continue;
        }
        let target = second * if cuts.len() <= 2 { SEGMENT_FIRST_TARGET_S } else { SEGMENT_TARGET_S };
        // With mostly long GOPs and a few short ones, half the median exceeds the target. Then every
        // keyframe would be due.
        let is_due = (target - slack).max(SEGMENT_MIN_S * second) <= candidate.at - last;
        let next = candidates.get(index + 1).map_or(end, |next| next.at);
        let is_last_chance = SEGMENT_MAX_S * second < next - last;
        if is_due || is_last_chance {
            cuts.push(*candidate);
            last = candidate.at;
        }
    }
    cuts
}

/// Median distance of consecutive candidates, the end of the track counted as one.
fn median_gop(candidates: &[CutCandidate], end: i64) -> i64 {
    let next = candidates.iter().skip(1).map(|candidate| candidate.at).chain([end]);
    let mut gops: Vec<i64> = candidates.iter().zip(next).map(|(entry, next)| next - entry.at).collect();
    let middle = gops.len() / 2;
    *gops.select_nth_unstable(middle).1
}

/// Joins a short last segment to the one before it, unless that one would grow too long.
fn merge_tail(cuts: &mut Vec<CutCandidate>, end: i64, timescale: u32) {
    let second = i64::from(timescale);
    if let [.., before, last] = cuts.as_slice()
        && end - last.at < SEGMENT_MIN_S * second
        && end - before.at <= SEGMENT_MAX_S * second
    {
        cuts.pop();
    }
}

/// Output ticks per source tick of a video track with this first segment.
pub(crate) fn factor(track: &Track, first: Option<&Segment>) -> u32 {
    if starts_before_zero(track, first) { SKIPPING_TIMESCALE_MIN.div_ceil(track.timescale.max(1)) } else { 1 }
}

/// Whether the first segment begins with frames from before 0.
fn starts_before_zero(track: &Track, first: Option<&Segment>) -> bool {
    first
        .and_then(|segment| track.samples.get(segment.samples.start))
        .is_some_and(|sample| presented_at(track, &sample) < 0)
}
