//! One source as players see it: its index and the texts made from it.

use std::fmt::{self, Write as _};
use std::sync::OnceLock;

use bytes::Bytes;
use kinora_domain::SourceId;
use kinora_formats::hls::{CopyRates, MediaPlaylist, MultivariantPlaylist, MultivariantUris};
use kinora_formats::index::{Index, IndexId, Track};
use kinora_formats::mp4::write::init_segment;

use crate::Error;

/// A version of a media that a player can choose: so far the copied tracks of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rendition {
    /// The source's video as it is.
    Video,
    /// One of the source's audio tracks as it is, counted from 0 in the order of the source.
    Audio(u8),
}

/// An index with what was made from it. Everything here is a pure function of the index, so it never grows old.
#[derive(Debug)]
pub struct Packaged {
    pub(crate) source: SourceId,
    pub(crate) index: Index,
    id: IndexId,
    stored_len: usize,
    /// Rates are bounds over every sample: they are looked for once.
    rates: OnceLock<CopyRates>,
    video: Texts,
    /// One for each audio track.
    audio: Vec<Texts>,
}

#[derive(Debug, Default)]
struct Texts {
    playlist: OnceLock<Bytes>,
    init: OnceLock<Bytes>,
}

impl Packaged {
    pub(crate) fn read(source: SourceId, bytes: &[u8]) -> Result<Self, Error> {
        let index = Index::from_bytes(bytes).map_err(|error| Error::Damaged(Box::new(error)))?;
        Ok(Self {
            source,
            id: IndexId::of_bytes(bytes),
            stored_len: bytes.len(),
            rates: OnceLock::new(),
            video: Texts::default(),
            audio: index.audio_tracks().map(|_| Texts::default()).collect(),
            index,
        })
    }

    /// What the source holds.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Names the index in every address below a playback ID, so that a replaced source has new ones.
    pub fn id(&self) -> IndexId {
        self.id
    }

    /// The index takes about as much memory as its bytes, the playlists some tens of KiB.
    pub(crate) fn weight(&self) -> u32 {
        u32::try_from(self.stored_len.saturating_mul(2)).unwrap_or(u32::MAX)
    }

    pub(crate) fn track(&self, rendition: Rendition) -> Result<&Track, Error> {
        let track = match rendition {
            Rendition::Video => self.index.video().map(|(track, _)| track),
            Rendition::Audio(number) => self.index.audio_tracks().nth(number.into()).map(|(track, _)| track),
        };
        track.ok_or(Error::NotInPlan)
    }

    /// What a player reads first. `base` is put in front of `video/playlist.m3u8`, `audio/playlist.m3u8` and so on.
    pub fn multivariant(&self, base: &str) -> String {
        let (video, audio) = (uri(base, Rendition::Video), self.audio_uris(base));
        let uris = MultivariantUris { video: &video, audio: &audio };
        MultivariantPlaylist::with_rates(&self.index, self.rates(), uris).render()
    }

    /// The same without the video, for one that turned out not to decode; `None` when there is no sound either.
    pub fn audio_only(&self, base: &str) -> Option<String> {
        let uris = self.audio_uris(base);
        let playlist = MultivariantPlaylist::audio_only(&self.index, self.rates(), &uris);
        (!playlist.variants.is_empty()).then(|| playlist.render())
    }

    fn audio_uris(&self, base: &str) -> Vec<String> {
        let numbers = (0..).zip(&self.audio).map(|(number, _)| number);
        numbers.map(|number| uri(base, Rendition::Audio(number))).collect()
    }

    fn rates(&self) -> CopyRates {
        *self.rates.get_or_init(|| CopyRates::of(&self.index))
    }

    /// The segments of a rendition, with addresses relative to the playlist: `init.mp4`, `0.m4s`.
    ///
    /// Errors: [`Error::NotInPlan`] for a rendition the source does not have.
    pub fn playlist(&self, rendition: Rendition) -> Result<Bytes, Error> {
        let track = self.track(rendition)?;
        let text = self.texts(rendition)?.playlist.get_or_init(|| {
            let segments = self.index.segments(track);
            let playlist = MediaPlaylist { timescale: track.timescale, segments, init_uri: "init.mp4" };
            let text = playlist.render(|text, number| {
                let _ = write!(text, "{number}.m4s");
            });
            Bytes::from(text)
        });
        Ok(text.clone())
    }

    /// What a decoder must know before the first segment of a rendition.
    pub fn init(&self, rendition: Rendition) -> Result<Bytes, Error> {
        let track = self.track(rendition)?;
        let texts = self.texts(rendition)?;
        if let Some(bytes) = texts.init.get() {
            return Ok(bytes.clone());
        }
        let bytes = init_segment(&self.index, track).map_err(|error| Error::Damaged(Box::new(error)))?;
        Ok(texts.init.get_or_init(|| Bytes::from(bytes)).clone())
    }

    fn texts(&self, rendition: Rendition) -> Result<&Texts, Error> {
        match rendition {
            Rendition::Video => Ok(&self.video),
            Rendition::Audio(number) => self.audio.get(usize::from(number)).ok_or(Error::NotInPlan),
        }
    }
}

/// Where the playlist of a rendition is.
fn uri(base: &str, rendition: Rendition) -> String {
    format!("{base}{rendition}/playlist.m3u8")
}

impl Rendition {
    /// The rendition that this stands for in an address; each has one.
    pub fn from_text(text: &str) -> Option<Self> {
        let rendition = match text.strip_prefix("audio") {
            None => Self::Video,
            Some("") => Self::Audio(0),
            Some(number) => Self::Audio(number.strip_prefix('-')?.parse::<u8>().ok()?.checked_sub(1)?),
        };
        (rendition.to_string() == text).then_some(rendition)
    }
}

/// What stands for it in addresses: `video`, `audio`, `audio-2`, `audio-3` and so on.
impl fmt::Display for Rendition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Video => f.write_str("video"),
            Self::Audio(0) => f.write_str("audio"),
            Self::Audio(number) => write!(f, "audio-{}", u16::from(*number) + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rendition_has_one_name() {
        let names =
            [("video", Rendition::Video), ("audio", Rendition::Audio(0)), ("audio-2", Rendition::Audio(1))];
        for (name, rendition) in names {
            assert_eq!((rendition.to_string().as_str(), Rendition::from_text(name)), (name, Some(rendition)));
        }
        for none in [
            "",
            "audio-",
            "audio-0",
            "audio-1",
            "audio-02",
            "audio-+2",
            "audio2",
            "audio-256",
            "Audio",
            "videos",
        ] {
            assert_eq!(Rendition::from_text(none), None, "{none}");
        }
    }
}
