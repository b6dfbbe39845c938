//! One writer at a time for a growing file.
//!
//! The lock is the kernel's (`flock`), so it ends with its process. A dropped writer of this process may
//! have an append that cannot be stopped. The next writer waits for its end, instead of an error that
//! another writer has the file.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::grow::Progress;

/// The locks of this process, for all handles of its stores.
static HELD: Mutex<BTreeMap<FileId, LockEntry>> = Mutex::new(BTreeMap::new());

/// Device and inode.
type FileId = (u64, u64);

struct LockEntry {
    progress: Arc<Progress>,
    released: watch::Receiver<()>,
}

/// A lock on a file. Dropping it releases the lock, even if the file is still open elsewhere.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    id: FileId,
    /// Notifies the tasks that wait for the lock.
    _released: watch::Sender<()>,
}

/// The result of a try.
pub(super) enum LockAttempt {
    Locked(Lock),
    /// Its writer was dropped; the lock is free when the receiver's channel closes.
    Releasing(watch::Receiver<()>),
    Held,
}

impl Lock {
    /// Locks `file` for the writer of `progress`.
    pub(super) fn attempt(file: File, progress: &Arc<Progress>) -> io::Result<LockAttempt> {
        let metadata = file.metadata()?;
        let id = (metadata.dev(), metadata.ino());
        // The map is locked meanwhile, so that it always agrees with the kernel about this process.
        let mut locks = held_locks();
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Ok(match locks.get(&id) {
                    Some(holder) if holder.progress.is_closed() => {
                        LockAttempt::Releasing(holder.released.clone())
                    }
                    _ => LockAttempt::Held,
                });
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let (sender, released) = watch::channel(());
        locks.insert(id, LockEntry { progress: Arc::clone(progress), released });
        drop(locks);
        Ok(LockAttempt::Locked(Self { file, id, _released: sender }))
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut locks = held_locks();
        // A forked child that has not yet called exec may have the file open too.
        let _ = self.file.unlock();
        locks.remove(&self.id);
    }
}

fn held_locks() -> MutexGuard<'static, BTreeMap<FileId, LockEntry>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}
