//! The addresses of the server that runs on a data folder, for the commands beside it.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::settings::Settings;

/// What `serve` leaves in its data folder. Older ones than the present server's are overwritten when it
/// starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServedAddresses {
    pub(crate) public_url: String,
    pub(crate) stream_url: String,
    pub(crate) images_url: String,
}

impl ServedAddresses {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            public_url: settings.public_url.clone(),
            stream_url: settings.stream_url.clone(),
            images_url: settings.images_url.clone(),
        }
    }

    /// Writes them into the folder, in one step: a reader sees the old ones or these. Only the user of the
    /// server may read the file.
    pub(crate) fn write(&self, data_dir: &Path) -> io::Result<()> {
        let path = file(data_dir);
        let new = path.with_extension("json.new");
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        // A start that was killed may have left the file with another mode.
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(&serde_json::to_vec(self).expect("texts are always JSON"))?;
        std::fs::rename(new, path)
    }

    /// Those of the folder; `None` when no server has run there, or what lies there is something else.
    pub(crate) fn read(data_dir: &Path) -> Option<Self> {
        serde_json::from_slice(&std::fs::read(file(data_dir)).ok()?).ok()
    }
}

fn file(data_dir: &Path) -> PathBuf {
    data_dir.join("addresses.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_private_to_the_user_whatever_was_left() {
        let data = tempfile::tempdir().unwrap();
        let addresses = ServedAddresses::of(&Settings::for_folder(
            data.path().to_owned(),
            "127.0.0.1:9999".parse().unwrap(),
        ));
        let left = data.path().join("addresses.json.new");
        std::fs::write(&left, b"of a start that was killed, and longer than what follows".repeat(9)).unwrap();
        std::fs::set_permissions(&left, Permissions::from_mode(0o666)).unwrap();
        addresses.write(data.path()).unwrap();
        assert_eq!(ServedAddresses::read(data.path()), Some(addresses));
        let mode = std::fs::metadata(file(data.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
