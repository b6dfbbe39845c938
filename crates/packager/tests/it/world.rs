use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use kinora_blob::{Blob, FaultAction, Faults, ObjectKey};
use kinora_domain::{Clock as _, SourceId};
use kinora_engine::{Engine, Settings};
use kinora_formats::Scanner;
use kinora_packager::{Packaged, Packager};
use kinora_testkit::{MovableClock, SeededRandom};
use tempfile::TempDir;

/// A packager and the objects it works on.
pub(crate) struct World {
    pub(crate) packager: Packager,
    pub(crate) blob: Blob,
    /// Writes of objects so far.
    writes: Arc<AtomicU64>,
    random: SeededRandom,
    _folder: TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let writes = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&writes);
        let faults = Faults::new(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            FaultAction::Proceed
        });
        let blob = Blob::open_folder(folder.path()).await.unwrap().with_faults(Arc::new(faults));
        let engine = Engine::find(Settings::default()).await.expect("tests need ffmpeg");
        let packager = Packager::new(blob.clone(), engine);
        Self { packager, blob, writes, random: SeededRandom::default(), _folder: folder }
    }

    /// The id of a source that has no objects yet.
    pub(crate) fn source(&self) -> SourceId {
        SourceId::new(MovableClock::default().now(), &self.random)
    }

    /// Stores a file and its index, under a new id.
    pub(crate) async fn store(&self, file: Bytes) -> Arc<Packaged> {
        self.store_as(self.source(), file).await
    }

    /// The same under this id.
    pub(crate) async fn store_as(&self, source: SourceId, file: Bytes) -> Arc<Packaged> {
        let mut scanner = Scanner::new(None);
        scanner.push(&file).unwrap();
        let index = scanner.finish().unwrap().into_index().unwrap().to_bytes();
        self.blob.put_once(ObjectKey::Source(source), file).await.unwrap();
        self.blob.put_once(ObjectKey::Index(source), Bytes::from(index)).await.unwrap();
        self.packager.packaged(source).await.unwrap()
    }

    /// Writes of objects while `work` runs.
    pub(crate) async fn writes_of(&self, work: impl Future<Output = ()>) -> u64 {
        let before = self.writes.load(Ordering::SeqCst);
        work.await;
        self.writes.load(Ordering::SeqCst) - before
    }
}
