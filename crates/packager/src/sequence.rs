//! Several sources that play one after the other: what a player is offered of all of them, and the media
//! playlists.
//!
//! A player changes neither codec nor the number of its tracks where a source ends, so all of them come in
//! H.264 and AAC: each is shown in that rendition which fits the size best, with the sound that plays when
//! nobody chose; black, or silent, where it has none. D-0073.

use std::sync::Arc;

use kinora_domain::Resolution;
use kinora_formats::{BLACK_CODEC, Filler, encode::encoded_audio_times};
use kinora_hls::{
    AudioGroup, MultivariantPlaylist, Rate, RatedRung, SequencePlaylist, Variant, VideoRange, sound_offers,
};
use kinora_index::{ENCODED_AUDIO_CODEC, ENCODED_AUDIO_FRAME, ENCODED_AUDIO_RATE, Segment};

use crate::{Error, Packaged, Packager, Rendition};

/// The group of the sound.
const GROUP: &str = "audio";
/// What the sound is called: sources in a row have no language in common.
const SOUND_NAME: &str = "Audio";
/// What the codecs of copied video begin with that every player decodes.
const EVERYWHERE: &str = "avc1.";
/// Most segments of a rendition; sources behind that are left out. 22 h of segments of 4 s, whose playlist
/// has about 2 MB.
const SEGMENTS_MAX: usize = 20_000;
/// Sound that goes on for longer than this behind the pictures is heard, in front of black; less is cut off.
const SOUND_BEHIND_MIN_US: u64 = 1_000_000;

/// A source among others in a row.
#[derive(Debug)]
pub struct SequenceItem {
    packaged: Arc<Packaged>,
    /// In front of the name of a rendition, with a slash at the end.
    base: String,
    /// In H.264, smallest first.
    pictures: Vec<Picture>,
    sound: Option<Sound>,
    ends: Ends,
}

/// A rendition of the pictures.
#[derive(Debug)]
struct Picture {
    rendition: Rendition,
    size: Resolution,
    rate: Rate,
    codec: String,
    resolution: (u32, u32),
    frame_rate: Option<(u32, u32)>,
}

/// The sound that plays when nobody chose.
#[derive(Debug)]
pub(crate) struct Sound {
    pub(crate) rendition: Rendition,
    pub(crate) rate: Rate,
    pub(crate) codec: String,
}

/// Sources in a row.
#[derive(Debug, Default)]
pub struct Sequence {
    items: Vec<SequenceItem>,
    /// Of all of them.
    segment_count: usize,
}

impl Packager {
    /// A source as one among others; `None` where players could be given nothing of it. `base` is the path of
    /// its renditions, nothing is larger than `max`, and pictures that were withdrawn are left out.
    pub async fn sequence_item(
        &self,
        packaged: Arc<Packaged>,
        base: String,
        max: Resolution,
        is_video_withdrawn: bool,
    ) -> Result<Option<SequenceItem>, Error> {
        let broken = self.broken(packaged.presentation).await?;
        let is_offered = |rendition: Rendition| !broken.contains(&rendition);
        let mut pictures = if is_video_withdrawn { Vec::new() } else { packaged.pictures(max) };
        pictures.retain(|picture| is_offered(picture.rendition));
        let sound = packaged.sound().filter(|sound| is_offered(sound.rendition));
        let is_empty = pictures.is_empty() && sound.is_none();
        let ends = Ends::of(&packaged, pictures.first(), sound.as_ref());
        Ok((!is_empty).then_some(SequenceItem { packaged, base, pictures, sound, ends }))
    }
}

impl Packaged {
    /// The renditions of the pictures that every player decodes, smallest first.
    fn pictures(&self, max: Resolution) -> Vec<Picture> {
        let Some((_, video)) = self.index.video() else { return Vec::new() };
        let size_of = |(width, height)| Resolution::of_picture(width, height);
        let mut pictures: Vec<Picture> = Vec::new();
        let is_plain =
            VideoRange::of(video.transfer) == VideoRange::Sdr && video.codec.starts_with(EVERYWHERE);
        if is_plain && self.is_video_copied(max) && !self.index.plan.video.is_empty() {
            pictures.push(Picture {
                rendition: Rendition::Video,
                size: size_of(video.display_size()),
                rate: self.rates().video,
                codec: video.codec.clone(),
                resolution: video.display_size(),
                frame_rate: video.frame_rate,
            });
        }
        pictures.extend(self.ladder(max).iter().map(|RatedRung { rung, rate }| Picture {
            rendition: Rendition::Rung(rung.name),
            size: size_of((rung.width, rung.height)),
            rate: *rate,
            codec: rung.codec.clone(),
            resolution: (rung.width, rung.height),
            frame_rate: rung.frame_rate,
        }));
        pictures.sort_by_key(|picture| picture.size);
        pictures
    }

    /// The sound that plays everywhere of the track that plays when nobody chose.
    pub(crate) fn sound(&self) -> Option<Sound> {
        let (default, _) = self.index.audio()?;
        let mut tracks = self.index.audio_tracks().enumerate();
        let (number, (_, audio)) =
            tracks.find(|(_, (track, _))| track.source_track == default.source_track)?;
        let name = u8::try_from(number).ok()?;
        let offer = sound_offers(&self.index, false).get(number).copied()?;
        if offer.is_encoded {
            let rendition = Rendition::Aac(name);
            return Some(Sound {
                rendition,
                rate: Rate::ENCODED_AUDIO,
                codec: ENCODED_AUDIO_CODEC.to_owned(),
            });
        }
        // AAC: everything else is encoded, unless it is too long for that.
        (offer.is_copied && audio.codec.starts_with("mp4a.")).then(|| Sound {
            rendition: Rendition::Audio(name),
            rate: self.rates().aac,
            codec: audio.codec.clone(),
        })
    }

    /// The segments of a rendition, and the ticks a second of their times.
    fn timed(&self, rendition: Rendition) -> (u32, Vec<Segment>) {
        let Ok(track) = self.track(rendition) else { return (1, Vec::new()) };
        match rendition {
            Rendition::Aac(number) => {
                (ENCODED_AUDIO_RATE, encoded_audio_times(&self.index, usize::from(number)))
            }
            Rendition::Rung(_) => (track.timescale, self.index.plan.encoded_video.clone()),
            _ => (track.timescale, self.index.segments(track).to_vec()),
        }
    }
}

/// An instant of a source, in frames of the grid that fillers lie on, and in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct End {
    /// The first frame that begins at or after it.
    frame: u64,
    us: u64,
}

impl End {
    const FRAME_US: (u64, u64) = (ENCODED_AUDIO_FRAME as u64 * 1_000_000, ENCODED_AUDIO_RATE as u64);

    fn of((timescale, segments): &(u32, Vec<Segment>)) -> Option<Self> {
        let ticks = u128::try_from(segments.last()?.end).ok()?;
        let timescale = u128::from(*timescale).max(1);
        let frame =
            (ticks * u128::from(ENCODED_AUDIO_RATE)).div_ceil(timescale * u128::from(ENCODED_AUDIO_FRAME));
        let us = (ticks * 2_000_000 + timescale) / (2 * timescale);
        Some(Self { frame: u64::try_from(frame).ok()?, us: u64::try_from(us).ok()? })
    }

    fn of_frame(frame: u64) -> Self {
        let (us, frames) = Self::FRAME_US;
        Self { frame, us: frame.saturating_mul(us) / frames }
    }
}

/// How long a source plays, and how long each part of it.
#[derive(Debug, Clone, Copy)]
struct Ends {
    pictures: Option<End>,
    sound: Option<End>,
    whole: End,
}

impl Ends {
    fn of(packaged: &Packaged, picture: Option<&Picture>, sound: Option<&Sound>) -> Self {
        let pictures = picture.and_then(|picture| End::of(&packaged.timed(picture.rendition)));
        let sound = sound.and_then(|sound| End::of(&packaged.timed(sound.rendition)));
        let whole = match (pictures, sound) {
            (Some(pictures), Some(sound)) if pictures.us + SOUND_BEHIND_MIN_US <= sound.us => {
                End::of_frame(sound.frame)
            }
            (Some(pictures), _) => pictures,
            (None, sound) => End::of_frame(sound.map_or(0, |sound| sound.frame)),
        };
        Self { pictures, sound, whole }
    }
}

impl SequenceItem {
    /// The rendition whose pictures fit a size best: the largest that is not larger, else the smallest.
    fn picture(&self, size: Resolution) -> Option<&Picture> {
        self.pictures.iter().rev().find(|picture| picture.size <= size).or(self.pictures.first())
    }

    /// Segments of the rendition that has most of them.
    fn segment_count(&self) -> usize {
        let rendered = self.pictures.iter().map(|picture| picture.rendition);
        let all = rendered.chain(self.sound.as_ref().map(|sound| sound.rendition));
        let fillers = Filler::segments(0, self.ends.whole.frame).len();
        all.map(|rendition| self.packaged.timed(rendition).1.len()).max().unwrap_or(0).max(fillers)
    }
}

impl Sequence {
    /// Adds a source behind the others. `false`: there are too many segments, and it is left out.
    pub fn push(&mut self, item: SequenceItem) -> bool {
        let count = self.segment_count.saturating_add(item.segment_count());
        let has_room = count <= SEGMENTS_MAX;
        if has_room {
            self.segment_count = count;
            self.items.push(item);
        }
        has_room
    }

    /// Whether there is nothing to play.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The sizes that players choose from, smallest first; none where no source has pictures.
    pub fn sizes(&self) -> Vec<Resolution> {
        let all = self.items.iter().flat_map(|item| &item.pictures);
        let mut sizes: Vec<_> = all.map(|picture| picture.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    fn has_sound(&self) -> bool {
        self.items.iter().any(|item| item.sound.is_some())
    }

    /// What a player reads first. `uri` gives the address of the playlist of a size, of the sound without
    /// one.
    pub fn multivariant(&self, uri: impl Fn(Option<Resolution>) -> String) -> String {
        let sizes = self.sizes();
        let sound = self.has_sound().then(|| self.sound_rate());
        let mut variants: Vec<Variant> =
            sizes.iter().rev().map(|size| self.variant(*size, sound, uri(Some(*size)))).collect();
        if variants.is_empty() {
            variants.push(Variant {
                uri: uri(None),
                rate: sound.unwrap_or_default(),
                codecs: self.codecs(None),
                resolution: None,
                frame_rate: None,
                video_range: None,
                audio: None,
            });
        }
        let has_group = !sizes.is_empty() && self.has_sound();
        let audio = has_group.then(|| AudioGroup {
            group: GROUP,
            uri: uri(None),
            codec: ENCODED_AUDIO_CODEC.to_owned(),
            language: None,
            name: SOUND_NAME.to_owned(),
            channels: 2,
            is_default: true,
            is_autoselected: true,
            describes_video: false,
        });
        let copies = self
            .items
            .iter()
            .filter(|item| item.pictures.iter().any(|picture| picture.rendition == Rendition::Video));
        let has_open = copies.into_iter().any(|item| item.packaged.rates().has_open_segments);
        MultivariantPlaylist {
            audio: audio.into_iter().collect(),
            subtitles: Vec::new(),
            variants,
            iframes: None,
            has_independent_segments: !has_open,
        }
        .render()
    }

    fn variant(&self, size: Resolution, sound: Option<Rate>, uri: String) -> Variant {
        let pictures = || self.items.iter().filter_map(|item| item.picture(size));
        let largest = pictures().max_by_key(|picture| {
            let (width, height) = picture.resolution;
            u64::from(width) * u64::from(height)
        });
        let quickest = pictures()
            .filter_map(|picture| picture.frame_rate)
            .max_by(|a, b| (u64::from(a.0) * u64::from(b.1)).cmp(&(u64::from(b.0) * u64::from(a.1))));
        let rate = self.rate(|item| item.picture(size).map(|picture| picture.rate));
        Variant {
            uri,
            rate: sound.map_or(rate, |sound| rate.with(sound)),
            codecs: self.codecs(Some(size)),
            resolution: largest.map(|picture| picture.resolution),
            frame_rate: quickest,
            video_range: Some(VideoRange::Sdr),
            audio: sound.map(|_| GROUP),
        }
    }

    fn sound_rate(&self) -> Rate {
        self.rate(|item| item.sound.as_ref().map(|sound| sound.rate))
    }

    /// The peak of all, and the average over all of the time; fillers take next to nothing.
    fn rate(&self, rate: impl Fn(&SequenceItem) -> Option<Rate>) -> Rate {
        let (mut peak, mut bits, mut us) = (0, 0_u128, 0_u128);
        for item in &self.items {
            let length = u128::from(item.ends.whole.us);
            us += length;
            if let Some(rate) = rate(item) {
                peak = rate.peak.max(peak);
                bits += u128::from(rate.average) * length;
            }
        }
        Rate { peak, average: u64::try_from(bits.div_ceil(us.max(1))).unwrap_or(u64::MAX) }
    }

    /// RFC 6381 strings of all that may play in a variant, each once.
    fn codecs(&self, size: Option<Resolution>) -> Vec<String> {
        let mut codecs: Vec<String> = Vec::new();
        let mut add = |codec: &str| {
            if codecs.iter().all(|other| other != codec) {
                codecs.push(codec.to_owned());
            }
        };
        if let Some(size) = size {
            let pictures = || self.items.iter().map(|item| item.picture(size));
            // Players that look at the first alone look at the largest.
            let largest = pictures().flatten().max_by_key(|picture| picture.size);
            largest.into_iter().chain(pictures().flatten()).for_each(|picture| add(&picture.codec));
            if self.items.iter().any(SequenceItem::needs_black) {
                add(BLACK_CODEC);
            }
        }
        if self.has_sound() {
            let sounds = self.items.iter().map(|item| item.sound.as_ref());
            sounds.for_each(|sound| add(sound.map_or(ENCODED_AUDIO_CODEC, |sound| sound.codec.as_str())));
        }
        codecs
    }

    /// The media playlist of a size; `None` where it is not offered. `filler` gives addresses of fillers'
    /// files.
    pub fn pictures(
        &self,
        size: Resolution,
        filler: impl Fn(Filler, Option<&Segment>) -> String,
    ) -> Option<String> {
        if !self.sizes().contains(&size) {
            return None;
        }
        let mut playlist = SequencePlaylist::default();
        for item in &self.items {
            playlist.begin();
            let Ends { pictures, whole, .. } = item.ends;
            if let Some(picture) = item.picture(size) {
                let until = if item.needs_black() { pictures.unwrap_or(whole) } else { whole };
                push_rendition(&mut playlist, item, picture.rendition, until);
            }
            if item.needs_black() {
                let first = pictures.map_or(0, |end| end.frame);
                push_filler(&mut playlist, Filler::Black, first..whole.frame, whole, &filler);
            }
        }
        Some(playlist.render())
    }

    /// The media playlist of the sound; `None` without any.
    pub fn sound(&self, filler: impl Fn(Filler, Option<&Segment>) -> String) -> Option<String> {
        if !self.has_sound() {
            return None;
        }
        let mut playlist = SequencePlaylist::default();
        for item in &self.items {
            playlist.begin();
            let Ends { sound, whole, .. } = item.ends;
            let first = sound.map_or(0, |end| end.frame);
            // Less than a whole frame is missed by nobody.
            let is_filled = End::of_frame(first + 1).us <= whole.us;
            if let Some(sounding) = &item.sound {
                let until = if is_filled { sound.unwrap_or(whole) } else { whole };
                push_rendition(&mut playlist, item, sounding.rendition, until);
            }
            if is_filled {
                push_filler(&mut playlist, Filler::Silence, first..whole.frame, whole, &filler);
            }
        }
        Some(playlist.render())
    }
}

impl SequenceItem {
    /// Whether it is longer than its pictures.
    fn needs_black(&self) -> bool {
        let Ends { pictures, whole, .. } = self.ends;
        pictures.is_none_or(|pictures| pictures.us < whole.us)
    }
}

fn push_rendition(playlist: &mut SequencePlaylist, item: &SequenceItem, rendition: Rendition, until: End) {
    let base = format!("{}{rendition}/", item.base);
    let (timescale, segments) = item.packaged.timed(rendition);
    playlist.push(&format!("{base}init.mp4"), (timescale, &segments), until.us, |text, number| {
        text.push_str(&format!("{base}{number}.m4s"));
    });
}

fn push_filler(
    playlist: &mut SequencePlaylist,
    filler: Filler,
    frames: std::ops::Range<u64>,
    until: End,
    uri: &impl Fn(Filler, Option<&Segment>) -> String,
) {
    let segments = Filler::segments(frames.start, frames.end);
    playlist.push(&uri(filler, None), (ENCODED_AUDIO_RATE, &segments), until.us, |text, number| {
        text.push_str(
            &segments.get(number as usize).map(|segment| uri(filler, Some(segment))).unwrap_or_default(),
        );
    });
}
