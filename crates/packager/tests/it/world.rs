use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use kinora_blob::{Blob, FaultAction, Faults, ObjectKey, WriteKind};
use kinora_domain::{
    AccessPolicy, Clock as _, Media, MediaSettings, NewMedia, PlaybackId, PresentationId, SourceId,
};
use kinora_engine::{Engine, Settings};
use kinora_formats::Scanner;
use kinora_index::Index;
use kinora_packager::{Packaged, Packager, PlaybackClient, REQUEST_TIMEOUT, ThumbnailRequest};
use kinora_store::{DatabaseLocation, Error, Opener, Store, StoreOptions, Tx};
use kinora_testkit::{MovableClock, SeededRandom};
use tempfile::TempDir;

/// A packager and its objects.
pub(crate) struct TestServer {
    pub(crate) packager: Packager,
    pub(crate) store: Store,
    pub(crate) blob: Blob,
    pub(crate) engine: Engine,
    /// While true, the disk is full.
    pub(crate) is_full: Arc<AtomicBool>,
    /// While true, every write of an object fails with another error.
    pub(crate) is_failing: Arc<AtomicBool>,
    /// Writes of each object so far.
    writes: Arc<Mutex<BTreeMap<String, u64>>>,
    random: SeededRandom,
    folder: TempDir,
}

/// A viewer without a known address.
pub(crate) fn on_demand_client() -> PlaybackClient {
    PlaybackClient { playback: PlaybackId::new(&SeededRandom::default()), address: None }
}

/// The ffmpeg of this machine.
async fn engine() -> Engine {
    let capabilities_cache = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("ffmpeg-capabilities"));
    Engine::find(Settings { capabilities_cache, ..Settings::default() }).await.expect("tests need ffmpeg")
}

/// Retries after a timeout. Panics if a request is rejected before that, because its queue is full.
pub(crate) async fn until_made<T>(
    request: impl AsyncFn() -> Result<T, kinora_packager::Error>,
) -> Result<T, kinora_packager::Error> {
    loop {
        let started = tokio::time::Instant::now();
        match Box::pin(request()).await {
            Err(error) if matches!(error.root(), kinora_packager::Error::Busy) => {
                assert!(started.elapsed() >= REQUEST_TIMEOUT, "refused after {:?}", started.elapsed());
            }
            answer => return answer,
        }
    }
}

impl TestServer {
    pub(crate) async fn new() -> Self {
        Self::with_engine(engine().await).await
    }

    /// As `new`, with this engine.
    pub(crate) async fn with_engine(engine: Engine) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let writes = Arc::new(Mutex::new(BTreeMap::new()));
        let (counted, is_full) = (Arc::clone(&writes), Arc::new(AtomicBool::new(false)));
        let is_failing = Arc::new(AtomicBool::new(false));
        let (full, failing) = (Arc::clone(&is_full), Arc::clone(&is_failing));
        let faults = Faults::new(move |write| {
            if write.kind != WriteKind::Delete {
                *counted.lock().unwrap().entry(write.key.to_string()).or_insert(0) += 1;
            }
            match (full.load(Ordering::SeqCst), failing.load(Ordering::SeqCst)) {
                (true, _) => FaultAction::Full,
                (false, true) => FaultAction::Fail,
                (false, false) => FaultAction::Proceed,
            }
        });
        let objects = folder.path().join("objects");
        let blob = Blob::open_folder(&objects).await.unwrap().with_faults(Arc::new(faults));
        let options = StoreOptions {
            database: DatabaseLocation::Folder(folder.path().to_owned()),
            opener: Opener::Server,
            secret_keys: None,
            clock: Arc::new(MovableClock::default()),
            random: Arc::new(SeededRandom::default()),
            faults: None,
        };
        let store = Store::open(options).await.unwrap();
        let packager = packager(&store, &blob, engine.clone());
        Self {
            packager,
            store,
            blob,
            engine,
            is_full,
            is_failing,
            writes,
            random: SeededRandom::default(),
            folder,
        }
    }

    /// Another process with the same rows and objects.
    pub(crate) async fn another_packager(&self) -> Packager {
        packager(&self.store, &self.blob, engine().await)
    }

    /// The id of a source that has no objects yet.
    pub(crate) fn source(&self) -> SourceId {
        SourceId::new(MovableClock::default().now(), &self.random)
    }

    /// Stores a file and its index under a new id.
    pub(crate) async fn store(&self, file: Bytes) -> Arc<Packaged> {
        self.store_as(self.source(), file).await
    }

    /// As `store`, for a media, so that its encoded objects stay.
    pub(crate) async fn store_of_media(&self, file: Bytes) -> Arc<Packaged> {
        let source = self.source();
        self.media_of(source).await;
        self.store_as(source, file).await
    }

    /// As `store`, under this id.
    pub(crate) async fn store_as(&self, source: SourceId, file: Bytes) -> Arc<Packaged> {
        let mut scanner = Scanner::new(None);
        scanner.push(&file).unwrap();
        let index = scanner.finish().unwrap().into_index().unwrap();
        self.store_index(source, file, &index).await
    }

    /// Stores a file and an index of it.
    pub(crate) async fn store_index(&self, source: SourceId, file: Bytes, index: &Index) -> Arc<Packaged> {
        self.blob.put_once(ObjectKey::Source(source), file).await.unwrap();
        self.blob
            .put_once(ObjectKey::Index(PresentationId::of(source)), Bytes::from(index.to_bytes()))
            .await
            .unwrap();
        self.packager.packaged(PresentationId::of(source)).await.unwrap()
    }

    /// The bytes of a thumbnail, requested without a known address.
    pub(crate) async fn thumbnail(
        &self,
        packaged: &Arc<Packaged>,
        request: ThumbnailRequest,
    ) -> Result<Bytes, kinora_packager::Error> {
        self.packager.thumbnail(packaged, request, on_demand_client()).await?.bytes().await
    }

    /// The folder of the objects.
    pub(crate) fn objects(&self) -> PathBuf {
        self.folder.path().join("objects")
    }

    /// A media with this source, so that its renditions may have rows.
    pub(crate) async fn media_of(&self, source: SourceId) -> Media {
        let workspace = self.store.workspaces().await.unwrap()[0].id;
        let now = MovableClock::default().now();
        let url = "https://example.com/a.mp4".to_owned();
        let new = NewMedia {
            workspace,
            settings: MediaSettings::default(),
            url,
            clip_of: None,
            policy: AccessPolicy::Public,
            restrictions: kinora_domain::AccessRestrictions::default(),
            encryption: kinora_domain::Encryption::None,
            tracks: Vec::new(),
        };
        let (media, created) = Media::create(new, now, &self.random);
        let fetching = media.clone().start_download(source, now).unwrap();
        let saved = fetching.clone();
        let write = async move |tx: &mut Tx| {
            tx.register_media(&media, &created, now).await?;
            tx.save_media(&saved).await
        };
        self.store.write::<_, Error, _>(write).await.unwrap();
        fetching
    }

    /// The number of writes, or tries, of each object below `folder`.
    pub(crate) fn writes_below(&self, folder: &str) -> BTreeMap<String, u64> {
        let writes = self.writes.lock().unwrap();
        writes
            .iter()
            .filter(|(key, _)| key.starts_with(folder))
            .map(|(key, count)| (key.clone(), *count))
            .collect()
    }

    /// Writes of objects while `work` runs.
    pub(crate) async fn writes_of(&self, task: impl Future<Output = ()>) -> u64 {
        let sum = || self.writes.lock().unwrap().values().sum::<u64>();
        let before = sum();
        task.await;
        sum() - before
    }
}

fn packager(store: &Store, blob: &Blob, engine: Engine) -> Packager {
    Packager::new(store.clone(), blob.clone(), engine, Arc::new(MovableClock::default()))
}
