//! A separate store for each test, with a manual clock and planned faults.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinora_domain::{
    AccessPolicy, AspectRatio, Attempt, AttemptId, AttemptOutcome, AttemptResponse, Clock, Event, EventKind,
    FrameRate, LeftOutTrack, Media, MediaDuration, MediaFacts, MediaSettings, NewMedia, NotCopied,
    NotCopiedReason, Random, Resolution, SourceId, Timestamp, Track, TrackId, TrackKind, Webhook,
    WorkspaceId,
};
use kinora_store::{
    ClaimDeliveries, ClaimJobs, ClaimedDelivery, ClaimedJob, DatabaseLocation, DueWorkspace, Error,
    FaultAction, FaultPoint, Faults, JobQueue, Opener, Store, StoreOptions, Tx, WorkerId, WorkspaceLimit,
};
use kinora_testkit::postgres::TestDatabase;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

/// Base64 of 32 bytes.
pub(crate) const SECRET_KEY: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

pub(crate) const SECOND: i64 = Timestamp::SECOND;
pub(crate) const DAY: i64 = 24 * 3600 * SECOND;

pub(crate) struct TestStore {
    pub(crate) dir: tempfile::TempDir,
    /// On PostgreSQL.
    pub(crate) database: Option<TestDatabase>,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) random: Arc<TestRandom>,
    pub(crate) faults: Arc<TestFaults>,
}

impl TestStore {
    pub(crate) fn sqlite() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            database: None,
            clock: Arc::new(TestClock(AtomicI64::new(1_762_164_228_595_604))),
            random: Arc::new(TestRandom(AtomicU64::new(1))),
            faults: Arc::default(),
        }
    }

    pub(crate) fn postgres() -> Self {
        Self { database: Some(TestDatabase::create()), ..Self::sqlite() }
    }

    /// The database on PostgreSQL of a world that has one.
    pub(crate) fn server(&self) -> &TestDatabase {
        self.database.as_ref().expect("a test of PostgreSQL")
    }

    /// The folder of a world on SQLite.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    pub(crate) fn options(&self) -> StoreOptions {
        let database = match &self.database {
            Some(database) => DatabaseLocation::Postgres { url: database.url() },
            None => DatabaseLocation::Folder(self.data_dir()),
        };
        StoreOptions {
            secret_keys: self.database.as_ref().map(|_| SECRET_KEY.to_owned()),
            database,
            opener: Opener::Server,
            clock: self.clock.clone(),
            random: self.random.clone(),
            faults: Some(self.faults.clone()),
        }
    }

    pub(crate) async fn open(&self) -> Store {
        Store::open(self.options()).await.unwrap()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Releases all leases, as a restart does.
    pub(crate) async fn free_leases(&self, store: &Store) {
        store.release_leases().await.unwrap();
        if self.database.is_some() {
            // Other workers may be alive there, so leases expire.
            self.clock.advance(30 * SECOND);
        }
    }

    /// Changes one row with direct SQL.
    pub(crate) async fn edit(&self, statement: &str) {
        assert_eq!(self.edit_many(statement).await, 1);
    }

    /// Changes rows or tables with direct SQL, and returns the number of rows.
    pub(crate) async fn edit_many(&self, statement: &str) -> u64 {
        match &self.database {
            Some(database) => database.execute(statement).await,
            None => {
                let file = self.data_dir().join("kinora.db");
                let mut connection = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
                let statement = sqlx::AssertSqlSafe(statement.to_owned());
                sqlx::query(statement).execute(&mut connection).await.unwrap().rows_affected()
            }
        }
    }

    pub(crate) fn worker(&self) -> WorkerId {
        WorkerId::new(self.random.as_ref())
    }

    pub(crate) fn source(&self) -> SourceId {
        SourceId::new(self.now(), self.random.as_ref())
    }

    pub(crate) fn media(&self, workspace: WorkspaceId) -> (Media, Event) {
        let url = "https://example.com/a.mp4".to_owned();
        let settings = MediaSettings::default();
        let new = NewMedia {
            workspace,
            settings,
            url,
            clip_of: None,
            policy: AccessPolicy::Public,
            restrictions: kinora_domain::AccessRestrictions::default(),
            encryption: kinora_domain::Encryption::None,
            tracks: Vec::new(),
        };
        Media::create(new, self.now(), self.random.as_ref())
    }

    pub(crate) async fn webhook(&self, store: &Store, workspace: WorkspaceId) -> Webhook {
        let webhook =
            Webhook::create(workspace, "https://example.com/hook".into(), self.now(), self.random.as_ref());
        let saved = webhook.clone();
        write(store, async move |tx| tx.insert_webhook(&saved).await).await.unwrap();
        webhook
    }

    pub(crate) fn facts(&self) -> MediaFacts {
        let track = |kind, not_copied, is_encoded| Track {
            id: TrackId::new(self.now(), self.random.as_ref()),
            kind,
            not_copied,
            is_encoded,
        };
        let why = NotCopied { reason: NotCopiedReason::OpenGop, detail: "open GOP".into() };
        let frame_rate = Some(FrameRate { numerator: 30_000, denominator: 1001 });
        MediaFacts {
            container: Some("mov".into()),
            duration: MediaDuration::from_micros(30_033_333),
            tracks: vec![
                track(TrackKind::Video { width: 854, height: 480, frame_rate }, Some(why), false),
                track(
                    TrackKind::Audio { language_code: "und".into(), language_name: "Undetermined".into() },
                    None,
                    true,
                ),
            ],
            source_resolution: Some(Resolution::P480),
            aspect_ratio: Some(AspectRatio { width: 16, height: 9 }),
            rungs: vec![Resolution::P360, Resolution::P240],
            is_truncated: true,
            left_out: vec![LeftOutTrack { is_video: false, detail: "the audio is encrypted".into() }],
            does_not_decode: true,
            broken_renditions: Vec::new(),
        }
    }

    pub(crate) fn attempt(&self, status: u16) -> Attempt {
        Attempt {
            id: AttemptId::new(self.now(), self.random.as_ref()),
            at: self.now(),
            address: "https://example.com/hook".into(),
            outcome: AttemptOutcome::Answered(AttemptResponse { status, ..Default::default() }),
        }
    }

    /// Claims the deliveries of a webhook for 30 s.
    pub(crate) async fn claim(&self, store: &Store, webhook: &Webhook) -> Vec<ClaimedDelivery> {
        let now = self.now();
        let claim = ClaimDeliveries {
            webhook: webhook.id,
            owner: self.worker(),
            now,
            lease_until: now.plus_seconds(30),
            limit: 100,
        };
        store.claim_deliveries(claim).await.unwrap()
    }
}

/// Claims jobs of a queue for 30 s, at most `limit` of each workspace.
pub(crate) async fn claim_jobs(
    world: &TestStore,
    store: &Store,
    queue: JobQueue,
    limit: u32,
) -> Vec<ClaimedJob> {
    let now = world.now();
    let due = store.job_workspaces_due(queue, now).await.unwrap();
    let share = |due: &DueWorkspace| WorkspaceLimit { workspace: due.workspace, limit };
    let shares = due.iter().map(share).collect();
    let (owner, lease_until) = (world.worker(), now.plus_seconds(30));
    store.claim_jobs(ClaimJobs { owner, queue, workspace_limits: shares, now, lease_until }).await.unwrap()
}

/// Writes with the store's own error, so that closures need no type annotation.
pub(crate) async fn write<T: Send + 'static>(
    store: &Store,
    work: impl AsyncFnMut(&mut Tx) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    store.write(work).await
}

/// The workspace that every new database has.
pub(crate) async fn workspace(store: &Store) -> WorkspaceId {
    store.workspace_by_name("Development").await.unwrap().unwrap().id
}

/// Polls until there is a value. Panics after far more time than it takes.
pub(crate) async fn until<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    const WAIT_MAX: Duration = Duration::from_secs(60);
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    let found = async {
        loop {
            ticks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    tokio::time::timeout(WAIT_MAX, found).await.expect("what the test waits for happens")
}

/// Adds a media with its event.
pub(crate) async fn insert(store: &Store, media: &Media, event: &Event) {
    let (media, event) = (media.clone(), event.clone());
    write(store, async move |tx| {
        tx.insert_media(&media).await?;
        tx.push_event(&event).await
    })
    .await
    .unwrap();
}

/// Adds an event about a media.
pub(crate) async fn push(store: &Store, media: &Media, at: Timestamp) {
    let event = Event { workspace: media.workspace, kind: EventKind::MediaDeleted(media.id), at };
    write(store, async move |tx| tx.push_event(&event).await).await.unwrap();
}

pub(crate) struct TestClock(AtomicI64);

impl TestClock {
    pub(crate) fn advance(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

/// Bytes that never repeat: SplitMix64 of a counter.
pub(crate) struct TestRandom(AtomicU64);

impl Random for TestRandom {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let mut z = self.0.fetch_add(1, Ordering::SeqCst).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let word = (z ^ (z >> 31)).to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// Injects the planned faults at the next points, in order; then none. Counts the points.
#[derive(Default)]
pub(crate) struct TestFaults {
    next: Mutex<Vec<(FaultPoint, FaultAction)>>,
    commits: AtomicU64,
}

impl TestFaults {
    /// Makes the next commit fail at this point.
    pub(crate) fn plan(&self, point: FaultPoint, action: FaultAction) {
        self.next.lock().unwrap().push((point, action));
    }

    /// The number of commits with changes so far.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }
}

impl Faults for TestFaults {
    fn at(&self, point: FaultPoint) -> FaultAction {
        if point == FaultPoint::AfterCommit {
            self.commits.fetch_add(1, Ordering::SeqCst);
        }
        let mut next = self.next.lock().unwrap();
        match next.first() {
            Some((planned, action)) if *planned == point => {
                let action = *action;
                next.remove(0);
                action
            }
            _ => FaultAction::Continue,
        }
    }
}
