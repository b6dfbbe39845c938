//! Encoded renditions as a whole: their init segment and all their segments in one object, with the index of
//! it behind.
//!
//! A file that is downloaded reads from it as it reads from a source. It is no cache as segments are: it is
//! what a client asked for, and stays until that is asked for no more. Both are one object, so bytes and
//! index are never of two runs.

use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::{ObjectKey, ObjectReader};
use kinora_domain::RenditionId;
use kinora_formats::Scanner;
use kinora_index::{Index, IndexId};
use kinora_store::{ClaimedJob, Tx};

use crate::{Error, FillProgress, Packaged, Packager, Rendition};

/// Bytes behind the index, which say how long it is.
const TRAILER_LEN: u64 = 8;
/// Memory for the indexes of them.
pub(crate) const WHOLES_BYTES_MAX: u64 = 64 << 20;
/// What stands behind the name of the rendition in the name of its row; no rendition has such a name.
pub(crate) const SUFFIX: &str = " whole";

/// A rendition as a whole.
#[derive(Debug)]
pub(crate) struct Whole {
    /// Of the bytes in front of it.
    pub(crate) index: Index,
    pub(crate) id: IndexId,
    index_len: u64,
}

impl Whole {
    /// About what it takes in memory.
    pub(crate) fn weight(&self) -> u32 {
        u32::try_from(self.index_len.saturating_mul(2)).unwrap_or(u32::MAX)
    }

    async fn read(reader: &ObjectReader) -> Result<Self, Error> {
        let len = reader.len();
        let damaged = || Error::Damaged("a whole rendition has no index".into());
        let trailer = len.checked_sub(TRAILER_LEN).ok_or_else(damaged)?;
        let index_len = reader.read_at(trailer..len).await?;
        let index_len = u64::from_be_bytes(index_len.as_ref().try_into().map_err(|_| damaged())?);
        let index_at = trailer.checked_sub(index_len).ok_or_else(damaged)?;
        let bytes = reader.read_at(index_at..trailer).await?;
        let index = Index::from_bytes(&bytes).map_err(|error| Error::Damaged(Box::new(error)))?;
        if index.source_len != index_at || index.tracks.len() != 1 {
            return Err(damaged());
        }
        Ok(Self { index, id: IndexId::of_bytes(&bytes), index_len })
    }
}

/// Of which rendition a row of this name is the whole, which is not let go as a cache is; `None` of every
/// other row.
pub fn whole_of(row_name: &str) -> Option<Rendition> {
    Rendition::from_text(row_name.strip_suffix(SUFFIX)?)
}

impl Packager {
    /// A rendition as a whole, and its bytes; `None` until it was made. [`Error::NoFile`] when it could not
    /// be.
    pub(crate) async fn whole(
        &self,
        packaged: &Packaged,
        rendition: Rendition,
    ) -> Result<Option<(Arc<Whole>, ObjectReader)>, Error> {
        let Some(row) = self.store.rendition_named(packaged.presentation, &rendition.whole_name()).await?
        else {
            return Ok(None);
        };
        if row.broken_at.is_some() {
            return Err(Error::NoFile);
        }
        let Some(reader) = self.blob.reader(ObjectKey::Segment(row.id, 0)).await? else { return Ok(None) };
        let read = async { Whole::read(&reader).await.map(Arc::new) };
        let whole = self.wholes.try_get_with(row.id, read).await;
        Ok(Some((whole.map_err(|error: Arc<Error>| Error::Shared(error))?, reader)))
    }

    /// Whether a rendition is there as a whole.
    pub async fn has_whole(&self, packaged: &Packaged, rendition: Rendition) -> Result<bool, Error> {
        let row = self.store.rendition_named(packaged.presentation, &rendition.whole_name()).await?;
        let Some(row) = row.filter(|row| row.broken_at.is_none()) else { return Ok(false) };
        Ok(self.blob.reader(ObjectKey::Segment(row.id, 0)).await?.is_some())
    }

    /// Makes what is missing of an encoded rendition, and joins it to a whole.
    ///
    /// May run twice, and goes on where an earlier call ended: segments that are kept are not made again. Its
    /// processes give way to all others. It begins only for whoever still holds `job`. Errors:
    /// [`Error::NotInPlan`] for what is not encoded, [`Error::NoFrame`] and [`Error::Unmade`] where it cannot
    /// be, [`Error::Busy`], [`Error::Gone`] when no media names the presentation any more, those of the
    /// stores.
    pub async fn make_whole(
        &self,
        job: &ClaimedJob,
        packaged: &Arc<Packaged>,
        rendition: Rendition,
        max: kinora_domain::Resolution,
        progress: impl FnMut(FillProgress),
    ) -> Result<(), Error> {
        if !rendition.is_encoded() {
            return Err(Error::NotInPlan);
        }
        let (presentation, now) = (packaged.presentation, self.clock.now());
        let (id, name) = (rendition.whole_begun(presentation, now), rendition.whole_name());
        let job = job.clone();
        let begin = async move |tx: &mut Tx| {
            // Whoever lost it would begin again what nobody wants, or what cannot be made.
            tx.hold_job(&job).await?;
            tx.begin_rendition_named(id, presentation, &name, now).await
        };
        let id = self.store.write(begin).await.map_err(Error::from)?.ok_or(Error::Gone)?;
        if self.blob.reader(ObjectKey::Segment(id, 0)).await?.is_some() {
            return Ok(());
        }
        let (line, init) = match rendition {
            Rendition::Rung(name) => {
                let rung = packaged.rung(name, max)?;
                let line = self.line(packaged, &rung).await?;
                self.fill(packaged, std::slice::from_ref(&rung), progress).await?;
                (line, None)
            }
            Rendition::Aac(audio) => {
                self.fill_audio(packaged, audio, progress).await?;
                (self.audio_line(packaged, audio).await?, Some(packaged.init(rendition, 0)?))
            }
            Rendition::Video | Rendition::IFrames | Rendition::Audio(_) => return Err(Error::NotInPlan),
        };
        let count = match rendition {
            Rendition::Aac(audio) => packaged.encoded_audio_count(audio),
            _ => packaged.encoded_count(),
        };
        let mut writer = self.blob.writer(ObjectKey::Segment(id, 0)).await?;
        let mut scanner = Scanner::new(None);
        for number in 0..count {
            // What a fill left out has a still instead, or silence; and somebody may have let go of what was
            // there.
            let looking = line.looking();
            let bytes = match self.blob.get(line.key(number)).await? {
                Some(bytes) => bytes,
                None => self.make(packaged, &line, number, looking, None).await?,
            };
            if number == 0 {
                let init = match &init {
                    Some(init) => init.clone(),
                    None => self.init_of_rung(packaged, &line).await?,
                };
                scan(&mut scanner, &init)?;
                writer.write(init).await?;
            }
            scan(&mut scanner, &bytes)?;
            writer.write(bytes).await?;
        }
        let index = scanner.finish().and_then(kinora_formats::Scanned::into_index);
        let index = index.map_err(|error| Error::Unmade(Box::new(error)))?;
        if index.tracks.len() != 1 || index.tracks.iter().any(|track| index.segments(track).is_empty()) {
            return Err(Error::Unmade("an encoded rendition does not read as one track".into()));
        }
        let index = index.to_bytes();
        let index_len = index.len() as u64;
        writer.write(Bytes::from(index)).await?;
        writer.write(Bytes::copy_from_slice(&index_len.to_be_bytes())).await?;
        let len = match writer.finish().await {
            // Another worker was faster.
            Err(kinora_blob::Error::AlreadyThere(_)) => return Ok(()),
            finished => finished?,
        };
        self.store
            .write(async move |tx| tx.set_rendition_counted(id, len, 1).await)
            .await
            .map_err(Error::from)
    }

    /// Removes the object of a whole whose row is gone. May run twice; what is left of it is swept.
    pub async fn remove_whole(&self, id: RenditionId) -> Result<(), Error> {
        self.wholes.invalidate(&id).await;
        self.blob.delete(ObjectKey::Segment(id, 0)).await.map_err(Error::from)
    }
}

fn scan(scanner: &mut Scanner, bytes: &[u8]) -> Result<(), Error> {
    scanner.push(bytes).map_err(|error| Error::Unmade(Box::new(error)))
}
