//! Fragmented movies: the samples come one `moof` at a time, each before its media. ISO/IEC 14496-12, 8.8.
//!
//! Each `moof` is parsed once, and its samples go directly into the packed tables. This module reads no file:
//! the caller passes the position of each `moof`, and whether the file ends correctly.
//!
//! A `tfdt` sets the decode time. Without one, a fragment follows the previous one; the same applies if
//! every `tfdt` has the same value. If times fall back to their start, all tracks continue after everything
//! before; other times that run back are rejected. If fragments leave a gap, the sample before it lasts
//! until the next one. Later steps remove jitter of audio. D-0030, D-0049.

mod boxes;
mod timestamp_offset;

use std::{collections::BTreeMap, ops::Range};

use kinora_index::{SKIPPED_TRACKS_MAX, SkippedTrack, checkpoint::is_valid_time};
use serde::{Deserialize, Serialize};

use self::{
    boxes::{Defaults, TrackFragment, TrackRun},
    timestamp_offset::{ExactSeconds, TimestampOffset},
};
use super::{
    super::{
        boxes::{BoxRef, children},
        error::ReadError,
    },
    Movie,
    apply_edits::Timescales,
    size_changes::SizeChanges,
    tables::{RawSample, TRACK_SAMPLES_MAX},
    track_builder::TrackBuilder,
    track_head::{AUDIO_SAMPLES_MAX, TRACKS_MAX},
};

/// A movie whose fragments are still arriving.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct FragmentedMovie {
    movie_timescale: u32,
    tracks: Vec<FragmentedTrack>,
    /// By track, including those that are not played: their data may precede that of others.
    defaults: BTreeMap<u32, Defaults>,
    timestamp_offset: TimestampOffset,
    left_out: Vec<SkippedTrack>,
}

/// A chosen track, between two fragments.
#[derive(Debug, Serialize, Deserialize)]
struct FragmentedTrack {
    builder: TrackBuilder,
    /// `sample_description_index` in use, from 1; a track without one was rejected before.
    description_index: Option<u32>,
    /// Samples so far, including empty ones.
    count: u32,
    /// Decode time of the next sample if the fragment has none.
    next_dts: i64,
    /// Decode time of the last sample.
    last_dts: Option<i64>,
    /// The decode time of the first fragment since the times last restarted.
    origin: Option<u64>,
    /// All fragments since then have that same time.
    is_time_constant: bool,
    /// For video whose frame size may change between samples.
    sizes: Option<SizeChanges>,
}

/// The samples of a track in the tables of the `moov`, which precede those in fragments.
#[derive(Debug, Clone, Copy)]
pub(super) struct MoovSamples {
    pub(super) count: u32,
    pub(super) end_dts: i64,
    pub(super) last_dts: Option<i64>,
}

/// The `sample_description_index` that the fragments of each track use by default.
#[derive(Debug)]
pub(super) struct DefaultDescriptions(BTreeMap<u32, Defaults>);

/// Reads them all at once: a search for each track would be slow if an `mvex` contains millions of boxes.
pub(super) fn default_descriptions(mvex: &BoxRef<'_>) -> DefaultDescriptions {
    DefaultDescriptions(all_defaults(mvex))
}

impl DefaultDescriptions {
    /// The `sample_description_index` of a track, from 1.
    pub(super) fn of(&self, track: u32) -> u32 {
        self.0.get(&track).copied().unwrap_or_default().description_index
    }
}

fn all_defaults(mvex: &BoxRef<'_>) -> BTreeMap<u32, Defaults> {
    let all = children(mvex.body).filter(|child| &child.kind.0 == b"trex");
    all.filter_map(|trex| Defaults::parse(&trex)).take(TRACKS_MAX).collect()
}

impl FragmentedMovie {
    /// A movie whose `moov` has been parsed, with its chosen tracks and their sample descriptions.
    pub(super) fn new(
        mvex: &BoxRef<'_>,
        movie_timescale: u32,
        tracks: Vec<(TrackBuilder, Option<u32>, MoovSamples)>,
        left_out: Vec<SkippedTrack>,
    ) -> Self {
        let has_samples = tracks.iter().any(|(_, _, moov_samples)| moov_samples.count > 0);
        let skipped_s =
            tracks.iter().map(|(track, ..)| track.edits.media_time() / i64::from(track.timescale)).max();
        let tracks = tracks.into_iter().map(|(builder, description_index, before)| FragmentedTrack {
            sizes: builder.video().and_then(SizeChanges::of),
            builder,
            description_index,
            count: before.count,
            next_dts: before.end_dts,
            last_dts: before.last_dts,
            // The samples of the `moov` begin at 0.
            origin: before.last_dts.map(|_| 0),
            is_time_constant: true,
        });
        FragmentedMovie {
            movie_timescale,
            tracks: tracks.collect(),
            defaults: all_defaults(mvex),
            timestamp_offset: if has_samples {
                TimestampOffset::with_zero_base()
            } else {
                TimestampOffset::new(skipped_s.unwrap_or(0))
            },
            left_out,
        }
    }

    /// Bytes in memory.
    pub(in super::super) fn memory_len(&self) -> usize {
        let of_track = |track: &FragmentedTrack| {
            track.builder.memory_len() + track.sizes.as_ref().map_or(0, SizeChanges::memory_len)
        };
        self.tracks.iter().map(of_track).sum()
    }

    /// Whether a state that was read from a checkpoint is valid.
    pub(in super::super) fn is_valid(&self) -> bool {
        let timescales = Timescales { movie: self.movie_timescale, track: self.movie_timescale };
        timescales.is_valid()
            && self.tracks.len() <= TRACKS_MAX
            && self.tracks.iter().all(FragmentedTrack::is_valid)
            && self.defaults.len() <= TRACKS_MAX
            && self.left_out.len() <= SKIPPED_TRACKS_MAX
            && self.timestamp_offset.is_valid()
    }

    /// Parses the body of a `moof` box at `range` of the source.
    ///
    /// Errors: `Damaged` for boxes that claim more than they hold or point nowhere, `NeedsRemux` for times
    /// that run back, and the errors of any movie.
    pub(in super::super) fn push(&mut self, body: &[u8], range: Range<u64>) -> Result<(), ReadError> {
        self.restart_on_time_reset(body)?;
        let mut previous_data_end = range.start;
        for traf in children(body).filter(|child| &child.kind.0 == b"traf") {
            let fragment = TrackFragment::parse(traf)?;
            self.check_audio_count(&fragment)?;
            let defaults =
                fragment.defaults(self.defaults.get(&fragment.track_id).copied().unwrap_or_default());
            let base = fragment.base(range.start, previous_data_end);
            previous_data_end = base;
            let mut track = self.tracks.iter_mut().find(|track| track.builder.id == fragment.track_id);
            if let Some(track) = &mut track {
                track.begin(&fragment, defaults, &mut self.timestamp_offset)?;
            }
            for run in fragment.runs() {
                let run = run?;
                let start = match run.data_offset {
                    Some(offset) => base.checked_add_signed(offset.into()),
                    None => Some(previous_data_end),
                };
                let data = start.and_then(|start| Some(start..start.checked_add(run.data_len(defaults))?));
                let data = data.ok_or_else(|| ReadError::damaged("a fragment points outside the file"))?;
                previous_data_end = data.end;
                let Some(track) = &mut track else { continue };
                if data.start < range.end && range.start < data.end {
                    return Err(ReadError::damaged("the samples of a fragment lie inside its own header"));
                }
                track.push(&run, defaults, data.start)?;
            }
        }
        Ok(())
    }

    /// Rejects a fragment of an audio track that exceeds the sample limit of all audio tracks.
    fn check_audio_count(&self, fragment: &TrackFragment<'_>) -> Result<(), ReadError> {
        let is_audio = |track: &&FragmentedTrack| track.builder.video().is_none();
        let audio = || self.tracks.iter().filter(is_audio);
        if !audio().any(|track| track.builder.id == fragment.track_id) {
            return Ok(());
        }
        let mut count: u64 = audio().map(|track| u64::from(track.count)).sum();
        for run in fragment.runs() {
            count += u64::from(run?.count);
        }
        if count > AUDIO_SAMPLES_MAX {
            return Err(ReadError::unsupported(format!(
                "its audio tracks have more than {AUDIO_SAMPLES_MAX} samples, which is not supported"
            )));
        }
        Ok(())
    }

    /// If the times of a chosen track fall back to their start, all tracks continue from the end of the last
    /// one.
    fn restart_on_time_reset(&mut self, body: &[u8]) -> Result<(), ReadError> {
        let mut begin: Option<ExactSeconds> = None;
        let mut has_restarted = false;
        for traf in children(body).filter(|child| &child.kind.0 == b"traf") {
            let fragment = TrackFragment::parse(traf)?;
            let track = self.tracks.iter().find(|track| track.builder.id == fragment.track_id);
            let Some((track, time)) = track.zip(fragment.decode_time) else { continue };
            let since_base = self.timestamp_offset.since_base(time, track.builder.timescale);
            begin = Some(begin.map_or(since_base, |begin| begin.min(since_base)));
            has_restarted |= track.restarts(time, &self.timestamp_offset);
        }
        let Some(mut begin) = begin.filter(|_| has_restarted) else { return Ok(()) };
        let mut end: Option<ExactSeconds> = None;
        for track in &mut self.tracks {
            let timescale = track.builder.timescale;
            // Tracks with separate fragments reach the restart later.
            if let Some(origin) = track.origin {
                begin = begin.min(self.timestamp_offset.since_base(origin, timescale));
            }
            if track.last_dts.is_some() {
                let track_end = ExactSeconds::new(track.next_dts.into(), timescale);
                end = Some(end.map_or(track_end, |end| end.max(track_end)));
            }
            track.origin = None;
            track.is_time_constant = true;
        }
        if let Some(end) = end {
            self.timestamp_offset.restart(begin, end);
        }
        Ok(())
    }

    /// Searches media data, bytes that belong to no header, for parameter sets; the first byte is at `at`.
    pub(in super::super) fn push_media_data(&mut self, at: u64, bytes: &[u8]) {
        self.tracks
            .iter_mut()
            .filter_map(|track| track.sizes.as_mut())
            .for_each(|sizes| sizes.push(at, bytes));
    }

    /// The movie after all its fragments; `is_cut_off` if the file ends inside a box.
    ///
    /// Errors: as [`FragmentedMovie::push`], `Truncated` or `NotMedia` if there is no sample.
    pub(in super::super) fn finish(self, is_cut_off: bool) -> Result<Movie, ReadError> {
        if self.tracks.iter().all(|track| track.count == 0) {
            return Err(match is_cut_off {
                true => ReadError::Truncated("its first fragment (moof) is cut off".into()),
                false => ReadError::not_media(NO_FRAGMENT),
            });
        }
        let tracks = self.tracks.into_iter().map(|FragmentedTrack { builder: mut track, sizes, .. }| {
            if let Some(why) = sizes.and_then(|sizes| sizes.not_copied()) {
                track.record_not_copied(why);
            }
            track.finish()
        });
        let movie = Movie::of(tracks.collect::<Result<_, _>>()?, self.movie_timescale)?;
        Ok(movie.with_left_out(self.left_out).with_cut_off(is_cut_off))
    }
}

/// The error message for a single init segment.
const NO_FRAGMENT: &str = "the file is the beginning of a stream: no samples follow its movie header (moov)";

impl FragmentedTrack {
    fn is_valid(&self) -> bool {
        self.builder.is_valid()
            && is_valid_time(self.next_dts)
            && self.last_dts.is_none_or(is_valid_time)
            && self.sizes.as_ref().is_none_or(SizeChanges::is_valid)
    }

    /// Begins the next fragment of the track.
    fn begin(
        &mut self,
        fragment: &TrackFragment<'_>,
        defaults: Defaults,
        timestamp_offset: &mut TimestampOffset,
    ) -> Result<(), ReadError> {
        if Some(defaults.description_index) != self.description_index {
            return Err(super::changes_format(self.builder.kind()));
        }
        let dts = match fragment.decode_time {
            Some(time) if !self.repeats_time(time) => {
                self.is_time_constant &= *self.origin.get_or_insert(time) == time;
                timestamp_offset.ticks(time, self.builder.timescale)?
            }
            _ => self.next_dts,
        };
        if let Some(last) = self.last_dts.filter(|last| dts < *last) {
            return Err(ReadError::needs_remux(format!(
                "a fragment of the {} begins {:.3} s before the last sample of the one before it",
                self.builder.kind(),
                (last - dts) as f64 / f64::from(self.builder.timescale)
            )));
        }
        self.next_dts = if fragment.is_duration_empty {
            timestamp_offset::add_duration(dts, defaults.duration)?
        } else {
            dts
        };
        Ok(())
    }

    /// Whether a fragment repeats the time of all fragments before it: then the time carries no information.
    fn repeats_time(&self, time: u64) -> bool {
        self.is_time_constant && self.origin == Some(time) && self.last_dts.is_some()
    }

    /// Whether the time of a fragment is not after that of the first one, although samples have come since.
    fn restarts(&self, time: u64, timestamp_offset: &TimestampOffset) -> bool {
        let is_early = self.origin.is_some_and(|origin| time <= origin) && !self.repeats_time(time);
        is_early
            && self
                .last_dts
                .is_some_and(|last| timestamp_offset.is_before(time, self.builder.timescale, last))
    }

    /// Adds the samples of a run that begins at `offset`.
    fn push(&mut self, run: &TrackRun<'_>, defaults: Defaults, mut offset: u64) -> Result<(), ReadError> {
        self.count = self.count.saturating_add(run.count);
        if self.count > TRACK_SAMPLES_MAX {
            return Err(ReadError::unsupported(format!(
                "a track has more than {TRACK_SAMPLES_MAX} samples; no more are supported"
            )));
        }
        // The presented duration of the samples in the `moov` does not apply to those in fragments.
        self.builder.edits.extend_to_end();
        for sample in run.samples(defaults) {
            if let Some(sizes) = self.sizes.as_mut().filter(|_| sample.is_sync) {
                sizes.add_keyframe(offset, sample.size);
            }
            self.builder.push(RawSample {
                dts: self.next_dts,
                delta: sample.duration,
                composition_offset: sample.composition_offset,
                offset,
                size: sample.size,
                is_sync: sample.is_sync,
            })?;
            self.last_dts = Some(self.next_dts);
            // The end of the run fits 64 bits, and all samples together last less than 2^55 ticks.
            offset += u64::from(sample.size);
            self.next_dts += i64::from(sample.duration);
        }
        Ok(())
    }
}
