//! Reads the `moov` of a source into tracks whose samples are listed, checked and placed on one timeline.
//!
//! Reads only the bytes of the `moov`, and of each `moof`. [`walk`](crate::walk) passes them, and the length
//! of the file at its end.
//!
//! The pipeline of a track: `track_head`, `label` (select) → `video`, `audio` (codec, can it be copied) →
//! `tables` (its samples) → `gops`, `samples` (repaired and packed by `track_builder`, also from fragments;
//! `rates` measures them) → `timeline` (placed) → `truncated` (if the file is too short).

mod apply_edits;
mod audio;
mod audio_jitter;
mod codec_names;
mod edits;
mod edits_inside_gop;
mod field_pairs;
mod fragments;
mod gops;
mod label;
mod language;
mod pixel_aspect;
mod rates;
mod rejected_tracks;
mod sample_entry;
mod samples;
mod size_changes;
mod tables;
#[cfg(test)]
pub(crate) mod testing;
mod timeline;
mod track_builder;
mod track_head;
mod truncated;
mod video;

use kinora_index::{
    AUDIO_TRACKS_MAX, Container, SKIPPED_TRACKS_MAX, SegmentPlan, SkippedTrack, Track, TrackMedia,
    plan::{PlanError, plan_playable},
};

use serde::{Deserialize, Serialize};

pub(super) use self::fragments::FragmentedMovie;
// Shared with readers of other containers: which codecs are copied, and how samples become tracks.
pub use self::{
    apply_edits::Timescales,
    audio::audio_track,
    codec_names::{decodable_codec, may_be_interlaced},
    edits::{EditEntry, EditList},
    label::parse_title,
    language::language_tag,
    rates::round_frame_rate,
    rejected_tracks::RejectedTracks,
    sample_entry::build_sample_entry,
    tables::{RawSample, TRACK_SAMPLES_MAX},
    timeline::TrackTiming,
    track_builder::{TrackBuilder, TrackBuilderHead},
    track_head::AUDIO_SAMPLES_MAX,
    video::{check_size, decoded_colour, reduced_aspect, rotation, video_track},
};

use self::{
    fragments::{DefaultDescriptions, MoovSamples},
    track_head::{SelectedTracks, TrackHead, within_limits},
};
use super::{
    boxes::{BoxRef, FieldReader, FourCc},
    error::ReadError,
};

/// The result of parsing a `moov`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum ParsedMoov {
    /// It contains all samples.
    Whole(Movie),
    /// More samples come in fragments.
    Fragmented(FragmentedMovie),
    /// It was [`Whole`](ParsedMoov::Whole); the caller stores it until it is needed.
    Offloaded,
}

/// The tracks of a movie, before it is clear whether the file contains all their samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Movie {
    tracks: Vec<Track>,
    /// The plan for all samples. Computed early: if the `moov` comes first, no client waits yet; at the last
    /// byte, one does.
    plan: Result<SegmentPlan, ReadError>,
    /// First byte of the source after all samples.
    end_offset: u64,
    /// The file ends where the headers of more samples would follow.
    is_cut_off: bool,
    left_out: Vec<SkippedTrack>,
}

impl ParsedMoov {
    /// Parses the body of a `moov` box.
    ///
    /// Errors: `Unsupported` for codecs without a decoder, `NeedsRemux` for edits, times and headers that
    /// this reader does not support, `Damaged` for tables that contradict themselves or claim more than they
    /// hold, `NotMedia` if there is no track to play.
    pub(super) fn parse(body: &[u8], container: Container) -> Result<Self, ReadError> {
        let moov = BoxRef { kind: FourCc(*b"moov"), body };
        if moov.child(b"cmov").is_some() {
            return Err(ReadError::needs_remux("its movie header is compressed, which is not supported"));
        }
        if moov.child(b"rmra").is_some() {
            return Err(ReadError::not_media("the movie only references other files"));
        }
        let mvex = moov.child(b"mvex");
        let movie_timescale = movie_timescale(&moov)?;
        let mut rejected_tracks = RejectedTracks::default();
        let chosen = SelectedTracks::of(&moov, container, &mut rejected_tracks);

        // Codecs are checked first: their errors are clearer to users than errors about tables.
        let described = mvex.as_ref().map(fragments::default_descriptions);
        let described = described.as_ref();
        let video = rejected_tracks
            .accept_readable(true, chosen.video, |head| Ok((video_media(&head, described)?, head)));
        let audio = rejected_tracks
            .accept_readable(false, chosen.audio, |head| Ok((audio_media(&head, described)?, head)));
        let audio = within_limits(audio, |(_, head)| head.tables.count());
        let build = |(media, head): (TrackMedia, TrackHead<'_>)| {
            let (track, moov_samples) = build_track(media, &head, movie_timescale)?;
            Ok((track, used_description_index(&head, described), moov_samples))
        };
        let video = rejected_tracks.accept_readable(true, best_video(video), build);
        let audio = rejected_tracks.accept_readable(false, audio, build);
        let left_out = rejected_tracks.left_out(!video.is_empty(), !audio.is_empty())?;
        let tracks: Vec<_> = video.into_iter().chain(audio).collect();
        if tracks.is_empty() {
            return Err(ReadError::not_media(NO_TRACK));
        }
        match &mvex {
            Some(mvex) => {
                Ok(ParsedMoov::Fragmented(FragmentedMovie::new(mvex, movie_timescale, tracks, left_out)))
            }
            None => {
                let tracks = tracks.into_iter().map(|(track, ..)| track.finish());
                let movie = Movie::of(tracks.collect::<Result<_, _>>()?, movie_timescale)?;
                Ok(ParsedMoov::Whole(movie.with_left_out(left_out)))
            }
        }
    }
}

impl ParsedMoov {
    /// Bytes in memory.
    pub(super) fn memory_len(&self) -> usize {
        match self {
            ParsedMoov::Whole(movie) => movie.memory_len(),
            ParsedMoov::Fragmented(movie) => movie.memory_len(),
            ParsedMoov::Offloaded => 0,
        }
    }

    /// Whether a state that was read from a checkpoint is valid.
    pub(super) fn is_valid(&self) -> bool {
        match self {
            ParsedMoov::Whole(movie) => movie.is_valid(),
            ParsedMoov::Fragmented(movie) => movie.is_valid(),
            // A checkpoint never contains it.
            ParsedMoov::Offloaded => false,
        }
    }
}

impl Movie {
    fn memory_len(&self) -> usize {
        let of_track = |track: &Track| track.samples.memory_len() + track.media.sample_entry().memory_len();
        self.tracks.iter().map(of_track).sum::<usize>()
            + self.plan.as_ref().map_or(0, SegmentPlan::memory_len)
    }

    /// Whether a state that was read from a checkpoint can be finished.
    pub(super) fn is_valid(&self) -> bool {
        let is_planned = |plan: &SegmentPlan| {
            let audio_count =
                self.tracks.iter().filter(|track| matches!(track.media, TrackMedia::Audio(_))).count();
            plan.audio.len() == audio_count && plan.encoded_audio.len() == audio_count
        };
        self.tracks.len() <= 1 + AUDIO_TRACKS_MAX
            && self.left_out.len() <= SKIPPED_TRACKS_MAX
            && self.tracks.iter().all(Track::is_valid)
            && self.plan.as_ref().map_or(true, is_planned)
    }

    /// Places finished tracks on one timeline, measures and plans them.
    ///
    /// Errors: `NotMedia` if no track has samples, `Damaged` if their times leave the range of times.
    pub fn of(finished: Vec<(Track, TrackTiming, u64)>, movie_timescale: u32) -> Result<Self, ReadError> {
        let mut tracks = Vec::new();
        let mut timings = Vec::new();
        let mut end_offset = 0;
        for (track, timing, track_end_offset) in finished {
            end_offset = end_offset.max(track_end_offset);
            if !track.samples.is_empty() {
                tracks.push(track);
                timings.push(timing);
            }
        }
        if tracks.is_empty() {
            return Err(ReadError::not_media(NO_TRACK));
        }
        for (track, placement) in tracks.iter_mut().zip(timeline::placements(&timings, movie_timescale)?) {
            track.shift = placement.shift;
            track.end = placement.end;
        }
        let (plan, left_out) = plan_tracks(&mut tracks);
        Ok(Movie { tracks, plan, end_offset, is_cut_off: false, left_out })
    }

    /// Adds tracks to those that are left out.
    pub fn with_left_out(mut self, left_out: Vec<SkippedTrack>) -> Self {
        self.left_out.extend(left_out);
        self.left_out.truncate(SKIPPED_TRACKS_MAX);
        self
    }

    /// Sets whether the file ends although more samples would follow.
    pub fn with_cut_off(mut self, is_cut_off: bool) -> Self {
        self.is_cut_off = is_cut_off;
        self
    }

    /// The part of the movie that the file contains; `len` is in bytes.
    ///
    /// Errors: `Truncated` if less than a second is left, and the errors of [`plan_playable`].
    pub fn into_playable(self, len: u64) -> Result<Playable, ReadError> {
        if self.end_offset <= len {
            if self.is_cut_off {
                truncated::check_length(&self.tracks)?;
            }
            return Ok(Playable {
                tracks: self.tracks,
                plan: self.plan?,
                is_truncated: self.is_cut_off,
                left_out: self.left_out,
            });
        }
        let mut tracks = truncated::playable_prefix(self.tracks, len)?;
        tracks.iter_mut().for_each(rates::set_rates);
        let (plan, more_left_out) = plan_tracks(&mut tracks);
        let mut left_out = self.left_out;
        left_out.extend(more_left_out);
        left_out.truncate(SKIPPED_TRACKS_MAX);
        Ok(Playable { tracks, plan: plan?, is_truncated: true, left_out })
    }
}

/// A movie whose samples are all in the file.
pub struct Playable {
    /// Its tracks, in the form of an index.
    pub tracks: Vec<Track>,
    /// Their segments.
    pub plan: SegmentPlan,
    /// The file contains less than the movie header says.
    pub is_truncated: bool,
    /// Tracks that cannot be played.
    pub left_out: Vec<SkippedTrack>,
}

/// Plans the segments of the tracks. Removes audio tracks without playable samples if another track has
/// some, and returns them as left out.
fn plan_tracks(tracks: &mut Vec<Track>) -> (Result<SegmentPlan, ReadError>, Vec<SkippedTrack>) {
    let before = tracks.len();
    let plan = plan_playable(tracks).map_err(plan_error);
    let left_out = SkippedTrack::new(false, "an audio track has no audible samples");
    (plan, vec![left_out; before - tracks.len()])
}

fn plan_error(error: PlanError) -> ReadError {
    match error {
        PlanError::Empty { .. } | PlanError::NoTimescale { .. } => ReadError::damaged(error.to_string()),
        _ => ReadError::unsupported(format!("the source cannot be cut into segments: {error}")),
    }
}

/// Selects the video track: of the enabled ones, if any, the first that can be copied, or else the first.
fn best_video(mut tracks: Vec<(TrackMedia, TrackHead<'_>)>) -> Option<(TrackMedia, TrackHead<'_>)> {
    if tracks.iter().any(|(_, head)| head.label.is_enabled) {
        tracks.retain(|(_, head)| head.label.is_enabled);
    }
    let copied = tracks.iter().position(|(media, _)| media.not_copied().is_none());
    tracks.into_iter().nth(copied.unwrap_or(0))
}

/// The error message for a movie without playable tracks.
const NO_TRACK: &str = "the movie has no video or audio track";

/// Timescale of the movie: ticks per second. ISO/IEC 14496-12, 8.2.2.
fn movie_timescale(moov: &BoxRef<'_>) -> Result<u32, ReadError> {
    let read = || {
        let mut fields = FieldReader::new(moov.child(b"mvhd")?.body);
        let (version, _) = fields.version_and_flags()?;
        fields.skip(if version == 1 { 16 } else { 8 })?; // creation and modification time
        fields.u32()
    };
    match read() {
        Some(timescale) if (1..=timeline::TIMESCALE_MAX).contains(&timescale) => Ok(timescale),
        Some(timescale) => Err(ReadError::damaged(format!("a movie with {timescale} ticks a second"))),
        None => Err(ReadError::damaged("it lacks its movie header")),
    }
}

fn video_media(
    head: &TrackHead<'_>,
    default_descriptions: Option<&DefaultDescriptions>,
) -> Result<TrackMedia, ReadError> {
    let video = video_track(&used_entry(head, default_descriptions, "video")?, head.matrix, head.size)?;
    Ok(TrackMedia::Video(pixel_aspect::with_pixel_aspect(video, head.size)?))
}

fn audio_media(
    head: &TrackHead<'_>,
    default_descriptions: Option<&DefaultDescriptions>,
) -> Result<TrackMedia, ReadError> {
    Ok(TrackMedia::Audio(audio_track(&used_entry(head, default_descriptions, "audio")?, head.timescale)?))
}

/// The one sample entry that the samples of a track use.
fn used_entry<'a>(
    head: &TrackHead<'a>,
    default_descriptions: Option<&DefaultDescriptions>,
    kind: &str,
) -> Result<BoxRef<'a>, ReadError> {
    sample_entry::check_data_references(&head.minf)?;
    let description_index =
        used_description_index(head, default_descriptions).ok_or_else(|| changes_format(kind))?;
    sample_entry::sample_entry(&head.stbl, description_index)
}

/// The number of that entry; `None` if there are several that differ.
fn used_description_index(
    head: &TrackHead<'_>,
    default_descriptions: Option<&DefaultDescriptions>,
) -> Option<u32> {
    match default_descriptions {
        Some(described) if head.tables.count() == 0 => Some(described.of(head.id)),
        _ => sample_entry::common_description_index(&head.stbl, head.tables.description_indexes()),
    }
}

fn changes_format(kind: &str) -> ReadError {
    ReadError::needs_remux(format!("the {kind} changes its codec or format, which is not supported"))
}

/// The track with the samples of its tables in the `moov`, and where they end.
fn build_track(
    media: TrackMedia,
    head: &TrackHead<'_>,
    movie_timescale: u32,
) -> Result<(TrackBuilder, MoovSamples), ReadError> {
    let edits = EditList::parse(&head.trak, movie_timescale)?;
    let timescales = Timescales { movie: movie_timescale, track: head.timescale };
    let builder_head =
        TrackBuilderHead { id: head.id, language: head.language.clone(), label: head.label.clone() };
    let mut track = TrackBuilder::new(media, builder_head, edits, timescales);
    let mut moov_samples = MoovSamples { count: head.tables.count(), end_dts: 0, last_dts: None };
    for row in head.tables.samples() {
        let row = row?;
        moov_samples.last_dts = Some(row.dts);
        moov_samples.end_dts = row.dts + i64::from(row.delta);
        track.push(row)?;
    }
    Ok((track, moov_samples))
}
