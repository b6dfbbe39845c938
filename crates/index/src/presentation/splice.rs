//! Concatenates tracks of several sources on one clock.

use std::ops::Range;

use super::JoinError;
use crate::index::{
    AudioTrack, EDIT_POINTS_MAX, ENCODED_AUDIO_RATE, EditPoint, NotCopied, NotCopiedReason, Sample,
    SampleTableBuilder, Segment, Track, TrackMedia, VideoTrack,
};

/// Fallback timescale if the clocks of all parts have no common multiple: a tenth of a microsecond, so that
/// no two frames get the same time.
const TIMESCALE_MAX: u32 = 10_000_000;
/// Samples of one track of a presentation: the same limit as for one source.
const SAMPLES_MAX: u32 = 1 << 24;

/// A track of one part.
#[derive(Debug, Clone)]
pub(super) struct TrackPart<'a> {
    /// `None` for a part without this kind of track.
    pub(super) track: Option<Track>,
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

    /// Duration of a part with these tracks: to the end of the one that ends last.
    pub(super) fn duration_of<'a>(self, tracks: impl Iterator<Item = &'a Track>) -> i64 {
        tracks.map(|track| self.rescaled(track.end, track.timescale)).max().unwrap_or(0)
    }
}

fn least_common_multiple(one: u32, other: u32) -> u64 {
    let (mut a, mut b) = (u64::from(one), u64::from(other));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    u64::from(one) / a.max(1) * u64::from(other)
}

/// The video of all parts, and its copy: empty if `not_copied` has a reason against it.
pub(super) fn splice_video(
    parts: &[TrackPart<'_>],
    base: usize,
    not_copied: Option<NotCopied>,
) -> Result<(Track, Vec<Segment>), JoinError> {
    let clock = JoinTimescale::of(tracks_of(parts).map(|track| track.timescale));
    // Players begin with configuration 0, so for a copy it is that of the first part. The rungs follow it,
    // so without a copy it is that of the base.
    let first_configuration = if not_copied.is_some() { base } else { 0 };
    let (mut track, copy) = splice_tracks(parts, base, first_configuration, clock)?;
    let base_media = parts.get(base).and_then(|part| part.track.as_ref()).map(|track| &track.media);
    if let (TrackMedia::Video(video), Some(TrackMedia::Video(base_video))) = (&mut track.media, base_media) {
        video.not_copied = not_copied;
        video.frame_rate = base_video.frame_rate;
    }
    Ok((track, copy))
}

/// The audio of all parts. It has no copy.
pub(super) fn splice_audio(parts: &[TrackPart<'_>], base: usize) -> Result<Track, JoinError> {
    let has_audio = |part: &TrackPart<'_>| part.track.is_some();
    let base = match parts.get(base) {
        Some(part) if has_audio(part) => base,
        _ => parts.iter().position(has_audio).unwrap_or(base),
    };
    // Joints are whole samples of the encoded audio.
    let timescales = tracks_of(parts).map(|track| track.timescale).chain([ENCODED_AUDIO_RATE]);
    let clock = JoinTimescale::of(timescales);
    let (mut track, _) = splice_tracks(parts, base, base, clock)?;
    if let TrackMedia::Audio(audio) = &mut track.media {
        let why = || NotCopied::new(NotCopiedReason::Edits, "audio of several parts");
        audio.not_copied = audio.not_copied.take().or_else(|| Some(why()));
    }
    Ok(track)
}

fn tracks_of<'a>(parts: &'a [TrackPart<'_>]) -> impl Iterator<Item = &'a Track> {
    parts.iter().filter_map(|part| part.track.as_ref())
}

/// One track of all parts, and the segments of their copies. Language and label are those of `base`; the
/// configuration of `first_configuration` has the number 0.
fn splice_tracks(
    parts: &[TrackPart<'_>],
    base: usize,
    first_configuration: usize,
    clock: JoinTimescale,
) -> Result<(Track, Vec<Segment>), JoinError> {
    let track_of = |part: usize| parts.get(part)?.track.as_ref();
    let (base_track, first) = track_of(base).zip(track_of(first_configuration)).ok_or(JoinError::NoParts)?;
    let mut splice = Splice {
        clock,
        samples: SampleTableBuilder::default(),
        edit_points: Vec::new(),
        configurations: Vec::new(),
        copy: Vec::new(),
    };
    splice.configuration_number(first, 0);
    for (part, track_part) in parts.iter().enumerate() {
        splice.push(part, track_part)?;
    }
    let Splice { samples, edit_points, configurations, copy, .. } = splice;
    let end = parts
        .last()
        .map_or(0, |last| clock.rescaled(last.time_range.end.ticks, last.time_range.end.timescale));
    let mut configurations = configurations.into_iter();
    let bytes: u64 = tracks_of(parts).map(Track::samples_bytes).fold(0, u64::saturating_add);
    let average =
        u128::from(bytes) * 8 * u128::from(clock.timescale) / u128::try_from(end).unwrap_or(0).max(1);
    let track = Track {
        timescale: clock.timescale,
        media: configurations.next().unwrap_or_else(|| first.media.clone()),
        configurations: configurations.collect(),
        samples: samples.finish(),
        edit_points,
        shift: 0,
        end,
        bitrate_average: u64::try_from(average).unwrap_or(u64::MAX),
        bitrate_peak: tracks_of(parts).map(|track| track.bitrate_peak).max().unwrap_or(0),
        ..base_track.clone()
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
    fn push(&mut self, part: usize, track_part: &TrackPart<'_>) -> Result<(), JoinError> {
        let TrackPart { track, copy, time_range, object_numbers } = track_part;
        let begin = self.clock.rescaled(time_range.start.ticks, time_range.start.timescale);
        let end = self.clock.rescaled(time_range.end.ticks, time_range.end.timescale);
        let Some(track) = track else {
            // A span without samples: the part before ends here. Nothing comes before the first part.
            let point = EditPoint { sample: self.samples.len(), pts: begin, configuration: 0 };
            return if part == 0 { Ok(()) } else { self.push_edit_point(part, point) };
        };
        let ticks = |ticks| self.clock.rescaled(ticks, track.timescale);
        let at = |time: i64| ticks(time.saturating_add(track.shift)).saturating_add(begin);
        let from = copy.first().map_or(0, |segment| segment.samples.start);
        let to = copy.last().map_or(track.samples.len(), |segment| segment.samples.end);
        let (base, count) = (self.samples.len(), to.saturating_sub(from));
        if SAMPLES_MAX.saturating_sub(base) < count {
            return Err(JoinError::TooMany);
        }
        if count == 0 {
            return Err(JoinError::Empty { part });
        }
        let new_number = |sample: u32| base + sample.clamp(from, to) - from;
        // Jumps at or before the start of the part hide nothing of it: they only state its configuration.
        let (earlier, jumps): (Vec<_>, Vec<_>) = track
            .edit_points
            .iter()
            .map(|edit_point| EditPoint { pts: at(edit_point.pts), ..*edit_point })
            .filter(|point| point.sample <= to && point.pts < end)
            .partition(|point| point.sample <= from && point.pts <= begin);
        let first_configuration = earlier.last().map_or(0, |point| point.configuration);
        let jumps = jumps.into_iter().map(|point| EditPoint { sample: new_number(point.sample), ..point });
        let jumps: Vec<_> = jumps.collect();
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
        let mut first_pts = begin;
        for sample in track.samples.range(from..to) {
            let too_long = |_| JoinError::Timing { part };
            first_pts = first_pts.min(at(sample.pts));
            self.samples.push(Sample {
                dts: at(sample.dts),
                pts: at(sample.pts),
                duration: u32::try_from(ticks(sample.duration.into())).map_err(too_long)?,
                object: *object_numbers.get(usize::from(sample.object)).ok_or(JoinError::TooMany)?,
                ..sample
            });
        }
        let configuration = self.configuration_number(track, first_configuration);
        if part != 0 {
            self.push_edit_point(part, EditPoint { sample: base, pts: begin, configuration })?;
        } else if configuration != 0 {
            // Hides nothing: it only states the configuration.
            self.push_edit_point(part, EditPoint { sample: 0, pts: first_pts, configuration })?;
        }
        for jump in jumps {
            let configuration = self.configuration_number(track, jump.configuration);
            self.push_edit_point(part, EditPoint { configuration, ..jump })?;
        }
        let starts: Vec<_> = segments.iter().skip(1).map(|segment| segment.start).chain([end]).collect();
        self.copy.extend(segments.into_iter().zip(starts).map(|(segment, end)| Segment { end, ..segment }));
        Ok(())
    }

    fn push_edit_point(&mut self, part: usize, point: EditPoint) -> Result<(), JoinError> {
        if self.edit_points.last().is_some_and(|last| point.pts <= last.pts) {
            return Err(JoinError::Empty { part });
        }
        if EDIT_POINTS_MAX <= self.edit_points.len() {
            return Err(JoinError::TooMany);
        }
        self.edit_points.push(point);
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
