//! One rung of the ladder: an encoded version of the video that a player may choose.

use std::{fmt, str::FromStr};

use crate::{codec::colour::Colour, index::VideoTrack};

/// Larger pictures are not decoded, and so have no rungs: the largest size of the formats of HEVC's level
/// 6.2.
pub const DECODED_PIXELS_MAX: u64 = 8192 * 4320;
/// A picture is named up to so many hundredths more than the name says. C-32.
const NAME_HUNDREDTHS: u64 = 102;

/// The name of a rung: the p-number of its pictures, up to the next name.
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
pub struct NoSuchRung(pub String);

impl RungName {
    /// All of them, smallest first.
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

    /// The name as addresses have it, `720p`.
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
    type Err = NoSuchRung;

    fn from_str(text: &str) -> Result<Self, NoSuchRung> {
        let named = Self::ALL.into_iter().find(|name| name.as_str() == text);
        named.ok_or_else(|| NoSuchRung(text.chars().take(16).collect()))
    }
}

/// The name of displayed pictures of this size; `None` where they are larger than every name.
/// C-32.
pub fn name_of_picture(width: u32, height: u32) -> Option<RungName> {
    PictureSize::new(width, height).name()
}

/// How large the pictures of a source are seen.
#[derive(Debug, Clone, Copy)]
pub struct PictureSize {
    width: u64,
    height: u64,
    /// Sixteen times the p-number: max(shorter side, longer side × 9/16). C-32.
    sixteenths: u64,
}

impl PictureSize {
    /// Of the pictures of this track.
    pub fn of(video: &VideoTrack) -> Self {
        let (width, height) = video.display_size();
        Self::new(width, height)
    }

    fn new(width: u32, height: u32) -> Self {
        let (width, height) = (u64::from(width), u64::from(height));
        Self { width, height, sixteenths: (width.min(height) * 16).max(width.max(height) * 9) }
    }

    /// Whether this p-number is the source's, or a larger one.
    pub fn is_within(&self, lines: u32) -> bool {
        self.sixteenths * 100 <= u64::from(lines) * 16 * NAME_HUNDREDTHS
    }

    /// The smallest name that the pictures fit in; `None` where they are larger than every name.
    pub fn name(&self) -> Option<RungName> {
        RungName::ALL.into_iter().find(|name| self.is_within(name.lines()))
    }

    /// Width and height of the pictures in a rung: their own where the name is theirs, else scaled down to
    /// the name. Even.
    pub fn shown(&self, name: RungName) -> (u32, u32) {
        let even = |side: u64| u32::try_from(side / 2 * 2).unwrap_or(u32::MAX - 1).max(2);
        if self.is_within(name.lines()) {
            return (even(self.width), even(self.height));
        }
        // To the nearest even number.
        let scaled = |side: u64| {
            let sixteenths = side * u64::from(name.lines()) * 16;
            even((sixteenths + self.sixteenths) / self.sixteenths)
        };
        (scaled(self.width), scaled(self.height))
    }
}

/// How pictures of high dynamic range are brought to standard range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToneMap {
    /// From the perceptual quantizer.
    Pq,
    /// From hybrid log-gamma.
    Hlg,
}

/// One rung: H.264 High, 8 bits, progressive. A function of the index and the caps alone, so that every node
/// makes the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rung {
    /// Its name in addresses.
    pub name: RungName,
    /// Width in square pixels as it is seen; even.
    pub width: u32,
    /// Height in square pixels as it is seen; even.
    pub height: u32,
    /// Bits a second it takes on average where the pictures are busy.
    pub bitrate: u32,
    /// Bits a second with which the decoder's buffer fills.
    pub maxrate: u32,
    /// Bits in that buffer.
    pub bufsize: u32,
    /// Constant rate factor: the quality where the rate allows it.
    pub crf: u8,
    /// Level of H.264, for instance `3.1`.
    pub level: String,
    /// B-frames between two others. 0 where the clock of the source is too coarse for a reordering.
    pub bframes: u8,
    /// Every so many pictures one is encoded; 1 is all.
    pub frame_step: u32,
    /// Pictures a second as a fraction, after leaving out; `None` where the source's is unknown.
    pub frame_rate: Option<(u32, u32)>,
    /// RFC 6381 string, known before anything is encoded; what differs is refused.
    pub codec: String,
    /// Description of colours of all its pictures; `None` if only a decoder can tell what the source has.
    pub colour: Option<Colour>,
    /// Set where the source has high dynamic range.
    pub tone_map: Option<ToneMap>,
    /// Two fields of the source may make one picture.
    pub deinterlace: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_back_from_its_text() {
        for name in RungName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
            assert_eq!(name.to_string(), format!("{}p", name.lines()));
        }
        for text in ["", "720", "720P", "4320p", "source", "720p/"] {
            assert_eq!(text.parse::<RungName>(), Err(NoSuchRung(text.to_owned())));
        }
    }
}
