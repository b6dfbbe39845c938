//! A source that grows in a bucket: an upload in parts, and pieces beside it.
//!
//! Bytes fill a part in memory. A full part is sent to the upload, and counts once the ledger has it; one is
//! on its way while the next one fills. What fills no part yet is kept as *pieces*, small objects that the
//! next writer reads back, and that go when their part is recorded. Pieces and parts of a writer that has
//! lost the object do no harm: the byte at one place is the same whoever sends it. Only a part of his that
//! comes late, and is cut elsewhere, may take the place of a recorded one; then the store refuses to complete
//! the upload, and the object must begin anew.

mod filling;
mod pieces;
mod writer;

use std::sync::Arc;

use kinora_domain::SourceId;

use self::pieces::{Found, Piece, continuing};
use self::writer::Writer;
use super::S3Store;
use super::upload::Upload;
use crate::grow::{Hold, Line, Opened, Progress};
use crate::{Error, Grown, Ledger, ObjectKey, Result, WriteKind};

impl S3Store {
    pub(crate) async fn grow(
        &self,
        source: SourceId,
        lease: u32,
        grown: Grown,
        ledger: Arc<dyn Ledger>,
    ) -> Result<Opened> {
        self.before_read()?;
        let recorded = grown.parts.iter().map(|part| part.len).sum();
        let (below, mut above): (Vec<Piece>, Vec<Piece>) =
            self.pieces(source).await?.into_iter().partition(|piece| piece.end() <= recorded);
        let chosen = continuing(&above, recorded);
        if chosen.is_empty() {
            // Finished or not: whoever finishes an object leaves no piece behind its parts for long.
            if let Some(facts) = self.look(ObjectKey::Source(source)).await? {
                if !grown.parts.is_empty() && facts.len != recorded {
                    return Err(Error::AlreadyThere(ObjectKey::Source(source)));
                }
                return Ok(Opened::Made(facts.len));
            }
        }
        self.remove_pieces_behind(source, below);
        let kept = chosen.last().map_or(recorded, |piece| piece.end());
        let hold = Hold::new(Progress::new(kept, recorded));
        above.retain(|piece| !chosen.contains(piece));
        let found = Found { chosen, strays: above };
        let writer = Writer::new(self.clone(), source, lease, grown, ledger, hold.progress(), found);
        Ok(Opened::Growing(Line::start(hold, |commands| writer.work(commands))))
    }

    pub(crate) async fn discard_growing(&self, source: SourceId, multipart: Option<String>) -> Result<()> {
        if let Some(id) = multipart {
            self.before_write(WriteKind::Delete, ObjectKey::Growing(source))?;
            Upload::known(ObjectKey::Source(source), id).abort_only(&self.shared).await?;
        }
        let pieces = self.pieces(source).await?;
        self.remove_pieces(source, pieces).await
    }
}
