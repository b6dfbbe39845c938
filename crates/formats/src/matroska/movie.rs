//! From the tracks of a file to what can be played: which are chosen, and what becomes of their frames.

use serde::{Deserialize, Serialize};

use super::{
    audio,
    collect::{RowCodec, RowTable, Rows},
    ebml::{Element, elements, id},
    entry::{Entry, Packing},
    packets::Packets,
    times::{PacketClock, PictureClock, Units},
    video,
    walk::Walked,
};
use crate::{
    index::{AUDIO_TRACKS_MAX, LEFT_OUT_MAX, LeftOut, TrackLabel, TrackMedia},
    mp4::{
        ReadError,
        read::{Clocks, EditList, Movie, OpenHead, OpenTrack, Piece, Playable, Refusals},
    },
};

/// Tracks of one file that are looked at. Subtitles in many languages make some fifty.
const TRACKS_MAX: usize = 256;
/// Ticks a second of the common timeline: 100 ns.
const MOVIE_TIMESCALE: u32 = 10_000_000;
const SECOND_NS: i128 = 1_000_000_000;
/// What is said of a file with nothing to play.
const NO_TRACK: &str = "the file has no video or audio track";

/// Why a file is not read here.
#[derive(Debug)]
pub(super) enum Unreadable {
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
pub(super) struct Chosen {
    video: Option<ChosenTrack>,
    audio: Vec<ChosenTrack>,
    left_out: Vec<LeftOut>,
}

/// A chosen track.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ChosenTrack {
    pub(super) number: u64,
    pub(super) row_codec: RowCodec,
    media: TrackMedia,
    source_track: u32,
    language: String,
    label: TrackLabel,
    default_duration_ns: Option<u64>,
    /// Nanoseconds that written times are ahead of what is heard.
    delay_ns: u64,
    /// Nanoseconds that come out of the decoder first and are not heard.
    skipped_ns: u64,
    is_picture: bool,
}

impl Chosen {
    /// The video track to play, enabled and default ones first, and all audio tracks in the order of the file.
    ///
    /// Ignores tracks of other kinds, and a second one with the same number. Tracks that cannot be read are
    /// left out if another one can. Errors: `Foreign` where the bytes of a chosen one are packed.
    pub(super) fn of(tracks: &Element<'_>) -> Result<Self, Unreadable> {
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
    pub(super) fn is_sound(&self) -> bool {
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
    pub(super) fn memory_len(&self) -> usize {
        self.tracks().map(|track| track.media.sample_entry().memory_len()).sum()
    }

    /// The video track, then those of sound.
    pub(super) fn tracks(&self) -> impl Iterator<Item = &ChosenTrack> {
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
    pub(super) fn sample_rate(&self) -> u32 {
        match &self.media {
            TrackMedia::Audio(audio) => audio.sample_rate,
            TrackMedia::Video(_) => 0,
        }
    }

    /// The track with its frames on the clock that was meant.
    fn open(self, rows: &RowTable, units: Units) -> Result<OpenTrack, ReadError> {
        let head = OpenHead { id: self.source_track, language: self.language, label: self.label };
        let clocks = |own| Clocks { movie: MOVIE_TIMESCALE, own };
        match self.media {
            TrackMedia::Video(_) => {
                let clock = PictureClock::of(rows, units, self.default_duration_ns);
                let mut track =
                    OpenTrack::new(self.media, head, EditList::default(), clocks(clock.timescale));
                clock.each(rows, units, |row| track.push(row))?;
                Ok(track)
            }
            TrackMedia::Audio(ref audio) => {
                let clock = PacketClock {
                    rate: audio.sample_rate,
                    has_lengths: !matches!(self.row_codec, RowCodec::Audio(Packets::Unknown)),
                    default_duration_ns: self.default_duration_ns,
                };
                let clock = clock.checked(rows, units);
                let edits = priming(clock.first(rows, units), clock.rate, self.delay_ns, self.skipped_ns);
                let mut track = OpenTrack::new(self.media, head, edits, clocks(clock.rate));
                clock.each(rows, units, |row| track.push(row))?;
                Ok(track)
            }
        }
    }
}

/// Hides what comes out of a decoder first: a list of one edit, which begins with the first packet's time less the delay, plus what is skipped.
///
/// Written times are those of the decoder's output, ahead by the delay. RFC 9559, 5.1.4.1.25.
fn priming(first: i64, rate: u32, delay_ns: u64, skipped_ns: u64) -> EditList {
    if skipped_ns == 0 {
        return EditList::default();
    }
    let skipped = nearest(i128::from(skipped_ns) * i128::from(rate), SECOND_NS) as i64;
    let begins_ns = samples_ns(first, rate) - i128::from(delay_ns) + i128::from(skipped_ns);
    let empty = nearest(begins_ns * i128::from(MOVIE_TIMESCALE), SECOND_NS);
    let piece = Piece { at: 0, media_time: first.saturating_add(skipped), duration: 0 };
    EditList { empty: u64::try_from(empty).unwrap_or(0), pieces: vec![piece] }
}

fn samples_ns(samples: i64, rate: u32) -> i128 {
    nearest(i128::from(samples) * SECOND_NS, rate.max(1).into())
}

/// The nearest integer, halves up. `unit` is positive.
pub(super) fn nearest(number: i128, unit: i128) -> i128 {
    let (number, unit) = (2 * number + unit, 2 * unit);
    match (i64::try_from(number), i64::try_from(unit)) {
        // Nearly always, and many times as fast: it is done several times a frame.
        (Ok(number), Ok(unit)) => number.div_euclid(unit).into(),
        _ => number.div_euclid(unit),
    }
}

/// What can be played of a file of `len` bytes.
///
/// Errors: `Foreign` where elements make no sense; `Truncated` when the file ends before anything can be played.
pub(super) fn playable(walked: Walked, len: u64) -> Result<Playable, Unreadable> {
    let Walked { chosen, collector, scale_ns, is_cut_off, is_lost } = walked;
    if is_lost {
        return Err(Unreadable::Foreign);
    }
    let Some(chosen) = chosen else {
        return Err(match is_cut_off {
            true => ReadError::Truncated("its list of tracks is missing".into()),
            false => ReadError::NotMedia("the file has no list of tracks".into()),
        }
        .into());
    };
    let rows = collector.into_tracks().into_iter().map(|rows: Rows| rows.finish(scale_ns));
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    let has_sound = !chosen.audio.is_empty();
    let is_played = |(track, rows): &(ChosenTrack, RowTable)| {
        // One picture beside sound is its cover.
        rows.len() > 0 && !(track.is_picture && has_sound && rows.len() == 1)
    };
    let tracks: Vec<_> = chosen.video.into_iter().chain(chosen.audio).zip(rows).filter(is_played).collect();
    let Some(base) = tracks.iter().map(|(_, rows)| rows.times.0).min() else {
        return Err(match is_cut_off {
            true => ReadError::Truncated("less than a second of it can be played".into()),
            false => ReadError::NotMedia(NO_TRACK.into()),
        }
        .into());
    };
    let (units, left_out) = (Units { scale_ns, base }, chosen.left_out);
    let finished = tracks.into_iter().map(|(track, rows)| track.open(&rows, units)?.finish());
    let movie = Movie::of(finished.collect::<Result<_, _>>()?, MOVIE_TIMESCALE)?;
    Ok(movie.without(left_out).cut_off(is_cut_off).within(len)?)
}
