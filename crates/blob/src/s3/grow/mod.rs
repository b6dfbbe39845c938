//! A growing source in a bucket: a multipart upload, and pieces.
//!
//! Bytes fill a part in memory. A full part is uploaded, and counts once the ledger has recorded it; one
//! part is sent while the next one fills. Bytes that do not fill a part yet are stored as *pieces*. These
//! are small objects that the next writer reads back, and that are removed when their part is recorded.
//!
//! Pieces and parts of a writer that has lost the object do no harm, because all writers send the same byte
//! at the same offset. Only a late part of such a writer with other boundaries may replace a recorded one.
//! Then the store rejects the completion of the upload, and the object must restart.

mod part_buffer;
mod pieces;
mod writer;

use std::sync::Arc;

use kinora_domain::SourceId;

use self::pieces::{FoundPieces, Piece, continuing};
use self::writer::Writer;
use super::S3Store;
use super::upload::Upload;
use crate::grow::{CommandQueue, Opened, Progress, WriterGuard};
use crate::{Error, MultipartLog, MultipartState, ObjectKey, Result, WriteKind};

impl S3Store {
    pub(crate) async fn grow(
        &self,
        source: SourceId,
        lease: u32,
        grown: MultipartState,
        ledger: Arc<dyn MultipartLog>,
    ) -> Result<Opened> {
        self.before_read()?;
        let recorded = grown.parts.iter().map(|part| part.len).sum();
        let (covered, mut unrecorded): (Vec<Piece>, Vec<Piece>) =
            self.pieces(source).await?.into_iter().partition(|piece| piece.end() <= recorded);
        let chosen = continuing(&unrecorded, recorded);
        if chosen.is_empty() {
            // Finished or not: a writer that finishes an object soon removes the pieces after its parts.
            if let Some(facts) = self.fetch_info(ObjectKey::Source(source)).await? {
                if !grown.parts.is_empty() && facts.len != recorded {
                    return Err(Error::AlreadyThere(ObjectKey::Source(source)));
                }
                return Ok(Opened::Finished(facts.len));
            }
        }
        self.remove_pieces_behind(source, covered);
        let synced = chosen.last().map_or(recorded, |piece| piece.end());
        let hold = WriterGuard::new(Progress::new(synced, recorded));
        unrecorded.retain(|piece| !chosen.contains(piece));
        let found = FoundPieces { chosen, orphans: unrecorded };
        let writer = Writer::new(self.clone(), source, lease, grown, ledger, hold.progress(), found);
        Ok(Opened::Growing(CommandQueue::start(hold, |commands| writer.work(commands))))
    }

    pub(crate) async fn discard_growing(&self, source: SourceId, multipart: Option<String>) -> Result<()> {
        if let Some(id) = multipart {
            self.before_write(WriteKind::Delete, ObjectKey::Growing(source))?;
            Upload::from_id(ObjectKey::Source(source), id).abort_only(&self.shared).await?;
        }
        let pieces = self.pieces(source).await?;
        self.remove_pieces(source, pieces).await
    }
}
