//! One source as players see it: its index and the texts made from it.

use std::fmt::Write as _;
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
    /// The source's audio as it is.
    Audio,
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
    audio: Texts,
}

#[derive(Debug, Default)]
struct Texts {
    playlist: OnceLock<Bytes>,
    init: OnceLock<Bytes>,
}

impl Packaged {
    pub(crate) fn read(source: SourceId, bytes: &[u8]) -> Result<Self, Error> {
        let index = Index::from_bytes(bytes).map_err(|error| Error::Damaged(Box::new(error)))?;
        let id = IndexId::of_bytes(bytes);
        Ok(Self {
            source,
            index,
            id,
            stored_len: bytes.len(),
            rates: OnceLock::new(),
            video: Texts::default(),
            audio: Texts::default(),
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
            Rendition::Audio => self.index.audio().map(|(track, _)| track),
        };
        track.ok_or(Error::NotInPlan)
    }

    /// What a player reads first. `base` is put in front of `video/playlist.m3u8` and `audio/playlist.m3u8`.
    pub fn multivariant(&self, base: &str) -> String {
        let uri = |rendition: Rendition| format!("{base}{}/playlist.m3u8", rendition.as_str());
        let (video, audio) = (uri(Rendition::Video), uri(Rendition::Audio));
        let rates = *self.rates.get_or_init(|| CopyRates::of(&self.index));
        MultivariantPlaylist::with_rates(
            &self.index,
            rates,
            MultivariantUris { video: &video, audio: &audio },
        )
        .render()
    }

    /// The same without the video, for one that turned out not to decode; `None` when there is no sound either.
    pub fn audio_only(&self, base: &str) -> Option<String> {
        let (audio, _) = self.index.audio()?;
        let index = Index { tracks: vec![audio.clone()], ..self.index.clone() };
        let uri = format!("{base}{}/playlist.m3u8", Rendition::Audio.as_str());
        Some(MultivariantPlaylist::of(&index, MultivariantUris { video: &uri, audio: &uri }).render())
    }

    /// The segments of a rendition, with addresses relative to the playlist: `init.mp4`, `0.m4s`.
    ///
    /// Errors: [`Error::NotInPlan`] for a rendition the source does not have.
    pub fn playlist(&self, rendition: Rendition) -> Result<Bytes, Error> {
        let track = self.track(rendition)?;
        let text = self.texts(rendition).playlist.get_or_init(|| {
            let segments = match rendition {
                Rendition::Video => &self.index.plan.video,
                Rendition::Audio => &self.index.plan.audio,
            };
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
        if let Some(bytes) = self.texts(rendition).init.get() {
            return Ok(bytes.clone());
        }
        let bytes = init_segment(&self.index, track).map_err(|error| Error::Damaged(Box::new(error)))?;
        Ok(self.texts(rendition).init.get_or_init(|| Bytes::from(bytes)).clone())
    }

    fn texts(&self, rendition: Rendition) -> &Texts {
        match rendition {
            Rendition::Video => &self.video,
            Rendition::Audio => &self.audio,
        }
    }
}

impl Rendition {
    /// The word in addresses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Video => "video",
            Self::Audio => "audio",
        }
    }

    /// The rendition with this word.
    pub fn from_text(text: &str) -> Option<Self> {
        [Self::Video, Self::Audio].into_iter().find(|rendition| rendition.as_str() == text)
    }
}
