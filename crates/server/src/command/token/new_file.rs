//! A new file with a secret: of mode 0600, complete or absent, and never over an existing file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use kinora_domain::Random as _;

use crate::command::CommandError;
use crate::system::SystemRandom;

/// A file that is not yet visible under its name.
#[derive(Debug)]
pub(super) struct NewFile {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
}

impl NewFile {
    /// Checks that the file can be created, and that there is none.
    pub(super) fn create(path: PathBuf) -> Result<Self, CommandError> {
        // `Path` ignores a slash at the end.
        let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let name = path
            .file_name()
            .filter(|_| !is_folder)
            .ok_or_else(|| CommandError::new(format!("{} is no name of a file", path.display())))?;
        if path.symlink_metadata().is_ok() {
            return Err(exists(&path));
        }
        let mut random = [0; 8];
        SystemRandom.fill(&mut random);
        let temporary =
            path.with_file_name(format!(".{}.{:x}", name.to_string_lossy(), u64::from_ne_bytes(random)));
        let opened = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary);
        let file = opened.map_err(|error| unusable(&path, error))?;
        Ok(Self { path, temporary, file })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the text and gives the file its name.
    pub(super) fn write(mut self, text: &str) -> Result<(), CommandError> {
        let mut write = || {
            self.file.write_all(text.as_bytes())?;
            self.file.sync_all()?;
            // Unlike a rename, a link does not replace a file.
            fs::hard_link(&self.temporary, &self.path)
        };
        write().map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => exists(&self.path),
            _ => unusable(&self.path, error),
        })?;
        // The file is complete. Where its folder cannot be synced, a power failure may remove it.
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let _ = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // If this fails, a file of mode 0600 with a random name stays.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn exists(path: &Path) -> CommandError {
    CommandError::new(format!(
        "{} exists already and is not overwritten; choose another name",
        path.display()
    ))
}

fn unusable(path: &Path, error: io::Error) -> CommandError {
    CommandError::with_cause(format!("cannot write {}", path.display()), error)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn file_is_private_and_complete_or_absent() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.json");
        drop(NewFile::create(path.clone()).expect("created"));
        assert_eq!(names(folder.path()), Vec::<String>::new());
        let file = NewFile::create(path.clone()).expect("created");
        assert!(!path.exists(), "before the text is complete");
        file.write("text\n").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("readable"), "text\n");
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        assert_eq!(names(folder.path()), ["a.json"]);
    }

    #[test]
    fn existing_file_is_not_overwritten() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (path, link) = (folder.path().join("a.json"), folder.path().join("b.json"));
        let late = NewFile::create(path.clone()).expect("created");
        fs::write(&path, "other").expect("written");
        let refused = late.write("text").expect_err("it exists meanwhile").to_string();
        assert!(refused.contains("is not overwritten"), "{refused}");
        assert!(NewFile::create(path.clone()).is_err());
        symlink("nowhere", &link).expect("linked");
        assert!(NewFile::create(link).is_err(), "a symbolic link that leads nowhere");
        assert_eq!(fs::read_to_string(&path).expect("readable"), "other");
        assert_eq!(names(folder.path()), ["a.json", "b.json"]);
    }

    #[test]
    fn missing_folder_is_reported() {
        let refused = NewFile::create("/nonexistent/a.json".into()).expect_err("no folder").to_string();
        assert!(refused.contains("cannot write /nonexistent/a.json"), "{refused}");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let refused = NewFile::create(folder.path().join("a.json/")).expect_err("a folder").to_string();
        assert!(refused.ends_with("/a.json/ is no name of a file"), "{refused}");
    }
}
