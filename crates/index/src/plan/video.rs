//! Cuts of a video track: at sync samples, near the target length.

use super::{
    ENTRIES_A_SECOND_MAX, ENTRIES_EXACT_MAX, GOP_MAX_S, PlanError, SEGMENT_FIRST_TARGET_S, SEGMENT_MAX_S,
    SEGMENT_MIN_S, SEGMENT_TARGET_S, Segment, presented_at,
};
use crate::index::{Track, TrackMedia};

/// Below this many ticks a second, pictures that an edit skips would take too long even at one tick each.
const SKIPPING_TIMESCALE_MIN: u32 = 90_000;

/// A sync sample at which a segment may begin.
#[derive(Debug, Clone, Copy)]
struct Entry {
    sample: u32,
    /// When it, or a picture that leads it, is first shown on the common timeline; 0 for the one in front.
    at: i64,
    /// When it is itself shown.
    keyframe_at: i64,
    /// When the last picture before it in decode order is shown.
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
    check_room(track, &segments)?;
    match segments.iter().find(|segment| GOP_MAX_S * second < segment.end - segment.start) {
        None => Ok(segments),
        Some(long) => Err(PlanError::GopTooLong {
            at_seconds: long.start / second,
            seconds: ((long.end - long.start) as u64).div_ceil(second as u64) as i64,
        }),
    }
}

/// Refuses segments without a tick for each picture: an end that an edit moved into the first instants, or a
/// damaged clock.
fn check_room(track: &Track, segments: &[Segment]) -> Result<(), PlanError> {
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

/// The sync samples at which a cut loses no picture and shows none twice, the first one moved to 0, and the
/// end of the samples that are needed.
///
/// No sample before such a one in decode order is shown after it or what follows it. Where the codec has no
/// leading pictures, none after it is shown before it either; where it has, the entry begins with the
/// earliest of them. Where there are very many, close ones are left out.
fn entries(track: &Track) -> Result<(Vec<Entry>, u32), PlanError> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut samples_end = 0;
    let has_leading = matches!(&track.media, TrackMedia::Video(video) if video.has_leading_pictures());
    let mut latest = i64::MIN;
    for (number, sample) in (0..).zip(track.samples.range(0..track.samples.len())) {
        let at = presented_at(track, &sample);
        if at < track.end {
            samples_end = number + 1;
        }
        if sample.is_sync && latest < at {
            let entry = Entry { sample: number, at, keyframe_at: at, before: latest };
            keep(&mut entries, entry, track.timescale);
        } else {
            // Pictures that lead: whoever begins at this entry lacks what they refer to, and knows it or does
            // not.
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

    // What an edit skips is needed from the last keyframe on, no further.
    let shown_from = entries.partition_point(|entry| entry.keyframe_at <= 0).saturating_sub(1);
    entries.drain(..shown_from);
    entries.retain(|entry| entry.at < track.end);
    entries.first_mut().ok_or(PlanError::NoSyncSample)?.at = 0;
    Ok((entries, samples_end))
}

/// Adds an entry, unless enough are there.
fn keep(entries: &mut Vec<Entry>, entry: Entry, timescale: u32) {
    let distance_min = i64::from(timescale) / ENTRIES_A_SECOND_MAX;
    let is_many = ENTRIES_EXACT_MAX <= entries.len();
    match entries.as_mut_slice() {
        // Of those that an edit skips only the last is used.
        [_, .., last] if last.keyframe_at <= 0 && entry.keyframe_at <= 0 => *last = entry,
        [.., last] if 0 < last.at && entry.at - last.at < distance_min && is_many => {}
        _ => entries.push(entry),
    }
}

/// Picks the entries that become cuts. `entries` is not empty and rises in both fields.
fn choose(entries: &[Entry], end: i64, timescale: u32) -> Vec<Entry> {
    let second = i64::from(timescale);
    let slack = median_gop(entries, end) / 2;
    let mut cuts: Vec<Entry> = Vec::with_capacity(entries.len().min(4096));
    let mut last = 0;
    for (index, entry) in entries.iter().enumerate() {
        if index == 0 {
            cuts.push(*entry);
            continue;
        }
        let target = second * if cuts.len() <= 2 { SEGMENT_FIRST_TARGET_S } else { SEGMENT_TARGET_S };
        // Where GOPs are long and a few short, half the median exceeds the target: then every keyframe would
        // be due.
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

/// Median distance of neighbouring entries, the end of the track counted as one.
fn median_gop(entries: &[Entry], end: i64) -> i64 {
    let next = entries.iter().skip(1).map(|entry| entry.at).chain([end]);
    let mut gops: Vec<i64> = entries.iter().zip(next).map(|(entry, next)| next - entry.at).collect();
    let middle = gops.len() / 2;
    *gops.select_nth_unstable(middle).1
}

/// Joins a short last segment to the one before it, unless that one would grow too long.
fn merge_tail(cuts: &mut Vec<Entry>, end: i64, timescale: u32) {
    let second = i64::from(timescale);
    if let [.., before, last] = cuts.as_slice()
        && end - last.at < SEGMENT_MIN_S * second
        && end - before.at <= SEGMENT_MAX_S * second
    {
        cuts.pop();
    }
}

/// Ticks we write for one tick of a video track whose first segment is this one.
pub(crate) fn factor(track: &Track, first: Option<&Segment>) -> u32 {
    if hides_pictures(track, first) { SKIPPING_TIMESCALE_MIN.div_ceil(track.timescale.max(1)) } else { 1 }
}

/// Whether the first segment begins with pictures from before 0.
fn hides_pictures(track: &Track, first: Option<&Segment>) -> bool {
    first
        .and_then(|segment| track.samples.get(segment.samples.start))
        .is_some_and(|sample| presented_at(track, &sample) < 0)
}
