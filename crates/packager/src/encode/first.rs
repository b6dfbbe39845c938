//! Encodes the first segments of a media before a player requests them.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kinora_domain::Resolution;
use kinora_index::Rung;
use tokio::time::timeout;

use super::flight::Leaving;
use super::line::Wanted;
use crate::{Error, Packaged, Packager};

/// Timeout of the job that prepares a segment, because jobs of its lane must be short. A first segment of
/// 1080p takes about a second on an idle core.
const START_WITHIN: Duration = Duration::from_secs(3);

impl Packager {
    /// Makes the first segment of a rung, unless it is kept. May run twice.
    ///
    /// Errors: as for a segment that a viewer asks for.
    pub async fn first_segment(&self, packaged: &Arc<Packaged>, rung: &Rung) -> Result<(), Error> {
        let line = self.line(packaged, rung).await?;
        let looking = line.looking();
        if self.blob.reader(line.key(0)).await?.is_none() {
            let _: Bytes = self.make(packaged, &line, 0, looking, None).await?;
        }
        Ok(())
    }

    /// Encodes the first segment of the rung that players begin with, at a lower priority than requests of
    /// viewers. Does nothing if they begin with the copy. After 3 s it returns and the run continues.
    ///
    /// May run twice: a segment that is kept or being made is not made again. Errors: those of the stores.
    pub async fn prepare_start(&self, packaged: &Arc<Packaged>, max: Resolution) -> Result<(), Error> {
        let Some(rung) = packaged.start_rung(max) else { return Ok(()) };
        let line = self.line(packaged, &rung).await?;
        if line.is_broken() || self.blob.reader(line.key(0)).await?.is_some() {
            return Ok(());
        }
        let Some(Wanted { made, start }) = line.state().prepare(0) else { return Ok(()) };
        let _leaving = Leaving { line: &line, n: 0 };
        if let Some(start) = start {
            self.start(packaged, &line, start, None);
        }
        // An error is not needed here: the request of a player gets its own.
        let _ = timeout(START_WITHIN, made).await;
        Ok(())
    }

    /// Removes the encoded sound of an audio track, counted from 0, from new manifests, because it does not
    /// decode. May run twice.
    ///
    /// Errors: those of the store; [`Error::Gone`] when its media was deleted.
    pub async fn give_up_sound(&self, packaged: &Arc<Packaged>, audio: u8) -> Result<(), Error> {
        let line = self.audio_line(packaged, audio).await?;
        self.mark_broken_now(&line).await
    }

    /// Makes the first segment of the encoded sound of an audio track, counted from 0, unless it is kept. May
    /// run twice.
    ///
    /// Errors: as for a segment that a viewer asks for; [`Error::NotInPlan`] for sound that is not encoded.
    pub async fn first_audio_segment(&self, packaged: &Arc<Packaged>, audio: u8) -> Result<(), Error> {
        if packaged.encoded_audio_count(audio) == 0 {
            return Err(Error::NotInPlan);
        }
        let line = self.audio_line(packaged, audio).await?;
        let looking = line.looking();
        if self.blob.reader(line.key(0)).await?.is_none() {
            let _: Bytes = self.make(packaged, &line, 0, looking, None).await?;
        }
        Ok(())
    }
}
