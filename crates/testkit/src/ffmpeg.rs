//! An ffmpeg that can be removed and restored.

use std::fs;
use std::path::{Path, PathBuf};

/// A copy of this machine's ffmpeg in a folder of the test, which may be missing for some time.
#[derive(Debug)]
pub struct RemovableFfmpeg {
    path: PathBuf,
    away: PathBuf,
}

impl RemovableFfmpeg {
    /// Copies the first `ffmpeg` in `PATH` into `folder`.
    pub fn new(folder: &Path) -> Self {
        let folders = std::env::var_os("PATH").expect("a test has a PATH");
        let found =
            std::env::split_paths(&folders).find_map(|folder| folder.join("ffmpeg").canonicalize().ok());
        let (path, away) = (folder.join("ffmpeg"), folder.join("away"));
        fs::copy(found.expect("tests need ffmpeg"), &path).expect("the folder can be written to");
        Self { path, away }
    }

    /// Its path while it is present.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it.
    pub fn remove(&self) {
        fs::rename(&self.path, &self.away).expect("it is there");
    }

    /// Restores it.
    pub fn restore(&self) {
        fs::rename(&self.away, &self.path).expect("it was taken away");
    }
}
