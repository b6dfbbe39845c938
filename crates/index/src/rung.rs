//! A rung of the encoding ladder: one encoded rendition of the video.

use std::{fmt, str::FromStr};

use crate::{codec::colour::Colour, index::VideoTrack};

/// Largest decoded frame in pixels; larger videos have no rungs. The largest size of the formats of HEVC
/// level 6.2.
pub const DECODED_PIXELS_MAX: u64 = 8192 * 4320;
/// Size, in percent of the nominal size, up to which a video gets the name. C-32.
const NAME_SIZE_PERCENT_MAX: u64 = 102;

/// The name of a rung: the p-number of its video, rounded up to the next name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RungName {
    /// 240p
    P240,
    /// 360p
    P360,
    /// 480p
    P480,
    /// 720p
    P720,
    /// 1080p
    P1080,
    /// 1440p
    P1440,
    /// 2160p
    P2160,
}

/// No rung has this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no rung is named {0:?}")]
pub struct ParseRungNameError(pub String);

impl RungName {
    /// All names, smallest first.
    pub const ALL: [Self; 7] =
        [Self::P240, Self::P360, Self::P480, Self::P720, Self::P1080, Self::P1440, Self::P2160];

    /// The p-number.
    pub fn lines(self) -> u32 {
        match self {
            Self::P240 => 240,
            Self::P360 => 360,
            Self::P480 => 480,
            Self::P720 => 720,
            Self::P1080 => 1080,
            Self::P1440 => 1440,
            Self::P2160 => 2160,
        }
    }

    /// The name in URLs, `720p`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::P240 => "240p",
            Self::P360 => "360p",
            Self::P480 => "480p",
            Self::P720 => "720p",
            Self::P1080 => "1080p",
            Self::P1440 => "1440p",
            Self::P2160 => "2160p",
        }
    }
}

impl fmt::Display for RungName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RungName {
    type Err = ParseRungNameError;

    fn from_str(text: &str) -> Result<Self, ParseRungNameError> {
        let named = Self::ALL.into_iter().find(|name| name.as_str() == text);
        named.ok_or_else(|| ParseRungNameError(text.chars().take(16).collect()))
    }
}

/// The name for a display size in pixels; `None` if it is larger than every name. C-32.
pub fn rung_name_of_size(width: u32, height: u32) -> Option<RungName> {
    FrameSize::new(width, height).name()
}

/// The display size of a source.
#[derive(Debug, Clone, Copy)]
pub struct FrameSize {
    width: u64,
    height: u64,
    /// Sixteen times the p-number: max(shorter side, longer side × 9/16). C-32.
    sixteenths: u64,
}

impl FrameSize {
    /// The size of this track.
    pub fn of(video: &VideoTrack) -> Self {
        let (width, height) = video.display_size();
        Self::new(width, height)
    }

    fn new(width: u32, height: u32) -> Self {
        let (width, height) = (u64::from(width), u64::from(height));
        Self { width, height, sixteenths: (width.min(height) * 16).max(width.max(height) * 9) }
    }

    /// Whether the p-number of the source is at most `lines`, with the tolerance of names.
    pub fn is_within(&self, lines: u32) -> bool {
        self.sixteenths * 100 <= u64::from(lines) * 16 * NAME_SIZE_PERCENT_MAX
    }

    /// The smallest name that the video fits in; `None` if it is larger than every name.
    pub fn name(&self) -> Option<RungName> {
        RungName::ALL.into_iter().find(|name| self.is_within(name.lines()))
    }

    /// Width and height of the video in a rung: its own size if it fits the name, else scaled down to the
    /// name. Even.
    pub fn scaled_to(&self, name: RungName) -> (u32, u32) {
        let even = |side: u64| u32::try_from(side / 2 * 2).unwrap_or(u32::MAX - 1).max(2);
        if self.is_within(name.lines()) {
            return (even(self.width), even(self.height));
        }
        // Rounded to the nearest even number.
        let scaled = |side: u64| {
            let sixteenths = side * u64::from(name.lines()) * 16;
            even((sixteenths + self.sixteenths) / self.sixteenths)
        };
        (scaled(self.width), scaled(self.height))
    }
}

/// Tone mapping from high dynamic range to standard range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToneMap {
    /// From the perceptual quantizer.
    Pq,
    /// From hybrid log-gamma.
    Hlg,
}

/// One rung: H.264 High, 8 bits, progressive. A function of the index and the caps alone, so that every node
/// derives the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    /// Its name in URLs.
    pub name: RungName,
    /// Display width in square pixels; even.
    pub width: u32,
    /// Display height in square pixels; even.
    pub height: u32,
    /// Average bits per second for complex video.
    pub bitrate: u32,
    /// Bits per second at which the decoder buffer fills.
    pub maxrate: u32,
    /// Size of that buffer in bits.
    pub bufsize: u32,
    /// Constant rate factor: the quality where the rate allows it.
    pub crf: u8,
    /// Level of H.264, for instance `3.1`.
    pub level: String,
    /// B-frames between two other frames. 0 if the clock of the source is too coarse for reordering.
    pub bframes: u8,
    /// Encodes every n-th frame; 1 is all.
    pub frame_step: u32,
    /// Frames per second as a fraction, after frame dropping; `None` if that of the source is unknown.
    pub frame_rate: Option<(u32, u32)>,
    /// RFC 6381 string, determined before encoding; an encoder output that differs is rejected.
    pub codec: String,
    /// Colour description of all its frames; `None` if only decoding reveals that of the source.
    pub colour: Option<Colour>,
    /// Set if the source has high dynamic range.
    pub tone_map: Option<ToneMap>,
    /// Frames of the source may consist of two fields.
    pub deinterlace: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for name in RungName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
            assert_eq!(name.to_string(), format!("{}p", name.lines()));
        }
        for text in ["", "720", "720P", "4320p", "source", "720p/"] {
            assert_eq!(text.parse::<RungName>(), Err(ParseRungNameError(text.to_owned())));
        }
    }
}
