//! Multivariant playlists: the renditions that a player can choose from.

mod audio_groups;
mod subtitles;
mod variants;

use std::fmt::Write as _;

use kinora_index::Index;

use self::subtitles::SUBTITLES_GROUP;
use crate::{
    VERSION,
    rate::{Bandwidth, CopyBandwidths},
};

pub use audio_groups::AudioRendition;
pub use subtitles::{SubtitleRendition, SubtitleTrack};
pub use variants::{AddedAudio, MediaPlaylistRef, SizeOrder, VariantFilter, VariantInput};

/// The multivariant playlist, which a player reads first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MultivariantPlaylist {
    /// Audio renditions to select from; empty without audio, or if the only one is the variant.
    pub audio: Vec<AudioRendition>,
    /// Subtitles to select from, for every variant.
    pub subtitles: Vec<SubtitleRendition>,
    /// The variants in the order of the text: players begin with the first.
    pub variants: Vec<Variant>,
    /// Keyframes alone, for trick play.
    pub iframes: Option<IFrameVariant>,
    /// Each segment decodes without another: stated only if true. RFC 8216, 4.3.5.1.
    pub has_independent_segments: bool,
}

/// A variant stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// Address of its media playlist.
    pub uri: String,
    /// Rates of the video and of the audio that plays with it.
    pub rate: Bandwidth,
    /// RFC 6381 strings of everything that may play in it, each once.
    pub codecs: Vec<String>,
    /// Displayed size, square pixels, after rotation; `None` without video.
    pub resolution: Option<(u32, u32)>,
    /// Frames a second as a fraction, if known.
    pub frame_rate: Option<(u32, u32)>,
    /// Dynamic range that a screen needs; `None` without video.
    pub video_range: Option<VideoRange>,
    /// The group of the audio that plays with it.
    pub audio: Option<&'static str>,
}

/// The keyframes of a video rendition. RFC 8216, 4.3.4.3.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IFrameVariant {
    /// Address of their media playlist.
    pub uri: String,
    /// Rates of the keyframes alone.
    pub rate: Bandwidth,
    /// RFC 6381 string.
    pub codec: String,
    /// Displayed size.
    pub resolution: (u32, u32),
    /// Dynamic range that a screen needs.
    pub video_range: VideoRange,
}

/// Dynamic range of the video. RFC 8216bis, 4.4.6.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VideoRange {
    /// Standard.
    Sdr,
    /// Hybrid log-gamma.
    Hlg,
    /// Perceptual quantizer.
    Pq,
}

/// Addresses of the media playlists, absolute or relative to the multivariant playlist. They contain no
/// quotes or line ends.
#[derive(Debug, Clone, Copy)]
pub struct MultivariantUris<'a> {
    /// The copied video.
    pub video: &'a str,
    /// The copied audio tracks, in the order of the index.
    pub audio: &'a [String],
}

impl MultivariantPlaylist {
    /// The copied tracks of a source without encoded ones: its video with its audio as a group, its video
    /// alone, or its audio as the variant.
    ///
    /// Measures the rates. For repeated calls store the rates and use [`Self::with_rates`].
    pub fn of(index: &Index, uris: MultivariantUris<'_>) -> Self {
        Self::with_rates(index, CopyBandwidths::of(index), uris)
    }

    /// As [`Self::of`], with the rates of the same index.
    pub fn with_rates(index: &Index, rates: CopyBandwidths, uris: MultivariantUris<'_>) -> Self {
        Self::build(
            index,
            &VariantInput { rates, copies_video: true, ..VariantInput::default() },
            &|media_playlist| uris.of(media_playlist),
        )
    }

    /// The audio of a source as if it had no video; nothing without audio. `uris` are in the order of the
    /// index.
    pub fn audio_only(index: &Index, rates: CopyBandwidths, uris: &[String]) -> Self {
        let uris = MultivariantUris { video: "", audio: uris };
        Self::build_audio(index, &VariantInput { rates, ..VariantInput::default() }, &|media_playlist| {
            uris.of(media_playlist)
        })
    }

    /// The text of the playlist.
    pub fn render(&self) -> String {
        let mut text = format!("#EXTM3U\n#EXT-X-VERSION:{VERSION}\n");
        if self.has_independent_segments {
            text.push_str("#EXT-X-INDEPENDENT-SEGMENTS\n");
        }
        for audio in &self.audio {
            audio.render(&mut text);
        }
        for subtitles in &self.subtitles {
            subtitles.render(&mut text);
        }
        let subtitles = (!self.subtitles.is_empty()).then_some(SUBTITLES_GROUP);
        for variant in &self.variants {
            variant.render(subtitles, &mut text);
        }
        if let Some(iframes) = &self.iframes {
            iframes.render(&mut text);
        }
        text
    }
}

impl MultivariantUris<'_> {
    /// The address of a copied rendition, the only kind that is requested.
    fn of(&self, media_playlist: MediaPlaylistRef) -> String {
        match media_playlist {
            MediaPlaylistRef::Audio(number) => self.audio.get(number).cloned().unwrap_or_default(),
            _ => self.video.to_owned(),
        }
    }
}

// Writing to a String cannot fail: the result of `write!` is ignored below.

impl Variant {
    fn render(&self, subtitles: Option<&str>, text: &mut String) {
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
        if let Some(group) = self.audio {
            let _ = write!(text, ",AUDIO=\"{group}\"");
        }
        if let Some(group) = subtitles {
            let _ = write!(text, ",SUBTITLES=\"{group}\"");
        }
        // RFC 8216, 4.3.4.2: if one variant states it, all must. Without it players look for captions in
        // segments.
        let _ = writeln!(text, ",CLOSED-CAPTIONS=NONE\n{}", self.uri);
    }
}

impl IFrameVariant {
    fn render(&self, text: &mut String) {
        let (Bandwidth { peak, average }, (width, height)) = (self.rate, self.resolution);
        let _ = writeln!(
            text,
            "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH={peak},AVERAGE-BANDWIDTH={average},CODECS=\"{}\",\
             RESOLUTION={width}x{height},VIDEO-RANGE={},URI=\"{}\"",
            self.codec,
            self.video_range.name(),
            self.uri,
        );
    }
}

impl VideoRange {
    /// From the transfer characteristics (ISO/IEC 23091-2); a source without them is standard.
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
