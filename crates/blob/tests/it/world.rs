//! What every test starts with.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::{Blob, FaultAction, Faults, ObjectKey, Prefix, WriteOp};
use kinora_domain::{RenditionId, SourceId, Timestamp};
use tempfile::TempDir;
use uuid::Uuid;

pub(crate) const MIB: usize = 1 << 20;

/// A moment before everything: by its clock nothing is old.
pub(crate) fn long_ago() -> Timestamp {
    Timestamp::from_micros(0)
}

pub(crate) fn source(n: u128) -> SourceId {
    SourceId::from_uuid(Uuid::from_u128(n))
}

pub(crate) fn rendition(n: u128) -> RenditionId {
    RenditionId::from_uuid(Uuid::from_u128(n))
}

pub(crate) fn segment(of: u128, n: u32) -> ObjectKey {
    ObjectKey::Segment(rendition(of), n)
}

/// Bytes that differ at every place of interest.
pub(crate) fn noise(len: usize) -> Bytes {
    (0..len).map(|at| u8::try_from((at ^ (at >> 8) ^ (at >> 16)) & 0xff).unwrap()).collect()
}

/// A store in a folder of its own, which goes when the test ends.
pub(crate) struct World {
    folder: TempDir,
    pub(crate) blob: Blob,
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let blob = Blob::open_folder(folder.path().join("objects")).await.unwrap();
        Self { folder, blob }
    }

    /// The same folder after the process has died.
    pub(crate) async fn restart(&mut self) {
        self.blob = Blob::open_folder(self.root()).await.unwrap();
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("objects")
    }

    /// The names of all files, below the root.
    pub(crate) fn files(&self) -> BTreeSet<String> {
        fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { collect(&path, files) } else { files.push(path) }
            }
        }
        let mut files = Vec::new();
        collect(&self.root(), &mut files);
        files
            .iter()
            .map(|path| path.strip_prefix(self.root()).unwrap().to_str().unwrap().to_owned())
            .collect()
    }

    pub(crate) fn faulty(&self, decide: impl Fn(WriteOp) -> FaultAction + Send + Sync + 'static) -> Blob {
        self.blob.clone().with_faults(Arc::new(Faults::new(decide)))
    }

    pub(crate) async fn list(&self, prefix: Prefix) -> Vec<String> {
        let entries = self.blob.list(prefix, None, 100).await.unwrap();
        entries.iter().map(|entry| entry.key.to_string()).collect()
    }
}
