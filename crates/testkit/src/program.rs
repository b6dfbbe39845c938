//! An ffmpeg that can be taken away.

use std::fs;
use std::path::{Path, PathBuf};

/// A copy of the ffmpeg of this machine in a folder of the test, which may be missing for a while.
#[derive(Debug)]
pub struct LentFfmpeg {
    path: PathBuf,
    away: PathBuf,
}

impl LentFfmpeg {
    /// Copies the first `ffmpeg` in `PATH` into `folder`.
    pub fn new(folder: &Path) -> Self {
        let folders = std::env::var_os("PATH").expect("a test has a PATH");
        let found =
            std::env::split_paths(&folders).find_map(|folder| folder.join("ffmpeg").canonicalize().ok());
        let (path, away) = (folder.join("ffmpeg"), folder.join("away"));
        fs::copy(found.expect("tests need ffmpeg"), &path).expect("the folder can be written to");
        Self { path, away }
    }

    /// Where it lies while it is there.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// From now on nothing lies there.
    pub fn take_away(&self) {
        fs::rename(&self.path, &self.away).expect("it is there");
    }

    /// It is there again.
    pub fn bring_back(&self) {
        fs::rename(&self.away, &self.path).expect("it was taken away");
    }
}
