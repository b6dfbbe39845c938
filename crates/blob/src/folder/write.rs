//! Writes an object that arrives in chunks.

use std::borrow::Borrow;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use super::FolderStore;
use super::append::{AppendTarget, Appender, SyncPolicy};
use super::temporary::Temporary;
use crate::{Error, ObjectKey, PutOutcome, Result, WriteKind};

/// Bytes need not be durable before the end: few calls, and syncs only to keep the last one short.
const SYNC_POLICY: SyncPolicy =
    SyncPolicy { batch_len_min: 1 << 20, bytes_per_sync: 16 << 20, sync_within: None };

/// Writes one object into a folder.
#[derive(Debug)]
pub struct FolderWriter {
    store: FolderStore,
    key: ObjectKey,
    /// `None` once a write failed: the object is lost, and its file removed.
    open_temporary: Option<OpenTemporary>,
    written: u64,
    synced: Arc<AtomicU64>,
}

#[derive(Debug)]
struct OpenTemporary {
    temporary: Temporary,
    appender: Appender<TemporaryTarget>,
}

/// A temporary file that is appended to.
#[derive(Debug)]
struct TemporaryTarget {
    file: Arc<File>,
    synced: Arc<AtomicU64>,
}

impl Borrow<File> for TemporaryTarget {
    fn borrow(&self) -> &File {
        &self.file
    }
}

impl AppendTarget for TemporaryTarget {
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
        let target = TemporaryTarget { file: Arc::clone(temporary.file()), synced: Arc::clone(&synced) };
        let appender = Appender::new(store.clone(), key, Arc::new(target), &SYNC_POLICY);
        Self { store, key, open_temporary: Some(OpenTemporary { temporary, appender }), written: 0, synced }
    }

    pub(crate) async fn write(&mut self, bytes: Bytes) -> Result<()> {
        let open = self.open_temporary.as_mut().ok_or_else(earlier_write_failed)?;
        self.written += bytes.len() as u64;
        let written = open.appender.write(bytes).await;
        self.discard_on_error(written)
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    pub(crate) async fn finish(mut self) -> Result<u64> {
        let ended = self.open_temporary.as_mut().ok_or_else(earlier_write_failed)?.appender.drain().await;
        self.discard_on_error(ended)?;
        self.store.inject_write_fault(WriteKind::Finish, self.key)?;
        let Some(OpenTemporary { temporary, .. }) = self.open_temporary.take() else {
            return Err(earlier_write_failed());
        };
        let key = self.key;
        let outcome = self
            .store
            .blocking("finish an object", move |shared| shared.sync_and_rename(temporary, key))
            .await?;
        match outcome {
            PutOutcome::Written => Ok(self.written),
            PutOutcome::AlreadyThere => Err(Error::AlreadyThere(key)),
        }
    }

    /// Discards the object after an error, because the content of the file is undefined.
    fn discard_on_error(&mut self, result: Result<()>) -> Result<()> {
        if result.is_err() {
            self.discard();
        }
        result
    }

    fn discard(&mut self) {
        let Some(OpenTemporary { temporary, appender }) = self.open_temporary.take() else { return };
        if self.store.faults.as_ref().is_some_and(|faults| faults.is_stopped()) {
            return temporary.leave_on_disk();
        }
        // The file is removed now. Freeing the blocks of a long file takes time, so another thread closes
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

fn earlier_write_failed() -> Error {
    Error::Internal {
        action: "write to an object",
        source: io::Error::other("an earlier write to it failed"),
    }
}
