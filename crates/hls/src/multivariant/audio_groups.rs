//! Audio renditions in groups: one that plays everywhere, and one with the copies of what some players know
//! better.

use std::fmt::Write as _;

use kinora_index::{AudioTrack, ENCODED_AUDIO_CHANNELS, ENCODED_AUDIO_CODEC, Index, Track};

use super::offer::{AddedSound, Address, Offer};
use crate::{
    audio_names::{AudioName, audio_names, given_name, numbered},
    language::language,
    rate::{Rate, is_aac},
    sounds::{plays_beside_the_copy, plays_everywhere, sound_offers},
};

/// The group that every variant may refer to: AAC, as long as somebody encodes.
pub(super) const AUDIO_GROUP: &str = "audio";
/// The same renditions, with Opus as it is.
pub(super) const COPIES_GROUP: &str = "copies";
/// RFC 8216, 4.3.4.1: audio for people who cannot see the pictures.
const DESCRIBES_VIDEO: &str = "public.accessibility.describes-video";
/// Shown in a player's menu where the source names no language.
const UNKNOWN_NAME: &str = "Audio";

/// One audio rendition that plays beside any variant of its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioGroup {
    /// The group it belongs to.
    pub group: &'static str,
    /// Address of its media playlist.
    pub uri: String,
    /// RFC 6381 string.
    pub codec: String,
    /// BCP 47 tag; `None` when unknown.
    pub language: Option<String>,
    /// What a player shows.
    pub name: String,
    /// Number of channels.
    pub channels: u32,
    /// Chosen when the viewer chose nothing. Of all renditions of a group one is.
    pub is_default: bool,
    /// A player may choose it by the viewer's language. RFC 8216, 4.3.4.1.1: no two that it could not tell
    /// apart.
    pub is_autoselected: bool,
    /// Describes the pictures to people who cannot see them.
    pub describes_video: bool,
}

/// A group, and what it takes of a line beside a video.
#[derive(Debug, Clone, Default)]
pub(super) struct Group {
    /// In the order of the index.
    pub(super) renditions: Vec<AudioGroup>,
    /// With any of them.
    pub(super) rate: Rate,
}

impl Group {
    /// The group that plays everywhere: copies of what does, encodes of the rest. Without an encoder whatever
    /// is copied.
    pub(super) fn everywhere(index: &Index, offer: &Offer<'_>, uri: &dyn Fn(Address) -> String) -> Self {
        Self::of(index, offer, AUDIO_GROUP, uri, plays_everywhere)
    }

    /// The group beside the copied video, with every copy that its players know; `None` where it would be the
    /// same.
    pub(super) fn copies(index: &Index, offer: &Offer<'_>, uri: &dyn Fn(Address) -> String) -> Option<Self> {
        let offers = sound_offers(index, true);
        let has_other = offer.encodes_audio && offers.iter().any(|sound| sound.is_copied && sound.is_encoded);
        has_other.then(|| Self::of(index, offer, COPIES_GROUP, uri, plays_beside_the_copy))
    }

    fn of(
        index: &Index,
        offer: &Offer<'_>,
        group: &'static str,
        uri: &dyn Fn(Address) -> String,
        is_wanted: fn(&Index, &Track, &AudioTrack) -> bool,
    ) -> Self {
        let default = index.audio().map(|(track, _)| track.source_track);
        let names = audio_names(index, UNKNOWN_NAME);
        let mut renditions: Vec<AudioGroup> = Vec::new();
        let mut rate = Rate::default();
        for ((number, (track, audio)), AudioName { language, name }) in
            index.audio_tracks().enumerate().zip(names)
        {
            let is_copied = audio.not_copied.is_none();
            let is_encoded = offer.encodes_audio
                && !(is_copied && is_wanted(index, track, audio))
                // Nothing is cut of a track that is too long to be encoded.
                && index.plan.encoded_audio.get(number).is_some_and(|cuts| 1 < cuts.len());
            if is_encoded && offer.broken_audio.contains(&number) {
                continue;
            }
            let (address, codec, channels) = match (is_encoded, is_copied) {
                (true, _) => (Address::EncodedAudio(number), ENCODED_AUDIO_CODEC, ENCODED_AUDIO_CHANNELS),
                (false, true) => (Address::Audio(number), audio.codec.as_str(), audio.channels),
                (false, false) => continue,
            };
            rate = rate.heavier(match address {
                Address::EncodedAudio(_) => Rate::ENCODED_AUDIO,
                _ if is_aac(audio) => offer.rates.aac,
                _ => offer.rates.audio,
            });
            renditions.push(AudioGroup {
                group,
                uri: uri(address),
                codec: codec.to_owned(),
                language,
                name,
                channels,
                is_default: default == Some(track.source_track),
                is_autoselected: false,
                describes_video: track.label.describes_video,
            });
        }
        for added in offer.added {
            rate = rate.heavier(added.rate);
            let rendition = of_added(added, group, &renditions);
            renditions.push(rendition);
        }
        choose(&mut renditions);
        Self { renditions, rate }
    }

    /// The RFC 6381 strings of a variant with this video and any of the group, each once.
    pub(super) fn codecs(&self, video: Option<&str>) -> Vec<String> {
        let mut codecs: Vec<String> = Vec::new();
        let audio = self.renditions.iter().map(|rendition| rendition.codec.as_str());
        for codec in video.into_iter().chain(audio) {
            if codecs.iter().all(|other| other != codec) {
                codecs.push(codec.to_owned());
            }
        }
        codecs
    }
}

/// The line of a sound that is no part of the source, behind these: under the name it was given, unless one
/// of them has it.
fn of_added(added: &AddedSound, group: &'static str, before: &[AudioGroup]) -> AudioGroup {
    let language = language(&added.language_code);
    let name = given_name(&added.name, language.as_ref(), UNKNOWN_NAME);
    let is_free = |name: &String| before.iter().all(|other| other.name != *name);
    AudioGroup {
        group,
        uri: added.uri.clone(),
        codec: added.codec.clone(),
        language: language.map(|language| language.tag),
        name: numbered(name, is_free),
        channels: added.channels,
        is_default: false,
        is_autoselected: false,
        describes_video: false,
    }
}

/// Makes one the default, and lets players choose the first of those that they could not tell apart.
fn choose(renditions: &mut [AudioGroup]) {
    if renditions.iter().all(|rendition| !rendition.is_default)
        && let Some(first) = renditions.first_mut()
    {
        first.is_default = true;
    }
    for rendition in renditions.iter_mut() {
        rendition.is_autoselected = rendition.is_default;
    }
    for number in 0..renditions.len() {
        let this = &renditions[number];
        let is_same = |other: &AudioGroup| {
            (&other.language, other.describes_video) == (&this.language, this.describes_video)
        };
        let is_first = !renditions.iter().any(|other| other.is_autoselected && is_same(other));
        renditions[number].is_autoselected |= is_first;
    }
}

impl AudioGroup {
    /// Appends its line.
    pub(super) fn render(&self, text: &mut String) {
        // Writing to a String cannot fail: what `write!` answers is of no use.
        let _ = write!(text, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"{}\"", self.group);
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
