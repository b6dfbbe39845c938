//! The data folder, and its files that only the owner may access.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::Error;

/// Creates the folder with access for its owner alone. An existing folder does not change.
pub(crate) fn create_folder(path: &Path) -> Result<(), Error> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|error| Error::folder(path, error))
}

/// Creates an empty file that only its owner may read; an existing file does not change.
pub(crate) fn create_file(path: &Path) -> Result<(), Error> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(Error::folder(path, error)),
    }
}

/// Creates a whole, synced file of mode 0600 unless it exists. Returns whether it did.
///
/// `temporary_extension` separates the temporary file from that of another process. The file appears under
/// its name only when it is whole: a link, unlike a rename, never replaces.
pub(crate) fn create_atomically(
    path: &Path,
    temporary_extension: &str,
    content: &str,
) -> Result<bool, Error> {
    let temporary = path.with_extension(temporary_extension);
    let linked = write_temporary(&temporary, content).and_then(|()| std::fs::hard_link(&temporary, path));
    let removed = std::fs::remove_file(&temporary);
    match linked {
        Ok(()) => {
            removed.map_err(|error| Error::folder(&temporary, error))?;
            let folder = path.parent().unwrap_or(Path::new("."));
            File::open(folder)
                .and_then(|file| file.sync_all())
                .map_err(|error| Error::folder(folder, error))?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(Error::folder(path, error)),
    }
}

/// The text of a small file, or `None` when the file does not exist. Bytes beyond `size_max` are not read.
pub(crate) fn read_small(path: &Path, size_max: u64) -> Result<Option<String>, Error> {
    let mut text = String::new();
    match File::open(path).and_then(|file| file.take(size_max).read_to_string(&mut text)) {
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::folder(path, error)),
    }
}

fn write_temporary(path: &Path, content: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content.as_bytes())?;
    file.sync_all()
}
