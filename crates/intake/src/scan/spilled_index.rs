//! Stores an index in a temporary file during long waits.

use std::io;

use kinora_domain::WorkspaceId;
use kinora_index::Index;
use kinora_isobmff::BoxSpill as _;
use tokio::task::spawn_blocking;

use super::ScanError;
use super::limits::{ScanLimits, ScanPermit};
use super::spill::SpillFile;

/// An index in an unnamed temporary file.
#[derive(Debug)]
pub struct SpilledIndex(SpillFile);

impl ScanLimits {
    /// Stores an index, which may have some ten MiB.
    ///
    /// Errors: [`ScanError::SpillFile`] if the disk is full.
    pub async fn spill_index(&self, index: Index) -> Result<SpilledIndex, ScanError> {
        let mut file = SpillFile::new(self.folder());
        let store = move || {
            file.append(&index.to_bytes())?;
            Ok(SpilledIndex(file))
        };
        spawn_blocking(store).await.map_err(ScanError::Panicked)?
    }
}

impl SpilledIndex {
    /// Loads the index into memory.
    ///
    /// Errors: [`ScanError::SpillFile`].
    pub async fn load(mut self) -> Result<Index, ScanError> {
        let load = move || Ok(Index::from_bytes(&self.0.read_and_clear()?).map_err(io::Error::other)?);
        spawn_blocking(load).await.map_err(ScanError::Panicked)?
    }

    /// As [`load`](Self::load), but waits for a scan permit of this workspace first, if the index is large.
    /// The caller must own the permit while the index is in memory.
    ///
    /// Errors: [`ScanError::SpillFile`].
    pub async fn load_limited(
        self,
        limits: &ScanLimits,
        workspace: Option<WorkspaceId>,
    ) -> Result<(Index, ScanPermit), ScanError> {
        let permit = limits.acquire(self.0.len(), workspace).await;
        Ok((self.load().await?, permit))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use kinora_formats::Scanner;
    use kinora_testkit::fixture;

    use super::*;

    #[tokio::test]
    async fn large_indexes_are_loaded_one_at_a_time() {
        let mut scanner = Scanner::new(None);
        scanner.push(&fixture::two_seconds()).unwrap();
        let index = scanner.finish().unwrap().into_index().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let small = ScanLimits::new(folder.path().into());
        let stored = small.spill_index(index.clone()).await.unwrap();
        let (loaded, permit) = stored.load_limited(&small, None).await.unwrap();
        assert_eq!((loaded, permit.has_large_permit()), (index.clone(), false));

        let large = ScanLimits::with_limits(folder.path().into(), 100, 0);
        let mut in_use = Vec::new();
        for _ in 0..3 {
            let stored = large.spill_index(index.clone()).await.unwrap();
            in_use.push(stored.load_limited(&large, None).await.unwrap());
        }
        assert!(in_use.iter().all(|(_, turn)| turn.has_large_permit()));
        let stored = large.spill_index(index.clone()).await.unwrap();
        let mut waits = Box::pin(stored.load_limited(&large, None));
        assert!((&mut waits).now_or_never().is_none(), "a lone workspace has three of four turns");
        in_use.pop();
        assert_eq!(waits.await.unwrap().0, index);
    }
}
