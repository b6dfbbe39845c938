//! Encodes the first segments of a media before a player requests them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kinora_domain::Resolution;
use kinora_index::Rung;
use tokio::time::timeout;

use super::rendition_state::PendingSegment;
use super::segment_request::RequestGuard;
use crate::{EncodedAudio, Error, Packaged, Packager};

/// Timeout of the job that prepares a segment, because jobs of its worker pool must be short. A first
/// segment of 1080p takes about a second on an idle core.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(3);

impl Packager {
    /// Encodes the first segment of a rung, unless it is stored. May run twice.
    ///
    /// Errors: as for a segment requested by a viewer.
    pub async fn first_segment(&self, packaged: &Arc<Packaged>, rung: &Rung) -> Result<(), Error> {
        let rendition = self.active_rendition(packaged, rung).await?;
        let stored_version = rendition.stored_version();
        if self.blob.reader(rendition.key(0)).await?.is_none() {
            let _: Bytes = self.encode_or_join(packaged, &rendition, 0, stored_version, None).await?;
        }
        Ok(())
    }

    /// Encodes the first segment of the rung that players begin with, at a lower priority than requests of
    /// viewers. Does nothing if they begin with the copy. After 3 s it returns and the run continues.
    ///
    /// May run twice: it encodes no segment that is stored or being encoded. Errors: those of the stores.
    pub async fn prepare_start(&self, packaged: &Arc<Packaged>, max: Resolution) -> Result<(), Error> {
        let Some(rung) = packaged.start_rung(max) else { return Ok(()) };
        let rendition = self.active_rendition(packaged, &rung).await?;
        if rendition.is_broken() || self.blob.reader(rendition.key(0)).await?.is_some() {
            return Ok(());
        }
        let Some(PendingSegment { receiver, start }) = rendition.state().prepare(0) else { return Ok(()) };
        let _guard = RequestGuard { rendition: &rendition, n: 0 };
        if let Some(start) = start {
            self.start_run(packaged, &rendition, start, None);
        }
        // An error is not needed here: the request of a player gets its own.
        let _ = timeout(PREPARE_TIMEOUT, receiver).await;
        Ok(())
    }

    /// Removes an encoded rendition of an audio track from new manifests because it does not decode. May run
    /// twice.
    ///
    /// Errors: those of the store; [`Error::Gone`] when its media was deleted.
    pub async fn withdraw_audio(
        &self,
        packaged: &Arc<Packaged>,
        audio: impl Into<EncodedAudio>,
    ) -> Result<(), Error> {
        let rendition = self.active_audio(packaged, audio.into()).await?;
        self.try_mark_broken(&rendition).await
    }

    /// Encodes the first segment of an encoded rendition of an audio track, unless it is stored. May run
    /// twice.
    ///
    /// Errors: as for a segment requested by a viewer; [`Error::NotListed`] for audio that is not encoded.
    pub async fn first_audio_segment(
        &self,
        packaged: &Arc<Packaged>,
        audio: impl Into<EncodedAudio>,
    ) -> Result<(), Error> {
        let audio = audio.into();
        if packaged.aac_segment_count(audio.track) == 0 {
            return Err(Error::NotListed);
        }
        let rendition = self.active_audio(packaged, audio).await?;
        let stored_version = rendition.stored_version();
        if self.blob.reader(rendition.key(0)).await?.is_none() {
            let _: Bytes = self.encode_or_join(packaged, &rendition, 0, stored_version, None).await?;
        }
        Ok(())
    }
}
