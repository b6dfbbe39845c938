//! Subtitles that were added to a media: the stored file, and its segments, which are made on request.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::SourceId;
use kinora_hls::{
    SubtitleRendition, SubtitleTrack,
    subtitles::{SubtitleSegments, Subtitles},
};

use crate::{Error, Packaged, Packager};

/// Subtitles that players are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddedSubtitlesSource {
    /// The source of the subtitles.
    pub source: SourceId,
    /// BCP 47 tag.
    pub language_code: String,
    /// Name that a client gave to the language.
    pub language_name: String,
}

/// Name of subtitles in an address: `subtitles-` and the id of their source. So another file never has the
/// same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubtitleName(pub SourceId);

impl fmt::Display for SubtitleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "subtitles-{}", self.0)
    }
}

impl SubtitleName {
    /// Parses the name in an address. Each name has one spelling.
    pub fn from_text(text: &str) -> Option<Self> {
        let name = Self(text.strip_prefix("subtitles-")?.parse().ok()?);
        (name.to_string() == text).then_some(name)
    }
}

/// A file of subtitles, cached in memory.
#[derive(Debug)]
pub(crate) struct CachedSubtitles {
    file: Bytes,
    subtitles: Subtitles,
}

impl CachedSubtitles {
    fn read(file: Bytes) -> Result<Self, Error> {
        let subtitles = Subtitles::read(&file).map_err(|error| Error::Damaged(Box::new(error)))?;
        Ok(Self { file, subtitles })
    }

    /// Bytes in memory: the cues take somewhat more than their text.
    pub(crate) fn weight(&self) -> u32 {
        u32::try_from(self.file.len().saturating_mul(3)).unwrap_or(u32::MAX)
    }
}

impl Packager {
    /// The whole file, as WebVTT.
    ///
    /// Errors: [`Error::Gone`] without it, [`Error::Damaged`], those of the store.
    pub async fn subtitle_file(&self, source: SourceId) -> Result<Bytes, Error> {
        Ok(self.cached_subtitles(source).await?.file.clone())
    }

    /// Segment `number` of the subtitles of a media, counted from 0, as WebVTT.
    ///
    /// Errors: [`Error::NotListed`] for a segment that the playlist does not list, and those of
    /// [`Packager::subtitle_file`].
    pub async fn subtitle_segment(
        &self,
        packaged: &Packaged,
        source: SourceId,
        number: u32,
    ) -> Result<Bytes, Error> {
        let segments = packaged.subtitle_segments();
        if number >= segments.count() {
            return Err(Error::NotListed);
        }
        let cached = self.cached_subtitles(source).await?;
        segments.segment(&cached.subtitles, number).map(Bytes::from).ok_or(Error::NotListed)
    }

    /// The cached file; concurrent calls share one load.
    async fn cached_subtitles(&self, source: SourceId) -> Result<Arc<CachedSubtitles>, Error> {
        if let Some(cached) = self.subtitles.get(&source).await {
            return Ok(cached);
        }
        let load = Box::pin(async {
            let file = self.blob.get(ObjectKey::Subtitle(source)).await?.ok_or(Error::Gone)?;
            // Parsing some MiB of text would block this thread for others.
            let read = tokio::task::spawn_blocking(move || CachedSubtitles::read(file)).await;
            read.map_err(|panic| Error::Damaged(Box::new(panic)))?.map(Arc::new)
        });
        self.subtitles.try_get_with(source, load).await.map_err(|error: Arc<Error>| Error::Shared(error))
    }
}

impl Packaged {
    /// The playlist of all subtitles of this media, with addresses relative to it.
    pub fn subtitle_playlist(&self) -> Bytes {
        Bytes::from(self.subtitle_segments().playlist())
    }

    fn subtitle_segments(&self) -> SubtitleSegments {
        SubtitleSegments::of_duration(self.index().facts().duration_us)
    }
}

/// The entries of a manifest. `base` is the prefix of the names.
pub(crate) fn renditions(base: &str, subtitles: &[AddedSubtitlesSource]) -> Vec<SubtitleRendition> {
    let uri = |added: &AddedSubtitlesSource| format!("{base}{}/playlist.m3u8", SubtitleName(added.source));
    let uris: Vec<String> = subtitles.iter().map(uri).collect();
    let tracks: Vec<_> = subtitles
        .iter()
        .zip(&uris)
        .map(|(offered, uri)| SubtitleTrack {
            language_code: &offered.language_code,
            name: &offered.language_name,
            uri,
        })
        .collect();
    SubtitleRendition::of(&tracks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_round_trips_through_text() {
        let text = "subtitles-019a4946-bdd3-7001-8203-0405060708e9";
        assert_eq!(SubtitleName::from_text(text).map(|name| name.to_string()).as_deref(), Some(text));
        for other in
            ["subtitles", "subtitles-", "subtitles-1", &text.to_uppercase(), &format!("{text}0"), &text[1..]]
        {
            assert_eq!(SubtitleName::from_text(other), None, "{other}");
        }
        assert_eq!(SubtitleName::from_text("subtitles-019A4946-BDD3-7001-8203-0405060708E9"), None);
    }
}
