//! Multivariant playlists: what a player can choose from.

use std::fmt::Write as _;

use super::{AudioName, CopyRates, Rate, VERSION, audio_names};
use crate::index::{AudioTrack, Index, Track, VideoTrack};

/// The group that every audio rendition belongs to.
const AUDIO_GROUP: &str = "audio";
/// RFC 8216, 4.3.4.1: audio for people who cannot see the pictures.
const DESCRIBES_VIDEO: &str = "public.accessibility.describes-video";
/// Shown in a player's menu where the source names no language.
const UNKNOWN_NAME: &str = "Audio";

/// What a player reads first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MultivariantPlaylist {
    /// Audio renditions to choose among; empty without audio, or where the only one is the variant.
    pub audio: Vec<AudioGroup>,
    /// The variants in the order of the text: players begin with the first.
    pub variants: Vec<Variant>,
    /// Each segment can be decoded without another: said only where it is so. RFC 8216, 4.3.5.1.
    pub has_independent_segments: bool,
}

/// One audio rendition that plays beside any variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioGroup {
    /// Address of its media playlist.
    pub uri: String,
    /// BCP 47 tag; `None` when unknown.
    pub language: Option<String>,
    /// What a player shows.
    pub name: String,
    /// Number of channels.
    pub channels: u32,
    /// Chosen when the viewer chose nothing. Of all renditions one is.
    pub is_default: bool,
    /// A player may choose it by the viewer's language. RFC 8216, 4.3.4.1.1: no two that it could not tell apart.
    pub is_autoselected: bool,
    /// Describes the pictures to people who cannot see them.
    pub describes_video: bool,
}

/// One version of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Address of its media playlist.
    pub uri: String,
    /// Rates of the video and of the audio that plays with it.
    pub rate: Rate,
    /// RFC 6381 strings of everything that may play in it, each once.
    pub codecs: Vec<String>,
    /// Displayed size, square pixels, after rotation; `None` without video.
    pub resolution: Option<(u32, u32)>,
    /// Pictures a second as a fraction, where known.
    pub frame_rate: Option<(u32, u32)>,
    /// What the pictures need of a screen; `None` without video.
    pub video_range: Option<VideoRange>,
}

/// Dynamic range of the pictures. RFC 8216bis, 4.4.6.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VideoRange {
    /// Standard.
    Sdr,
    /// Hybrid log-gamma.
    Hlg,
    /// Perceptual quantizer.
    Pq,
}

/// Addresses of the media playlists, absolute or relative to the multivariant playlist. They hold no quotes or line ends.
#[derive(Debug, Clone, Copy)]
pub struct MultivariantUris<'a> {
    /// Of the copied video.
    pub video: &'a str,
    /// Of the copied audio tracks, in the order of the index.
    pub audio: &'a [String],
}

impl MultivariantPlaylist {
    /// The copied tracks of a source: its video with its audio beside it, its video alone, or its audio as the variant.
    ///
    /// Measures the rates. Who writes it again and again keeps them and calls [`Self::with_rates`].
    pub fn of(index: &Index, uris: MultivariantUris<'_>) -> Self {
        Self::with_rates(index, CopyRates::of(index), uris)
    }

    /// As [`Self::of`], with the rates of the same index.
    pub fn with_rates(index: &Index, rates: CopyRates, uris: MultivariantUris<'_>) -> Self {
        let Some((_, video)) = index.video() else { return Self::audio_only(index, rates, uris.audio) };
        let audio = group(index, uris.audio);
        let variant = Variant {
            uri: uris.video.to_owned(),
            rate: rates.video.with(rates.audio),
            codecs: codecs(Some(video), index),
            resolution: Some(video.display_size()),
            frame_rate: video.frame_rate,
            video_range: Some(VideoRange::of(video.transfer)),
        };
        Self { audio, variants: vec![variant], has_independent_segments: !rates.has_open_segments }
    }

    /// The audio of a source as if it had no video; nothing without audio. `uris` are in the order of the index.
    ///
    /// The variant is the track that plays when nobody chose; a group of all stands beside it where there are several.
    pub fn audio_only(index: &Index, rates: CopyRates, uris: &[String]) -> Self {
        let audio = group(index, uris);
        let chosen = audio.iter().find(|rendition| rendition.is_default).map(|rendition| Variant {
            uri: rendition.uri.clone(),
            rate: rates.audio,
            codecs: codecs(None, index),
            resolution: None,
            frame_rate: None,
            video_range: None,
        });
        Self {
            audio: if audio.len() > 1 { audio } else { Vec::new() },
            variants: chosen.into_iter().collect(),
            has_independent_segments: true,
        }
    }

    /// The text.
    pub fn render(&self) -> String {
        let mut text = format!("#EXTM3U\n#EXT-X-VERSION:{VERSION}\n");
        if self.has_independent_segments {
            text.push_str("#EXT-X-INDEPENDENT-SEGMENTS\n");
        }
        for audio in &self.audio {
            audio.render(&mut text);
        }
        for variant in &self.variants {
            variant.render(&mut text, !self.audio.is_empty());
        }
        text
    }
}

/// The audio renditions, in the order of the index.
fn group(index: &Index, uris: &[String]) -> Vec<AudioGroup> {
    let default = index.audio().map(|(track, _)| track.source_track);
    let names = audio_names(index, UNKNOWN_NAME);
    let rendition =
        |(((track, audio), AudioName { language, name }), uri): (((&Track, &AudioTrack), _), &String)| {
            let is_default = default == Some(track.source_track);
            AudioGroup {
                uri: uri.clone(),
                language,
                name,
                channels: audio.channels,
                is_default,
                is_autoselected: is_default,
                describes_video: track.label.describes_video,
            }
        };
    let mut group: Vec<_> = index.audio_tracks().zip(names).zip(uris).map(rendition).collect();
    for number in 0..group.len() {
        let this = &group[number];
        let is_same = |other: &AudioGroup| {
            (&other.language, other.describes_video) == (&this.language, this.describes_video)
        };
        let is_first = !group.iter().any(|other| other.is_autoselected && is_same(other));
        group[number].is_autoselected |= is_first;
    }
    group
}

/// The codecs of the video and of all audio tracks, each once.
fn codecs(video: Option<&VideoTrack>, index: &Index) -> Vec<String> {
    let audio = index.audio_tracks().map(|(_, audio)| &audio.codec);
    let mut codecs: Vec<String> = Vec::new();
    for codec in video.map(|video| &video.codec).into_iter().chain(audio) {
        if !codecs.contains(codec) {
            codecs.push(codec.clone());
        }
    }
    codecs
}

// Writing to a String cannot fail: what `write!` answers below is of no use.

impl AudioGroup {
    fn render(&self, text: &mut String) {
        let _ = write!(text, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"{AUDIO_GROUP}\"");
        if let Some(language) = &self.language {
            let _ = write!(text, ",LANGUAGE=\"{language}\"");
        }
        let yes_or_no = |is_so| if is_so { "YES" } else { "NO" };
        let (default, autoselect) = (yes_or_no(self.is_default), yes_or_no(self.is_autoselected));
        let _ = write!(text, ",NAME=\"{}\",DEFAULT={default},AUTOSELECT={autoselect}", self.name);
        if self.describes_video {
            let _ = write!(text, ",CHARACTERISTICS=\"{DESCRIBES_VIDEO}\"");
        }
        let _ = writeln!(text, ",CHANNELS=\"{}\",URI=\"{}\"", self.channels, self.uri);
    }
}

impl Variant {
    fn render(&self, text: &mut String, has_audio_group: bool) {
        let _ = write!(
            text,
            "#EXT-X-STREAM-INF:BANDWIDTH={},AVERAGE-BANDWIDTH={},CODECS=\"{}\"",
            self.rate.peak,
            self.rate.average,
            self.codecs.join(","),
        );
        if let Some((width, height)) = self.resolution {
            let _ = write!(text, ",RESOLUTION={width}x{height}");
        }
        if let Some(milli) = self.frame_rate.and_then(thousandths) {
            let _ = write!(text, ",FRAME-RATE={}.{:03}", milli / 1000, milli % 1000);
        }
        if let Some(range) = self.video_range {
            let _ = write!(text, ",VIDEO-RANGE={}", range.name());
        }
        if has_audio_group {
            let _ = write!(text, ",AUDIO=\"{AUDIO_GROUP}\"");
        }
        let _ = writeln!(text, "\n{}", self.uri);
    }
}

impl VideoRange {
    /// From the transfer characteristics (ISO/IEC 23091-2); a source that says nothing is standard.
    pub fn of(transfer: Option<u16>) -> Self {
        match transfer {
            Some(16) => Self::Pq,
            Some(18) => Self::Hlg,
            _ => Self::Sdr,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sdr => "SDR",
            Self::Hlg => "HLG",
            Self::Pq => "PQ",
        }
    }
}

/// A fraction in thousandths, rounded to the nearest.
fn thousandths((numerator, denominator): (u32, u32)) -> Option<u64> {
    let denominator = u64::from(denominator);
    (u64::from(numerator) * 1000 + denominator / 2).checked_div(denominator)
}
