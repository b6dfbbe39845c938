//! A growing source in a bucket: a multipart upload, and pieces.
//!
//! Bytes fill a part in memory. A full part is uploaded, and counts once the multipart log has recorded it;
//! one part is sent while the next one fills. Bytes that do not fill a part yet are stored as *pieces*. These
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

use self::pieces::{FoundPieces, Piece, contiguous_from};
use self::writer::Writer;
use super::S3Store;
use super::upload::MultipartUpload;
use crate::grow::{CommandQueue, OpenOutcome, Progress, WriterGuard};
use crate::{Error, MultipartLog, MultipartState, ObjectKey, Result, WriteKind};

impl S3Store {
    pub(crate) async fn grow(
        &self,
        source: SourceId,
        lease: u32,
        multipart_state: MultipartState,
        multipart_log: Arc<dyn MultipartLog>,
    ) -> Result<OpenOutcome> {
        self.inject_read_fault()?;
        let recorded_end = multipart_state.parts.iter().map(|part| part.len).sum();
        let (recorded_pieces, mut unrecorded): (Vec<Piece>, Vec<Piece>) =
            self.pieces(source).await?.into_iter().partition(|piece| piece.end() <= recorded_end);
        let contiguous = contiguous_from(&unrecorded, recorded_end);
        if contiguous.is_empty() {
            // Finished or not: a writer that finishes an object soon removes the pieces after its parts.
            if let Some(info) = self.fetch_info(ObjectKey::Source(source)).await? {
                if !multipart_state.parts.is_empty() && info.len != recorded_end {
                    return Err(Error::AlreadyThere(ObjectKey::Source(source)));
                }
                return Ok(OpenOutcome::Finished(info.len));
            }
        }
        self.remove_pieces_in_background(source, recorded_pieces);
        let synced = contiguous.last().map_or(recorded_end, |piece| piece.end());
        let guard = WriterGuard::new(Progress::new(synced, recorded_end));
        unrecorded.retain(|piece| !contiguous.contains(piece));
        let found_pieces = FoundPieces { contiguous, orphans: unrecorded };
        let writer = Writer::new(
            self.clone(),
            source,
            lease,
            multipart_state,
            multipart_log,
            guard.progress(),
            found_pieces,
        );
        Ok(OpenOutcome::Growing(CommandQueue::start(guard, |commands| writer.work(commands))))
    }

    pub(crate) async fn discard_growing(&self, source: SourceId, multipart_id: Option<String>) -> Result<()> {
        if let Some(id) = multipart_id {
            self.inject_write_fault(WriteKind::Delete, ObjectKey::Growing(source))?;
            MultipartUpload::from_id(ObjectKey::Source(source), id).abort_only(&self.shared).await?;
        }
        let pieces = self.pieces(source).await?;
        self.remove_pieces(source, pieces).await
    }
}
