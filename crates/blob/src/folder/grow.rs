//! A growing source: a file that is appended to, synced shortly after each write, and renamed at the end.
//!
//! Its length is the number of durable bytes. The file systems of servers write data before the length that
//! covers it (ext4 with `data=ordered`, its default: Linux, Documentation/admin-guide/ext4.rst; XFS and
//! btrfs set the length on the disk after the data: `xfs_setfilesize`, `btrfs_finish_ordered_io`). So after
//! a power cut a file may be shorter than before, but contains no byte that was not written.

use std::borrow::Borrow;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use kinora_domain::SourceId;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

use super::append::{AppendTarget, Appender, SyncPolicy};
use super::lock::{Lock, LockAttempt};
use super::temporary::rename_to_new;
use super::{FolderStore, NAMING_TRIES, Shared, absent_as_none, read, sync_folder};
use crate::grow::{Command, CommandQueue, OpenOutcome, Progress, WriterGuard};
use crate::{Error, ObjectKey, PutOutcome, Result, WriteKind};

/// A power cut may cost a client that is still sending 50 ms of its transfer. The syncs of a disk take some
/// milliseconds.
const SYNC_POLICY: SyncPolicy = SyncPolicy {
    batch_len_min: 1 << 20,
    bytes_per_sync: 4 << 20,
    sync_within: Some(Duration::from_millis(50)),
};

/// The time to wait for a dropped writer of this process: the sync of its unsynced bytes (20 MiB), on a
/// disk that other processes use too.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(30);

/// A growing file, and its lock.
struct GrowingFile {
    lock: Lock,
    progress: Arc<Progress>,
    has_failed: AtomicBool,
}

impl AppendTarget for GrowingFile {
    fn sync_to(&self, end: u64) -> io::Result<()> {
        let synced = self.lock.file().sync_data();
        match &synced {
            Ok(()) => self.progress.set_synced(end),
            Err(_) => self.has_failed.store(true, Ordering::Release),
        }
        synced
    }

    fn synced(&self) -> u64 {
        self.progress.synced()
    }
}

impl Borrow<File> for GrowingFile {
    fn borrow(&self) -> &File {
        self.lock.file()
    }
}

impl Drop for GrowingFile {
    /// The kernel reports only once that bytes were lost on their way to the disk, and shows them until it
    /// needs the memory. Such bytes must not count as durable, so they are truncated. No append runs at
    /// this time: a running append owns the file too.
    fn drop(&mut self) {
        if self.has_failed.load(Ordering::Acquire) {
            let _ = self.lock.file().set_len(self.progress.synced());
        }
    }
}

enum OpenAttempt {
    Opened(GrowingFile),
    Releasing(watch::Receiver<()>),
    Held,
    Finished(u64),
}

impl FolderStore {
    pub(crate) async fn grow(&self, source: SourceId) -> Result<OpenOutcome> {
        let key = ObjectKey::Growing(source);
        self.inject_write_fault(WriteKind::Create, key)?;
        let deadline = Instant::now() + RELEASE_TIMEOUT;
        loop {
            // A cancelled call counts as a dropped writer too, while the thread may still open the file for
            // it.
            let guard = WriterGuard::new(Progress::new(0, 0));
            let progress = Arc::clone(guard.progress());
            let attempt = self
                .blocking("open a growing object", move |shared| shared.open_growing(source, progress))
                .await?;
            match attempt {
                OpenAttempt::Opened(file) => {
                    return Ok(OpenOutcome::Growing(self.start_writer(source, file, guard)));
                }
                OpenAttempt::Finished(len) => return Ok(OpenOutcome::Finished(len)),
                OpenAttempt::Held => return Err(Error::LockedElsewhere(key)),
                // The end of the writer closes the channel.
                OpenAttempt::Releasing(mut released) => {
                    match timeout_at(deadline, released.changed()).await {
                        Ok(_) => {}
                        Err(_) => return Err(Error::LockedElsewhere(key)),
                    }
                }
            }
        }
    }

    fn start_writer(&self, source: SourceId, file: GrowingFile, guard: WriterGuard) -> CommandQueue {
        let appender = Appender::new(self.clone(), ObjectKey::Growing(source), Arc::new(file), &SYNC_POLICY);
        let writer = Writer { store: self.clone(), source, appender };
        CommandQueue::start(guard, |commands| writer.work(commands))
    }
}

/// Writes one growing object.
struct Writer {
    store: FolderStore,
    source: SourceId,
    appender: Appender<GrowingFile>,
}

impl Writer {
    async fn work(mut self, mut commands: mpsc::Receiver<Command>) -> Result<u64> {
        loop {
            let command = tokio::select! {
                command = commands.recv() => command,
                due = self.appender.until_due() => {
                    due?;
                    self.appender.sync_if_due().await?;
                    continue;
                }
            };
            match command {
                None => return Err(Error::Stopped), // no receiver is left
                Some(Command::Announce(_)) => {}    // a file needs no length in advance
                Some(Command::Write(bytes)) => {
                    self.appender.write(bytes).await?;
                    self.appender.sync_if_due().await?;
                }
                Some(Command::Sync(answer)) => {
                    self.appender.sync_all().await?;
                    let _ = answer.send(self.appender.target().synced()); // the receiver may be gone
                }
                Some(Command::Read(range, answer)) => {
                    let _ = answer.send(self.read(range).await);
                }
                Some(Command::Finish) => return self.finish().await,
            }
        }
    }

    async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        self.store.inject_read_fault()?;
        read::read_range(self.appender.target(), range).await
    }

    async fn finish(mut self) -> Result<u64> {
        self.appender.drain().await?;
        let (len, source) = (self.appender.written(), self.source);
        let key = ObjectKey::Source(source);
        self.store.inject_write_fault(WriteKind::Finish, key)?;
        let file = Arc::clone(self.appender.target());
        let outcome = self
            .store
            .blocking("finish an object", move |shared| {
                file.sync_to(len)?;
                shared.name_growing(source, &file)
            })
            .await?;
        match outcome {
            FinishOutcome::Finished => Ok(len),
            FinishOutcome::TakenByAnother => Err(Error::AlreadyThere(key)),
            FinishOutcome::Discarded => Err(Error::Gone(ObjectKey::Growing(source))),
        }
    }
}

enum FinishOutcome {
    Finished,
    TakenByAnother,
    Discarded,
}

impl Shared {
    fn open_growing(&self, source: SourceId, progress: Arc<Progress>) -> io::Result<OpenAttempt> {
        let path = self.path(ObjectKey::Growing(source));
        for _ in 0..NAMING_TRIES {
            let opened = absent_as_none(OpenOptions::new().read(true).append(true).open(&path))?;
            let file = match opened {
                Some(file) => file,
                None => match self.finished_len(source)? {
                    Some(len) => return Ok(OpenAttempt::Finished(len)),
                    None => match self.create_growing(&path)? {
                        Some(file) => file,
                        None => continue, // another process was first, or the folder is gone
                    },
                },
            };
            let lock = match Lock::attempt(file, &progress)? {
                LockAttempt::Locked(lock) => lock,
                LockAttempt::Releasing(released) => return Ok(OpenAttempt::Releasing(released)),
                LockAttempt::Held => return Ok(OpenAttempt::Held),
            };
            let metadata = lock.file().metadata()?;
            if !is_at(&metadata, &path)? {
                continue; // finished or discarded between the opening and the lock
            }
            if metadata.nlink() > 1 && is_at(&metadata, &self.path(ObjectKey::Source(source)))? {
                // It was finished on a file system that cannot rename without replacing; the first name is
                // still there.
                fs::remove_file(&path)?;
                continue;
            }
            // The previous writer may have been killed before it had synced name or bytes.
            sync_folder(self.folder(&path))?;
            lock.file().sync_data()?;
            progress.set_synced(metadata.len());
            return Ok(OpenAttempt::Opened(GrowingFile {
                lock,
                progress,
                has_failed: AtomicBool::new(false),
            }));
        }
        Err(io::Error::other("the growing object came and went at every try"))
    }

    /// The length of the finished object, whose name is durable.
    fn finished_len(&self, source: SourceId) -> io::Result<Option<u64>> {
        let key = ObjectKey::Source(source);
        let Some(metadata) = absent_as_none(fs::metadata(self.path(key)))? else { return Ok(None) };
        self.sync_folder_of(key)?;
        Ok(Some(metadata.len()))
    }

    fn create_growing(&self, path: &Path) -> io::Result<Option<File>> {
        self.make_folder(self.folder(path))?;
        let _no_folder_is_half_made = self.folders.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        match OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            created => absent_as_none(created),
        }
    }

    fn name_growing(&self, source: SourceId, file: &GrowingFile) -> io::Result<FinishOutcome> {
        let from = self.path(ObjectKey::Growing(source));
        let to = ObjectKey::Source(source);
        let metadata = file.lock.file().metadata()?;
        if !is_at(&metadata, &from)? {
            return Ok(if is_at(&metadata, &self.path(to))? {
                FinishOutcome::Finished
            } else {
                FinishOutcome::Discarded
            });
        }
        match self.rename_to(to, |path| rename_to_new(&from, path))? {
            PutOutcome::Written => Ok(FinishOutcome::Finished),
            PutOutcome::AlreadyThere => Ok(FinishOutcome::TakenByAnother),
        }
    }
}

/// Whether `path` names the file with this metadata.
fn is_at(metadata: &fs::Metadata, path: &Path) -> io::Result<bool> {
    let found = absent_as_none(fs::symlink_metadata(path))?;
    Ok(found.is_some_and(|there| there.dev() == metadata.dev() && there.ino() == metadata.ino()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[tokio::test]
    async fn file_with_failed_fsync_is_truncated_on_drop() {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderStore::open(folder.path().to_owned()).await.unwrap();
        let source = SourceId::from_uuid(uuid::Uuid::from_u128(1));
        for has_failed in [false, true] {
            let attempt = store.shared.open_growing(source, Progress::new(0, 0)).unwrap();
            let OpenAttempt::Opened(file) = attempt else { panic!("no other writer has it") };
            let synced = file.synced();
            file.lock.file().write_all(b"more").unwrap();
            file.has_failed.store(has_failed, Ordering::Release);
            drop(file);
            let len = fs::metadata(store.shared.path(ObjectKey::Growing(source))).unwrap().len();
            assert_eq!(len, if has_failed { synced } else { synced + 4 });
        }
    }
}
