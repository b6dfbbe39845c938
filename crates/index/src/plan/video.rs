//! Cuts of a video track: at sync samples, near the target length.

use super::{
    ENTRIES_A_SECOND_MAX, ENTRIES_EXACT_MAX, GOP_MAX_S, PlanError, SEGMENT_FIRST_TARGET_S, SEGMENT_MAX_S,
    SEGMENT_MIN_S, SEGMENT_TARGET_S, Segment, presented_at,
};
use crate::index::{Track, TrackMedia};

/// Ticks per second below which frames that an edit skips take too long even at one tick each.
const SKIPPING_TIMESCALE_MIN: u32 = 90_000;

/// A sync sample at which a segment may begin.
#[derive(Debug, Clone, Copy)]
struct CutCandidate {
    sample: u32,
    /// Presentation time, on the common timeline, of the sample or of its earliest leading picture; 0 for
    /// the first entry.
    at: i64,
    /// Presentation time of the sample itself.
    keyframe_at: i64,
    /// Latest presentation time of the frames before it in decode order.
    before: i64,
}

/// Cuts a video track. `track.timescale` is not 0.
pub(super) fn segments(track: &Track) -> Result<Vec<Segment>, PlanError> {
    let (entries, samples_end) = entries(track)?;
    let mut cuts = choose(&entries, track.end, track.timescale);
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
/// codec has no leading pictures, no later sample is presented before it either. Otherwise the entry begins
/// with the earliest of its leading pictures. Drops close entries if there are very many.
fn entries(track: &Track) -> Result<(Vec<CutCandidate>, u32), PlanError> {
    let mut entries: Vec<CutCandidate> = Vec::new();
    let mut samples_end = 0;
    let has_leading = matches!(&track.media, TrackMedia::Video(video) if video.has_leading_samples());
    let mut latest = i64::MIN;
    for (number, sample) in (0..).zip(track.samples.range(0..track.samples.len())) {
        let at = presented_at(track, &sample);
        if at < track.end {
            samples_end = number + 1;
        }
        if sample.is_sync && latest < at {
            let entry = CutCandidate { sample: number, at, keyframe_at: at, before: latest };
            keep(&mut entries, entry, track.timescale);
        } else {
            // Leading pictures: a decoder that starts at this entry lacks their references. Some codecs skip
            // them, others show them corrupted.
            while let Some(entry) = entries.last_mut().filter(|entry| at < entry.at) {
                if has_leading && entry.before < at {
                    entry.at = at;
                } else {
                    entries.pop();
                }
            }
        }
        latest = latest.max(at);
    }
    if samples_end == 0 || track.end <= 0 {
        return Err(PlanError::Empty { track: "video" });
    }

    // Skipped frames are needed only from the last keyframe before the edit on.
    let shown_from = entries.partition_point(|entry| entry.keyframe_at <= 0).saturating_sub(1);
    entries.drain(..shown_from);
    entries.retain(|entry| entry.at < track.end);
    entries.first_mut().ok_or(PlanError::NoSyncSample)?.at = 0;
    Ok((entries, samples_end))
}

/// Adds an entry, unless there are already enough close to it.
fn keep(entries: &mut Vec<CutCandidate>, entry: CutCandidate, timescale: u32) {
    let distance_min = i64::from(timescale) / ENTRIES_A_SECOND_MAX;
    let is_many = ENTRIES_EXACT_MAX <= entries.len();
    match entries.as_mut_slice() {
        // Only the last of those that an edit skips is used.
        [_, .., last] if last.keyframe_at <= 0 && entry.keyframe_at <= 0 => *last = entry,
        [.., last] if 0 < last.at && entry.at - last.at < distance_min && is_many => {}
        _ => entries.push(entry),
    }
}

/// Chooses the entries that become cuts. `entries` is not empty and increases in both fields.
fn choose(entries: &[CutCandidate], end: i64, timescale: u32) -> Vec<CutCandidate> {
    let second = i64::from(timescale);
    let slack = median_gop(entries, end) / 2;
    let mut cuts: Vec<CutCandidate> = Vec::with_capacity(entries.len().min(4096));
    let mut last = 0;
    for (index, entry) in entries.iter().enumerate() {
        if index == 0 {
            cuts.push(*entry);
            continue;
        }
        let target = second * if cuts.len() <= 2 { SEGMENT_FIRST_TARGET_S } else { SEGMENT_TARGET_S };
        // With mostly long GOPs and a few short ones, half the median exceeds the target. Then every
        // keyframe would be due.
        let is_due = (target - slack).max(SEGMENT_MIN_S * second) <= entry.at - last;
        let next = entries.get(index + 1).map_or(end, |next| next.at);
        let is_last_chance = SEGMENT_MAX_S * second < next - last;
        if is_due || is_last_chance {
            cuts.push(*entry);
            last = entry.at;
        }
    }
    cuts
}

/// Median distance of consecutive entries, the end of the track counted as one.
fn median_gop(entries: &[CutCandidate], end: i64) -> i64 {
    let next = entries.iter().skip(1).map(|entry| entry.at).chain([end]);
    let mut gops: Vec<i64> = entries.iter().zip(next).map(|(entry, next)| next - entry.at).collect();
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
    if hides_frames(track, first) { SKIPPING_TIMESCALE_MIN.div_ceil(track.timescale.max(1)) } else { 1 }
}

/// Whether the first segment begins with frames from before 0.
fn hides_frames(track: &Track, first: Option<&Segment>) -> bool {
    first
        .and_then(|segment| track.samples.get(segment.samples.start))
        .is_some_and(|sample| presented_at(track, &sample) < 0)
}
