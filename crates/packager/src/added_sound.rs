//! Sound that was added to a media: a source of its own, of which players are offered one rendition beside
//! those of the media.

use std::fmt;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use kinora_domain::{PresentationId, SourceId};
use kinora_hls::AddedSound;
use kinora_index::ENCODED_AUDIO_CHANNELS;

use crate::{Error, Packager, Rendition};

/// Indexes that are read at once.
const READ_AT_ONCE: usize = 8;

/// Sound that players are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedSound {
    /// Where it lies.
    pub source: SourceId,
    /// BCP 47 tag.
    pub language_code: String,
    /// What a client calls it.
    pub language_name: String,
}

/// How it is called in an address: `audio-` as it is, `aac-` encoded, and the id of its source, so that
/// another file never has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SoundName {
    /// Where it lies.
    pub source: SourceId,
    /// Which rendition of that source: of its first audio track, which is all it has.
    pub rendition: Rendition,
}

impl SoundName {
    /// The name that this is in an address; each has one.
    pub fn from_text(text: &str) -> Option<Self> {
        let (rendition, source) = text.split_once('-')?;
        let rendition = Rendition::from_text(rendition).filter(|rendition| rendition.is_audio())?;
        let name = Self { source: source.parse().ok()?, rendition };
        (name.to_string() == text).then_some(name)
    }
}

impl fmt::Display for SoundName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.rendition, self.source)
    }
}

impl Packager {
    /// What a manifest lists of these, in their order. `base` is put in front of the names. Left out is what
    /// was deleted a moment ago, what cannot be read, and what turned out not to decode.
    pub(crate) async fn added_sounds(
        &self,
        base: &str,
        offered: &[OfferedSound],
    ) -> Result<Vec<AddedSound>, Error> {
        let offered = stream::iter(offered.to_vec());
        let read = offered.map(|offered| async move { self.added_sound(base, &offered).await });
        let sounds: Vec<_> = read.buffered(READ_AT_ONCE).try_collect().await?;
        Ok(sounds.into_iter().flatten().collect())
    }

    async fn added_sound(&self, base: &str, offered: &OfferedSound) -> Result<Option<AddedSound>, Error> {
        let packaged = match self.packaged(PresentationId::of(offered.source)).await {
            Ok(packaged) => packaged,
            Err(error) if matches!(error.root(), Error::Gone | Error::Damaged(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let broken = self.broken(PresentationId::of(offered.source)).await?;
        let Some(sound) = packaged.sound().filter(|sound| !broken.contains(&sound.rendition)) else {
            return Ok(None);
        };
        let channels = match sound.rendition {
            Rendition::Aac(_) => ENCODED_AUDIO_CHANNELS,
            _ => packaged.index().audio().map_or(ENCODED_AUDIO_CHANNELS, |(_, audio)| audio.channels),
        };
        let name = SoundName { source: offered.source, rendition: sound.rendition };
        Ok(Some(AddedSound {
            language_code: offered.language_code.clone(),
            name: offered.language_name.clone(),
            uri: format!("{base}{name}/playlist.m3u8"),
            codec: sound.codec,
            channels,
            rate: sound.rate,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_one_name() {
        let id = "019a4946-bdd3-7001-8203-0405060708e9";
        for name in [format!("audio-{id}"), format!("aac-{id}")] {
            assert_eq!(SoundName::from_text(&name).map(|name| name.to_string()), Some(name.clone()));
            assert_eq!(Rendition::from_text(&name), None);
        }
        for none in ["", "audio", "audio-", "audio-2", "aac-2"] {
            assert_eq!(SoundName::from_text(none), None, "{none}");
        }
        for kind in ["video", "iframes", "720p", "subtitles", "Audio", "audio-2", "aac-", ""] {
            assert_eq!(SoundName::from_text(&format!("{kind}-{id}")), None, "{kind}");
        }
        assert_eq!(SoundName::from_text(&format!("audio-{}", id.to_uppercase())), None);
        assert_eq!(SoundName::from_text(&format!("audio-{id}0")), None);
    }
}
