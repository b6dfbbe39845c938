//! Cuts of an audio track: on the packet grid, at the first packet that starts at or after each cut of the
//! video.

use std::ops::Range;

use super::{
    AUDIO_SEGMENTS_MAX, PlanError, SEGMENT_FIRST_TARGET_S, SEGMENT_MIN_S, SEGMENT_SAMPLES_MAX,
    SEGMENT_TARGET_S, Segment, cuts_aligned_with, presented_at,
    silence::{leading_silent_packets, silent_packet_ticks},
};
use crate::codec::opus;
use crate::index::{AudioTrack, Sample, Track};

/// AAC packets before the one presented at 0, as priming for the decoder.
///
/// AAC overlaps each packet with the one before it; Apple's encoder signals a priming of slightly more than
/// two packets.
const PRIMING_PACKETS: u32 = 2;

fn priming_packets(audio: &AudioTrack) -> u32 {
    if audio.codec == opus::CODEC {
        opus::PRIMING_SAMPLES.div_ceil(audio.packet_samples.max(1))
    } else {
        PRIMING_PACKETS
    }
}

/// The cuts of audio, in audio ticks.
///
/// The cuts of the video, and some within its very long segments. Then the end of the video, and from there
/// a grid of target lengths. Without video only that grid.
pub(super) struct Cuts {
    /// Cuts that follow the video, increasing; the last is its end.
    video_cuts: Vec<i64>,
    /// Number of them at or before the last queried instant.
    passed_video_cuts: usize,
    /// The target length of the grid after them.
    target: i64,
}

impl Cuts {
    /// Cuts for `track` aligned with a video of this timescale and these segments.
    pub(super) fn aligned_with(video: Option<(u32, &[Segment])>, track: &Track) -> Self {
        let second = i64::from(track.timescale);
        let video_cuts = match video {
            Some((timescale, segments)) => {
                let cuts = cuts_aligned_with(timescale, segments).into_iter();
                cuts.map(|cut| rescaled_up(cut, timescale, track.timescale)).collect()
            }
            None => vec![SEGMENT_FIRST_TARGET_S * second, 2 * SEGMENT_FIRST_TARGET_S * second],
        };
        Self { video_cuts, passed_video_cuts: 0, target: SEGMENT_TARGET_S * second }
    }

    /// Number of cuts at or before an instant. Instants must increase from call to call.
    fn count_until(&mut self, at: i64) -> u64 {
        while self.video_cuts.get(self.passed_video_cuts).is_some_and(|cut| *cut <= at) {
            self.passed_video_cuts += 1;
        }
        let grid_cuts = match self.video_cuts.last() {
            Some(last) if self.passed_video_cuts == self.video_cuts.len() => {
                at.saturating_sub(*last) / self.target
            }
            _ => 0,
        };
        self.passed_video_cuts as u64 + grid_cuts.unsigned_abs()
    }

    /// All cuts after `from` and before `to`.
    fn between(&self, from: i64, to: i64) -> Vec<i64> {
        let target = self.target;
        let video_end = self.video_cuts.last().copied().into_iter();
        let grid_cuts = video_end
            .flat_map(|last| (1..).map(move |number| last.saturating_add(target.saturating_mul(number))));
        let all = self.video_cuts.iter().copied().chain(grid_cuts);
        all.skip_while(|cut| *cut <= from).take_while(|cut| *cut < to).take(AUDIO_SEGMENTS_MAX).collect()
    }

    /// The cuts aligned with the video at or before an instant.
    fn video_cuts_until(&self, at: i64) -> &[i64] {
        &self.video_cuts[..self.video_cuts.partition_point(|cut| *cut <= at)]
    }
}

/// Appends silent segments up to `end`. Returns `false`, and appends nothing, if silence of that length is
/// not possible.
pub(super) fn pad_with_silence(
    segments: &mut Vec<Segment>,
    track: &Track,
    audio: &AudioTrack,
    cuts: &Cuts,
    end: i64,
) -> bool {
    let (Some(_), Some(last)) = (silent_packet_ticks(track, audio), segments.last()) else { return false };
    let shortest = SEGMENT_MIN_S * i64::from(track.timescale);
    let (number, mut start) = (last.samples.end, last.end);
    let mut silent = Vec::new();
    for cut in cuts.between(start, end).into_iter().chain([end]) {
        let is_last = cut == end;
        if is_last || (shortest <= cut.saturating_sub(start) && shortest <= end.saturating_sub(cut)) {
            silent.push(Segment { samples: number..number, start, end: cut });
            start = cut;
        }
    }
    let can_be_made = check_silence(track, audio, &silent).is_ok();
    if can_be_made {
        segments.append(&mut silent);
    }
    can_be_made
}

/// The first tick of `to` at or after an instant in ticks of `from`.
pub(super) fn rescaled_up(ticks: i64, from: u32, to: u32) -> i64 {
    let (scaled, from) = (i128::from(ticks) * i128::from(to), i128::from(from));
    let up = scaled.div_euclid(from) + i128::from(scaled.rem_euclid(from) != 0);
    i64::try_from(up).unwrap_or(i64::MAX)
}

/// Cuts an audio track. `track.timescale` is not 0.
pub(super) fn segments(track: &Track, audio: &AudioTrack, mut cuts: Cuts) -> Result<Vec<Segment>, PlanError> {
    let mut segments: Vec<Segment> = Vec::new();
    let mut cuts_passed = 0;
    let mut samples_end = 0;
    let mut previous_at = None;
    for (number, packet) in packets(track, audio, first_packet(track, audio)..track.samples.len()) {
        let at = presented_at(track, &packet);
        if track.end <= at {
            break;
        }
        samples_end = number + 1;
        check_packet_duration(previous_at.replace(at), at)?;
        let passed_before = std::mem::replace(&mut cuts_passed, cuts.count_until(at));
        match segments.last_mut() {
            None => segments = leading_segments(track, audio, number, cuts.video_cuts_until(at)),
            Some(before) if passed_before < cuts_passed => {
                before.samples.end = number;
                before.end = at;
                segments.push(Segment { samples: number..number, start: at, end: at });
            }
            Some(_) => {}
        }
    }
    let Some(last) = segments.last_mut().filter(|_| 0 < track.end) else {
        return Err(PlanError::Empty { track: "audio" });
    };
    check_packet_duration(previous_at, track.end)?;
    last.samples.end = samples_end;
    last.end = track.end;
    merge_tail(&mut segments, track.timescale);
    check_silence(track, audio, &segments)?;
    Ok(segments)
}

/// The segment of the first packet, preceded by the silent segments between the cuts before it.
///
/// Each of those is long enough for one packet. Without a silent packet for the codec, the first segment
/// covers the whole gap.
fn leading_segments(track: &Track, audio: &AudioTrack, first: u32, cuts: &[i64]) -> Vec<Segment> {
    let mut used_cuts = Vec::new();
    if let Some(packet) = silent_packet_ticks(track, audio) {
        let mut last = 0;
        for &cut in cuts {
            if i64::from(packet) <= cut - last {
                used_cuts.push(cut);
                last = cut;
            }
        }
    }
    let ends = used_cuts.iter().copied().chain([0]);
    let starts = [0].into_iter().chain(used_cuts.iter().copied());
    starts
        .zip(ends)
        .map(|(start, end)| Segment { samples: first..first, start, end: end.max(start) })
        .collect()
}

/// Rejects a packet whose duration does not fit the 32 bits of ticks in a fragment.
fn check_packet_duration(before: Option<i64>, at: i64) -> Result<(), PlanError> {
    match before.map(|before| at.saturating_sub(before)) {
        Some(ticks) if i64::from(u32::MAX) < ticks => Err(PlanError::PauseTooLong { ticks }),
        _ => Ok(()),
    }
}

/// Rejects a gap after the end of the video that is too long to fill: no cut divides it.
fn check_silence(track: &Track, audio: &AudioTrack, segments: &[Segment]) -> Result<(), PlanError> {
    let counts = segments.iter().map(|segment| leading_silent_packets(track, audio, segment).0);
    match counts.enumerate().find(|(_, count)| SEGMENT_SAMPLES_MAX < *count) {
        Some((number, samples)) => Err(PlanError::TooManySamples { track: "audio", number, samples }),
        None => Ok(()),
    }
}

/// Joins a short last segment to the one before it.
fn merge_tail(segments: &mut Vec<Segment>, timescale: u32) {
    if let [.., before, last] = segments.as_mut_slice()
        && last.end.saturating_sub(last.start) < SEGMENT_MIN_S * i64::from(timescale)
    {
        before.samples.end = last.samples.end;
        before.end = last.end;
        segments.pop();
    }
}

/// The packet presented at 0, minus the priming.
fn first_packet(track: &Track, audio: &AudioTrack) -> u32 {
    let begun_packets =
        track.samples.range(0..track.samples.len()).take_while(|packet| presented_at(track, packet) <= 0);
    let begun = u32::try_from(begun_packets.count()).expect("a table holds at most 2^32 samples");
    begun.saturating_sub(1 + priming_packets(audio))
}

/// The packets of a range that are sent, with their numbers.
///
/// A packet whose declared duration is less than half its decoded length overlaps the next one and is
/// dropped; such packets appear where files were joined. The last packet of a part may be short, because
/// nothing follows.
pub fn packets<'a>(
    track: &'a Track,
    audio: &AudioTrack,
    range: Range<u32>,
) -> impl Iterator<Item = (u32, Sample)> + 'a {
    let half = (u64::from(audio.packet_samples) * u64::from(track.timescale)).div_ceil(2);
    let rate = u64::from(audio.sample_rate);
    let last = track.samples.len().saturating_sub(1);
    let ends_part = move |number: u32| {
        number == last || track.edit_points.binary_search_by_key(&(number + 1), |point| point.sample).is_ok()
    };
    (range.start..)
        .zip(track.samples.range(range))
        .filter(move |(number, packet)| ends_part(*number) || half <= u64::from(packet.duration) * rate)
}
