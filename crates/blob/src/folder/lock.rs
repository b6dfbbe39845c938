//! One writer at a time for a file that grows.
//!
//! The lock is the kernel's (`flock`), so it dies with its process. Within this process a writer that was
//! dropped may have an append under way that nobody can stop; whoever comes next waits for its end, and is
//! not told that somebody else has the file.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::grow::Progress;

/// The locks of this process, whichever handle of a store made them.
static HELD: Mutex<BTreeMap<FileId, Holder>> = Mutex::new(BTreeMap::new());

/// Device and inode.
type FileId = (u64, u64);

struct Holder {
    progress: Arc<Progress>,
    released: watch::Receiver<()>,
}

/// A lock on a file. It goes when this is dropped, whoever still has the file open.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    id: FileId,
    /// Whoever waits for the lock hears of its end.
    _released: watch::Sender<()>,
}

/// What became of a try.
pub(super) enum TriedLock {
    Locked(Lock),
    /// Its writer was dropped; the lock goes when the receiver's channel closes.
    Leaving(watch::Receiver<()>),
    Held,
}

impl Lock {
    /// Locks `file` for the writer of `progress`.
    pub(super) fn attempt(file: File, progress: &Arc<Progress>) -> io::Result<TriedLock> {
        let facts = file.metadata()?;
        let id = (facts.dev(), facts.ino());
        // The map is held meanwhile, so that it never differs from what the kernel says of this process.
        let mut held = held();
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Ok(match held.get(&id) {
                    Some(holder) if holder.progress.is_left() => TriedLock::Leaving(holder.released.clone()),
                    _ => TriedLock::Held,
                });
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let (sender, released) = watch::channel(());
        held.insert(id, Holder { progress: Arc::clone(progress), released });
        drop(held);
        Ok(TriedLock::Locked(Self { file, id, _released: sender }))
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let mut held = held();
        // A child of this process that has not begun its own program yet may have the file open, too.
        let _ = self.file.unlock();
        held.remove(&self.id);
    }
}

fn held() -> MutexGuard<'static, BTreeMap<FileId, Holder>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}
