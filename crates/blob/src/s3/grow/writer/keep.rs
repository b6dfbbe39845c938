//! Keeps what fills no part yet.

use object_store::PutPayload;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::super::pieces::{Piece, continuing};
use super::{Joined, Writer, internal, joined};
use crate::s3::limits::MIB;
use crate::{PieceName, Result};

/// Fewer bytes are not worth a request that nobody asked for.
const PIECE_LEN_MIN: u64 = MIB / 2;

/// The longest piece: what is read back at once, besides a part in memory.
pub(super) const PIECE_LEN_MAX: u64 = 64 * MIB;

/// Pieces of one part. One more, and they become one: whoever goes on has few to read back. Those of half the
/// length of the longest one do not count.
const PIECES_OF_PART_MAX: usize = 64;

/// A piece on its way.
pub(super) struct Putting {
    pub(super) piece: Piece,
    pub(super) task: AbortOnDropHandle<Result<()>>,
}

impl Writer {
    /// When bytes have lain in memory for long enough to be kept as a piece.
    pub(super) fn piece_due(&self) -> Option<Instant> {
        let filling = self.filling.as_ref()?;
        let unkept = filling.end().saturating_sub(self.put_end.max(filling.start()));
        let is_worth_it = self.putting.is_none() && unkept >= PIECE_LEN_MIN;
        Some(self.unkept_since.filter(|_| is_worth_it)? + self.store.shared.limits.piece_within)
    }

    pub(super) fn count_kept(&self) {
        let kept = continuing(&self.pieces, self.recorded).last().map_or(self.recorded, Piece::end);
        self.progress.keep_to(kept);
    }

    /// Keeps what lies in the part that fills: the whole part if it is full, otherwise as a piece.
    pub(super) async fn keep_filling(&mut self) -> Result<()> {
        let Some(filling) = &mut self.filling else { return Ok(()) };
        let (start, end) = (filling.start(), filling.end());
        // One part that is all there is will be put as a whole.
        let may_be_all = start == 0 && self.announced == Some(end);
        if filling.is_full() && !may_be_all {
            return self.send().await;
        }
        let unkept = self.put_end.max(start);
        if self.putting.is_some() || unkept == end {
            return Ok(());
        }
        let from = merged_from(&self.pieces, start).unwrap_or(unkept);
        let piece_end = end.min(from + PIECE_LEN_MAX);
        let piece = Piece { name: PieceName { lease: self.lease, start: from }, len: piece_end - from };
        let bytes: PutPayload = filling.bytes(from..piece_end).into_iter().collect();
        let (store, source) = (self.store.clone(), self.source);
        let task = tokio::spawn(async move { store.put_piece(source, piece.name, bytes).await });
        self.putting = Some(Putting { piece, task: AbortOnDropHandle::new(task) });
        self.put_end = self.put_end.max(piece_end);
        if self.put_end == end {
            self.unkept_since = None;
        }
        Ok(())
    }

    /// The piece on its way is kept.
    pub(super) fn put(&mut self, put: Joined<()>) -> Result<()> {
        let piece = self.putting.take().map(|putting| putting.piece);
        joined(put)?;
        let Some(piece) = piece else { return Ok(()) };
        // Longer than one with its name: that one is no more. The others that it covers, it takes the place
        // of.
        self.pieces.retain(|other| other.name != piece.name);
        let is_within =
            |other: &mut Piece| piece.name.start <= other.name.start && other.end() <= piece.end();
        let mut useless: Vec<Piece> = self.pieces.extract_if(.., is_within).collect();
        if piece.end() <= self.recorded {
            useless.push(piece);
        } else {
            self.pieces.push(piece);
        }
        self.count_kept();
        self.store.remove_pieces_behind(self.source, useless);
        Ok(())
    }

    pub(super) async fn keep(&mut self) -> Result<()> {
        while self.progress.kept() < self.written {
            self.keep_filling().await?;
            if self.sending.is_none() && self.putting.is_none() {
                return Err(internal("what is not kept is not on its way either".to_owned()));
            }
            let event = self.event().await;
            self.handle(event).await?;
        }
        Ok(())
    }

    /// The object is made. Nobody waits for its pieces to go; one that stays is removed when the object is
    /// discarded.
    pub(super) fn forget_pieces(&mut self) {
        let mut useless = std::mem::take(&mut self.pieces);
        useless.append(&mut self.strays);
        let putting = self.putting.take();
        let (store, source) = (self.store.clone(), self.source);
        tokio::spawn(async move {
            if let Some(Putting { piece, task }) = putting {
                let _ = task.await; // first it must be there
                useless.push(piece);
            }
            // The first ones first: whoever finds no beginning looks for the finished object, and takes no
            // rest for all that is kept.
            let (first, rest) = useless.into_iter().partition(|piece| piece.name.start == 0);
            if store.remove_pieces(source, first).await.is_ok() {
                let _ = store.remove_pieces(source, rest).await;
            }
        });
    }
}

/// Where the short pieces begin of the part that begins at `start`, if there are too many of them.
fn merged_from(pieces: &[Piece], start: u64) -> Option<u64> {
    let of_part = || pieces.iter().filter(|piece| start <= piece.name.start);
    let long = of_part().filter(|piece| piece.len >= PIECE_LEN_MAX / 2);
    let from = long.map(Piece::end).max().unwrap_or(start);
    let short = of_part().filter(|piece| from <= piece.name.start).count();
    (short >= PIECES_OF_PART_MAX).then_some(from)
}
