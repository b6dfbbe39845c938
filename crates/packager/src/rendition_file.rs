//! Rendition files: the init segment and all segments of an encoded rendition in one object, followed by its
//! index.
//!
//! A download reads from it as it reads from a source. Unlike segments it is not a cache: a client requested
//! it, and it stays until the client removes that setting. Bytes and index are one object, so they are never
//! of two runs.

use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::{ObjectKey, ObjectReader};
use kinora_domain::RenditionId;
use kinora_formats::Scanner;
use kinora_index::{Index, IndexId, Track};
use kinora_store::{ClaimedJob, Tx};

use crate::{BackfillProgress, Error, Packaged, Packager, Rendition};

/// Bytes after the index, which state its length.
const TRAILER_LEN: u64 = 8;
/// Memory for their cached indexes, in bytes.
pub(crate) const RENDITION_FILE_INDEXES_MAX: u64 = 64 << 20;
/// Suffix of the name of the rendition in the name of its row; no rendition has such a name.
pub(crate) const SUFFIX: &str = " whole";

/// A rendition joined to one object.
#[derive(Debug)]
pub(crate) struct RenditionFile {
    /// Index of the bytes before it.
    pub(crate) index: Index,
    pub(crate) id: IndexId,
    index_len: u64,
}

impl RenditionFile {
    /// Approximate bytes in memory.
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

/// The rendition whose file has a row of this name; `None` for any other row. Such a file is no cache, so it
/// is not evicted.
pub fn rendition_from_row_name(row_name: &str) -> Option<Rendition> {
    Rendition::from_text(row_name.strip_suffix(SUFFIX)?)
}

impl Packager {
    /// The file of a rendition, and its bytes; `None` until it was made. [`Error::NotPossible`] if that
    /// failed.
    pub(crate) async fn rendition_file(
        &self,
        packaged: &Packaged,
        rendition: Rendition,
    ) -> Result<Option<(Arc<RenditionFile>, ObjectReader)>, Error> {
        let Some(row) =
            self.store.rendition_named(packaged.presentation, &rendition.rendition_file_row_name()).await?
        else {
            return Ok(None);
        };
        if row.broken_at.is_some() {
            return Err(Error::NotPossible);
        }
        let Some(reader) = self.blob.reader(ObjectKey::Segment(row.id, 0)).await? else { return Ok(None) };
        let read = async { RenditionFile::read(&reader).await.map(Arc::new) };
        let file = self.rendition_files.try_get_with(row.id, read).await;
        Ok(Some((file.map_err(|error: Arc<Error>| Error::Shared(error))?, reader)))
    }

    /// Whether the file of a rendition exists.
    pub async fn has_rendition_file(&self, packaged: &Packaged, rendition: Rendition) -> Result<bool, Error> {
        let row =
            self.store.rendition_named(packaged.presentation, &rendition.rendition_file_row_name()).await?;
        let Some(row) = row.filter(|row| row.broken_at.is_none()) else { return Ok(false) };
        Ok(self.blob.reader(ObjectKey::Segment(row.id, 0)).await?.is_some())
    }

    /// Encodes the missing segments of an encoded rendition, and joins all segments to its file.
    ///
    /// May run twice, and continues where an earlier call ended: stored segments are not encoded again. Its
    /// processes have the lowest priority. It begins only for the worker that still leases `job`. Errors:
    /// [`Error::NotListed`] for a rendition that is not encoded, [`Error::NoFrame`] and
    /// [`Error::EncodeFailed`] if it cannot be encoded, [`Error::Busy`], [`Error::Gone`] when no media names
    /// the presentation any more, those of the stores.
    pub async fn make_rendition_file(
        &self,
        job: &ClaimedJob,
        packaged: &Arc<Packaged>,
        rendition: Rendition,
        max: kinora_domain::Resolution,
        progress: impl FnMut(BackfillProgress),
    ) -> Result<(), Error> {
        if !rendition.is_encoded() {
            return Err(Error::NotListed);
        }
        let (presentation, now) = (packaged.presentation, self.clock.now());
        let (id, name) =
            (rendition.new_rendition_file_id(presentation, now), rendition.rendition_file_row_name());
        let job = job.clone();
        let begin = async move |tx: &mut Tx| {
            // A worker that lost its lease would start an encode that is no longer wanted, or that cannot
            // succeed.
            tx.lock_job(&job).await?;
            tx.begin_rendition_named(id, presentation, &name, now).await
        };
        let id = self.store.write(begin).await.map_err(Error::from)?.ok_or(Error::Gone)?;
        if self.blob.reader(ObjectKey::Segment(id, 0)).await?.is_some() {
            return Ok(());
        }
        let (active, init) = match rendition {
            Rendition::Rung(name) => {
                let rung = packaged.rung(name, max)?;
                let line = self.active_rendition(packaged, &rung).await?;
                self.backfill(packaged, std::slice::from_ref(&rung), progress).await?;
                (line, None)
            }
            _ => {
                let audio = rendition.encoded_audio().ok_or(Error::NotListed)?;
                self.backfill_audio(packaged, audio, progress).await?;
                (self.active_audio(packaged, audio).await?, Some(packaged.init(rendition, 0)?))
            }
        };
        let count = active.target.segment_count(packaged);
        let mut writer = self.blob.writer(ObjectKey::Segment(id, 0)).await?;
        let mut scanner = Scanner::new(None);
        for number in 0..count {
            // A still or silence replaces a segment that the backfill skipped. A stored segment may also be
            // evicted meanwhile.
            let stored_version = active.stored_version();
            let bytes = match self.blob.get(active.key(number)).await? {
                Some(bytes) => bytes,
                None => self.encode_or_join(packaged, &active, number, stored_version, None).await?,
            };
            if number == 0 {
                let init = match &init {
                    Some(init) => init.clone(),
                    None => self.init_of_rung(packaged, &active).await?,
                };
                scan(&mut scanner, &init)?;
                writer.write(init).await?;
            }
            scan(&mut scanner, &bytes)?;
            writer.write(bytes).await?;
        }
        let index = scanner.finish().and_then(kinora_formats::Scanned::into_index);
        let mut index = index.map_err(|error| Error::EncodeFailed(Box::new(error)))?;
        if index.tracks.len() != 1 || index.tracks.iter().any(|track| index.segments(track).is_empty()) {
            return Err(Error::EncodeFailed("an encoded rendition does not read as one track".into()));
        }
        if let Some(file) = index.tracks.first_mut() {
            file.end = file.end.min(end_in_file(packaged.track(rendition)?, file));
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
            .write(async move |tx| tx.correct_rendition_counts(id, len, 1).await)
            .await
            .map_err(Error::from)
    }

    /// Removes the object of a rendition file whose row is gone. May run twice; a sweep removes the rest.
    pub async fn remove_rendition_file(&self, id: RenditionId) -> Result<(), Error> {
        self.rendition_files.invalidate(&id).await;
        self.blob.delete(ObjectKey::Segment(id, 0)).await.map_err(Error::from)
    }
}

/// The end of a track on the clock of its file. Encoded audio has whole frames, so its last one may be
/// longer than the track.
fn end_in_file(track: &Track, file: &Track) -> i64 {
    let ticks = i128::from(track.end.max(0)) * i128::from(file.timescale);
    let from = i128::from(track.timescale.max(1));
    i64::try_from((ticks + from - 1) / from).unwrap_or(i64::MAX)
}

fn scan(scanner: &mut Scanner, bytes: &[u8]) -> Result<(), Error> {
    scanner.push(bytes).map_err(|error| Error::EncodeFailed(Box::new(error)))
}
