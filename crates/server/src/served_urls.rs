//! The addresses of the server on a data folder, for commands next to it.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::settings::Settings;

/// The addresses that `serve` stores in its data folder. Each start of the server overwrites older ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServedUrls {
    pub(crate) public_url: String,
    pub(crate) stream_url: String,
    pub(crate) images_url: String,
}

impl ServedUrls {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            public_url: settings.public_url.clone(),
            stream_url: settings.stream_url.clone(),
            images_url: settings.images_url.clone(),
        }
    }

    /// Writes them into the folder atomically: a reader sees the old ones or these. Only the user of the
    /// server may read the file.
    pub(crate) fn write(&self, data_dir: &Path) -> io::Result<()> {
        let path = file_path(data_dir);
        let new = path.with_extension("json.new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        // A start that was killed may have left the file with other permissions.
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(&serde_json::to_vec(self).expect("texts are always JSON"))?;
        std::fs::rename(new, path)
    }

    /// The addresses in the folder; `None` when no server has run there, or the file is invalid.
    pub(crate) fn read(data_dir: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(file_path(data_dir)).ok()?).ok()
    }
}

fn file_path(data_dir: &Path) -> PathBuf {
    data_dir.join("addresses.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_file_has_mode_0600_after_a_killed_start() {
        let data = tempfile::tempdir().unwrap();
        let addresses =
            ServedUrls::of(&Settings::for_folder(data.path().to_owned(), "127.0.0.1:9999".parse().unwrap()));
        let left = data.path().join("addresses.json.new");
        std::fs::write(&left, b"of a start that was killed, and longer than what follows".repeat(9)).unwrap();
        std::fs::set_permissions(&left, Permissions::from_mode(0o666)).unwrap();
        addresses.write(data.path()).unwrap();
        assert_eq!(ServedUrls::read(data.path()), Some(addresses));
        let mode = std::fs::metadata(file_path(data.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
