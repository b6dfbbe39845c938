//! Fragmented movies: the samples come one `moof` at a time, each before its media. ISO/IEC 14496-12, 8.8.
//!
//! Each `moof` is parsed once, and its samples go directly into the packed tables. Knows no file: the caller
//! passes the position of each `moof`, and whether the file ends correctly.
//!
//! A `tfdt` sets the decode time. Without one, a fragment follows the previous one; the same applies if
//! every `tfdt` has the same value. If times fall back to their start, all tracks continue after everything
//! before; other times that run back are rejected. If fragments leave a gap, the sample before it lasts
//! until the next one. Later steps remove jitter of audio. D-0030, D-0049.

mod boxes;
mod clock;

use std::{collections::BTreeMap, ops::Range};

use kinora_index::{SKIPPED_TRACKS_MAX, SkippedTrack, checkpoint::is_valid_time};
use serde::{Deserialize, Serialize};

use self::{
    boxes::{Defaults, TrackFragment, TrackRun},
    clock::{Fraction, FragmentClock},
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
    clock: FragmentClock,
    left_out: Vec<SkippedTrack>,
}

/// A chosen track, between two fragments.
#[derive(Debug, Serialize, Deserialize)]
struct FragmentedTrack {
    track: TrackBuilder,
    /// Number of the sample entry in use, from 1; a track without one was rejected before.
    description: Option<u32>,
    /// Samples so far, including empty ones.
    count: u32,
    /// Decode time of the next sample if the fragment has none.
    next_dts: i64,
    /// Decode time of the last sample.
    last_dts: Option<i64>,
    /// The decode time of the first fragment since the times last restarted.
    origin: Option<u64>,
    /// All fragments since then have that same time.
    stands_still: bool,
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

/// The sample entries that the fragments of each track use by default.
#[derive(Debug)]
pub(super) struct Descriptions(BTreeMap<u32, Defaults>);

/// Reads them all at once: a search for each track would be slow if an `mvex` contains millions of boxes.
pub(super) fn descriptions(mvex: &BoxRef<'_>) -> Descriptions {
    Descriptions(all_defaults(mvex))
}

impl Descriptions {
    /// The number of the sample entry of a track, from 1.
    pub(super) fn of(&self, track: u32) -> u32 {
        self.0.get(&track).copied().unwrap_or_default().description
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
        let has_samples = tracks.iter().any(|(_, _, before)| before.count > 0);
        let skipped_s =
            tracks.iter().map(|(track, ..)| track.edits.media_time() / i64::from(track.timescale)).max();
        let tracks = tracks.into_iter().map(|(track, description, before)| FragmentedTrack {
            sizes: track.video().and_then(SizeChanges::of),
            track,
            description,
            count: before.count,
            next_dts: before.end_dts,
            last_dts: before.last_dts,
            // The samples of the `moov` begin at 0.
            origin: before.last_dts.map(|_| 0),
            stands_still: true,
        });
        FragmentedMovie {
            movie_timescale,
            tracks: tracks.collect(),
            defaults: all_defaults(mvex),
            clock: if has_samples {
                FragmentClock::started()
            } else {
                FragmentClock::new(skipped_s.unwrap_or(0))
            },
            left_out,
        }
    }

    /// Bytes in memory.
    pub(in super::super) fn memory_len(&self) -> usize {
        let of_track = |track: &FragmentedTrack| {
            track.track.memory_len() + track.sizes.as_ref().map_or(0, SizeChanges::memory_len)
        };
        self.tracks.iter().map(of_track).sum()
    }

    /// Whether a state that was read from a checkpoint is valid.
    pub(in super::super) fn is_valid(&self) -> bool {
        let clocks = Timescales { movie: self.movie_timescale, track: self.movie_timescale };
        clocks.is_valid()
            && self.tracks.len() <= TRACKS_MAX
            && self.tracks.iter().all(FragmentedTrack::is_valid)
            && self.defaults.len() <= TRACKS_MAX
            && self.left_out.len() <= SKIPPED_TRACKS_MAX
            && self.clock.is_valid()
    }

    /// Parses the body of a `moof` box at `range` of the source.
    ///
    /// Errors: `Damaged` for boxes that claim more than they hold or point nowhere, `NeedsRemux` for times
    /// that run back, and the errors of any movie.
    pub(in super::super) fn push(&mut self, body: &[u8], range: Range<u64>) -> Result<(), ReadError> {
        self.restart_on_time_reset(body)?;
        let mut before = range.start;
        for traf in children(body).filter(|child| &child.kind.0 == b"traf") {
            let fragment = TrackFragment::parse(traf)?;
            self.check_audio_count(&fragment)?;
            let defaults = fragment.defaults(self.defaults.get(&fragment.track).copied().unwrap_or_default());
            let base = fragment.base(range.start, before);
            before = base;
            let mut track = self.tracks.iter_mut().find(|track| track.track.id == fragment.track);
            if let Some(track) = &mut track {
                track.begin(&fragment, defaults, &mut self.clock)?;
            }
            for run in fragment.runs() {
                let run = run?;
                let start = match run.data_offset {
                    Some(offset) => base.checked_add_signed(offset.into()),
                    None => Some(before),
                };
                let data = start.and_then(|start| Some(start..start.checked_add(run.data_len(defaults))?));
                let data = data.ok_or_else(|| ReadError::damaged("a fragment points outside the file"))?;
                before = data.end;
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
        let is_audio = |track: &&FragmentedTrack| track.track.video().is_none();
        let audio = || self.tracks.iter().filter(is_audio);
        if !audio().any(|track| track.track.id == fragment.track) {
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
        let mut begin: Option<Fraction> = None;
        let mut is_again = false;
        for traf in children(body).filter(|child| &child.kind.0 == b"traf") {
            let fragment = TrackFragment::parse(traf)?;
            let track = self.tracks.iter().find(|track| track.track.id == fragment.track);
            let Some((track, time)) = track.zip(fragment.decode_time) else { continue };
            let written = self.clock.written(time, track.track.timescale);
            begin = Some(begin.map_or(written, |begin| begin.min(written)));
            is_again |= track.restarts(time, &self.clock);
        }
        let Some(mut begin) = begin.filter(|_| is_again) else { return Ok(()) };
        let mut end: Option<Fraction> = None;
        for track in &mut self.tracks {
            let timescale = track.track.timescale;
            // Tracks with separate fragments reach the restart later.
            if let Some(origin) = track.origin {
                begin = begin.min(self.clock.written(origin, timescale));
            }
            if track.last_dts.is_some() {
                let own = Fraction::new(track.next_dts.into(), timescale);
                end = Some(end.map_or(own, |end| end.max(own)));
            }
            track.origin = None;
            track.stands_still = true;
        }
        if let Some(end) = end {
            self.clock.restart(begin, end);
        }
        Ok(())
    }

    /// Takes bytes of the source that belong to no header; the first of them is at `at`.
    pub(in super::super) fn pass(&mut self, at: u64, bytes: &[u8]) {
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
        let tracks = self.tracks.into_iter().map(|FragmentedTrack { mut track, sizes, .. }| {
            if let Some(why) = sizes.and_then(|sizes| sizes.not_copied()) {
                track.note_not_copied(why);
            }
            track.finish()
        });
        let movie = Movie::of(tracks.collect::<Result<_, _>>()?, self.movie_timescale)?;
        Ok(movie.without(self.left_out).cut_off(is_cut_off))
    }
}

/// The error message for a single init segment.
const NO_FRAGMENT: &str = "the file is the beginning of a stream: no samples follow its movie header (moov)";

impl FragmentedTrack {
    fn is_valid(&self) -> bool {
        self.track.is_valid()
            && is_valid_time(self.next_dts)
            && self.last_dts.is_none_or(is_valid_time)
            && self.sizes.as_ref().is_none_or(SizeChanges::is_valid)
    }

    /// Begins the next fragment of the track.
    fn begin(
        &mut self,
        fragment: &TrackFragment<'_>,
        defaults: Defaults,
        clock: &mut FragmentClock,
    ) -> Result<(), ReadError> {
        if Some(defaults.description) != self.description {
            return Err(super::changes_format(self.track.kind()));
        }
        let dts = match fragment.decode_time {
            Some(time) if !self.stays(time) => {
                self.stands_still &= *self.origin.get_or_insert(time) == time;
                clock.ticks(time, self.track.timescale)?
            }
            _ => self.next_dts,
        };
        if let Some(last) = self.last_dts.filter(|last| dts < *last) {
            return Err(ReadError::needs_remux(format!(
                "a fragment of the {} begins {:.3} s before the last sample of the one before it",
                self.track.kind(),
                (last - dts) as f64 / f64::from(self.track.timescale)
            )));
        }
        self.next_dts = if fragment.is_empty { clock::later(dts, defaults.duration)? } else { dts };
        Ok(())
    }

    /// Whether a fragment repeats the time of all fragments before it: then the time carries no information.
    fn stays(&self, time: u64) -> bool {
        self.stands_still && self.origin == Some(time) && self.last_dts.is_some()
    }

    /// Whether the time of a fragment is not after that of the first one, although samples have come since.
    fn restarts(&self, time: u64, clock: &FragmentClock) -> bool {
        let is_early = self.origin.is_some_and(|origin| time <= origin) && !self.stays(time);
        is_early && self.last_dts.is_some_and(|last| clock.is_before(time, self.track.timescale, last))
    }

    /// Takes the samples of a run that begins at `offset`.
    fn push(&mut self, run: &TrackRun<'_>, defaults: Defaults, mut offset: u64) -> Result<(), ReadError> {
        self.count = self.count.saturating_add(run.count);
        if self.count > TRACK_SAMPLES_MAX {
            return Err(ReadError::unsupported(format!(
                "a track has more than {TRACK_SAMPLES_MAX} samples; no more are supported"
            )));
        }
        // The presented duration of the samples in the `moov` does not apply to those in fragments.
        self.track.edits.extend_to_end();
        for sample in run.samples(defaults) {
            if let Some(sizes) = self.sizes.as_mut().filter(|_| sample.is_sync) {
                sizes.expect(offset, sample.size);
            }
            self.track.push(RawSample {
                dts: self.next_dts,
                delta: sample.duration,
                composition: sample.composition,
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
