//! Stores an index in a temporary file while something else is waited for.

use std::io;

use kinora_formats::Aside as _;
use kinora_formats::index::Index;
use tokio::task::spawn_blocking;

use super::ScanError;
use super::aside::AsideFile;
use super::turns::ScanTurns;

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
}
