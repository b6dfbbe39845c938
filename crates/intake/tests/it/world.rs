//! The setup of every test: a database, an object store, and any number of processes.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt as _, stream};
use kinora_blob::{Blob, S3Limits};
use kinora_domain::{
    AccessPolicy, Clock as _, CorsOrigin, MediaId, MediaSettings, MediaState, NewUpload, Random, Timestamp,
    Upload, WorkspaceId,
};
use kinora_intake::{Append, Intake, IntakeError, IntakeOptions, ScanLimits, StallLimit, UploadProgress};
use kinora_store::{DatabaseLocation, Opener, Store, StoreOptions, WorkerId};
use kinora_testkit::postgres::TestDatabase;
use kinora_testkit::{MovableClock, S3Bucket, SeededRandom};
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The body of a request.
pub(crate) type Body = BoxStream<'static, io::Result<Bytes>>;

pub(crate) const MIB: usize = 1 << 20;

/// Base64 of 32 bytes.
const SECRET_KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// Runs a test on both backends: `name::sqlite_and_folder` and `name::postgres_and_s3`.
macro_rules! on_both {
    ($($(#[$meta:meta])* async fn $name:ident($world:ident: World) $body:block)*) => {$(
        $(#[$meta])*
        mod $name {
            use super::*;

            async fn run($world: World) $body

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite_and_folder() {
                run(World::folder().await).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres_and_s3() {
                run(World::shared().await).await;
            }
        }
    )*};
}
pub(crate) use on_both;

pub(crate) struct World {
    pub(crate) clock: Arc<MovableClock>,
    random: Arc<SeededRandom>,
    pub(crate) store: Store,
    ground: Ground,
}

enum Ground {
    Folder(TempDir),
    Shared(Box<(S3Bucket, TestDatabase)>),
}

impl World {
    pub(crate) async fn folder() -> Self {
        let folder = TempDir::new().unwrap();
        let database = DatabaseLocation::Folder(folder.path().join("data"));
        Self::open(database, Ground::Folder(folder)).await
    }

    pub(crate) async fn shared() -> Self {
        let database = TestDatabase::create();
        let location = DatabaseLocation::Postgres { url: database.url() };
        Self::open(location, Ground::Shared(Box::new((S3Bucket::create(), database)))).await
    }

    async fn open(database: DatabaseLocation, ground: Ground) -> Self {
        let clock = Arc::new(MovableClock::at(Timestamp::from_micros(1_762_164_228_595_604)));
        let random = Arc::new(SeededRandom::new(7));
        let is_shared = matches!(ground, Ground::Shared(..));
        let options = StoreOptions {
            database,
            opener: Opener::Server,
            secret_keys: is_shared.then(|| SECRET_KEY.to_owned()),
            clock: clock.clone(),
            random: random.clone(),
            faults: None,
        };
        let store = Store::open(options).await.unwrap();
        Self { clock, random, store, ground }
    }

    pub(crate) async fn blob(&self) -> Blob {
        match &self.ground {
            Ground::Folder(folder) => Blob::open_folder(folder.path().join("objects")).await.unwrap(),
            Ground::Shared(shared) => {
                let limits = S3Limits { part_len: 5 << 20, ..S3Limits::default() };
                Blob::open_s3_with(&shared.0.url(), limits).unwrap()
            }
        }
    }

    /// A process; dropping it loses its cached sessions.
    pub(crate) async fn node(&self) -> Intake {
        self.node_with_pace(StallLimit::default()).await
    }

    pub(crate) async fn node_with_pace(&self, pace_min: StallLimit) -> Intake {
        self.node_with(pace_min, ScanLimits::new(std::env::temp_dir().into())).await
    }

    pub(crate) async fn node_with_scans(&self, scans: ScanLimits) -> Intake {
        self.node_with(StallLimit::default(), scans).await
    }

    async fn node_with(&self, stall_limit: StallLimit, scans: ScanLimits) -> Intake {
        Intake::new(IntakeOptions {
            store: self.store.clone(),
            blob: self.blob().await,
            clock: self.clock.clone(),
            random: self.random.clone(),
            worker: WorkerId::new(self.random.as_ref()),
            public_url: "https://media.example".into(),
            stall_limit,
            scan_limits: scans,
        })
    }

    pub(crate) async fn upload(&self) -> MediaId {
        self.upload_with_limit(None).await
    }

    pub(crate) async fn upload_with_limit(&self, size_max: Option<u64>) -> MediaId {
        let workspace = self.workspace().await;
        let new = NewUpload {
            workspace,
            settings: MediaSettings::default(),
            policy: AccessPolicy::Public,
            restrictions: kinora_domain::AccessRestrictions::default(),
            encryption: kinora_domain::Encryption::None,
            tracks: Vec::new(),
            origin: CorsOrigin::Any,
            timeout_s: Upload::TIMEOUT_DEFAULT_S,
            size_max,
        };
        let (upload, event) = Upload::create(new, self.clock.now(), self.random.as_ref() as &dyn Random);
        let id = upload.id;
        self.store.write(async move |tx| tx.register_upload(&upload, &event).await).await.unwrap();
        id
    }

    pub(crate) async fn workspace(&self) -> WorkspaceId {
        let name = kinora_domain::DEVELOPMENT;
        self.store.workspace_by_name(name).await.unwrap().expect("a new database has it").id
    }

    /// Name of the state of the media; `None` without one.
    pub(crate) async fn media_state(&self, id: MediaId) -> Option<&'static str> {
        self.store.media_by_id(id).await.unwrap().map(|media| media.state.name())
    }

    /// The bytes that the ready media of an upload is made from.
    pub(crate) async fn ready_bytes(&self, id: MediaId) -> Bytes {
        let media = self.store.media_by_id(id).await.unwrap().expect("there is a media");
        let MediaState::Ready { source, .. } = media.state else { panic!("{:?}", media.state) };
        self.blob().await.get(kinora_blob::ObjectKey::Source(source)).await.unwrap().expect("it was kept")
    }

    /// The stored bytes of a complete upload, whether its media is ready or waits for a job.
    pub(crate) async fn stored_bytes(&self, id: MediaId) -> Bytes {
        let upload = self.store.upload_by_id(id).await.unwrap().expect("it was registered");
        assert_eq!(upload.state.name(), "completed");
        let source = kinora_blob::ObjectKey::Source(upload.source);
        self.blob().await.get(source).await.unwrap().expect("it was kept")
    }

    /// Name of the state of an upload.
    pub(crate) async fn state(&self, id: MediaId) -> &'static str {
        self.store.upload_by_id(id).await.unwrap().expect("it was registered").state.name()
    }
}

/// Bytes for an upload at an offset, as a client of tus sends them.
pub(crate) fn append(start: usize, bytes: Bytes) -> Append<Body> {
    Append {
        start: start as u64,
        may_overlap: false,
        length: None,
        is_last: false,
        body_len: Some(bytes.len() as u64),
        checksum: None,
        body: pieces(bytes),
    }
}

/// A body in pieces of the usual length of a read from a socket.
pub(crate) fn pieces(bytes: Bytes) -> Body {
    const PIECE: usize = 100_000;
    let cut: VecDeque<_> =
        (0..bytes.len()).step_by(PIECE).map(|at| bytes.slice(at..bytes.len().min(at + PIECE))).collect();
    stream::iter(cut).map(Ok).boxed()
}

/// A body that fails after its bytes.
pub(crate) fn broken(bytes: Bytes) -> Body {
    pieces(bytes).chain(stream::iter([Err(io::Error::from(io::ErrorKind::ConnectionReset))])).boxed()
}

/// A body that the test sends, with its sender.
fn controlled_body() -> (mpsc::UnboundedSender<Bytes>, Body) {
    let (sender, receiver) = mpsc::unbounded_channel::<Bytes>();
    let body = stream::unfold(receiver, |mut receiver| async move {
        receiver.recv().await.map(|bytes| (Ok(bytes), receiver))
    });
    (sender, body.boxed())
}

/// A request for a whole file in progress, with the sender of its body and its result.
pub(crate) fn begin(
    node: Intake,
    id: MediaId,
    file: &Bytes,
) -> (mpsc::UnboundedSender<Bytes>, JoinHandle<Result<UploadProgress, IntakeError>>) {
    let (sender, body) = controlled_body();
    let append = Append { length: Some(file.len() as u64), body_len: None, body, ..append(0, Bytes::new()) };
    (sender, tokio::spawn(async move { node.receive(id, append).await }))
}

/// Sends a whole file in chunks to nodes, round robin.
pub(crate) async fn send(
    nodes: &[Intake],
    id: MediaId,
    file: &Bytes,
    chunk: usize,
) -> Result<UploadProgress, IntakeError> {
    let mut at = 0;
    let mut request = 0;
    loop {
        let end = file.len().min(at + chunk);
        let append = Append { length: Some(file.len() as u64), ..append(at, file.slice(at..end)) };
        let progress = nodes[request % nodes.len()].receive(id, append).await?;
        assert_eq!(progress.offset, end as u64);
        if progress.is_complete() {
            return Ok(progress);
        }
        (at, request) = (end, request + 1);
    }
}

/// A file of about this length that becomes ready at its last byte: a clip, then a box that readers ignore.
pub(crate) fn clip(len: usize) -> Bytes {
    let clip = kinora_testkit::fixture::two_seconds();
    let Some(padding) = len.checked_sub(clip.len() + 8) else { return clip };
    let mut file = clip.to_vec();
    file.extend_from_slice(&u32::try_from(padding + 8).unwrap().to_be_bytes());
    file.extend_from_slice(b"free");
    file.extend((0..padding).map(|at| u8::try_from((at ^ (at >> 8) ^ (at >> 16)) & 0xff).unwrap()));
    file.into()
}

/// Waits for the effect of another task.
pub(crate) async fn until<F: Future<Output = bool>>(what: impl Fn() -> F) {
    let mut ticks = tokio::time::interval(Duration::from_millis(10));
    let waiting = async {
        while !what().await {
            ticks.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it comes about");
}
