//! The addresses of the server that runs on a data folder, for the commands beside it.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::settings::Settings;

/// What `serve` leaves in its data folder. Older ones than the present server's are overwritten when it starts.
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

    /// Leaves them in the folder, in one step: a reader sees the old ones or these.
    pub(crate) fn write(&self, data_dir: &Path) -> io::Result<()> {
        let path = file(data_dir);
        let new = path.with_extension("json.new");
        std::fs::write(&new, serde_json::to_vec(self).expect("texts are always JSON"))?;
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
