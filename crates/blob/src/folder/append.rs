//! Appending bytes to a file as they arrive.
//!
//! The stream, the copy into the page cache and the sync to the disk overlap: one batch fills while the one
//! before is written, and syncs run beside both. Only when the disk falls far behind does the stream wait for
//! it.

use std::borrow::Borrow;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use super::{FolderStore, finished};
use crate::{ObjectKey, Result, WriteKind};

/// The stream waits when more than so many times what is synced at once is not synced: the last sync, for
/// which somebody waits, must stay short.
const SYNCS_BEHIND_MAX: u64 = 4;

/// The most slices that one call takes: Linux' `UIO_MAXIOV`.
const SLICES_MAX: usize = 1024;

/// When bytes go to the file, and when they are synced.
#[derive(Debug)]
pub(super) struct Pace {
    /// Bytes that are collected before they go to the file in one call.
    pub(super) batch: u64,
    /// A sync begins each time so many bytes have been written since the last one,
    pub(super) sync_every: u64,
    /// and so long after the last one began, if there is anything new.
    pub(super) sync_within: Option<Duration>,
}

/// A file that is appended to.
pub(super) trait Target: Borrow<File> + Send + Sync + 'static {
    /// Syncs the file, whose first `end` bytes have been written.
    fn sync_to(&self, end: u64) -> io::Result<()>;

    /// How many bytes from the start are synced.
    fn synced(&self) -> u64;
}

/// Appends to one file. After an error nobody can say what of the unsynced bytes it holds.
#[derive(Debug)]
pub(super) struct Appender<T> {
    store: FolderStore,
    key: ObjectKey,
    target: Arc<T>,
    pace: &'static Pace,
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
    sync_begun: Instant,
}

#[derive(Debug)]
struct Append {
    len: u64,
    task: JoinHandle<io::Result<()>>,
}

impl<T: Target> Appender<T> {
    /// Appends to a file all of whose bytes are synced.
    pub(super) fn new(store: FolderStore, key: ObjectKey, target: Arc<T>, pace: &'static Pace) -> Self {
        let len = target.synced();
        Self {
            store,
            key,
            target,
            pace,
            batch: Vec::new(),
            batch_len: 0,
            append: None,
            appended: len,
            sync: None,
            sync_end: len,
            sync_begun: Instant::now(),
        }
    }

    pub(super) fn target(&self) -> &Arc<T> {
        &self.target
    }

    /// The length of the file when all that was taken is in it.
    pub(super) fn written(&self) -> u64 {
        let on_its_way = self.append.as_ref().map_or(0, |append| append.len);
        self.appended + on_its_way + self.batch_len
    }

    /// Takes the next bytes.
    pub(super) async fn write(&mut self, bytes: Bytes) -> Result<()> {
        self.batch_len += bytes.len() as u64;
        self.batch.push(bytes);
        if self.batch_len < self.pace.batch { Ok(()) } else { self.advance().await }
    }

    /// Waits until all bytes are in the file and no sync runs.
    pub(super) async fn end(&mut self) -> Result<()> {
        if self.batch_len > 0 {
            self.advance().await?;
        }
        self.join_append().await?;
        self.join_sync().await
    }

    /// Waits until all bytes are in the file and synced.
    pub(super) async fn sync_all(&mut self) -> Result<()> {
        self.end().await?;
        if self.target.synced() < self.appended {
            self.begin_sync();
            self.join_sync().await?;
        }
        Ok(())
    }

    /// Waits for the moment at which [`Appender::sync_in_time`] has something to do. Cancelled, nothing is
    /// lost.
    pub(super) async fn until_due(&mut self) -> Result<()> {
        if self.sync.is_some() {
            return self.join_sync().await;
        }
        match self.due() {
            Some(due) => sleep_until(due).await,
            None => std::future::pending().await,
        }
        Ok(())
    }

    /// Begins a sync of all that was taken if it is time.
    pub(super) async fn sync_in_time(&mut self) -> Result<()> {
        let is_free = self.sync.as_ref().is_none_or(JoinHandle::is_finished);
        if !is_free || self.due().is_none_or(|due| Instant::now() < due) {
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

    fn due(&self) -> Option<Instant> {
        let within = self.pace.sync_within.filter(|_| self.sync_end < self.written())?;
        Some(self.sync_begun + within)
    }

    /// Sends the batch to the file behind the one before it, and sees to it that syncs go on.
    async fn advance(&mut self) -> Result<()> {
        self.join_append().await?;
        self.sync_behind().await?;
        self.append_batch()
    }

    /// Nothing is on its way to the file.
    fn append_batch(&mut self) -> Result<()> {
        self.store.before_write(WriteKind::Append, self.key)?;
        let target = Arc::clone(&self.target);
        let batch = std::mem::take(&mut self.batch);
        let len = std::mem::take(&mut self.batch_len);
        self.append =
            Some(Append { len, task: spawn_blocking(move || write_all((*target).borrow(), &batch)) });
        Ok(())
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
        let unsynced_max = SYNCS_BEHIND_MAX * self.pace.sync_every;
        let too_far_behind = self.appended - self.target.synced() > unsynced_max;
        // A sync that failed is told once by the kernel and would be forgotten: its result is always looked
        // at.
        if too_far_behind || self.sync.as_ref().is_some_and(JoinHandle::is_finished) {
            self.join_sync().await?;
        }
        if self.sync.is_none() && self.appended - self.sync_end >= self.pace.sync_every {
            self.begin_sync();
        }
        Ok(())
    }

    /// No sync runs.
    fn begin_sync(&mut self) {
        let target = Arc::clone(&self.target);
        let end = self.appended;
        self.sync_end = end;
        self.sync_begun = Instant::now();
        self.sync = Some(spawn_blocking(move || target.sync_to(end)));
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
    use crate::Error;

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
