//! Reading: from the `moov` of a source to tracks whose samples are listed, checked and placed on one
//! timeline.
//!
//! Knows no bytes but those of the `moov`, and of each `moof`. [`walk`](crate::walk) brings them, and the
//! length of the file when it is known.
//!
//! The way of a track: `head`, `label` (which ones) → `video`, `audio` (what is it, may it be copied) →
//! `tables` (its samples) → `gops`, `samples` (repaired and packed in an `open` track, those of `fragments`
//! too; `measure`d on the way) → `timeline` (placed) → `cut` (when the file is too short).

mod audio;
mod between;
mod cut;
mod edits;
mod entry;
mod fields;
mod fragments;
mod gops;
mod head;
mod label;
mod language;
mod measure;
mod names;
mod open;
mod pieces;
mod refusals;
mod samples;
mod shape;
mod sizes;
mod steady;
mod tables;
#[cfg(test)]
pub(crate) mod testing;
mod timeline;
mod video;

use kinora_index::{
    AUDIO_TRACKS_MAX, Container, LEFT_OUT_MAX, LeftOut, SegmentPlan, Track, TrackMedia,
    plan::{PlanError, plan_playable},
};

use serde::{Deserialize, Serialize};

pub(super) use self::fragments::FragmentedMovie;
// What readers of other containers share: which codecs are copied, and how samples become tracks.
pub use self::{
    audio::audio_track,
    edits::{EditList, Piece},
    entry::rebuilt,
    head::AUDIO_SAMPLES_MAX,
    label::title,
    language::language_tag,
    measure::named_rate,
    names::{decoded_codec, may_have_fields},
    open::{OpenHead, OpenTrack},
    pieces::Clocks,
    refusals::Refusals,
    tables::{RawSample, TRACK_SAMPLES_MAX},
    timeline::Span,
    video::{check_size, decoded_colour, reduced, rotation, video_track},
};

use self::{
    fragments::{Before, Descriptions},
    head::{Chosen, TrackHead, within_limits},
};
use super::{
    boxes::{BoxRef, Fields, FourCc},
    error::ReadError,
};

/// What a `moov` says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Header {
    /// All samples are in it.
    Whole(Movie),
    /// More samples come in fragments.
    Fragmented(FragmentedMovie),
    /// It was [`Whole`](Header::Whole), and is kept elsewhere until it is needed.
    Elsewhere,
}

/// The tracks of a movie, before it is known whether the file holds all their samples.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Movie {
    tracks: Vec<Track>,
    /// Of all samples. Made at once: where the `moov` lies in front nobody waits for it yet, at the last byte
    /// somebody does.
    plan: Result<SegmentPlan, ReadError>,
    /// First byte of the source behind all samples.
    end_offset: u64,
    /// The file ends where more samples would have been told of.
    is_cut_off: bool,
    left_out: Vec<LeftOut>,
}

impl Header {
    /// Reads the body of a `moov` box.
    ///
    /// Errors: `Unsupported` for codecs that nobody decodes, `NeedsRemux` for edits, times and headers that
    /// are not followed here, `Damaged` for tables that contradict themselves or claim more than they hold,
    /// `NotMedia` when there is nothing to play.
    pub(super) fn parse(body: &[u8], container: Container) -> Result<Self, ReadError> {
        let moov = BoxRef { kind: FourCc(*b"moov"), body };
        if moov.child(b"cmov").is_some() {
            return Err(ReadError::needs_remux("its movie header is compressed, which is not supported"));
        }
        if moov.child(b"rmra").is_some() {
            return Err(ReadError::not_media("the movie only names other movies"));
        }
        let mvex = moov.child(b"mvex");
        let movie_timescale = movie_timescale(&moov)?;
        let mut refusals = Refusals::default();
        let chosen = Chosen::of(&moov, container, &mut refusals);

        // Codecs first: a refusal that people understand goes before one about tables.
        let described = mvex.as_ref().map(fragments::descriptions);
        let described = described.as_ref();
        let video =
            refusals.those_that_can(true, chosen.video, |head| Ok((video_media(&head, described)?, head)));
        let audio =
            refusals.those_that_can(false, chosen.audio, |head| Ok((audio_media(&head, described)?, head)));
        let audio = within_limits(audio, |(_, head)| head.tables.count());
        let open = |(media, head): (TrackMedia, TrackHead<'_>)| {
            let (track, before) = open_track(media, &head, movie_timescale)?;
            Ok((track, used_description(&head, described), before))
        };
        let video = refusals.those_that_can(true, played(video), open);
        let audio = refusals.those_that_can(false, audio, open);
        let left_out = refusals.left_out(!video.is_empty(), !audio.is_empty())?;
        let tracks: Vec<_> = video.into_iter().chain(audio).collect();
        if tracks.is_empty() {
            return Err(ReadError::not_media(NO_TRACK));
        }
        match &mvex {
            Some(mvex) => {
                Ok(Header::Fragmented(FragmentedMovie::new(mvex, movie_timescale, tracks, left_out)))
            }
            None => {
                let tracks = tracks.into_iter().map(|(track, ..)| track.finish());
                let movie = Movie::of(tracks.collect::<Result<_, _>>()?, movie_timescale)?;
                Ok(Header::Whole(movie.without(left_out)))
            }
        }
    }
}

impl Header {
    /// Bytes in memory.
    pub(super) fn memory_len(&self) -> usize {
        match self {
            Header::Whole(movie) => movie.memory_len(),
            Header::Fragmented(movie) => movie.memory_len(),
            Header::Elsewhere => 0,
        }
    }

    /// Whether what came back from a checkpoint can go on.
    pub(super) fn is_sound(&self) -> bool {
        match self {
            Header::Whole(movie) => movie.is_sound(),
            Header::Fragmented(movie) => movie.is_sound(),
            // Nobody writes this down.
            Header::Elsewhere => false,
        }
    }
}

impl Movie {
    fn memory_len(&self) -> usize {
        let of_track = |track: &Track| track.samples.memory_len() + track.media.sample_entry().memory_len();
        self.tracks.iter().map(of_track).sum::<usize>()
            + self.plan.as_ref().map_or(0, SegmentPlan::memory_len)
    }

    /// Whether what came back from a checkpoint can be finished.
    pub(super) fn is_sound(&self) -> bool {
        let is_planned = |plan: &SegmentPlan| {
            let sounds =
                self.tracks.iter().filter(|track| matches!(track.media, TrackMedia::Audio(_))).count();
            plan.audio.len() == sounds && plan.encoded_audio.len() == sounds
        };
        self.tracks.len() <= 1 + AUDIO_TRACKS_MAX
            && self.left_out.len() <= LEFT_OUT_MAX
            && self.tracks.iter().all(Track::is_sound)
            && self.plan.as_ref().map_or(true, is_planned)
    }

    /// Places finished tracks on one timeline, measures and plans them.
    ///
    /// Errors: `NotMedia` when no track has samples, `Damaged` when their times leave the range of times.
    pub fn of(finished: Vec<(Track, Span, u64)>, movie_timescale: u32) -> Result<Self, ReadError> {
        let mut tracks = Vec::new();
        let mut spans = Vec::new();
        let mut end_offset = 0;
        for (track, span, track_end_offset) in finished {
            end_offset = end_offset.max(track_end_offset);
            if !track.samples.is_empty() {
                tracks.push(track);
                spans.push(span);
            }
        }
        if tracks.is_empty() {
            return Err(ReadError::not_media(NO_TRACK));
        }
        for (track, place) in tracks.iter_mut().zip(timeline::places(&spans, movie_timescale)?) {
            track.shift = place.shift;
            track.end = place.end;
        }
        let (plan, left_out) = planned(&mut tracks);
        Ok(Movie { tracks, plan, end_offset, is_cut_off: false, left_out })
    }

    /// Adds tracks to those that are left out.
    pub fn without(mut self, left_out: Vec<LeftOut>) -> Self {
        self.left_out.extend(left_out);
        self.left_out.truncate(LEFT_OUT_MAX);
        self
    }

    /// The same, where the file ends although more samples would have come.
    pub fn cut_off(mut self, is_cut_off: bool) -> Self {
        self.is_cut_off = is_cut_off;
        self
    }

    /// The movie as far as the file holds it.
    ///
    /// Errors: `Truncated` when less than a second is left, and what [`plan_playable`] refuses.
    pub fn within(self, len: u64) -> Result<Playable, ReadError> {
        if self.end_offset <= len {
            if self.is_cut_off {
                cut::check_length(&self.tracks)?;
            }
            return Ok(Playable {
                tracks: self.tracks,
                plan: self.plan?,
                is_truncated: self.is_cut_off,
                left_out: self.left_out,
            });
        }
        let mut tracks = cut::playable_prefix(self.tracks, len)?;
        tracks.iter_mut().for_each(measure::measure);
        let (plan, more_left_out) = planned(&mut tracks);
        let mut left_out = self.left_out;
        left_out.extend(more_left_out);
        left_out.truncate(LEFT_OUT_MAX);
        Ok(Playable { tracks, plan: plan?, is_truncated: true, left_out })
    }
}

/// A movie whose samples are all in the file.
pub struct Playable {
    /// Its tracks, as an index has them.
    pub tracks: Vec<Track>,
    /// How they are cut.
    pub plan: SegmentPlan,
    /// The file holds less than the movie says.
    pub is_truncated: bool,
    /// Tracks that cannot be played.
    pub left_out: Vec<LeftOut>,
}

/// Plans the segments of the tracks. Removes audio tracks that have nothing to play, as far as another track
/// has, and returns them as left out.
fn planned(tracks: &mut Vec<Track>) -> (Result<SegmentPlan, ReadError>, Vec<LeftOut>) {
    let before = tracks.len();
    let plan = plan_playable(tracks).map_err(refused_plan);
    let left_out = LeftOut::new(false, "an audio track has nothing that is heard");
    (plan, vec![left_out; before - tracks.len()])
}

fn refused_plan(error: PlanError) -> ReadError {
    match error {
        PlanError::Empty { .. } | PlanError::NoTimescale { .. } => ReadError::damaged(error.to_string()),
        _ => ReadError::unsupported(format!("the source cannot be cut into segments: {error}")),
    }
}

/// Which of these video tracks is played: of the enabled ones, if there are any, the first that can be
/// copied, or else the first.
fn played(mut tracks: Vec<(TrackMedia, TrackHead<'_>)>) -> Option<(TrackMedia, TrackHead<'_>)> {
    if tracks.iter().any(|(_, head)| head.label.is_enabled) {
        tracks.retain(|(_, head)| head.label.is_enabled);
    }
    let copied = tracks.iter().position(|(media, _)| media.not_copied().is_none());
    tracks.into_iter().nth(copied.unwrap_or(0))
}

/// What is said of a movie with nothing to play.
const NO_TRACK: &str = "the movie has no video or audio track";

/// Ticks a second of the movie's clock. ISO/IEC 14496-12, 8.2.2.
fn movie_timescale(moov: &BoxRef<'_>) -> Result<u32, ReadError> {
    let read = || {
        let mut fields = Fields::new(moov.child(b"mvhd")?.body);
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

fn video_media(head: &TrackHead<'_>, described: Option<&Descriptions>) -> Result<TrackMedia, ReadError> {
    let video = video_track(&used_entry(head, described, "video")?, head.matrix, head.size)?;
    Ok(TrackMedia::Video(shape::shaped(video, head.size)?))
}

fn audio_media(head: &TrackHead<'_>, described: Option<&Descriptions>) -> Result<TrackMedia, ReadError> {
    Ok(TrackMedia::Audio(audio_track(&used_entry(head, described, "audio")?, head.timescale)?))
}

/// The one sample entry that the samples of a track use.
fn used_entry<'a>(
    head: &TrackHead<'a>,
    described: Option<&Descriptions>,
    kind: &str,
) -> Result<BoxRef<'a>, ReadError> {
    entry::check_data_references(&head.minf)?;
    let description = used_description(head, described).ok_or_else(|| changes_format(kind))?;
    entry::sample_entry(&head.stbl, description)
}

/// The number of that entry; `None` when there are several that differ.
fn used_description(head: &TrackHead<'_>, described: Option<&Descriptions>) -> Option<u32> {
    match described {
        Some(described) if head.tables.count() == 0 => Some(described.of(head.id)),
        _ => entry::common_description(&head.stbl, head.tables.descriptions()),
    }
}

fn changes_format(kind: &str) -> ReadError {
    ReadError::needs_remux(format!("the {kind} changes its codec or format, which is not supported"))
}

/// The track with the samples of its tables, and where they end.
fn open_track(
    media: TrackMedia,
    head: &TrackHead<'_>,
    movie_timescale: u32,
) -> Result<(OpenTrack, Before), ReadError> {
    let edits = EditList::parse(&head.trak, movie_timescale)?;
    let clocks = Clocks { movie: movie_timescale, own: head.timescale };
    let names = OpenHead { id: head.id, language: head.language.clone(), label: head.label.clone() };
    let mut track = OpenTrack::new(media, names, edits, clocks);
    let mut before = Before { count: head.tables.count(), end_dts: 0, last_dts: None };
    for row in head.tables.samples() {
        let row = row?;
        before.last_dts = Some(row.dts);
        before.end_dts = row.dts + i64::from(row.delta);
        track.push(row)?;
    }
    Ok((track, before))
}
