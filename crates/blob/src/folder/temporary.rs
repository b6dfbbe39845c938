//! Temporary files: not yet renamed to the path of their object.
//!
//! The process that writes such a file has a lock on it. The lock ends with the process, so a file without
//! a lock is unused. It can be removed while other processes work.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use super::Shared;

/// The most names that are tried for a new file. Only processes with the same process number (two
/// containers on one folder) can choose the same name. A file that they left is never older than the last
/// sweep.
const NAMES_MAX: usize = 4096;

/// A file that is removed when this is dropped, unless it was renamed to the path of an object.
#[derive(Debug)]
pub(super) struct Temporary {
    file: Arc<File>,
    path: Option<PathBuf>,
}

impl Temporary {
    pub(super) fn create(shared: &Shared) -> io::Result<Self> {
        let folder = shared.temporary();
        for _ in 0..NAMES_MAX {
            let count = shared.temporary_count.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("{}-{count}", std::process::id()));
            let file = match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                opened => opened?,
            };
            let is_locked = file.try_lock().is_ok();
            if is_locked && file.metadata()?.nlink() == 1 {
                return Ok(Self { file: Arc::new(file), path: Some(path) });
            }
            // A sweep came between the creation of the file and its lock, and has removed or will remove
            // it.
        }
        Err(io::Error::other("found no free name for a temporary file"))
    }

    pub(super) fn file(&self) -> &Arc<File> {
        &self.file
    }

    /// Renames the file to the path of its object; `AlreadyExists` when the path is taken.
    ///
    /// On success the file is no longer temporary; otherwise nothing has changed.
    pub(super) fn rename(&mut self, to: &Path) -> io::Result<()> {
        let Some(from) = &self.path else { return Err(io::ErrorKind::NotFound.into()) };
        rename_to_new(from, to)?;
        self.path = None;
        Ok(())
    }

    /// Leaves the file on the disk, as a crash would.
    pub(super) fn leave_on_disk(mut self) {
        self.path = None;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // The next sweep removes a file that cannot be removed now.
            let _ = fs::remove_file(path);
        }
    }
}

/// Renames a file; `AlreadyExists` when the name is taken, and then nothing has changed.
pub(super) fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // File systems that cannot rename without replacing (NFS) return one of these errors.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => rename_by_link(from, to),
        renamed => Ok(renamed?),
    }
}

/// A link fails when the name exists, like a rename without replacing.
fn rename_by_link(from: &Path, to: &Path) -> io::Result<()> {
    fs::hard_link(from, to)?;
    // The object exists. A sweep or the next writer removes the first name if it stays.
    let _ = fs::remove_file(from);
    Ok(())
}

/// Removes the files of a folder that no process locks, and counts them.
pub(super) fn sweep(folder: &Path) -> io::Result<u64> {
    let mut swept = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_type()?.is_file() {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue }; // gone meanwhile
        match file.try_lock() {
            Ok(()) => {
                if fs::remove_file(entry.path()).is_ok() {
                    swept += 1;
                }
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(swept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rename_by_link_never_overwrites() {
        let folder = tempfile::tempdir().unwrap();
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        fs::write(&from, "new").unwrap();
        fs::write(&to, "old").unwrap();

        assert_eq!(rename_by_link(&from, &to).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&from).unwrap(), "new");
        assert_eq!(fs::read_to_string(&to).unwrap(), "old");

        fs::remove_file(&to).unwrap();
        rename_by_link(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "new");
        assert!(!from.exists());
    }
}
