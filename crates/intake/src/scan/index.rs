//! Stores an index in a temporary file while something else is waited for.

use std::io;

use kinora_domain::WorkspaceId;
use kinora_index::Index;
use kinora_isobmff::Aside as _;
use tokio::task::spawn_blocking;

use super::ScanError;
use super::aside::AsideFile;
use super::turns::{ScanTurn, ScanTurns};

/// An index in an unnamed temporary file.
#[derive(Debug)]
pub struct StoredIndex(AsideFile);

impl ScanTurns {
    /// Stores an index, which may have some ten MiB.
    ///
    /// Errors: [`ScanError::Aside`] where there is no room.
    pub async fn store_index(&self, index: Index) -> Result<StoredIndex, ScanError> {
        let mut file = AsideFile::new(self.folder());
        let store = move || {
            file.lay(&index.to_bytes())?;
            Ok(StoredIndex(file))
        };
        spawn_blocking(store).await.map_err(ScanError::Panicked)?
    }
}

impl StoredIndex {
    /// Brings the index back into memory.
    ///
    /// Errors: [`ScanError::Aside`].
    pub async fn load(mut self) -> Result<Index, ScanError> {
        let load = move || Ok(Index::from_bytes(&self.0.take()?).map_err(io::Error::other)?);
        spawn_blocking(load).await.map_err(ScanError::Panicked)?
    }

    /// Waits for the turn of this workspace first, if the index is large. Hold the turn while the index is in
    /// memory.
    ///
    /// Errors: [`ScanError::Aside`].
    pub async fn load_in_turn(
        self,
        turns: &ScanTurns,
        workspace: Option<WorkspaceId>,
    ) -> Result<(Index, ScanTurn), ScanError> {
        let turn = turns.turn(self.0.len(), workspace).await;
        Ok((self.load().await?, turn))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use kinora_formats::Scanner;
    use kinora_testkit::fixture;

    use super::*;

    #[tokio::test]
    async fn large_indexes_are_loaded_in_turn() {
        let mut scanner = Scanner::new(None);
        scanner.push(&fixture::two_seconds()).unwrap();
        let index = scanner.finish().unwrap().into_index().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let small = ScanTurns::new(folder.path().into());
        let stored = small.store_index(index.clone()).await.unwrap();
        let (loaded, turn) = stored.load_in_turn(&small, None).await.unwrap();
        assert_eq!((loaded, turn.holds_place()), (index.clone(), false));

        let large = ScanTurns::limited(folder.path().into(), 100, 0);
        let mut held = Vec::new();
        for _ in 0..3 {
            let stored = large.store_index(index.clone()).await.unwrap();
            held.push(stored.load_in_turn(&large, None).await.unwrap());
        }
        assert!(held.iter().all(|(_, turn)| turn.holds_place()));
        let stored = large.store_index(index.clone()).await.unwrap();
        let mut waits = Box::pin(stored.load_in_turn(&large, None));
        assert!((&mut waits).now_or_never().is_none(), "a lone workspace has three of four turns");
        held.pop();
        assert_eq!(waits.await.unwrap().0, index);
    }
}
