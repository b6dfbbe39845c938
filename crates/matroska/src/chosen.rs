//! Which tracks of a file are played, as far as their entries tell.

use kinora_index::{AUDIO_TRACKS_MAX, LEFT_OUT_MAX, LeftOut, TrackLabel, TrackMedia};
use kinora_isobmff::{
    ReadError,
    read::{Clocks, Refusals},
};
use serde::{Deserialize, Serialize};

use crate::{
    audio,
    ebml::{Element, elements, id},
    entry::{Entry, Packing},
    packets::RowCodec,
    rounding::samples_ns,
    video,
};

/// Tracks of one file that are looked at. Subtitles in many languages make some fifty.
const TRACKS_MAX: usize = 256;
/// Ticks a second of the common timeline: 100 ns.
pub(crate) const MOVIE_TIMESCALE: u32 = 10_000_000;
/// What is said of a file with nothing to play.
pub(crate) const NO_TRACK: &str = "the file has no video or audio track";

/// Why a file is not read here.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// A reader that unpacks and repairs can read it.
    Foreign,
    /// Nobody can play it.
    Final(ReadError),
}

impl From<ReadError> for Unreadable {
    fn from(error: ReadError) -> Self {
        Unreadable::Final(error)
    }
}

/// The tracks that are played, as far as their entries tell.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Chosen {
    pub(crate) video: Option<ChosenTrack>,
    pub(crate) audio: Vec<ChosenTrack>,
    pub(crate) left_out: Vec<LeftOut>,
}

/// A chosen track.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChosenTrack {
    pub(crate) number: u64,
    pub(crate) row_codec: RowCodec,
    pub(crate) media: TrackMedia,
    pub(crate) source_track: u32,
    pub(crate) language: String,
    pub(crate) label: TrackLabel,
    pub(crate) default_duration_ns: Option<u64>,
    /// Nanoseconds that written times are ahead of what is heard.
    pub(crate) delay_ns: u64,
    /// Nanoseconds that come out of the decoder first and are not heard.
    pub(crate) skipped_ns: u64,
    pub(crate) is_picture: bool,
}

impl Chosen {
    /// The video track to play, enabled and default ones first, and all audio tracks in the order of the
    /// file.
    ///
    /// Ignores tracks of other kinds, and a second one with the same number. Tracks that cannot be read are
    /// left out if another one can. Errors: `Foreign` where the bytes of a chosen one are packed.
    pub(crate) fn of(tracks: &Element<'_>) -> Result<Self, Unreadable> {
        let (mut video, mut audio, mut refusals) = (Vec::new(), Vec::new(), Refusals::default());
        let mut numbers = Vec::new();
        for element in elements(tracks.body).filter(|child| child.id == id::TRACK_ENTRY).take(TRACKS_MAX) {
            let is_video = element.uint(id::TRACK_TYPE) == Some(1);
            match Entry::parse(element) {
                Ok(Some(entry)) if !numbers.contains(&entry.number) => {
                    numbers.push(entry.number);
                    if is_video { video.push(entry) } else { audio.push(entry) }
                }
                Ok(_) => {}
                Err(error) => refusals.note(is_video, error),
            }
        }
        video.sort_by_key(|entry| (!entry.is_enabled, !entry.is_default));
        let video = readable(video, 1, &mut refusals)?.into_iter().next();
        let audio = readable(audio, AUDIO_TRACKS_MAX, &mut refusals)?;
        let left_out = refusals.left_out(video.is_some(), !audio.is_empty())?;
        if video.is_none() && audio.is_empty() {
            return Err(ReadError::NotMedia(NO_TRACK.into()).into());
        }
        Ok(Chosen { video, audio, left_out })
    }

    /// Whether the clocks of what came back from a checkpoint can be reckoned with.
    pub(crate) fn is_sound(&self) -> bool {
        self.audio.len() <= AUDIO_TRACKS_MAX
            && self.left_out.len() <= LEFT_OUT_MAX
            && self.tracks().all(|track| match &track.media {
                TrackMedia::Audio(audio) => {
                    Clocks { movie: MOVIE_TIMESCALE, own: audio.sample_rate }.is_sound()
                }
                TrackMedia::Video(_) => true,
            })
    }

    /// Bytes in memory.
    pub(crate) fn memory_len(&self) -> usize {
        self.tracks().map(|track| track.media.sample_entry().memory_len()).sum()
    }

    /// The video track, then those of sound.
    pub(crate) fn tracks(&self) -> impl Iterator<Item = &ChosenTrack> {
        self.video.iter().chain(&self.audio)
    }
}

/// The first of them that can be read, at most `max`.
fn readable(
    entries: Vec<Entry<'_>>,
    max: usize,
    refusals: &mut Refusals,
) -> Result<Vec<ChosenTrack>, Unreadable> {
    let mut tracks = Vec::new();
    for entry in entries {
        if tracks.len() == max {
            break;
        }
        match ChosenTrack::of(&entry) {
            Ok(track) => tracks.push(track),
            Err(Unreadable::Final(error)) => refusals.note(entry.is_video, error),
            Err(foreign) => return Err(foreign),
        }
    }
    Ok(tracks)
}

impl ChosenTrack {
    fn of(entry: &Entry<'_>) -> Result<Self, Unreadable> {
        match entry.packing {
            Packing::Plain => {}
            Packing::Compressed => return Err(Unreadable::Foreign),
            Packing::Encrypted => {
                return Err(ReadError::Unsupported(format!("the {} is encrypted", entry.kind())).into());
            }
        }
        let source_track = u32::try_from(entry.number)
            .map_err(|_| ReadError::Damaged(format!("a track has the number {}", entry.number)))?;
        let (media, row_codec, skipped_ns) = if entry.is_video {
            let codec = match entry.codec_id {
                "V_VP8" => RowCodec::Vp8,
                "V_AV1" => RowCodec::Av1,
                _ => RowCodec::OtherVideo,
            };
            (TrackMedia::Video(video::track(entry)?), codec, 0)
        } else {
            let sound = audio::track(entry)?;
            let skipped = sound.pre_skip.map(|samples| samples_ns(samples.into(), sound.track.sample_rate));
            let skipped = skipped.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(entry.delay_ns);
            (TrackMedia::Audio(sound.track), RowCodec::Audio(sound.packets), skipped)
        };
        Ok(ChosenTrack {
            number: entry.number,
            row_codec,
            media,
            source_track,
            language: entry.language.clone(),
            label: entry.label.clone(),
            default_duration_ns: entry.default_duration_ns,
            delay_ns: if entry.is_video { 0 } else { entry.delay_ns },
            skipped_ns,
            is_picture: matches!(entry.codec_id, "V_MJPEG" | "V_PNG"),
        })
    }

    /// PCM samples a second; 0 of pictures.
    pub(crate) fn sample_rate(&self) -> u32 {
        match &self.media {
            TrackMedia::Audio(audio) => audio.sample_rate,
            TrackMedia::Video(_) => 0,
        }
    }
}
