//! Pieces: small objects for the bytes that do not fill a part yet.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use kinora_domain::SourceId;
use object_store::{GetOptions, GetRange, ObjectStore, PutMode, PutOptions, PutPayload};

use crate::s3::error::{classify, is_absent, is_out_of_range};
use crate::s3::{S3Store, read};
use crate::{ObjectKey, PieceName, Prefix, Result, WriteKind};

/// The most pieces of one object that are listed. A writer leaves some hundred at most, and takes over
/// those of the previous one.
const PIECES_MAX: usize = 10_000;

/// The most concurrent requests while pieces are removed.
const DELETES_CONCURRENT_MAX: usize = 8;

/// A piece that the store has acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) name: PieceName,
    pub(super) len: u64,
}

impl Piece {
    pub(super) fn end(&self) -> u64 {
        self.name.start.saturating_add(self.len)
    }

    fn covers(&self, at: u64) -> bool {
        self.name.start <= at && at < self.end()
    }
}

/// Pieces of earlier writers after the recorded parts.
pub(super) struct FoundPieces {
    /// The pieces that continue the parts, in order.
    pub(super) contiguous: Vec<Piece>,
    /// The unused pieces.
    pub(super) orphans: Vec<Piece>,
}

/// The pieces that continue `from` without a gap, in order. Of several with the same start the last
/// writer's is used.
pub(super) fn contiguous_from(pieces: &[Piece], from: u64) -> Vec<Piece> {
    let mut contiguous: Vec<Piece> = Vec::new();
    loop {
        let at = contiguous.last().map_or(from, Piece::end);
        let next = pieces.iter().filter(|piece| piece.covers(at));
        match next.max_by_key(|piece| (piece.name.lease, piece.end())) {
            Some(piece) => contiguous.push(*piece),
            None => return contiguous,
        }
    }
}

impl S3Store {
    pub(super) async fn pieces(&self, source: SourceId) -> Result<Vec<Piece>> {
        let prefix = format!("{}/", Prefix::PiecesOf(source));
        self.shared
            .list(&prefix, None, PIECES_MAX, |name, meta| match name.parse() {
                Ok(ObjectKey::Piece(_, name)) => Some(Piece { name, len: meta.size }),
                _ => None, // not ours
            })
            .await
    }

    /// Stores a piece. Unlike an object it may replace a shorter one that begins with the same bytes.
    pub(super) async fn put_piece(&self, source: SourceId, name: PieceName, bytes: PutPayload) -> Result<()> {
        let key = ObjectKey::Piece(source, name);
        self.inject_write_fault(WriteKind::Put, key)?;
        let options = PutOptions::from(PutMode::Overwrite);
        let put = self.shared.client.put_opts(&self.shared.path(key), bytes, options).await;
        put.map(drop).map_err(|error| classify("keep a piece of an object", error))
    }

    /// The bytes `at..end` of the object inside this piece; `None` when it is gone.
    pub(super) async fn piece_bytes(
        &self,
        source: SourceId,
        piece: Piece,
        at: u64,
        end: u64,
    ) -> Result<Option<Bytes>> {
        const ACTION: &str = "read a piece of an object";
        self.inject_read_fault()?;
        let range = at - piece.name.start..end - piece.name.start;
        let options = GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
        let path = self.shared.path(ObjectKey::Piece(source, piece.name));
        let answer = match self.shared.client.get_opts(&path, options).await {
            Ok(answer) => answer,
            Err(error) if is_absent(&error) || is_out_of_range(&error) => return Ok(None),
            Err(error) => return Err(classify(ACTION, error)),
        };
        let bytes = answer.bytes().await.map_err(|error| classify(ACTION, error))?;
        read::check_len(ACTION, &bytes, range.end - range.start)?;
        Ok(Some(bytes))
    }

    /// Removes pieces. May run twice.
    pub(super) async fn remove_pieces(&self, source: SourceId, pieces: Vec<Piece>) -> Result<()> {
        let removed = stream::iter(pieces).map(|piece| self.delete(ObjectKey::Piece(source, piece.name)));
        removed.buffer_unordered(DELETES_CONCURRENT_MAX).try_collect().await
    }

    /// Removes unused pieces in the background. [`S3Store::discard_growing`] removes any that stay.
    pub(super) fn remove_pieces_in_background(&self, source: SourceId, pieces: Vec<Piece>) {
        if pieces.is_empty() {
            return;
        }
        let store = self.clone();
        tokio::spawn(async move {
            let _ = store.remove_pieces(source, pieces).await;
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_used_up_to_first_gap() {
        let piece = |lease, start, len| Piece { name: PieceName { lease, start }, len };
        let check = |from, pieces: &[Piece], expected: &[Piece]| {
            assert_eq!(contiguous_from(pieces, from), expected, "{pieces:?} from {from}");
        };
        check(0, &[], &[]);
        check(0, &[piece(1, 1, 5)], &[]);
        check(10, &[piece(1, 0, 10)], &[]);
        check(0, &[piece(1, 0, 0)], &[]);
        check(0, &[piece(1, 5, 5), piece(1, 0, 5)], &[piece(1, 0, 5), piece(1, 5, 5)]);
        // A gap, and after it an unusable piece.
        check(0, &[piece(1, 0, 5), piece(9, 6, 5)], &[piece(1, 0, 5)]);
        // Several with the same start: the last writer's, then the longest.
        check(0, &[piece(2, 0, 5), piece(1, 0, 9)], &[piece(2, 0, 5), piece(1, 0, 9)]);
        check(0, &[piece(2, 0, 9), piece(1, 0, 5), piece(1, 5, 9)], &[piece(2, 0, 9), piece(1, 5, 9)]);
        // Other boundaries than the recorded parts.
        check(7, &[piece(1, 5, 5)], &[piece(1, 5, 5)]);
        check(0, &[piece(1, 0, 5), piece(1, 5, u64::MAX)], &[piece(1, 0, 5), piece(1, 5, u64::MAX)]);
    }
}
