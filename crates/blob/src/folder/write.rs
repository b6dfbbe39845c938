//! Writes an object that arrives in pieces.

use std::borrow::Borrow;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::FolderStore;
use super::append::{Appender, SyncPolicy, Target};
use super::temporary::Temporary;
use crate::{Error, ObjectKey, PutOutcome, Result, WriteKind};

/// No byte counts before the end: few calls, and syncs only to keep the last one short.
const PACE: SyncPolicy = SyncPolicy { batch: 1 << 20, sync_every: 16 << 20, sync_within: None };

/// Writes one object into a folder.
#[derive(Debug)]
pub struct FolderWriter {
    store: FolderStore,
    key: ObjectKey,
    /// `None` once a write failed: the object is lost, and its file removed.
    open: Option<OpenTemporary>,
    written: u64,
    synced: Arc<AtomicU64>,
}

#[derive(Debug)]
struct OpenTemporary {
    temporary: Temporary,
    appender: Appender<UnnamedFile>,
}

/// A file without a name.
#[derive(Debug)]
struct UnnamedFile {
    file: Arc<File>,
    synced: Arc<AtomicU64>,
}

impl Borrow<File> for UnnamedFile {
    fn borrow(&self) -> &File {
        &self.file
    }
}

impl Target for UnnamedFile {
    fn sync_to(&self, end: u64) -> io::Result<()> {
        self.file.sync_data()?;
        self.synced.store(end, Ordering::Release);
        Ok(())
    }

    fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }
}

impl FolderWriter {
    pub(super) fn new(store: FolderStore, key: ObjectKey, temporary: Temporary) -> Self {
        let synced = Arc::default();
        let target = UnnamedFile { file: Arc::clone(temporary.file()), synced: Arc::clone(&synced) };
        let appender = Appender::new(store.clone(), key, Arc::new(target), &PACE);
        Self { store, key, open: Some(OpenTemporary { temporary, appender }), written: 0, synced }
    }

    pub(crate) async fn write(&mut self, bytes: Bytes) -> Result<()> {
        let open = self.open.as_mut().ok_or_else(lost)?;
        self.written += bytes.len() as u64;
        let written = open.appender.write(bytes).await;
        self.lost_if_failed(written)
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    pub(crate) async fn finish(mut self) -> Result<u64> {
        let ended = self.open.as_mut().ok_or_else(lost)?.appender.end().await;
        self.lost_if_failed(ended)?;
        self.store.before_write(WriteKind::Finish, self.key)?;
        let Some(OpenTemporary { temporary, .. }) = self.open.take() else { return Err(lost()) };
        let key = self.key;
        let outcome =
            self.store.blocking("finish an object", move |shared| shared.name(temporary, key)).await?;
        match outcome {
            PutOutcome::Written => Ok(self.written),
            PutOutcome::AlreadyThere => Err(Error::AlreadyThere(key)),
        }
    }

    /// After an error the content of the file is undefined.
    fn lost_if_failed(&mut self, result: Result<()>) -> Result<()> {
        if result.is_err() {
            self.discard();
        }
        result
    }

    fn discard(&mut self) {
        let Some(OpenTemporary { temporary, appender }) = self.open.take() else { return };
        if self.store.faults.as_ref().is_some_and(|faults| faults.is_stopped()) {
            return temporary.persist();
        }
        // The name is removed now. Freeing the blocks of a long file takes time, so another thread closes
        // the last handle.
        drop(temporary);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || drop(appender));
        }
    }
}

impl Drop for FolderWriter {
    fn drop(&mut self) {
        self.discard();
    }
}

fn lost() -> Error {
    Error::Internal {
        action: "write to an object",
        source: io::Error::other("an earlier write to it failed"),
    }
}
