//! Reads durable bytes of earlier writers.

use std::ops::Range;

use bytes::Bytes;

use super::super::part_buffer::slices;
use super::super::pieces::continuing;
use super::piece_writes::PIECE_LEN_MAX;
use super::{Writer, len_of};
use crate::{Error, ObjectKey, Result};

/// The most tries to find a piece that was merged into a longer one between the listing and the read.
const READ_TRIES: usize = 4;

impl Writer {
    /// Durable bytes outside of recorded parts: from memory as far as possible, otherwise from pieces.
    pub(super) async fn read(&mut self, range: Range<u64>) -> Result<Bytes> {
        self.store.before_read()?;
        if range.start < self.recorded {
            return Err(Error::OutOfRange { range, len: self.progress.synced() });
        }
        let mut found = Vec::new();
        if let Some(sending) = &self.sending {
            found.extend(slices(&sending.bytes, sending.start, range.clone()));
        }
        if let Some(filling) = &mut self.filling {
            found.extend(filling.bytes(range.clone()));
        }
        let mut at = range.start + len_of(&found);
        while at < range.end {
            let bytes = self.piece_at(at, range.end).await?;
            at += bytes.len() as u64;
            found.push(bytes);
        }
        Ok(if found.len() == 1 { found.remove(0) } else { found.concat().into() })
    }

    /// Bytes from `at` on in one piece, up to `end` at most.
    ///
    /// Errors: `Gone` when no object has them.
    pub(super) async fn piece_at(&mut self, at: u64, end: u64) -> Result<Bytes> {
        for _ in 0..READ_TRIES {
            let piece = continuing(&self.pieces, at).first().copied();
            let Some(piece) = piece else { break };
            let piece_end = end.min(piece.end());
            if let Some(bytes) = self.store.piece_bytes(self.source, piece, at, piece_end).await? {
                return Ok(bytes);
            }
            // A writer that has not noticed yet that it has lost the object merges its pieces; their bytes
            // are in a longer one.
            let listed = self.store.pieces(self.source).await?;
            self.pieces = continuing(&listed, self.recorded);
            let synced = self.progress.synced();
            self.pieces.retain(|piece| piece.name.start < synced);
            for piece in &mut self.pieces {
                // Ignores bytes that the other writer has added since: our client sends them again.
                piece.len = piece.len.min(synced - piece.name.start);
            }
        }
        // Or the other writer has finished it, and removes the pieces.
        let made = self.store.reader(ObjectKey::Source(self.source)).await?;
        match made.filter(|made| end <= made.len()) {
            Some(made) => made.read_at(at..end.min(at + PIECE_LEN_MAX)).await,
            None => Err(Error::Gone(ObjectKey::Growing(self.source))),
        }
    }
}
