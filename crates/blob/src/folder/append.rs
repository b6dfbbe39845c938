//! Appends bytes to a file as they arrive.
//!
//! The stream, the copy into the page cache and the sync to the disk overlap: one batch fills while the
//! previous one is written, and syncs run concurrently. The stream waits only when the disk is much slower.

use std::borrow::Borrow;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use super::{FolderStore, task_result};
use crate::{ObjectKey, Result, WriteKind};

/// The most unsynced bytes, as a multiple of the bytes per sync; then the stream waits. A caller waits for
/// the last sync, so it must be short.
const SYNCS_BEHIND_MAX: u64 = 4;

/// The most slices of one call: `UIO_MAXIOV` of Linux.
const SLICES_MAX: usize = 1024;

/// When bytes are written to the file, and when they are synced.
#[derive(Debug)]
pub(super) struct SyncPolicy {
    /// Bytes that are collected before one write to the file.
    pub(super) batch_len_min: u64,
    /// A sync begins when this many bytes were written since the last one.
    pub(super) bytes_per_sync: u64,
    /// A sync also begins this long after the last one began, if there are new bytes.
    pub(super) sync_within: Option<Duration>,
}

/// A file that is appended to.
pub(super) trait AppendTarget: Borrow<File> + Send + Sync + 'static {
    /// Syncs the file, whose first `end` bytes are written.
    fn sync_to(&self, end: u64) -> io::Result<()>;

    /// The number of synced bytes from the start.
    fn synced(&self) -> u64;
}

/// Appends to one file. After an error the unsynced bytes of the file are undefined.
#[derive(Debug)]
pub(super) struct Appender<T> {
    store: FolderStore,
    key: ObjectKey,
    target: Arc<T>,
    policy: &'static SyncPolicy,
    /// Bytes that are received, and not being written yet.
    batch: Vec<Bytes>,
    batch_len: u64,
    /// The batch that is being written.
    pending_append: Option<PendingAppend>,
    /// Length of the file: bytes that are written to it, synced or not.
    appended_len: u64,
    sync_task: Option<JoinHandle<io::Result<()>>>,
    /// The end of the last sync that was begun.
    sync_end: u64,
    sync_begun: Instant,
}

#[derive(Debug)]
struct PendingAppend {
    len: u64,
    task: JoinHandle<io::Result<()>>,
}

impl<T: AppendTarget> Appender<T> {
    /// Appends to a file whose bytes are all synced.
    pub(super) fn new(
        store: FolderStore,
        key: ObjectKey,
        target: Arc<T>,
        policy: &'static SyncPolicy,
    ) -> Self {
        let len = target.synced();
        Self {
            store,
            key,
            target,
            policy,
            batch: Vec::new(),
            batch_len: 0,
            pending_append: None,
            appended_len: len,
            sync_task: None,
            sync_end: len,
            sync_begun: Instant::now(),
        }
    }

    pub(super) fn target(&self) -> &Arc<T> {
        &self.target
    }

    /// The length of the file once all received bytes are written.
    pub(super) fn written(&self) -> u64 {
        let in_flight = self.pending_append.as_ref().map_or(0, |pending_append| pending_append.len);
        self.appended_len + in_flight + self.batch_len
    }

    /// Appends the next bytes.
    pub(super) async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.batch_len += bytes.len() as u64;
        self.batch.push(bytes);
        if self.batch_len < self.policy.batch_len_min { Ok(()) } else { self.advance().await }
    }

    /// Waits until all bytes are written and no sync runs.
    pub(super) async fn drain(&mut self) -> Result<()> {
        if self.batch_len > 0 {
            self.advance().await?;
        }
        self.join_append().await?;
        self.join_sync().await
    }

    /// Waits until all bytes are written and synced.
    pub(super) async fn sync_all(&mut self) -> Result<()> {
        self.drain().await?;
        if self.target.synced() < self.appended_len {
            self.begin_sync();
            self.join_sync().await?;
        }
        Ok(())
    }

    /// Waits until [`Appender::sync_if_due`] has work. Cancel safe.
    pub(super) async fn until_due(&mut self) -> Result<()> {
        if self.sync_task.is_some() {
            return self.join_sync().await;
        }
        match self.sync_due_at() {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
        Ok(())
    }

    /// Begins a sync of all received bytes if it is due.
    pub(super) async fn sync_if_due(&mut self) -> Result<()> {
        let is_free = self.sync_task.as_ref().is_none_or(JoinHandle::is_finished);
        if !is_free || self.sync_due_at().is_none_or(|due| Instant::now() < due) {
            return Ok(());
        }
        self.join_sync().await?;
        self.join_append().await?;
        if self.batch_len > 0 {
            self.append_batch()?;
            self.join_append().await?;
        }
        self.begin_sync();
        Ok(())
    }

    fn sync_due_at(&self) -> Option<Instant> {
        let within = self.policy.sync_within.filter(|_| self.sync_end < self.written())?;
        Some(self.sync_begun + within)
    }

    /// Writes the batch after the previous one, and continues the syncs.
    async fn advance(&mut self) -> Result<()> {
        self.join_append().await?;
        self.sync_in_background().await?;
        self.append_batch()
    }

    /// Requires that no batch is being written.
    fn append_batch(&mut self) -> Result<()> {
        self.store.inject_write_fault(WriteKind::Append, self.key)?;
        let target = Arc::clone(&self.target);
        let batch = std::mem::take(&mut self.batch);
        let len = std::mem::take(&mut self.batch_len);
        self.pending_append =
            Some(PendingAppend { len, task: spawn_blocking(move || write_all((*target).borrow(), &batch)) });
        Ok(())
    }

    async fn join_append(&mut self) -> Result<()> {
        if let Some(pending_append) = &mut self.pending_append {
            // A cancelled call leaves the task for the next call.
            let joined = (&mut pending_append.task).await;
            let len = pending_append.len;
            self.pending_append = None;
            task_result("write an object", joined)?;
            self.appended_len += len;
        }
        Ok(())
    }

    async fn join_sync(&mut self) -> Result<()> {
        if let Some(task) = &mut self.sync_task {
            let joined = task.await;
            self.sync_task = None;
            task_result("sync an object", joined)?;
        }
        Ok(())
    }

    async fn sync_in_background(&mut self) -> Result<()> {
        let unsynced_max = SYNCS_BEHIND_MAX * self.policy.bytes_per_sync;
        let too_far_behind = self.appended_len - self.target.synced() > unsynced_max;
        // The kernel reports a failed sync only once, so the result of every sync is checked.
        if too_far_behind || self.sync_task.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join_sync().await?;
        }
        if self.sync_task.is_none() && self.appended_len - self.sync_end >= self.policy.bytes_per_sync {
            self.begin_sync();
        }
        Ok(())
    }

    /// Requires that no sync runs.
    fn begin_sync(&mut self) {
        let target = Arc::clone(&self.target);
        let end = self.appended_len;
        self.sync_end = end;
        self.sync_begun = Instant::now();
        self.sync_task = Some(spawn_blocking(move || target.sync_to(end)));
    }
}

/// Writes all bytes of all chunks, in order, at the cursor of the file.
pub(super) fn write_all(mut file: &File, chunks: &[Bytes]) -> io::Result<()> {
    for batch in chunks.chunks(SLICES_MAX) {
        let mut slices: Vec<IoSlice<'_>> = batch.iter().map(|chunk| IoSlice::new(chunk)).collect();
        let mut rest = &mut slices[..];
        IoSlice::advance_slices(&mut rest, 0); // passes over empty chunks, as each advance does
        while !rest.is_empty() {
            match file.write_vectored(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut rest, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn thousands_of_pieces_are_written_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pieces");
        let pieces: Vec<Bytes> = (0..3000_u32)
            .map(|n| if n % 7 == 0 { Bytes::new() } else { Bytes::from(n.to_string()) })
            .collect();
        let expected: Vec<u8> = pieces.concat();

        write_all(&File::create(&path).unwrap(), &pieces).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), expected);
    }

    #[test]
    fn disk_full_and_other_write_errors_differ() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = write_all(&full, &[Bytes::from_static(b"one"), Bytes::from_static(b"two")]);
        assert!(matches!(error.map_err(|error| Error::from_io("write", error)), Err(Error::Full)));

        let read_only = File::open("/dev/null").unwrap();
        let error = write_all(&read_only, &[Bytes::from_static(b"one")]);
        assert!(matches!(
            error.map_err(|error| Error::from_io("write", error)),
            Err(Error::Internal { action: "write", .. })
        ));
    }
}
