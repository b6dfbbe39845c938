//! Reads durable bytes of earlier writers.

use std::ops::Range;

use bytes::Bytes;

use super::super::part_buffer::slices;
use super::super::pieces::contiguous_from;
use super::piece_writes::PIECE_LEN_MAX;
use super::{Writer, len_of};
use crate::{Error, ObjectKey, Result};

/// The most tries to find a piece that was merged into a longer one between the listing and the read.
const READ_TRIES: usize = 4;

impl Writer {
    /// Durable bytes after the parts in the multipart log, whose bytes cannot be read before the object is
    /// complete: from memory as far as possible, otherwise from pieces.
    pub(super) async fn read(&mut self, range: Range<u64>) -> Result<Bytes> {
        self.store.inject_read_fault()?;
        if range.start < self.recorded_end {
            return Err(Error::OutOfRange { range, len: self.progress.synced() });
        }
        let mut found = Vec::new();
        if let Some(pending_part) = &self.pending_part {
            found.extend(slices(&pending_part.bytes, pending_part.start, range.clone()));
        }
        if let Some(part_buffer) = &mut self.part_buffer {
            found.extend(part_buffer.bytes(range.clone()));
        }
        let mut at = range.start + len_of(&found);
        while at < range.end {
            let bytes = self.read_from_piece(at, range.end).await?;
            at += bytes.len() as u64;
            found.push(bytes);
        }
        Ok(if found.len() == 1 { found.remove(0) } else { found.concat().into() })
    }

    /// Reads bytes from `at` on, up to `end` at most: as many as one piece has, or the finished object.
    ///
    /// Errors: `Gone` when no object has them.
    pub(super) async fn read_from_piece(&mut self, at: u64, end: u64) -> Result<Bytes> {
        for _ in 0..READ_TRIES {
            let piece = contiguous_from(&self.pieces, at).first().copied();
            let Some(piece) = piece else { break };
            let piece_end = end.min(piece.end());
            if let Some(bytes) = self.store.piece_bytes(self.source, piece, at, piece_end).await? {
                return Ok(bytes);
            }
            // A writer that has not noticed yet that it has lost the object merges its pieces; their bytes
            // are in a longer one.
            let listed = self.store.pieces(self.source).await?;
            self.pieces = contiguous_from(&listed, self.recorded_end);
            let synced = self.progress.synced();
            self.pieces.retain(|piece| piece.name.start < synced);
            for piece in &mut self.pieces {
                // Ignores bytes that the other writer has added since: our client sends them again.
                piece.len = piece.len.min(synced - piece.name.start);
            }
        }
        // No piece has them: the other writer may have finished the object, and removes the pieces.
        let object = self.store.reader(ObjectKey::Source(self.source)).await?;
        match object.filter(|made| end <= made.len()) {
            Some(made) => made.read_at(at..end.min(at + PIECE_LEN_MAX)).await,
            None => Err(Error::Gone(ObjectKey::Growing(self.source))),
        }
    }
}
