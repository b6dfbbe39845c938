//! Stores the bytes that do not fill a part yet.

use object_store::PutPayload;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::super::pieces::{Piece, contiguous_from};
use super::{TaskResult, Writer, flatten_task_result, internal};
use crate::s3::limits::MIB;
use crate::{PieceName, Result};

/// Fewer bytes are not worth a request, unless a caller requests it.
const PIECE_LEN_MIN: u64 = MIB / 2;

/// The longest piece: it is read back at once, in addition to a part in memory.
pub(super) const PIECE_LEN_MAX: u64 = 64 * MIB;

/// The most pieces of one part. At one more they are merged into one, so that the next writer reads few
/// back. Pieces of at least half the maximum length do not count.
const PIECES_OF_PART_MAX: usize = 64;

/// A piece that is being sent.
pub(super) struct PendingPiece {
    pub(super) piece: Piece,
    pub(super) task: AbortOnDropHandle<Result<()>>,
}

impl Writer {
    /// When bytes have waited in memory for long enough to be stored as a piece.
    pub(super) fn piece_due(&self) -> Option<Instant> {
        let part_buffer = self.part_buffer.as_ref()?;
        let unsynced = part_buffer.end().saturating_sub(self.submitted_end.max(part_buffer.start()));
        let is_worth_it = self.pending_piece.is_none() && unsynced >= PIECE_LEN_MIN;
        Some(self.unsynced_since.filter(|_| is_worth_it)? + self.store.shared.limits.sync_interval)
    }

    pub(super) fn update_synced(&self) {
        let synced =
            contiguous_from(&self.pieces, self.recorded_end).last().map_or(self.recorded_end, Piece::end);
        self.progress.set_synced(synced);
    }

    /// Stores the part buffer: as a part if it is full, otherwise as a piece.
    pub(super) async fn sync_part_buffer(&mut self) -> Result<()> {
        let Some(part_buffer) = &mut self.part_buffer else { return Ok(()) };
        let (start, end) = (part_buffer.start(), part_buffer.end());
        // A single part that is the whole object is put as a whole.
        let may_be_whole_object = start == 0 && self.announced_len == Some(end);
        if part_buffer.is_full() && !may_be_whole_object {
            return self.send_part().await;
        }
        let unsynced_from = self.submitted_end.max(start);
        if self.pending_piece.is_some() || unsynced_from == end {
            return Ok(());
        }
        let from = merge_start(&self.pieces, start).unwrap_or(unsynced_from);
        let piece_end = end.min(from + PIECE_LEN_MAX);
        let piece = Piece { name: PieceName { lease: self.lease, start: from }, len: piece_end - from };
        let bytes: PutPayload = part_buffer.bytes(from..piece_end).into_iter().collect();
        let (store, source) = (self.store.clone(), self.source);
        let task = tokio::spawn(async move { store.put_piece(source, piece.name, bytes).await });
        self.pending_piece = Some(PendingPiece { piece, task: AbortOnDropHandle::new(task) });
        self.submitted_end = self.submitted_end.max(piece_end);
        if self.submitted_end == end {
            self.unsynced_since = None;
        }
        Ok(())
    }

    /// Adds the piece that was sent, and removes the pieces that it replaces.
    pub(super) fn on_piece_put(&mut self, put: TaskResult<()>) -> Result<()> {
        let piece = self.pending_piece.take().map(|pending_piece| pending_piece.piece);
        flatten_task_result(put)?;
        let Some(piece) = piece else { return Ok(()) };
        // In the store the new piece has replaced a shorter one of the same name, so only the old record is
        // dropped. Other pieces that it covers are removed.
        self.pieces.retain(|other| other.name != piece.name);
        let is_within =
            |other: &mut Piece| piece.name.start <= other.name.start && other.end() <= piece.end();
        let mut useless: Vec<Piece> = self.pieces.extract_if(.., is_within).collect();
        if piece.end() <= self.recorded_end {
            useless.push(piece);
        } else {
            self.pieces.push(piece);
        }
        self.update_synced();
        self.store.remove_pieces_in_background(self.source, useless);
        Ok(())
    }

    pub(super) async fn sync(&mut self) -> Result<()> {
        while self.progress.synced() < self.received_len {
            self.sync_part_buffer().await?;
            if self.pending_part.is_none() && self.pending_piece.is_none() {
                return Err(internal("a piece is neither stored nor being sent".to_owned()));
            }
            let event = self.next_event().await;
            self.handle(event).await?;
        }
        Ok(())
    }

    /// Removes the pieces of a finished object in the background. [`crate::Blob::discard_growing`] removes
    /// any that stay.
    pub(super) fn remove_all_pieces_in_background(&mut self) {
        let mut useless = std::mem::take(&mut self.pieces);
        useless.append(&mut self.orphans);
        let pending_piece = self.pending_piece.take();
        let (store, source) = (self.store.clone(), self.source);
        tokio::spawn(async move {
            if let Some(PendingPiece { piece, task }) = pending_piece {
                let _ = task.await; // the piece must be stored before it is removed
                useless.push(piece);
            }
            // Removes the first ones first: a writer that finds no beginning checks for the finished
            // object, and does not use the remaining pieces.
            let (first, rest) = useless.into_iter().partition(|piece| piece.name.start == 0);
            if store.remove_pieces(source, first).await.is_ok() {
                let _ = store.remove_pieces(source, rest).await;
            }
        });
    }
}

/// The start of the short pieces of the part that begins at `start`, if there are too many of them.
fn merge_start(pieces: &[Piece], start: u64) -> Option<u64> {
    let of_part = || pieces.iter().filter(|piece| start <= piece.name.start);
    let long = of_part().filter(|piece| piece.len >= PIECE_LEN_MAX / 2);
    let from = long.map(Piece::end).max().unwrap_or(start);
    let short = of_part().filter(|piece| from <= piece.name.start).count();
    (short >= PIECES_OF_PART_MAX).then_some(from)
}
