//! Audio renditions in groups: one that plays everywhere, and one with copies in codecs of newer players.

use std::fmt::Write as _;

use kinora_index::{AudioTrack, ENCODED_AUDIO_CHANNELS, ENCODED_AUDIO_CODEC, Index, Track};

use super::variants::{AddedAudio, MediaPlaylistRef, VariantInput};
use crate::{
    audio_names::{AudioName, audio_names, numbered, rendition_name},
    audio_renditions::{AudioRenditions, audio_renditions, plays_everywhere, plays_with_copied_video},
    language_names::language,
    rate::{Bandwidth, is_aac},
};

/// The group of every variant: AAC, if audio is encoded.
pub(super) const AUDIO_GROUP: &str = "audio";
/// The same renditions, with copies of Opus.
pub(super) const COPIES_GROUP: &str = "copies";
/// RFC 8216, 4.3.4.1: audio for people who cannot see the video.
const DESCRIBES_VIDEO: &str = "public.accessibility.describes-video";
/// Name in a player's menu if the source states no language.
const UNKNOWN_NAME: &str = "Audio";

/// One audio rendition that plays with any variant of its group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioRendition {
    /// The group it belongs to.
    pub group: &'static str,
    /// Address of its media playlist.
    pub uri: String,
    /// RFC 6381 string.
    pub codec: String,
    /// BCP 47 tag; `None` when unknown.
    pub language: Option<String>,
    /// Name in the player's menu.
    pub name: String,
    /// Number of channels.
    pub channels: u32,
    /// Plays if the viewer selected no track. Exactly one rendition of a group has it.
    pub is_default: bool,
    /// A player may select it by the viewer's language. RFC 8216, 4.3.4.1.1: no two that it could not
    /// distinguish.
    pub is_autoselected: bool,
    /// Describes the video to people who cannot see it.
    pub describes_video: bool,
}

/// A group, and its bit rate in addition to a video.
#[derive(Debug, Clone, Default)]
pub(super) struct AudioGroupBuilder {
    /// In the order of the index.
    pub(super) renditions: Vec<AudioRendition>,
    /// The highest rate of its renditions.
    pub(super) rate: Bandwidth,
}

impl AudioGroupBuilder {
    /// The group that plays everywhere: copies that do, and encodes of the rest. Without an encoder all
    /// copies.
    pub(super) fn playable_everywhere(
        index: &Index,
        input: &VariantInput<'_>,
        uri: &dyn Fn(MediaPlaylistRef) -> String,
    ) -> Self {
        Self::of(index, input, AUDIO_GROUP, uri, plays_everywhere)
    }

    /// The group for the copied video, with every copy that its players support; `None` if it would be the
    /// same.
    pub(super) fn copies(
        index: &Index,
        input: &VariantInput<'_>,
        uri: &dyn Fn(MediaPlaylistRef) -> String,
    ) -> Option<Self> {
        let renditions = audio_renditions(index, true);
        let has_both = |(number, rendition): (usize, &AudioRenditions)| {
            rendition.is_copied && rendition.is_encoded && !input.levelled_audio.contains(&number)
        };
        let has_other = input.encodes_audio && renditions.iter().enumerate().any(has_both);
        has_other.then(|| Self::of(index, input, COPIES_GROUP, uri, plays_with_copied_video))
    }

    fn of(
        index: &Index,
        input: &VariantInput<'_>,
        group: &'static str,
        uri: &dyn Fn(MediaPlaylistRef) -> String,
        plays: fn(&Index, &Track, &AudioTrack) -> bool,
    ) -> Self {
        let default = index.audio().map(|(track, _)| track.source_track);
        let names = audio_names(index, UNKNOWN_NAME);
        let mut renditions: Vec<AudioRendition> = Vec::new();
        let mut rate = Bandwidth::default();
        for ((number, (track, audio)), AudioName { language, name }) in
            index.audio_tracks().enumerate().zip(names)
        {
            let is_copied = audio.not_copied.is_none();
            let is_levelled = input.levelled_audio.contains(&number);
            let is_encoded = input.encodes_audio
                && (is_levelled || !(is_copied && plays(index, track, audio)))
                // A track that is too long to be encoded has no segments.
                && index.plan.encoded_audio.get(number).is_some_and(|cuts| 1 < cuts.len());
            if is_encoded && !is_levelled && input.unencodable_audio.contains(&number) {
                continue;
            }
            let (media_playlist, codec, channels) = match (is_encoded, is_copied) {
                (true, _) => {
                    (MediaPlaylistRef::EncodedAudio(number), ENCODED_AUDIO_CODEC, ENCODED_AUDIO_CHANNELS)
                }
                (false, true) => (MediaPlaylistRef::Audio(number), audio.codec.as_str(), audio.channels),
                (false, false) => continue,
            };
            rate = rate.heavier(match media_playlist {
                MediaPlaylistRef::EncodedAudio(_) => Bandwidth::ENCODED_AUDIO,
                _ if is_aac(audio) => input.rates.aac,
                _ => input.rates.audio,
            });
            renditions.push(AudioRendition {
                group,
                uri: uri(media_playlist),
                codec: codec.to_owned(),
                language,
                name,
                channels,
                is_default: default == Some(track.source_track),
                is_autoselected: false,
                describes_video: track.label.describes_video,
            });
        }
        for added in input.added_audio {
            rate = rate.heavier(added.rate);
            let rendition = added_rendition(added, group, &renditions);
            renditions.push(rendition);
        }
        set_default_and_autoselect(&mut renditions);
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

/// The rendition of audio from a file of its own, after those in `before`. It has its given name, unless one
/// of them has it.
fn added_rendition(added: &AddedAudio, group: &'static str, before: &[AudioRendition]) -> AudioRendition {
    let language = language(&added.language_code);
    let name = rendition_name(&added.name, language.as_ref(), UNKNOWN_NAME);
    let is_free = |name: &String| before.iter().all(|other| other.name != *name);
    AudioRendition {
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

/// Makes one the default, and makes the first of several indistinguishable ones selectable by language.
fn set_default_and_autoselect(renditions: &mut [AudioRendition]) {
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
        let is_same = |other: &AudioRendition| {
            (&other.language, other.describes_video) == (&this.language, this.describes_video)
        };
        let is_first = !renditions.iter().any(|other| other.is_autoselected && is_same(other));
        renditions[number].is_autoselected |= is_first;
    }
}

impl AudioRendition {
    /// Appends its line.
    pub(super) fn render(&self, text: &mut String) {
        // Writing to a String cannot fail: the result of `write!` is ignored.
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
