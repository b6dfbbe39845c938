//! Selects the tracks of a file that are played, as far as their entries decide it.

use kinora_index::{AUDIO_TRACKS_MAX, SKIPPED_TRACKS_MAX, SkippedTrack, TrackLabel, TrackMedia};
use kinora_isobmff::{
    ReadError,
    read::{RejectedTracks, Timescales},
};
use serde::{Deserialize, Serialize};

use crate::{
    audio,
    ebml::{Element, elements, id},
    packet_duration::FrameCodec,
    rounding::samples_ns,
    track_entry::{ContentEncoding, TrackEntry},
    video,
};

/// Maximum number of tracks that are read of a file; further ones are ignored. Subtitles in many languages
/// make about fifty.
const TRACKS_MAX: usize = 256;
/// Ticks per second of the common timeline: 100 ns.
pub(crate) const MOVIE_TIMESCALE: u32 = 10_000_000;
/// The error message for a file without playable tracks.
pub(crate) const NO_TRACK: &str = "the file has no video or audio track";

/// Why this reader rejects a file.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// A media engine can read it: it unpacks and repairs.
    NeedsRemux,
    /// No reader can play it.
    Final(ReadError),
}

impl From<ReadError> for Unreadable {
    fn from(error: ReadError) -> Self {
        Unreadable::Final(error)
    }
}

/// The tracks to play, as far as their entries decide it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SelectedTracks {
    pub(crate) video: Option<SelectedTrack>,
    pub(crate) audio: Vec<SelectedTrack>,
    pub(crate) left_out: Vec<SkippedTrack>,
}

/// A chosen track.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SelectedTrack {
    pub(crate) number: u64,
    pub(crate) row_codec: FrameCodec,
    pub(crate) media: TrackMedia,
    pub(crate) source_track: u32,
    pub(crate) language: String,
    pub(crate) label: TrackLabel,
    pub(crate) default_duration_ns: Option<u64>,
    /// Nanoseconds by which written times are ahead of the presentation.
    pub(crate) delay_ns: u64,
    /// Nanoseconds at the start of the decoder's output that are not presented.
    pub(crate) skipped_ns: u64,
    pub(crate) is_still_codec: bool,
}

impl SelectedTracks {
    /// Selects the video track to play, enabled and default ones first, and all audio tracks in the order of
    /// the file.
    ///
    /// Ignores tracks of other kinds, and a second one with the same number. Tracks that cannot be read are
    /// left out if another one can. Errors: `NeedsRemux` if the bytes of a chosen track are compressed.
    pub(crate) fn of(tracks: &Element<'_>) -> Result<Self, Unreadable> {
        let (mut video, mut audio, mut rejections) = (Vec::new(), Vec::new(), RejectedTracks::default());
        let mut numbers = Vec::new();
        for element in elements(tracks.body).filter(|child| child.id == id::TRACK_ENTRY).take(TRACKS_MAX) {
            let is_video = element.uint(id::TRACK_TYPE) == Some(1);
            match TrackEntry::parse(element) {
                Ok(Some(entry)) if !numbers.contains(&entry.number) => {
                    numbers.push(entry.number);
                    if is_video { video.push(entry) } else { audio.push(entry) }
                }
                Ok(_) => {}
                Err(error) => rejections.push(is_video, error),
            }
        }
        video.sort_by_key(|entry| (!entry.is_enabled, !entry.is_default));
        let video = readable_tracks(video, 1, &mut rejections)?.into_iter().next();
        let audio = readable_tracks(audio, AUDIO_TRACKS_MAX, &mut rejections)?;
        let left_out = rejections.left_out(video.is_some(), !audio.is_empty())?;
        if video.is_none() && audio.is_empty() {
            return Err(ReadError::NotMedia(NO_TRACK.into()).into());
        }
        Ok(SelectedTracks { video, audio, left_out })
    }

    /// Whether the clocks of a state that was read from a checkpoint are valid.
    pub(crate) fn is_valid(&self) -> bool {
        self.audio.len() <= AUDIO_TRACKS_MAX
            && self.left_out.len() <= SKIPPED_TRACKS_MAX
            && self.tracks().all(|track| match &track.media {
                TrackMedia::Audio(audio) => {
                    Timescales { movie: MOVIE_TIMESCALE, track: audio.sample_rate }.is_valid()
                }
                TrackMedia::Video(_) => true,
            })
    }

    /// Bytes in memory.
    pub(crate) fn memory_len(&self) -> usize {
        self.tracks().map(|track| track.media.sample_entry().memory_len()).sum()
    }

    /// The video track, then the audio tracks.
    pub(crate) fn tracks(&self) -> impl Iterator<Item = &SelectedTrack> {
        self.video.iter().chain(&self.audio)
    }
}

/// The first readable entries, at most `max`.
fn readable_tracks(
    entries: Vec<TrackEntry<'_>>,
    max: usize,
    rejections: &mut RejectedTracks,
) -> Result<Vec<SelectedTrack>, Unreadable> {
    let mut tracks = Vec::new();
    for entry in entries {
        if tracks.len() == max {
            break;
        }
        match SelectedTrack::of(&entry) {
            Ok(track) => tracks.push(track),
            Err(Unreadable::Final(error)) => rejections.push(entry.is_video, error),
            Err(foreign) => return Err(foreign),
        }
    }
    Ok(tracks)
}

impl SelectedTrack {
    fn of(entry: &TrackEntry<'_>) -> Result<Self, Unreadable> {
        match entry.content_encoding {
            ContentEncoding::Plain => {}
            ContentEncoding::Compressed => return Err(Unreadable::NeedsRemux),
            ContentEncoding::Encrypted => {
                return Err(ReadError::Unsupported(format!("the {} is encrypted", entry.kind())).into());
            }
        }
        let source_track = u32::try_from(entry.number)
            .map_err(|_| ReadError::Damaged(format!("a track has the number {}", entry.number)))?;
        let (media, row_codec, skipped_ns) = if entry.is_video {
            let codec = match entry.codec_id {
                "V_VP8" => FrameCodec::Vp8,
                "V_AV1" => FrameCodec::Av1,
                _ => FrameCodec::OtherVideo,
            };
            (TrackMedia::Video(video::track(entry)?), codec, 0)
        } else {
            let info = audio::track(entry)?;
            let skipped = info.pre_skip.map(|samples| samples_ns(samples.into(), info.track.sample_rate));
            let skipped = skipped.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(entry.delay_ns);
            (TrackMedia::Audio(info.track), FrameCodec::Audio(info.packet_duration), skipped)
        };
        Ok(SelectedTrack {
            number: entry.number,
            row_codec,
            media,
            source_track,
            language: entry.language.clone(),
            label: entry.label.clone(),
            default_duration_ns: entry.default_duration_ns,
            delay_ns: if entry.is_video { 0 } else { entry.delay_ns },
            skipped_ns,
            is_still_codec: matches!(entry.codec_id, "V_MJPEG" | "V_PNG"),
        })
    }

    /// PCM samples per second; 0 for video.
    pub(crate) fn sample_rate(&self) -> u32 {
        match &self.media {
            TrackMedia::Audio(audio) => audio.sample_rate,
            TrackMedia::Video(_) => 0,
        }
    }
}
