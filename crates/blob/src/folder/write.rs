//! Writing an object that arrives in pieces.
//!
//! The stream, the copy into the page cache and the sync to the disk overlap: one batch fills while the one before is written,
//! and syncs run beside both. Only when the disk falls far behind does the stream wait for it.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use tokio::task::{JoinHandle, spawn_blocking};

use super::temporary::Temporary;
use super::{FolderStore, finished};
use crate::{Error, ObjectKey, PutOutcome, Result, WriteKind};

/// Bytes that are collected before they go to the file in one call.
const BATCH: u64 = 1 << 20;

/// A sync begins each time so many bytes have been written since the last one.
const SYNC_EVERY: u64 = 16 << 20;

/// The stream waits when more than this is not synced: the last sync, for which somebody waits, must stay short.
const UNSYNCED_MAX: u64 = 4 * SYNC_EVERY;

/// The most slices that one call takes: Linux' `UIO_MAXIOV`.
const SLICES_MAX: usize = 1024;

/// Writes one object into a folder.
#[derive(Debug)]
pub struct FolderWriter {
    store: FolderStore,
    key: ObjectKey,
    /// `None` once a write failed: the object is lost, and its file gone.
    temporary: Option<Temporary>,
    /// Taken, not yet on their way to the file.
    batch: Vec<Bytes>,
    batch_len: u64,
    /// On their way to the file.
    append: Option<Append>,
    /// In the file.
    appended: u64,
    sync: Option<JoinHandle<io::Result<()>>>,
    /// How far the last sync reaches that was begun.
    sync_end: u64,
    synced: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Append {
    len: u64,
    task: JoinHandle<io::Result<()>>,
}

impl FolderWriter {
    pub(super) fn new(store: FolderStore, key: ObjectKey, temporary: Temporary) -> Self {
        Self {
            store,
            key,
            temporary: Some(temporary),
            batch: Vec::new(),
            batch_len: 0,
            append: None,
            appended: 0,
            sync: None,
            sync_end: 0,
            synced: Arc::default(),
        }
    }

    pub(crate) async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.batch_len += bytes.len() as u64;
        self.batch.push(bytes);
        if self.batch_len < BATCH {
            return self.file().map(|_| ());
        }
        let advanced = self.advance().await;
        self.lost_if_failed(advanced)
    }

    pub(crate) fn written(&self) -> u64 {
        let on_its_way = self.append.as_ref().map_or(0, |append| append.len);
        self.appended + on_its_way + self.batch_len
    }

    pub(crate) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    pub(crate) async fn finish(mut self) -> Result<u64> {
        let len = self.written();
        let ended = self.end().await;
        self.lost_if_failed(ended)?;
        self.store.before_write(WriteKind::Finish, self.key)?;
        let Some(temporary) = self.temporary.take() else { return Err(lost()) };
        let key = self.key;
        let outcome =
            self.store.blocking("finish an object", move |shared| shared.name(temporary, key)).await?;
        match outcome {
            PutOutcome::Written => Ok(len),
            PutOutcome::AlreadyThere => Err(Error::AlreadyThere(key)),
        }
    }

    /// Sends the batch to the file behind the one before it, and sees to it that syncs go on.
    async fn advance(&mut self) -> Result<()> {
        self.join_append().await?;
        self.sync_behind().await?;
        self.store.before_write(WriteKind::Append, self.key)?;
        let file = Arc::clone(self.file()?);
        let batch = std::mem::take(&mut self.batch);
        let len = std::mem::take(&mut self.batch_len);
        self.append = Some(Append { len, task: spawn_blocking(move || write_all(&file, &batch)) });
        Ok(())
    }

    /// Waits until all bytes are in the file and no sync runs.
    async fn end(&mut self) -> Result<()> {
        if self.batch_len > 0 {
            self.advance().await?;
        }
        self.join_append().await?;
        self.join_sync().await
    }

    async fn join_append(&mut self) -> Result<()> {
        if let Some(append) = &mut self.append {
            let joined = (&mut append.task).await; // a cancelled call leaves the task for the next one
            let len = append.len;
            self.append = None;
            finished("write an object", joined)?;
            self.appended += len;
        }
        Ok(())
    }

    async fn join_sync(&mut self) -> Result<()> {
        if let Some(task) = &mut self.sync {
            let joined = task.await;
            self.sync = None;
            finished("sync an object", joined)?;
        }
        Ok(())
    }

    async fn sync_behind(&mut self) -> Result<()> {
        let too_far_behind = self.appended - self.synced() > UNSYNCED_MAX;
        // A sync that failed is told once by the kernel and would be forgotten: its result is always looked at.
        if too_far_behind || self.sync.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join_sync().await?;
        }
        if self.sync.is_none() && self.appended - self.sync_end >= SYNC_EVERY {
            let file = Arc::clone(self.file()?);
            let synced = Arc::clone(&self.synced);
            let end = self.appended;
            self.sync_end = end;
            self.sync = Some(spawn_blocking(move || {
                file.sync_data()?;
                synced.store(end, Ordering::Release);
                Ok(())
            }));
        }
        Ok(())
    }

    fn file(&self) -> Result<&Arc<File>> {
        self.temporary.as_ref().map(Temporary::file).ok_or_else(lost)
    }

    /// After an error nobody can say what the file holds.
    fn lost_if_failed(&mut self, result: Result<()>) -> Result<()> {
        if result.is_err() {
            self.give_up();
        }
        result
    }

    fn give_up(&mut self) {
        let Some(temporary) = self.temporary.take() else { return };
        if self.store.faults.as_ref().is_some_and(|faults| faults.is_stopped()) {
            return temporary.leave_behind();
        }
        // The name goes now. The bytes of a long file take the disk a while, so the last handle is closed elsewhere.
        let file = Arc::clone(temporary.file());
        drop(temporary);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || drop(file));
        }
    }
}

impl Drop for FolderWriter {
    fn drop(&mut self) {
        self.give_up();
    }
}

fn lost() -> Error {
    Error::Internal {
        action: "write to an object",
        source: io::Error::other("an earlier write to it failed"),
    }
}

/// Writes all bytes of all pieces, in order, at the cursor of the file.
pub(super) fn write_all(mut file: &File, pieces: &[Bytes]) -> io::Result<()> {
    for pieces in pieces.chunks(SLICES_MAX) {
        let mut slices: Vec<IoSlice<'_>> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
        let mut rest = &mut slices[..];
        IoSlice::advance_slices(&mut rest, 0); // passes over empty pieces, as each advance does
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

    #[test]
    fn pieces_are_written_in_order_also_when_there_are_many() {
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
    fn a_full_disk_is_told_apart_from_other_errors() {
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
