//! The folder where jobs put files for a while, as large as a source.
//!
//! It lies in the data folder, which nobody else serves. Where all data lie elsewhere it lies where the
//! system has such files (`TMPDIR`), beside those of other processes: each has one of its own, and a lock in
//! it by which others see that it lives. What dead processes left is removed at the next start.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The folder below the data folder.
const IN_DATA: &str = "scratch";
/// How the folders begin that lie beside those of others.
const PREFIX: &str = "kinora-scratch-";
/// Names that are tried; each is somebody's who lives, or died in the middle of a start.
const NAMES_MAX: u32 = 1000;
/// Locked by the process whose folder it is.
const LOCK: &str = "lock";

/// A folder for files of jobs. One beside those of others goes with this.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    lock: Option<File>,
}

impl Scratch {
    /// In the data folder, emptied, and open to the user of the server alone.
    pub(crate) fn in_data(data: &Path) -> Result<Self, (PathBuf, io::Error)> {
        let folder = data.join(IN_DATA);
        let make = || {
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            // The engine is told of files by paths that do not depend on where it runs.
            fs::canonicalize(&folder)
        };
        let made = make();
        made.map(|folder| Self { folder, lock: None }).map_err(|error| (folder, error))
    }

    /// Below `parent`, beside those of other processes.
    pub(crate) fn beside_others(parent: &Path) -> Result<Self, (PathBuf, io::Error)> {
        let make = || {
            let folder = fs::canonicalize(make_new(parent)?)?;
            let lock = File::create_new(folder.join(LOCK))?;
            lock.lock()?;
            remove_left(parent, fs::metadata(&folder)?.uid());
            Ok(Self { folder, lock: Some(lock) })
        };
        make().map_err(|error| (parent.to_owned(), error))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if self.lock.is_some()
            && let Err(error) = fs::remove_dir_all(&self.folder)
        {
            tracing::warn!(error = %error, "the folder for files of jobs could not be removed");
        }
    }
}

/// A folder that was not there. In another container another process may have our number, and in this one
/// another server.
fn make_new(parent: &Path) -> io::Result<PathBuf> {
    let process = std::process::id();
    let mut last = io::ErrorKind::AlreadyExists.into();
    for number in 0..NAMES_MAX {
        let folder = parent.join(format!("{PREFIX}{process}-{number}"));
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

/// Removes what processes of this user left that live no more. What cannot be looked at is left.
fn remove_left(parent: &Path, user: u32) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        // Not through a link: this says what the entry itself is.
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user);
        if !is_ours {
            continue;
        }
        let folder = entry.path();
        // One without a lock is just being made.
        let is_dead = File::open(folder.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok());
        if is_dead && let Err(error) = fs::remove_dir_all(&folder) {
            tracing::warn!(error = %error, "files that a job left could not be removed");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_a_dead_process_left_goes_and_what_a_living_one_has_stays() {
        let parent = tempfile::tempdir().unwrap();
        let living = Scratch::beside_others(parent.path()).unwrap();
        fs::write(living.folder().join("file"), b"of a job").unwrap();
        let dead = parent.path().join("kinora-scratch-dead");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), b"").unwrap();
        fs::write(dead.join("file"), b"as large as a source").unwrap();
        for name in ["else", "kinora-scratch-begun"] {
            fs::create_dir(parent.path().join(name)).unwrap();
        }
        let names = || -> BTreeSet<String> {
            let entries = fs::read_dir(parent.path()).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        let next = Scratch::beside_others(parent.path()).unwrap();
        let own = |number| format!("kinora-scratch-{}-{number}", std::process::id());
        assert_eq!(names(), BTreeSet::from([own(0), own(1), "kinora-scratch-begun".into(), "else".into()]));
        assert!(living.folder().join("file").exists());
        drop(next);
        assert_eq!(names(), BTreeSet::from([own(0), "kinora-scratch-begun".into(), "else".into()]));
    }

    #[test]
    fn the_folder_in_the_data_folder_is_emptied_at_each_start() {
        let data = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let scratch = Scratch::in_data(data.path()).unwrap();
            assert_eq!(fs::read_dir(scratch.folder()).unwrap().count(), 0);
            assert_eq!(fs::metadata(scratch.folder()).unwrap().mode() & 0o777, 0o700);
            fs::write(scratch.folder().join("file"), b"of a job").unwrap();
        }
    }
}
