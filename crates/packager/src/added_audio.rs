//! Audio that was added to a media. It is a source of its own, and players are offered one rendition of it
//! next to those of the media.

use std::fmt;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kinora_domain::{PresentationId, SourceId};
use kinora_hls::AddedAudio;
use kinora_index::ENCODED_AUDIO_CHANNELS;

use crate::{Error, Packager, Rendition};

/// Indexes that are read concurrently.
const INDEXES_AT_ONCE: usize = 8;

/// An audio rendition that players are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedAudioSource {
    /// The source of the audio.
    pub source: SourceId,
    /// BCP 47 tag.
    pub language_code: String,
    /// Name that a client gave to the language.
    pub language_name: String,
}

/// Name of added audio in an address: `audio-` for a copy or `aac-` for an encode, then the id of the
/// source. So another file never has the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AddedAudioName {
    /// The source.
    pub source: SourceId,
    /// Rendition of the first audio track of that source, which has no other.
    pub rendition: Rendition,
}

impl AddedAudioName {
    /// Parses the name in an address. Each name has one spelling.
    pub fn from_text(text: &str) -> Option<Self> {
        let (rendition, source) = text.split_once('-')?;
        let rendition = Rendition::from_text(rendition).filter(|rendition| rendition.is_audio())?;
        let name = Self { source: source.parse().ok()?, rendition };
        (name.to_string() == text).then_some(name)
    }
}

impl fmt::Display for AddedAudioName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.rendition, self.source)
    }
}

impl Packager {
    /// Entries of a manifest for these renditions, in their order. `base` is the prefix of the names. Omits
    /// audio that was just deleted, that cannot be read, or that turned out not to decode.
    pub(crate) async fn added_audio(
        &self,
        base: &str,
        added: &[AddedAudioSource],
    ) -> Result<Vec<AddedAudio>, Error> {
        let offered = stream::iter(added.to_vec());
        let read = offered.map(|offered| async move { self.added_audio_entry(base, &offered).await });
        let entries: Vec<_> = read.buffered(INDEXES_AT_ONCE).try_collect().await?;
        Ok(entries.into_iter().flatten().collect())
    }

    async fn added_audio_entry(
        &self,
        base: &str,
        added: &AddedAudioSource,
    ) -> Result<Option<AddedAudio>, Error> {
        let packaged = match self.packaged(PresentationId::of(added.source)).await {
            Ok(packaged) => packaged,
            Err(error) if matches!(error.root(), Error::Gone | Error::Damaged(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let broken = self.broken(PresentationId::of(added.source)).await?;
        let Some(track) = packaged.sequence_audio(&[]).filter(|audio| !broken.contains(&audio.rendition))
        else {
            return Ok(None);
        };
        let channels = match track.rendition {
            Rendition::Aac(_) => ENCODED_AUDIO_CHANNELS,
            _ => packaged.index().audio().map_or(ENCODED_AUDIO_CHANNELS, |(_, audio)| audio.channels),
        };
        let name = AddedAudioName { source: added.source, rendition: track.rendition };
        Ok(Some(AddedAudio {
            language_code: added.language_code.clone(),
            name: added.language_name.clone(),
            uri: format!("{base}{name}/playlist.m3u8"),
            codec: track.codec,
            channels,
            rate: track.rate,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_round_trips_through_text() {
        let id = "019a4946-bdd3-7001-8203-0405060708e9";
        for name in [format!("audio-{id}"), format!("aac-{id}")] {
            assert_eq!(AddedAudioName::from_text(&name).map(|name| name.to_string()), Some(name.clone()));
            assert_eq!(Rendition::from_text(&name), None);
        }
        for none in ["", "audio", "audio-", "audio-2", "aac-2"] {
            assert_eq!(AddedAudioName::from_text(none), None, "{none}");
        }
        for kind in ["video", "iframes", "720p", "subtitles", "Audio", "audio-2", "aac-", ""] {
            assert_eq!(AddedAudioName::from_text(&format!("{kind}-{id}")), None, "{kind}");
        }
        assert_eq!(AddedAudioName::from_text(&format!("audio-{}", id.to_uppercase())), None);
        assert_eq!(AddedAudioName::from_text(&format!("audio-{id}0")), None);
    }
}
