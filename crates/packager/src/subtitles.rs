//! Subtitles that were added to a media: the file as it is kept, and segments of it made when they are asked
//! for.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::SourceId;
use kinora_hls::{
    SubtitleOffer, SubtitleRendition,
    subtitles::{SubtitleSegments, Subtitles},
};

use crate::{Error, Packaged, Packager};

/// Subtitles that players are offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferedSubtitles {
    /// Where they lie.
    pub source: SourceId,
    /// BCP 47 tag.
    pub language_code: String,
    /// What a client calls them.
    pub language_name: String,
}

/// How they are called in an address: `subtitles-` and the id of their source, so that others never have the
/// same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubtitleName(pub SourceId);

impl fmt::Display for SubtitleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "subtitles-{}", self.0)
    }
}

impl SubtitleName {
    /// The name that this is in an address; each has one.
    pub fn from_text(text: &str) -> Option<Self> {
        let name = Self(text.strip_prefix("subtitles-")?.parse().ok()?);
        (name.to_string() == text).then_some(name)
    }
}

/// A file of subtitles, in memory.
#[derive(Debug)]
pub(crate) struct Kept {
    file: Bytes,
    subtitles: Subtitles,
}

impl Kept {
    fn read(file: Bytes) -> Result<Self, Error> {
        let subtitles = Subtitles::read(&file).map_err(|error| Error::Damaged(Box::new(error)))?;
        Ok(Self { file, subtitles })
    }

    /// The cues take somewhat more than their text.
    pub(crate) fn weight(&self) -> u32 {
        u32::try_from(self.file.len().saturating_mul(3)).unwrap_or(u32::MAX)
    }
}

impl Packager {
    /// The whole file, as WebVTT.
    ///
    /// Errors: [`Error::Gone`] without it, [`Error::Damaged`], those of the store.
    pub async fn subtitle_file(&self, source: SourceId) -> Result<Bytes, Error> {
        Ok(self.kept_subtitles(source).await?.file.clone())
    }

    /// Segment `number` of the subtitles of a media, counted from 0, as WebVTT.
    ///
    /// Errors: [`Error::NotInPlan`] for what the playlist does not list, and those of
    /// [`Packager::subtitle_file`].
    pub async fn subtitle_segment(
        &self,
        packaged: &Packaged,
        source: SourceId,
        number: u32,
    ) -> Result<Bytes, Error> {
        let segments = packaged.subtitle_segments();
        if number >= segments.count() {
            return Err(Error::NotInPlan);
        }
        let kept = self.kept_subtitles(source).await?;
        segments.segment(&kept.subtitles, number).map(Bytes::from).ok_or(Error::NotInPlan)
    }

    /// Loaded once, however many ask; kept while memory allows.
    async fn kept_subtitles(&self, source: SourceId) -> Result<Arc<Kept>, Error> {
        if let Some(kept) = self.subtitles.get(&source).await {
            return Ok(kept);
        }
        let load = Box::pin(async {
            let file = self.blob.get(ObjectKey::Subtitle(source)).await?.ok_or(Error::Gone)?;
            // Some MiB of text take longer than others should wait for this thread.
            let read = tokio::task::spawn_blocking(move || Kept::read(file)).await;
            read.map_err(|panic| Error::Damaged(Box::new(panic)))?.map(Arc::new)
        });
        self.subtitles.try_get_with(source, load).await.map_err(|error: Arc<Error>| Error::Shared(error))
    }
}

impl Packaged {
    /// The playlist of any subtitles of this media, with addresses relative to it.
    pub fn subtitle_playlist(&self) -> Bytes {
        Bytes::from(self.subtitle_segments().playlist())
    }

    fn subtitle_segments(&self) -> SubtitleSegments {
        SubtitleSegments::of_duration(self.index().facts().duration_us)
    }
}

/// The lines of a manifest. `base` is put in front of the names.
pub(crate) fn renditions(base: &str, subtitles: &[OfferedSubtitles]) -> Vec<SubtitleRendition> {
    let uri = |offered: &OfferedSubtitles| format!("{base}{}/playlist.m3u8", SubtitleName(offered.source));
    let uris: Vec<String> = subtitles.iter().map(uri).collect();
    let offers: Vec<_> = subtitles
        .iter()
        .zip(&uris)
        .map(|(offered, uri)| SubtitleOffer {
            language_code: &offered.language_code,
            name: &offered.language_name,
            uri,
        })
        .collect();
    SubtitleRendition::of(&offers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_one_name() {
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
