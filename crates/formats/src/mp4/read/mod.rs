//! Reading: from the `moov` of a source to tracks whose samples are listed, checked and placed on one timeline.
//!
//! Knows no bytes but those of the `moov`. [`super::Scanner`] brings them, and the length of the file when it is known.
//!
//! The way of a track: [`head`] (which one) → [`video`], [`audio`] (may it be copied) → [`tables`] (its samples) → [`gops`],
//! [`samples`] (repaired and packed) → [`timeline`] (placed) → [`cut`] (when the file is too short) → [`measure`].

mod audio;
mod cut;
mod edits;
mod entry;
mod gops;
mod head;
mod language;
mod measure;
mod names;
mod samples;
mod tables;
#[cfg(test)]
pub(crate) mod testing;
mod timeline;
mod video;

use self::{
    edits::Edit,
    gops::VideoSamples,
    head::{Chosen, TrackHead},
    samples::{AudioSamples, TrackSamples},
    timeline::Span,
};
use super::{
    boxes::{BoxRef, Fields, FourCc},
    error::ReadError,
};
use crate::index::{Container, Track, TrackMedia};
use crate::plan::{PlanError, SegmentPlan, plan};

/// The tracks of a movie, before it is known whether the file holds all their samples.
#[derive(Debug, Clone)]
pub(super) struct Movie {
    tracks: Vec<Track>,
    /// Of all samples. Made at once: where the `moov` lies in front nobody waits for it yet, at the last byte somebody does.
    plan: Result<SegmentPlan, PlanError>,
    /// First byte of the source behind all samples.
    end_offset: u64,
}

impl Movie {
    /// Reads the body of a `moov` box.
    ///
    /// Errors: `Unsupported` for codecs, edits and GOPs that are not copied yet, `Damaged` for tables that contradict themselves or claim
    /// more than they hold, `NotMedia` when there is nothing to play.
    pub(super) fn parse(body: &[u8], container: Container) -> Result<Self, ReadError> {
        let moov = BoxRef { kind: FourCc(*b"moov"), body };
        if moov.child(b"cmov").is_some() {
            return Err(ReadError::unsupported("its movie header is compressed, which is not supported"));
        }
        if moov.child(b"rmra").is_some() {
            return Err(ReadError::not_media("the movie only names other movies"));
        }
        if moov.child(b"mvex").is_some() {
            return Err(ReadError::unsupported(FRAGMENTED));
        }
        let movie_timescale = movie_timescale(&moov)?;
        let chosen = Chosen::of(&moov, container)?;

        // Codecs first: a refusal that people understand goes before one about tables.
        let video = chosen.video.map(|head| Ok((video_media(&head)?, head))).transpose()?;
        let audio = chosen.audio.map(|head| Ok((audio_media(&head)?, head))).transpose()?;
        let mut tracks = Vec::new();
        let mut spans = Vec::new();
        let mut end_offset = 0;
        for (media, head) in video.into_iter().chain(audio) {
            let (track, span, track_end_offset) = read_track(media, &head, movie_timescale)?;
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
            measure::measure(track);
        }
        let plan = plan(&tracks);
        Ok(Movie { tracks, plan, end_offset })
    }

    /// The movie as far as the file holds it.
    ///
    /// Errors: `Truncated` when less than a second is left, and what [`plan`] refuses.
    pub(super) fn within(self, len: u64) -> Result<Playable, ReadError> {
        if self.end_offset <= len {
            let plan = self.plan.map_err(refused_plan)?;
            return Ok(Playable { tracks: self.tracks, plan, is_truncated: false });
        }
        let mut tracks = cut::playable_prefix(self.tracks, len)?;
        tracks.iter_mut().for_each(measure::measure);
        let plan = plan(&tracks).map_err(refused_plan)?;
        Ok(Playable { tracks, plan, is_truncated: true })
    }
}

/// A movie whose samples are all in the file.
pub(super) struct Playable {
    pub(super) tracks: Vec<Track>,
    pub(super) plan: SegmentPlan,
    /// The file holds less than the movie says.
    pub(super) is_truncated: bool,
}

fn refused_plan(error: PlanError) -> ReadError {
    match error {
        PlanError::Empty { .. } | PlanError::NoTimescale { .. } => ReadError::damaged(error.to_string()),
        _ => ReadError::unsupported(format!("the source cannot be cut into segments: {error}")),
    }
}

/// What is said of a movie with nothing to play.
const NO_TRACK: &str = "the movie has no video or audio track";
/// What is said of a source with movie fragments.
pub(super) const FRAGMENTED: &str = "fragmented MP4 is not supported yet";

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

fn video_media(head: &TrackHead<'_>) -> Result<TrackMedia, ReadError> {
    Ok(TrackMedia::Video(video::video_track(&used_entry(head, "video")?, head.matrix)?))
}

fn audio_media(head: &TrackHead<'_>) -> Result<TrackMedia, ReadError> {
    Ok(TrackMedia::Audio(audio::audio_track(&used_entry(head, "audio")?)?))
}

/// The one sample entry that the samples of a track use.
fn used_entry<'a>(head: &TrackHead<'a>, kind: &str) -> Result<BoxRef<'a>, ReadError> {
    entry::check_data_references(&head.minf)?;
    let description = head.tables.description().ok_or_else(|| {
        ReadError::unsupported(format!(
            "the {kind} changes its codec or format; only one is supported so far"
        ))
    })?;
    entry::sample_entry(&head.stbl, description)
}

/// The track with its samples, what the timeline needs of it, and the first byte behind its samples.
fn read_track(
    mut media: TrackMedia,
    head: &TrackHead<'_>,
    movie_timescale: u32,
) -> Result<(Track, Span, u64), ReadError> {
    let edit = Edit::parse(&head.trak, movie_timescale)?;
    let samples: TrackSamples = match &mut media {
        TrackMedia::Video(video) => {
            let mut pictures = VideoSamples::new(head.timescale);
            head.tables.samples().try_for_each(|row| pictures.push(row?))?;
            let (samples, composition_shift) = pictures.finish()?;
            video.composition_shift = composition_shift;
            samples
        }
        TrackMedia::Audio(_) => {
            let mut packets = AudioSamples::default();
            head.tables.samples().try_for_each(|row| packets.push(row?))?;
            packets.finish()
        }
    };
    let span = Span::new(head.timescale, edit, &samples);
    let track = Track {
        source_track: head.id,
        timescale: head.timescale,
        language: head.language.clone(),
        media,
        samples: samples.table,
        shift: 0,
        end: 0,
        bitrate_average: 0,
        bitrate_peak: 0,
    };
    Ok((track, span, samples.end_offset))
}
