//! The renditions of a media, their names, and the ids under which encoded ones are stored.

use std::fmt;

use kinora_domain::{AudioGain, PresentationId, RenditionId, Timestamp};
use kinora_index::RungName;
use sha2::{Digest as _, Sha256};

use crate::rendition_file::SUFFIX;

/// Version of the encode settings. A stored object never changes, so a change of the encoder's output must
/// change this too.
const ENCODE_VERSION: &str = "1";

/// A version of a media that a player can choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rendition {
    /// The presentation's video as it is.
    Video,
    /// The keyframes of `Video` one by one, for trick play.
    IFrames,
    /// One of the presentation's audio tracks as it is, counted from 0 in the order of the presentation.
    Audio(u8),
    /// The presentation's video, encoded.
    Rung(RungName),
    /// One of the presentation's audio tracks, encoded; counted as for `Audio`.
    Aac(u8),
    /// As `Aac`, with a gain that levels its loudness.
    Levelled {
        /// Counted as for `Audio`.
        audio: u8,
        /// Part of the name, so another gain has another address.
        gain: AudioGain,
    },
}

/// What a levelled rendition has in front of its gain.
const LEVELLED_UP: &str = "aac-up";
const LEVELLED_DOWN: &str = "aac-down";
/// After a gain whose peaks a limiter holds.
const LIMITED: &str = "-limited";

impl Rendition {
    /// Parses the name in an address. Each rendition has one spelling.
    pub fn from_text(text: &str) -> Option<Self> {
        let rendition = if text == "video" {
            Self::Video
        } else if text == "iframes" {
            Self::IFrames
        } else if let Some(number) = text.strip_prefix("audio") {
            Self::Audio(track_number(number)?)
        } else if let Some(gain) = text.strip_prefix(LEVELLED_UP) {
            levelled(gain, 1)?
        } else if let Some(gain) = text.strip_prefix(LEVELLED_DOWN) {
            levelled(gain, -1)?
        } else if let Some(number) = text.strip_prefix("aac") {
            Self::Aac(track_number(number)?)
        } else {
            Self::Rung(text.parse().ok()?)
        };
        (rendition.to_string() == text).then_some(rendition)
    }

    /// Id of the stored rendition, equal on every machine; `None` for a copy, which is not stored.
    pub fn id(self, presentation: PresentationId) -> Option<RenditionId> {
        if !self.is_encoded() {
            return None;
        }
        Some(hashed(&format!("{presentation}/{self}/{ENCODE_VERSION}")))
    }

    /// Id and name of the row that marks parts of this rendition as impossible to encode.
    ///
    /// Only for encoded ones. No rendition has the name.
    pub(crate) fn partial_row(self, presentation: PresentationId) -> (RenditionId, String) {
        let name = format!("{self} in part");
        (hashed(&format!("{presentation}/{name}")), name)
    }

    /// The name of the row of this rendition joined to one object.
    ///
    /// Only for encoded ones. No rendition has the name.
    pub(crate) fn rendition_file_row_name(self) -> String {
        format!("{self}{SUFFIX}")
    }

    /// Id of a joined object that is begun now. It is different each time, so that a late removal of an
    /// earlier one does not delete it.
    pub(crate) fn new_rendition_file_id(self, presentation: PresentationId, now: Timestamp) -> RenditionId {
        hashed(&format!("{presentation}/{self}{SUFFIX}/{ENCODE_VERSION}/{}", now.as_micros()))
    }

    /// Whether it is encoded and stored.
    pub fn is_encoded(self) -> bool {
        matches!(self, Self::Rung(_) | Self::Aac(_) | Self::Levelled { .. })
    }

    /// Whether it is audio.
    pub fn is_audio(self) -> bool {
        matches!(self, Self::Audio(_) | Self::Aac(_) | Self::Levelled { .. })
    }

    /// What it encodes, if it is an encode of an audio track.
    pub fn encoded_audio(self) -> Option<EncodedAudio> {
        match self {
            Self::Aac(track) => Some(EncodedAudio { track, gain: None }),
            Self::Levelled { audio: track, gain } => Some(EncodedAudio { track, gain: Some(gain) }),
            Self::Video | Self::IFrames | Self::Audio(_) | Self::Rung(_) => None,
        }
    }
}

/// An encode of an audio track.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EncodedAudio {
    /// Counted from 0 in the order of the presentation.
    pub track: u8,
    /// The gain that levels it.
    pub gain: Option<AudioGain>,
}

impl EncodedAudio {
    /// Its rendition: levelled if it has a gain.
    pub fn rendition(self) -> Rendition {
        let audio = self.track;
        self.gain.map_or(Rendition::Aac(audio), |gain| Rendition::Levelled { audio, gain })
    }
}

/// Without a gain.
impl From<u8> for EncodedAudio {
    fn from(track: u8) -> Self {
        Self { track, gain: None }
    }
}

/// Parses what follows `aac-up` or `aac-down`: hundredths of a decibel, then perhaps `-limited`, then the
/// track suffix. `None` for a gain out of bounds.
fn levelled(text: &str, sign: i16) -> Option<Rendition> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (size, rest) = text.split_at_checked(digits)?;
    let (is_limited, number) = rest.strip_prefix(LIMITED).map_or((false, rest), |number| (true, number));
    let centibels = size.parse::<i16>().ok()?.checked_mul(sign)?;
    let gain = AudioGain { centibels, is_limited };
    let is_valid = centibels != 0 && (AudioGain::MIN..=AudioGain::MAX).contains(&centibels);
    is_valid.then_some(Rendition::Levelled { audio: track_number(number)?, gain })
}

fn hashed(text: &str) -> RenditionId {
    let mut hash = [0; 16];
    hash.copy_from_slice(&Sha256::digest(text.as_bytes())[..16]);
    RenditionId::of_hash(hash)
}

/// Parses the track suffix of a name: no suffix is the first, `-2` the second.
fn track_number(number: &str) -> Option<u8> {
    match number {
        "" => Some(0),
        _ => number.strip_prefix('-')?.parse::<u8>().ok()?.checked_sub(1),
    }
}

/// Names in addresses: `video`, `iframes`, `audio`, `audio-2`, `720p`, `aac`, `aac-2`, `aac-up350`,
/// `aac-down120-2`, `aac-up350-limited` and so on.
impl fmt::Display for Rendition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, number) = match self {
            Self::Video => return f.write_str("video"),
            Self::IFrames => return f.write_str("iframes"),
            Self::Rung(name) => return name.fmt(f),
            Self::Audio(number) => ("audio", number),
            Self::Aac(number) => ("aac", number),
            Self::Levelled { audio, gain } => {
                let name = if gain.centibels < 0 { LEVELLED_DOWN } else { LEVELLED_UP };
                write!(f, "{name}{}", gain.centibels.unsigned_abs())?;
                (if gain.is_limited { LIMITED } else { "" }, audio)
            }
        };
        match number {
            0 => f.write_str(name),
            _ => write!(f, "{name}-{}", u16::from(*number) + 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rendition_has_one_name() {
        let levelled = |audio, centibels, is_limited| {
            let gain = AudioGain { centibels, is_limited };
            Rendition::Levelled { audio, gain }
        };
        let names = [
            ("video", Rendition::Video),
            ("iframes", Rendition::IFrames),
            ("audio", Rendition::Audio(0)),
            ("audio-2", Rendition::Audio(1)),
            ("720p", Rendition::Rung(RungName::P720)),
            ("aac", Rendition::Aac(0)),
            ("aac-16", Rendition::Aac(15)),
            ("aac-up350", levelled(0, 350, false)),
            ("aac-down120", levelled(0, -120, false)),
            ("aac-down6000-2", levelled(1, -6000, false)),
            ("aac-up3000-limited", levelled(0, 3000, true)),
            ("aac-up1-limited-16", levelled(15, 1, true)),
        ];
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
            "720",
            "720P",
            "4320p",
            "aac-1",
            "aacs",
            "240p in part",
            "240p whole",
            "aac-up",
            "aac-up0",
            "aac-down0",
            "aac-up-350",
            "aac-up+350",
            "aac-up0350",
            "aac-up350-",
            "aac-up350-1",
            "aac-up350-limited-1",
            "aac-up350limited",
            "aac-up350-2-limited",
            "aac-up3001",
            "aac-down6001",
            "aac-up99999",
            "aac-up65886",
        ] {
            assert_eq!(Rendition::from_text(none), None, "{none}");
        }
    }

    #[test]
    fn ids_follow_from_source_and_name_and_copies_have_none() {
        let presentation: PresentationId = "019a4946-bdd3-7001-8203-040506070809".parse().unwrap();
        let other: PresentationId = "019a4946-bdd3-7001-8203-04050607080a".parse().unwrap();
        let id = |presentation, name| {
            Rendition::from_text(name).unwrap().id(presentation).map(|id| id.to_string())
        };
        assert_eq!(id(presentation, "720p").as_deref(), Some("e819cb8a-713b-82dd-ab99-307cde8fdf22"));
        assert_ne!(id(presentation, "720p"), id(presentation, "480p"));
        assert_ne!(id(presentation, "720p"), id(other, "720p"));
        assert_ne!(id(presentation, "aac-up350"), id(presentation, "aac-up350-limited"));
        assert_ne!(id(presentation, "aac-up350"), id(presentation, "aac"));
        assert_eq!((id(presentation, "video"), id(presentation, "audio-2")), (None, None));
    }
}
