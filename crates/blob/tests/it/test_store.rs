//! The common setup of the tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::{Blob, FaultAction, Faults, ObjectKey, Prefix, S3Limits, WriteOp};
use kinora_domain::{RenditionId, SourceId, Timestamp};
use kinora_testkit::S3Bucket;
use tempfile::TempDir;
use uuid::Uuid;

use crate::multipart_log::FakeMultipartLog;

/// A limit against hangs: a check every 10 ms, for a minute at least.
pub(crate) const LOOKS_MAX: usize = 6000;

pub(crate) const MIB: usize = 1 << 20;

/// The part length in tests: the least that Amazon allows.
pub(crate) const PART: usize = 5 * MIB;

/// Runs a test on both backends: `name::in_a_folder` and `name::in_a_bucket`.
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($world:ident: TestBlob) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            use super::*;

            async fn run($world: TestBlob) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn in_a_folder() {
                run(TestBlob::folder().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn in_a_bucket() {
                run(TestBlob::bucket()).await;
            }
        }
    )*};
}
pub(crate) use on_both;

/// A time at which every object is old.
pub(crate) fn far_ahead() -> Timestamp {
    Timestamp::from_micros(i64::MAX)
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

/// Bytes that differ at every offset of interest.
pub(crate) fn noise(len: usize) -> Bytes {
    (0..len).map(|at| u8::try_from((at ^ (at >> 8) ^ (at >> 16)) & 0xff).unwrap()).collect()
}

/// A separate store, which is removed when the test ends.
pub(crate) struct TestBlob {
    pub(crate) blob: Blob,
    ground: Backend,
}

enum Backend {
    Folder(TempDir),
    Bucket(S3Bucket),
}

impl TestBlob {
    pub(crate) async fn folder() -> Self {
        let folder = TempDir::new().unwrap();
        let blob = Blob::open_folder(folder.path().join("objects")).await.unwrap();
        Self { blob, ground: Backend::Folder(folder) }
    }

    pub(crate) fn bucket() -> Self {
        let bucket = S3Bucket::create();
        Self { blob: open(&bucket), ground: Backend::Bucket(bucket) }
    }

    /// Reopens the same storage after the process has died.
    pub(crate) async fn restart(&mut self) {
        self.blob = match &self.ground {
            Backend::Folder(_) => Blob::open_folder(self.root()).await.unwrap(),
            Backend::Bucket(bucket) => open(bucket),
        };
    }

    pub(crate) fn is_bucket(&self) -> bool {
        matches!(self.ground, Backend::Bucket(_))
    }

    /// The most bytes of one write; longer objects are written in several.
    pub(crate) fn batch(&self) -> usize {
        if self.is_bucket() { PART } else { MIB }
    }

    /// The folder of the files. Only for a folder.
    pub(crate) fn root(&self) -> PathBuf {
        let Backend::Folder(folder) = &self.ground else { panic!("a bucket has no files") };
        folder.path().join("objects")
    }

    pub(crate) fn in_bucket(&self) -> &S3Bucket {
        let Backend::Bucket(bucket) = &self.ground else { panic!("a folder is no bucket") };
        bucket
    }

    /// Creates an object whose name is no key, as other programs do.
    pub(crate) fn put_foreign(&self, name: &str) {
        match &self.ground {
            Backend::Bucket(bucket) => bucket.put(name, b"hands off"),
            Backend::Folder(_) => {
                let path = self.root().join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "hands off").unwrap();
            }
        }
    }

    /// The names of all objects, and of temporary data that is no object: temporary files, multipart
    /// uploads and their notes.
    pub(crate) fn everything(&self) -> BTreeSet<String> {
        match &self.ground {
            Backend::Folder(_) => files(&self.root()),
            Backend::Bucket(bucket) => {
                let uploads = bucket.uploads().into_iter().map(|name| format!("upload of {name}"));
                bucket.objects().into_iter().chain(uploads).collect()
            }
        }
    }

    /// Waits until exactly these objects exist. A bucket's writer removes its orphans in the background.
    pub(crate) async fn wait_for_objects(&self, expected: &[ObjectKey]) {
        self.wait_for_names(&expected.iter().map(ObjectKey::to_string).collect()).await;
    }

    /// The same, sweeping meanwhile. A store that was stopped as by a crash may still have a thread that
    /// works on a file, and locks it until it ends; after a real crash there is none.
    pub(crate) async fn sweep_until_objects(&self, expected: &[ObjectKey]) -> u64 {
        let expected = expected.iter().map(ObjectKey::to_string).collect();
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(10));
        let mut swept = 0;
        for _ in 0..LOOKS_MAX {
            ticks.tick().await;
            swept += self.blob.sweep_temporary(far_ahead()).await.unwrap();
            if self.everything() == expected {
                return swept;
            }
        }
        assert_eq!(self.everything(), expected);
        swept
    }

    /// The same as [`TestBlob::wait_for_objects`], with names that are no keys.
    pub(crate) async fn wait_for_names(&self, expected: &BTreeSet<String>) {
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(10));
        for _ in 0..LOOKS_MAX {
            ticks.tick().await;
            if self.everything() == *expected {
                return;
            }
        }
        assert_eq!(self.everything(), *expected);
    }

    /// Waits until only the object of the growing source 1 is left. A request that was being sent when its
    /// process died may leave something after the first try. An upload that was begun and never recorded
    /// has no parts, and stays.
    pub(crate) async fn wait_discarded(&self, book: &FakeMultipartLog) {
        let expected = BTreeSet::from([ObjectKey::Source(source(1)).to_string()]);
        let multipart = book.grown().multipart_id;
        let mut ticks = tokio::time::interval(std::time::Duration::from_millis(10));
        let mut left = BTreeSet::new();
        for _ in 0..LOOKS_MAX {
            ticks.tick().await;
            self.blob.discard_growing(source(1), multipart.clone()).await.unwrap();
            left = match &self.ground {
                Backend::Folder(_) => files(&self.root()),
                Backend::Bucket(bucket) => {
                    let uploads = bucket.upload_ids().into_iter().filter(|id| Some(id) == multipart.as_ref());
                    bucket.objects().into_iter().chain(uploads).collect()
                }
            };
            if left == expected {
                return;
            }
        }
        assert_eq!(left, expected);
    }

    pub(crate) fn faulty(&self, decide: impl Fn(WriteOp) -> FaultAction + Send + Sync + 'static) -> Blob {
        self.blob.clone().with_faults(Arc::new(Faults::new(decide)))
    }

    pub(crate) async fn list(&self, prefix: Prefix) -> Vec<String> {
        let entries = self.blob.list(prefix, None, 100).await.unwrap();
        entries.iter().map(|entry| entry.key.to_string()).collect()
    }
}

fn open(bucket: &S3Bucket) -> Blob {
    let limits = S3Limits { part_len: PART as u64, ..S3Limits::default() };
    Blob::open_s3_with(&bucket.url(), limits).unwrap()
}

/// The names of all files below a folder.
fn files(root: &Path) -> BTreeSet<String> {
    fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { collect(&path, files) } else { files.push(path) }
        }
    }
    let mut files = Vec::new();
    collect(root, &mut files);
    files.iter().map(|path| path.strip_prefix(root).unwrap().to_str().unwrap().to_owned()).collect()
}
