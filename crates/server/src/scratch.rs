//! The folder for temporary files of jobs, which are as large as a source.
//!
//! It is in the data folder, which no other server uses. Without a data folder it is in the temporary
//! directory of the system (`TMPDIR`), next to those of other processes. Each process has its own, with a
//! lock that shows that the process is alive. The next start removes the folders of dead processes.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

/// The folder below the data folder.
const FOLDER_NAME: &str = "scratch";
/// Prefix of the folders in the temporary directory.
const PREFIX: &str = "kinora-scratch-";
/// Names to try; each name in use belongs to a live process, or to one that ended during its start.
const NAMES_MAX: u32 = 1000;
/// Locked by the process that owns the folder.
const LOCK: &str = "lock";

/// A folder for files of jobs. The drop removes one in the temporary directory.
#[derive(Debug)]
pub(crate) struct Scratch {
    folder: PathBuf,
    lock: Option<File>,
}

impl Scratch {
    /// In the data folder, emptied, and accessible to the user of the server alone.
    pub(crate) fn in_data_dir(data: &Path) -> Result<Self, (PathBuf, io::Error)> {
        let folder = data.join(FOLDER_NAME);
        let make = || {
            match fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
            // The engine gets paths that do not depend on its working directory.
            fs::canonicalize(&folder)
        };
        let made = make();
        made.map(|folder| Self { folder, lock: None }).map_err(|error| (folder, error))
    }

    /// Below `parent`, next to the folders of other processes.
    pub(crate) fn in_temporary_dir(parent: &Path) -> Result<Self, (PathBuf, io::Error)> {
        let make = || {
            let folder = fs::canonicalize(create_new_folder(parent)?)?;
            let lock = File::create_new(folder.join(LOCK))?;
            lock.lock()?;
            remove_orphans(parent, fs::metadata(&folder)?.uid());
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

/// Makes a new folder. A process in another container may have the same process id, and so has another
/// server in this process.
fn create_new_folder(parent: &Path) -> io::Result<PathBuf> {
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

/// Removes the folders of dead processes of this user. Entries that cannot be read are skipped.
fn remove_orphans(parent: &Path, user: u32) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        // Does not follow links: this is the metadata of the entry itself.
        let is_ours = entry.metadata().is_ok_and(|found| found.is_dir() && found.uid() == user);
        if !is_ours {
            continue;
        }
        let folder = entry.path();
        // A folder without a lock is just being made.
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
    fn scratch_of_dead_processes_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let living = Scratch::in_temporary_dir(parent.path()).unwrap();
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
        let next = Scratch::in_temporary_dir(parent.path()).unwrap();
        let own = |number| format!("kinora-scratch-{}-{number}", std::process::id());
        assert_eq!(names(), BTreeSet::from([own(0), own(1), "kinora-scratch-begun".into(), "else".into()]));
        assert!(living.folder().join("file").exists());
        drop(next);
        assert_eq!(names(), BTreeSet::from([own(0), "kinora-scratch-begun".into(), "else".into()]));
    }

    #[test]
    fn scratch_folder_is_emptied_at_each_start() {
        let data = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let scratch = Scratch::in_data_dir(data.path()).unwrap();
            assert_eq!(fs::read_dir(scratch.folder()).unwrap().count(), 0);
            assert_eq!(fs::metadata(scratch.folder()).unwrap().mode() & 0o777, 0o700);
            fs::write(scratch.folder().join("file"), b"of a job").unwrap();
        }
    }
}
