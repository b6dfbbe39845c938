//! Stores the bytes that do not fill a part yet.

use object_store::PutPayload;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::super::pieces::{Piece, continuing};
use super::{Joined, Writer, internal, joined};
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
        let filling = self.filling.as_ref()?;
        let unsynced = filling.end().saturating_sub(self.put_end.max(filling.start()));
        let is_worth_it = self.putting.is_none() && unsynced >= PIECE_LEN_MIN;
        Some(self.unsynced_since.filter(|_| is_worth_it)? + self.store.shared.limits.sync_interval)
    }

    pub(super) fn update_synced(&self) {
        let synced = continuing(&self.pieces, self.recorded).last().map_or(self.recorded, Piece::end);
        self.progress.set_synced(synced);
    }

    /// Stores the filling part: as a part if it is full, otherwise as a piece.
    pub(super) async fn sync_part_buffer(&mut self) -> Result<()> {
        let Some(filling) = &mut self.filling else { return Ok(()) };
        let (start, end) = (filling.start(), filling.end());
        // A single part that is the whole object is put as a whole.
        let may_be_all = start == 0 && self.announced == Some(end);
        if filling.is_full() && !may_be_all {
            return self.send().await;
        }
        let unsynced_from = self.put_end.max(start);
        if self.putting.is_some() || unsynced_from == end {
            return Ok(());
        }
        let from = merged_from(&self.pieces, start).unwrap_or(unsynced_from);
        let piece_end = end.min(from + PIECE_LEN_MAX);
        let piece = Piece { name: PieceName { lease: self.lease, start: from }, len: piece_end - from };
        let bytes: PutPayload = filling.bytes(from..piece_end).into_iter().collect();
        let (store, source) = (self.store.clone(), self.source);
        let task = tokio::spawn(async move { store.put_piece(source, piece.name, bytes).await });
        self.putting = Some(PendingPiece { piece, task: AbortOnDropHandle::new(task) });
        self.put_end = self.put_end.max(piece_end);
        if self.put_end == end {
            self.unsynced_since = None;
        }
        Ok(())
    }

    /// Adds the piece that was sent.
    pub(super) fn put(&mut self, put: Joined<()>) -> Result<()> {
        let piece = self.putting.take().map(|putting| putting.piece);
        joined(put)?;
        let Some(piece) = piece else { return Ok(()) };
        // In the store the new piece has replaced a shorter one of the same name, so only the old record is
        // dropped. Other pieces that it covers are removed.
        self.pieces.retain(|other| other.name != piece.name);
        let is_within =
            |other: &mut Piece| piece.name.start <= other.name.start && other.end() <= piece.end();
        let mut useless: Vec<Piece> = self.pieces.extract_if(.., is_within).collect();
        if piece.end() <= self.recorded {
            useless.push(piece);
        } else {
            self.pieces.push(piece);
        }
        self.update_synced();
        self.store.remove_pieces_behind(self.source, useless);
        Ok(())
    }

    pub(super) async fn sync(&mut self) -> Result<()> {
        while self.progress.synced() < self.written {
            self.sync_part_buffer().await?;
            if self.sending.is_none() && self.putting.is_none() {
                return Err(internal("what is not kept is not on its way either".to_owned()));
            }
            let event = self.event().await;
            self.handle(event).await?;
        }
        Ok(())
    }

    /// Removes the pieces of a finished object in the background. [`crate::Blob::discard_growing`] removes
    /// any that stay.
    pub(super) fn forget_pieces(&mut self) {
        let mut useless = std::mem::take(&mut self.pieces);
        useless.append(&mut self.orphans);
        let putting = self.putting.take();
        let (store, source) = (self.store.clone(), self.source);
        tokio::spawn(async move {
            if let Some(PendingPiece { piece, task }) = putting {
                let _ = task.await; // first it must be there
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
fn merged_from(pieces: &[Piece], start: u64) -> Option<u64> {
    let of_part = || pieces.iter().filter(|piece| start <= piece.name.start);
    let long = of_part().filter(|piece| piece.len >= PIECE_LEN_MAX / 2);
    let from = long.map(Piece::end).max().unwrap_or(start);
    let short = of_part().filter(|piece| from <= piece.name.start).count();
    (short >= PIECES_OF_PART_MAX).then_some(from)
}
