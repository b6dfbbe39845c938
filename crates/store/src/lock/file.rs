//! One `serve` per data folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use crate::{Error, private_file};

/// The operating system releases it when the process ends.
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    pub(super) fn acquire(data_dir: &Path) -> Result<Self, Error> {
        private_file::create_folder(data_dir)?;
        let path = data_dir.join("serve.lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| Error::folder(&path, error))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(Error::FolderLocked { path: data_dir.to_owned() }),
            Err(TryLockError::Error(error)) => Err(Error::folder(&path, error)),
        }
    }
}
