//! Checkpoints: the analysis of the first bytes of a growing source, stored next to it.

use bytes::Bytes;
use kinora_domain::SourceId;

use crate::{Blob, Error, ObjectKey, Prefix, READ_MAX, Result};

/// Names per page.
const PAGE: usize = 1000;

/// The most tries to find a checkpoint that was replaced between the listing and the read.
const READ_TRIES: usize = 8;

impl Blob {
    /// The checkpoint with the highest offset, and that offset; `None` when there is none.
    pub async fn latest_checkpoint(&self, source: SourceId) -> Result<Option<(u64, Bytes)>> {
        for _ in 0..READ_TRIES {
            let Some(offset) = self.checkpoint_offsets(source).await?.into_iter().max() else {
                return Ok(None);
            };
            if let Some(bytes) = self.get(ObjectKey::Checkpoint(source, offset)).await? {
                return Ok(Some((offset, bytes)));
            }
        }
        let source = std::io::Error::other("it was replaced at every try");
        Err(Error::Unavailable { action: "read a checkpoint", source })
    }

    /// Stores the analysis of the first `offset` bytes, then deletes all checkpoints except the one with
    /// the highest offset.
    ///
    /// The same bytes give the same analysis, so an existing checkpoint of this offset stays. May run
    /// twice. Errors: `TooLong` above [`READ_MAX`], `Full`; then the last one still exists.
    pub async fn put_checkpoint(&self, source: SourceId, offset: u64, bytes: Bytes) -> Result<()> {
        let len = bytes.len() as u64;
        if len > READ_MAX {
            return Err(Error::TooLong { len });
        }
        self.put_once(ObjectKey::Checkpoint(source, offset), bytes).await?;
        let offsets = self.checkpoint_offsets(source).await?;
        let highest = offsets.iter().copied().max();
        for offset in offsets.into_iter().filter(|offset| Some(*offset) != highest) {
            self.delete(ObjectKey::Checkpoint(source, offset)).await?;
        }
        Ok(())
    }

    /// Deletes all checkpoints of a source. May run twice, also when there is none.
    pub async fn delete_checkpoints(&self, source: SourceId) -> Result<()> {
        for offset in self.checkpoint_offsets(source).await? {
            self.delete(ObjectKey::Checkpoint(source, offset)).await?;
        }
        Ok(())
    }

    async fn checkpoint_offsets(&self, source: SourceId) -> Result<Vec<u64>> {
        let mut offsets = Vec::new();
        let mut after = None;
        loop {
            let page = self.list(Prefix::CheckpointsOf(source), after, PAGE).await?;
            offsets.extend(page.iter().filter_map(|entry| match entry.key {
                ObjectKey::Checkpoint(_, offset) => Some(offset),
                _ => None,
            }));
            after = match page.last() {
                Some(last) if page.len() == PAGE => Some(last.key),
                _ => return Ok(offsets),
            };
        }
    }
}
