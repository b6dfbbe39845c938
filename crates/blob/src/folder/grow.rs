//! A source that grows: a file that is appended to, synced close behind its writer, and renamed at the end.
//!
//! Its length is what is kept. The file systems that servers use write the data before the length that covers
//! it (ext4 with `data=ordered`, its default: Linux, Documentation/admin-guide/ext4.rst; XFS and btrfs set
//! the length on the disk when the data is there: `xfs_setfilesize`, `btrfs_finish_ordered_io`), so after a
//! power cut a file may be shorter than it was, but holds no byte that nobody wrote.

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

use super::append::{Appender, Pace, Target};
use super::lock::{Lock, TriedLock};
use super::temporary::rename_to_new;
use super::{FolderStore, NAMING_TRIES, Shared, absent_as_none, read, sync_folder};
use crate::grow::{Command, Hold, Line, Opened, Progress};
use crate::{Error, ObjectKey, PutOutcome, Result, WriteKind};

/// What a power cut may cost a client that is still sending: 50 ms of its line. The syncs of a disk take some
/// milliseconds.
const PACE: Pace = Pace { batch: 1 << 20, sync_every: 4 << 20, sync_within: Some(Duration::from_millis(50)) };

/// How long a writer of this process that was dropped is waited for: the sync of what it may have left
/// unsynced (20 MiB), on a disk that others use, too.
const RELEASE_WITHIN: Duration = Duration::from_secs(30);

/// A file that grows, and its lock.
struct GrowingFile {
    lock: Lock,
    progress: Arc<Progress>,
    has_failed: AtomicBool,
}

impl Target for GrowingFile {
    fn sync_to(&self, end: u64) -> io::Result<()> {
        let synced = self.lock.file().sync_data();
        match &synced {
            Ok(()) => self.progress.keep_to(end),
            Err(_) => self.has_failed.store(true, Ordering::Release),
        }
        synced
    }

    fn synced(&self) -> u64 {
        self.progress.kept()
    }
}

impl Borrow<File> for GrowingFile {
    fn borrow(&self) -> &File {
        self.lock.file()
    }
}

impl Drop for GrowingFile {
    /// The kernel tells once that bytes were lost on their way to the disk, and shows them until it needs the
    /// memory. So that nobody takes them for kept, they go. Nothing is appended at this moment: an append
    /// that runs has the file, too.
    fn drop(&mut self) {
        if self.has_failed.load(Ordering::Acquire) {
            let _ = self.lock.file().set_len(self.progress.kept());
        }
    }
}

enum Tried {
    Opened(GrowingFile),
    Leaving(watch::Receiver<()>),
    Held,
    Made(u64),
}

impl FolderStore {
    pub(crate) async fn grow(&self, source: SourceId) -> Result<Opened> {
        let key = ObjectKey::Growing(source);
        self.before_write(WriteKind::Create, key)?;
        let give_up = Instant::now() + RELEASE_WITHIN;
        loop {
            // A call that is cancelled has left, too, while the thread may still open the file for it.
            let hold = Hold::new(Progress::new(0, 0));
            let progress = Arc::clone(hold.progress());
            let tried = self
                .blocking("open a growing object", move |shared| shared.open_growing(source, progress))
                .await?;
            match tried {
                Tried::Opened(file) => return Ok(Opened::Growing(self.write_behind(source, file, hold))),
                Tried::Made(len) => return Ok(Opened::Made(len)),
                Tried::Held => return Err(Error::HeldElsewhere(key)),
                // Its end closes the channel.
                Tried::Leaving(mut released) => match timeout_at(give_up, released.changed()).await {
                    Ok(_) => {}
                    Err(_) => return Err(Error::HeldElsewhere(key)),
                },
            }
        }
    }

    fn write_behind(&self, source: SourceId, file: GrowingFile, hold: Hold) -> Line {
        let appender = Appender::new(self.clone(), ObjectKey::Growing(source), Arc::new(file), &PACE);
        let writer = Writer { store: self.clone(), source, appender };
        Line::start(hold, |commands| writer.work(commands))
    }
}

/// Does the work of one growing object.
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
                    self.appender.sync_in_time().await?;
                    continue;
                }
            };
            match command {
                None => return Err(Error::Stopped), // nobody hears it
                Some(Command::Announce(_)) => {}    // a file needs no length in advance
                Some(Command::Write(bytes)) => {
                    self.appender.write(bytes).await?;
                    self.appender.sync_in_time().await?;
                }
                Some(Command::Keep(answer)) => {
                    self.appender.sync_all().await?;
                    let _ = answer.send(self.appender.target().synced()); // nobody may wait any more
                }
                Some(Command::Read(range, answer)) => {
                    let _ = answer.send(self.read(range).await);
                }
                Some(Command::Finish) => return self.finish().await,
            }
        }
    }

    async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        self.store.before_read()?;
        read::read_range(self.appender.target(), range).await
    }

    async fn finish(mut self) -> Result<u64> {
        self.appender.end().await?;
        let (len, source) = (self.appender.written(), self.source);
        let key = ObjectKey::Source(source);
        self.store.before_write(WriteKind::Finish, key)?;
        let file = Arc::clone(self.appender.target());
        let named = self
            .store
            .blocking("finish an object", move |shared| {
                file.sync_to(len)?;
                shared.name_growing(source, &file)
            })
            .await?;
        match named {
            Named::Source => Ok(len),
            Named::TakenByAnother => Err(Error::AlreadyThere(key)),
            Named::Discarded => Err(Error::Gone(ObjectKey::Growing(source))),
        }
    }
}

enum Named {
    Source,
    TakenByAnother,
    Discarded,
}

impl Shared {
    fn open_growing(&self, source: SourceId, progress: Arc<Progress>) -> io::Result<Tried> {
        let path = self.path(ObjectKey::Growing(source));
        for _ in 0..NAMING_TRIES {
            let opened = absent_as_none(OpenOptions::new().read(true).append(true).open(&path))?;
            let file = match opened {
                Some(file) => file,
                None => match self.made(source)? {
                    Some(len) => return Ok(Tried::Made(len)),
                    None => match self.create_growing(&path)? {
                        Some(file) => file,
                        None => continue, // somebody else was first, or the folder went
                    },
                },
            };
            let lock = match Lock::attempt(file, &progress)? {
                TriedLock::Locked(lock) => lock,
                TriedLock::Leaving(released) => return Ok(Tried::Leaving(released)),
                TriedLock::Held => return Ok(Tried::Held),
            };
            let facts = lock.file().metadata()?;
            if !is_at(&facts, &path)? {
                continue; // finished or discarded between the opening and the lock
            }
            if facts.nlink() > 1 && is_at(&facts, &self.path(ObjectKey::Source(source)))? {
                // Finished on a file system that cannot rename without replacing; the first name stayed.
                fs::remove_file(&path)?;
                continue;
            }
            // The writer before may have been killed before it had synced name or bytes.
            sync_folder(self.folder(&path))?;
            lock.file().sync_data()?;
            progress.keep_to(facts.len());
            return Ok(Tried::Opened(GrowingFile { lock, progress, has_failed: AtomicBool::new(false) }));
        }
        Err(io::Error::other("the growing object came and went at every try"))
    }

    /// The length of the finished object, whose name outlives a power cut.
    fn made(&self, source: SourceId) -> io::Result<Option<u64>> {
        let key = ObjectKey::Source(source);
        let Some(facts) = absent_as_none(fs::metadata(self.path(key)))? else { return Ok(None) };
        self.sync_folder_of(key)?;
        Ok(Some(facts.len()))
    }

    fn create_growing(&self, path: &Path) -> io::Result<Option<File>> {
        self.make_folder(self.folder(path))?;
        let _no_folder_is_half_made = self.folders.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        match OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            created => absent_as_none(created),
        }
    }

    fn name_growing(&self, source: SourceId, file: &GrowingFile) -> io::Result<Named> {
        let from = self.path(ObjectKey::Growing(source));
        let to = ObjectKey::Source(source);
        let facts = file.lock.file().metadata()?;
        if !is_at(&facts, &from)? {
            return Ok(if is_at(&facts, &self.path(to))? { Named::Source } else { Named::Discarded });
        }
        match self.rename_to(to, |path| rename_to_new(&from, path))? {
            PutOutcome::Written => Ok(Named::Source),
            PutOutcome::AlreadyThere => Ok(Named::TakenByAnother),
        }
    }
}

/// Whether `path` names the file of these facts.
fn is_at(facts: &fs::Metadata, path: &Path) -> io::Result<bool> {
    let there = absent_as_none(fs::symlink_metadata(path))?;
    Ok(there.is_some_and(|there| there.dev() == facts.dev() && there.ino() == facts.ino()))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[tokio::test]
    async fn bytes_that_a_failed_sync_may_have_lost_are_not_taken_for_kept() {
        let folder = tempfile::tempdir().unwrap();
        let store = FolderStore::open(folder.path().to_owned()).await.unwrap();
        let source = SourceId::from_uuid(uuid::Uuid::from_u128(1));
        for has_failed in [false, true] {
            let tried = store.shared.open_growing(source, Progress::new(0, 0)).unwrap();
            let Tried::Opened(file) = tried else { panic!("nobody else has it") };
            let kept = file.synced();
            file.lock.file().write_all(b"more").unwrap();
            file.has_failed.store(has_failed, Ordering::Release);
            drop(file);
            let len = fs::metadata(store.shared.path(ObjectKey::Growing(source))).unwrap().len();
            assert_eq!(len, if has_failed { kept } else { kept + 4 });
        }
    }
}
