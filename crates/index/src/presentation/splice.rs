//! Concatenates tracks of several sources on one clock.

use std::ops::Range;

use super::JoinError;
use crate::index::{
    AudioTrack, EDIT_POINTS_MAX, EditPoint, Index, NotCopied, NotCopiedReason, Sample, SampleTableBuilder,
    Segment, Track, TrackMedia, VideoTrack,
};

/// Fallback timescale if the clocks of all parts have no common multiple: a tenth of a microsecond, so that
/// no two frames get the same time.
const TIMESCALE_MAX: u32 = 10_000_000;
/// Samples of one track of a presentation: the same limit as for one source.
const SAMPLES_MAX: u32 = 1 << 24;

/// A track of one part.
#[derive(Debug, Clone)]
pub(super) struct TrackPart<'a> {
    pub(super) track: Track,
    /// Its segments; empty if it is not copied.
    pub(super) copy: Vec<Segment>,
    /// Start and end of the part.
    pub(super) time_range: Range<MediaTime>,
    /// The number in the presentation of each object of the part's index.
    pub(super) object_numbers: &'a [u8],
}

/// A time of the presentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MediaTime {
    pub(super) ticks: i64,
    pub(super) timescale: u32,
}

impl MediaTime {
    /// Whether it is later than a time on another clock.
    pub(super) fn is_after(self, ticks: i64, timescale: u32) -> bool {
        i128::from(ticks) * i128::from(self.timescale) < i128::from(self.ticks) * i128::from(timescale)
    }
}

/// The clock of a track of several parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JoinTimescale {
    pub(super) timescale: u32,
}

impl JoinTimescale {
    /// The coarsest clock on which every tick of these clocks is whole, if there is one.
    pub(super) fn of(timescales: impl IntoIterator<Item = u32>) -> Self {
        let mut timescales = timescales.into_iter();
        let all = timescales.try_fold(1, |all, timescale| {
            u32::try_from(least_common_multiple(all, timescale)).ok().filter(|all| *all <= TIMESCALE_MAX)
        });
        Self { timescale: all.unwrap_or(TIMESCALE_MAX) }
    }

    /// Converts ticks of another clock to this one, rounded to the nearest.
    fn rescaled(self, ticks: i64, timescale: u32) -> i64 {
        let of = i128::from(timescale.max(1));
        let twice = 2 * i128::from(ticks) * i128::from(self.timescale) + of;
        i64::try_from(twice.div_euclid(2 * of)).unwrap_or(if ticks < 0 { i64::MIN } else { i64::MAX })
    }

    pub(super) fn instant(self, ticks: i64) -> MediaTime {
        MediaTime { ticks, timescale: self.timescale }
    }

    /// Duration of a source: to the end of the track that ends last.
    pub(super) fn duration_of(self, index: &Index) -> i64 {
        let ends = index.tracks.iter().map(|track| self.rescaled(track.end, track.timescale));
        ends.max().unwrap_or(0)
    }
}

fn least_common_multiple(one: u32, other: u32) -> u64 {
    let (mut a, mut b) = (u64::from(one), u64::from(other));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    u64::from(one) / a.max(1) * u64::from(other)
}

/// The video of all parts, and its copy: empty if that of a part is not copied, or begins with hidden
/// frames.
pub(super) fn splice_video(parts: &[TrackPart<'_>]) -> Result<(Track, Vec<Segment>), JoinError> {
    let is_copied = parts.iter().enumerate().all(|(number, part)| {
        let first = part.copy.first().and_then(|segment| part.track.samples.get(segment.samples.start));
        // The edit list of the init segment hides them at the start. Between two parts they would be
        // visible.
        first.is_some_and(|sample| number == 0 || 0 <= sample.pts.saturating_add(part.track.shift))
    });
    let (mut track, copy) = splice_tracks(parts, |_| 0)?;
    if is_copied {
        return Ok((track, copy));
    }
    if let TrackMedia::Video(video) = &mut track.media {
        let why = || NotCopied::new(NotCopiedReason::Edits, "parts that are not all copied");
        video.not_copied = video.not_copied.take().or_else(|| Some(why()));
    }
    Ok((track, Vec::new()))
}

/// The audio of all parts, and its copy.
pub(super) fn splice_audio(parts: &[TrackPart<'_>]) -> Result<(Track, Vec<Segment>), JoinError> {
    // An edit list hides the priming of the first part. That of another part would play over the end of the
    // part before it.
    splice_tracks(parts, |part| if part.time_range.start.ticks == 0 { 0 } else { priming_count(part) })
}

/// Number of packets of the copy that play mostly before the part begins.
fn priming_count(part: &TrackPart<'_>) -> u32 {
    let packets = part.copy.first().map(|first| part.track.samples.range(first.samples.clone()));
    let is_before = |packet: &Sample| {
        let begin = packet.pts.saturating_add(part.track.shift);
        begin.saturating_add(i64::from(packet.duration / 2)) < 0
    };
    let count = packets.into_iter().flatten().take_while(is_before).count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// One track of all parts, without the first `skipped_samples` of each, and the segments of their copies.
fn splice_tracks(
    parts: &[TrackPart<'_>],
    skipped_samples: impl Fn(&TrackPart<'_>) -> u32,
) -> Result<(Track, Vec<Segment>), JoinError> {
    let first = parts.first().ok_or(JoinError::NoParts)?;
    let clock = JoinTimescale::of(parts.iter().map(|part| part.track.timescale));
    let mut splice = Splice {
        clock,
        samples: SampleTableBuilder::default(),
        edit_points: Vec::new(),
        configurations: Vec::new(),
        copy: Vec::new(),
    };
    for (part, track_part) in parts.iter().enumerate() {
        splice.push(part, track_part, skipped_samples(track_part))?;
    }
    let Splice { samples, edit_points, configurations, copy, .. } = splice;
    let end = parts
        .last()
        .map_or(0, |last| clock.rescaled(last.time_range.end.ticks, last.time_range.end.timescale));
    let mut configurations = configurations.into_iter();
    let bytes: u64 = parts.iter().map(|part| part.track.samples_bytes()).fold(0, u64::saturating_add);
    let average =
        u128::from(bytes) * 8 * u128::from(clock.timescale) / u128::try_from(end).unwrap_or(0).max(1);
    let track = Track {
        timescale: clock.timescale,
        media: configurations.next().unwrap_or_else(|| first.track.media.clone()),
        configurations: configurations.collect(),
        samples: samples.finish(),
        edit_points,
        shift: 0,
        end,
        bitrate_average: u64::try_from(average).unwrap_or(u64::MAX),
        bitrate_peak: parts.iter().map(|part| part.track.bitrate_peak).max().unwrap_or(0),
        ..first.track.clone()
    };
    Ok((track, copy))
}

/// The state of a track to which parts are added.
struct Splice {
    clock: JoinTimescale,
    samples: SampleTableBuilder,
    edit_points: Vec<EditPoint>,
    configurations: Vec<TrackMedia>,
    copy: Vec<Segment>,
}

impl Splice {
    fn push(
        &mut self,
        part: usize,
        track_part: &TrackPart<'_>,
        skipped_samples: u32,
    ) -> Result<(), JoinError> {
        let TrackPart { track, copy, time_range, object_numbers } = track_part;
        let ticks = |ticks| self.clock.rescaled(ticks, track.timescale);
        let begin = self.clock.rescaled(time_range.start.ticks, time_range.start.timescale);
        let end = self.clock.rescaled(time_range.end.ticks, time_range.end.timescale);
        let at = |time: i64| ticks(time.saturating_add(track.shift)).saturating_add(begin);
        let from = copy.first().map_or(0, |segment| segment.samples.start.saturating_add(skipped_samples));
        let to = copy.last().map_or(track.samples.len(), |segment| segment.samples.end);
        let (base, count) = (self.samples.len(), to.saturating_sub(from));
        if SAMPLES_MAX.saturating_sub(base) < count {
            return Err(JoinError::TooMany);
        }
        if count == 0 {
            return Err(JoinError::Empty { part });
        }
        let new_number = |sample: u32| base + sample.clamp(from, to) - from;
        let jumps = track.edit_points.iter().filter(|point| (from + 1..to).contains(&point.sample));
        let jumps: Vec<_> = jumps
            .map(|edit_point| (new_number(edit_point.sample), at(edit_point.pts), edit_point.configuration))
            .collect();
        // Silence at the end has the number after the last sample, which belongs to the next part.
        let new_numbers = |samples: &Range<u32>| {
            if samples.is_empty() {
                let last = new_number(samples.start.min(to - 1));
                last..last
            } else {
                new_number(samples.start)..new_number(samples.end)
            }
        };
        let segments: Vec<_> = copy
            .iter()
            .map(|segment| (new_numbers(&segment.samples), segment.start))
            .map(|(samples, start)| Segment { samples, start: ticks(start) + begin, end })
            .collect();
        for sample in track.samples.range(from..to) {
            let too_long = |_| JoinError::Timing { part };
            self.samples.push(Sample {
                dts: at(sample.dts),
                pts: at(sample.pts),
                duration: u32::try_from(ticks(sample.duration.into())).map_err(too_long)?,
                object: *object_numbers.get(usize::from(sample.object)).ok_or(JoinError::TooMany)?,
                ..sample
            });
        }
        let configuration = self.configuration_number(track, 0);
        if part != 0 {
            self.edit_points.push(EditPoint { sample: base, pts: begin, configuration });
        }
        for (sample, pts, part_configuration) in jumps {
            let configuration = self.configuration_number(track, part_configuration);
            self.edit_points.push(EditPoint { sample, pts, configuration });
        }
        if self.edit_points.len() > EDIT_POINTS_MAX {
            return Err(JoinError::TooMany);
        }
        let starts: Vec<_> = segments.iter().skip(1).map(|segment| segment.start).chain([end]).collect();
        self.copy.extend(segments.into_iter().zip(starts).map(|(segment, end)| Segment { end, ..segment }));
        Ok(())
    }

    /// The number of a part's configuration in the presentation; equal configurations share one.
    fn configuration_number(&mut self, track: &Track, part_configuration: u8) -> u8 {
        let media = self.rescaled_media(track, part_configuration);
        let number = self.configurations.iter().position(|other| share_init_segment(other, &media));
        let place = number.unwrap_or_else(|| {
            self.configurations.push(media);
            self.configurations.len() - 1
        });
        u8::try_from(place).unwrap_or(u8::MAX)
    }

    fn rescaled_media(&self, track: &Track, part_configuration: u8) -> TrackMedia {
        match track.configuration(part_configuration).clone() {
            TrackMedia::Video(video) => {
                let composition_shift = self.clock.rescaled(video.composition_shift, track.timescale);
                TrackMedia::Video(VideoTrack { composition_shift, ..video })
            }
            audio @ TrackMedia::Audio(_) => audio,
        }
    }
}

/// Whether one init segment fits both. Decoders ignore bitrates and the reason against a copy.
fn share_init_segment(one: &TrackMedia, other: &TrackMedia) -> bool {
    match (one, other) {
        (TrackMedia::Video(one), TrackMedia::Video(other)) => {
            let (not_copied, frame_rate) = (one.not_copied.clone(), one.frame_rate);
            *one == VideoTrack { not_copied, frame_rate, ..other.clone() }
        }
        (TrackMedia::Audio(one), TrackMedia::Audio(other)) => {
            *one == AudioTrack { not_copied: one.not_copied.clone(), ..other.clone() }
        }
        _ => false,
    }
}
