//! The handle: how to open it, and what all its clones share.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kinora_domain::{Clock, Random};
use tokio::sync::oneshot;

use crate::keyring::Keyring;
use crate::notify::Outbox;
use crate::sql::{Database, Session, postgres, sqlite, statements, values};
use crate::tx::Effects;
use crate::usage::Meter;
use crate::version::VersionTeller;
use crate::wake::Bell;
use crate::write::Work;
use crate::{Error, FaultAction, FaultPoint, Faults, Tx, Version, Wake, WorkerId, folder, schema, writer};

/// Who opens a store (C-42). On an empty folder either makes the schema, the key and the
/// first rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// `serve`: brings an older schema up to date.
    Server,
    /// Any other command: works on its own schema only.
    Command,
}

/// Where the rows are.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabasePlace {
    /// A file of SQLite, and the key file beside it, in this folder.
    Folder(PathBuf),
    /// A database on PostgreSQL.
    Postgres {
        /// `postgres://user:password@host:port/name`. The connection must keep its session: no pooler that
        /// changes the server connection between transactions.
        url: String,
    },
}

/// Without the password.
impl fmt::Debug for DatabasePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => f.debug_tuple("Folder").field(path).finish(),
            Self::Postgres { .. } => f.debug_struct("Postgres").finish_non_exhaustive(),
        }
    }
}

/// What it takes to open a store.
pub struct StoreOptions {
    /// Where the rows are.
    pub database: DatabasePlace,
    /// Who opens it.
    pub opener: Opener,
    /// `KINORA_SECRET_KEY`: Base64 of 32 bytes, several separated by commas; the first one seals, all of them
    /// open. `None`: the key file of the folder; PostgreSQL has none, so there it is required.
    pub secret_keys: Option<String>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Draws ids, keys and nonces.
    pub random: Arc<dyn Random>,
    /// Crashes on purpose, in tests.
    pub faults: Option<Arc<dyn Faults>>,
}

/// The database, open. Clones are cheap and lead to the same one.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    common: Arc<Common>,
    database: Database,
    /// What this process counts.
    meter: Meter,
    /// On PostgreSQL.
    version: Option<VersionTeller>,
    /// `None` once closed.
    requests: Mutex<Option<writer::Requests>>,
    /// Ends when the writer has ended.
    ended: tokio::sync::Mutex<Option<oneshot::Receiver<()>>>,
}

/// What the handle and the writer share.
pub(crate) struct Common {
    pub(crate) keyring: Keyring,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) faults: Option<Arc<dyn Faults>>,
    jobs: Bell,
    deliveries: Bell,
    /// What other processes are still to be told, on PostgreSQL.
    pub(crate) outbox: Option<Outbox>,
    generation: AtomicU64,
    is_stopped: AtomicBool,
    is_full: AtomicBool,
    /// Whether commits queue BlurHash jobs.
    pub(crate) has_blur_hash: AtomicBool,
}

statements! {
    /// Costs nothing and fails when the database cannot be read.
    PING = "SELECT count(*) AS organisations FROM organisation";
    /// Writes for the sake of writing.
    PROBE = "INSERT INTO setting (key, value) VALUES ('write_probe', $1)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
}

impl Store {
    /// Opens a database, making what is missing: folder, schema, key, first rows; the database itself only
    /// where it is a file. Several processes may do so at once.
    ///
    /// Errors a person can act on: [`Error::SchemaTooNew`], [`Error::SchemaTooOld`],
    /// [`Error::SchemaOther`], [`Error::WrongKey`], [`Error::KeyNotAtHand`], [`Error::BadKey`],
    /// [`Error::Full`], and [`Error::Busy`] when another process begins or migrates the database for too
    /// long. Of a folder: [`Error::KeyMissing`], [`Error::Folder`].
    /// Of PostgreSQL: [`Error::SecretKeyRequired`], [`Error::BadDatabaseUrl`] and those whose names begin
    /// with `Database`.
    pub async fn open(options: StoreOptions) -> Result<Self, Error> {
        let (database, mut session) = connect(&options).await?;
        let keyring =
            schema::prepare(&mut session, &options).await.map_err(|error| database.explain(error))?;
        let common = Arc::new(Common {
            keyring,
            outbox: database.place().map(|_| Outbox::new(options.random.as_ref())),
            clock: options.clock,
            random: options.random,
            faults: options.faults,
            jobs: Bell::new(),
            deliveries: Bell::new(),
            generation: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            has_blur_hash: AtomicBool::new(true),
        });
        let target = match database.place() {
            None => writer::Target::Sqlite(session),
            Some(place) => {
                session.close().await?;
                writer::Target::Postgres(place)
            }
        };
        let (requests, ended) = writer::start(target, Arc::clone(&common))?;
        let meter = Meter::new(WorkerId::new(common.random.as_ref()));
        Ok(Self {
            shared: Arc::new(Shared {
                common,
                meter,
                version: database.place().map(VersionTeller::start),
                database,
                requests: Mutex::new(Some(requests)),
                ended: tokio::sync::Mutex::new(Some(ended)),
            }),
        })
    }

    /// Stops queueing BlurHash jobs. For tests of something else: the job runs ffmpeg and commits at any
    /// time later.
    pub fn disable_blur_hash(&self) {
        self.shared.common.has_blur_hash.store(false, Ordering::Release);
    }

    /// Ends it: what was sent to the writer is still done, everything later answers [`Error::Stopped`]. May
    /// run twice.
    ///
    /// Dropping the last clone does the same without waiting.
    pub async fn close(&self) {
        drop(self.requests().take());
        if let Some(ended) = self.shared.ended.lock().await.take() {
            // The sender is dropped unsent when the thread ends.
            let _ = ended.await;
        }
        if let Some(teller) = &self.shared.version {
            teller.stop();
        }
        self.shared.database.close().await;
        self.shared.common.stop();
    }

    /// A mark of what the database holds: as long as it stays equal, every read answers the same.
    ///
    /// What was read after a mark was taken may be answered again while the mark is the same. On SQLite it is
    /// [`Store::generation`] and costs nothing. On PostgreSQL the server is asked, so that a change is seen
    /// whichever process made it, from the moment its writer was told; calls that wait at the same time share
    /// one question.
    pub async fn version(&self) -> Result<Version, Error> {
        self.check_running()?;
        match &self.shared.version {
            None => Ok(Version::of_generation(self.generation())),
            Some(teller) => teller.ask().await,
        }
    }

    /// Changes whenever rows that answers are made from may have changed: workspaces, tokens, media,
    /// webhooks. What was read after this number was taken may be kept under it. Changes by other processes
    /// are seen by [`Store::watch_others`].
    pub fn generation(&self) -> u64 {
        self.shared.common.generation.load(Ordering::Acquire)
    }

    /// Wakes those who wait for jobs.
    pub fn wake_jobs(&self) {
        self.shared.common.jobs.ring();
    }

    /// Waits for jobs: woken after commits that made some.
    pub fn jobs_woken(&self) -> Wake {
        self.shared.common.jobs.listen()
    }

    /// Wakes those who wait for deliveries.
    pub fn wake_deliveries(&self) {
        self.shared.common.deliveries.ring();
    }

    /// Waits for deliveries: woken after commits that made some, or that let some go.
    pub fn deliveries_woken(&self) -> Wake {
        self.shared.common.deliveries.listen()
    }

    /// Whether it can be read, and written: after a write that found the disk full this tries a small one,
    /// and answers [`Error::Full`] until there is room again.
    pub async fn ping(&self) -> Result<(), Error> {
        self.reader().await?.first(PING, values![]).await?;
        if self.shared.common.is_full.load(Ordering::Acquire) {
            self.write(async |tx: &mut Tx| {
                let now = tx.now();
                tx.session.execute(PROBE, values![now.to_string()]).await.map(drop)
            })
            .await?;
        }
        Ok(())
    }

    /// A connection for one read.
    pub(crate) async fn reader(&self) -> Result<Session, Error> {
        self.check_running()?;
        // Boxed: what is asked for seldom is not to be carried along by all who may ask for it.
        Box::pin(self.shared.database.reader()).await
    }

    /// A connection for several reads of one instant.
    pub(crate) async fn snapshot(&self) -> Result<Session, Error> {
        self.check_running()?;
        Box::pin(self.shared.database.snapshot()).await
    }

    pub(crate) fn common(&self) -> &Common {
        &self.shared.common
    }

    pub(crate) fn database(&self) -> &Database {
        &self.shared.database
    }

    pub(crate) fn meter(&self) -> &Meter {
        &self.shared.meter
    }

    pub(crate) fn check_running(&self) -> Result<(), Error> {
        if self.shared.common.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Hands a closure to the writer, waiting for a place in its queue.
    pub(crate) async fn send(&self, work: Box<dyn Work>) -> Result<(), Error> {
        let requests = self.requests().clone().ok_or(Error::Stopped)?;
        requests.send(work).await.map_err(|_| Error::Stopped)
    }

    fn requests(&self) -> std::sync::MutexGuard<'_, Option<writer::Requests>> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection to the database of these options, and how to make more.
async fn connect(options: &StoreOptions) -> Result<(Database, Session), Error> {
    match &options.database {
        DatabasePlace::Folder(data_dir) => {
            folder::make(data_dir)?;
            let file = data_dir.join("kinora.db");
            folder::make_file(&file)?;
            let database = Database::Sqlite(sqlite::Database::new(file));
            let session = database.connect().await?;
            Ok((database, session))
        }
        DatabasePlace::Postgres { url } => {
            if options.secret_keys.is_none() {
                return Err(Error::SecretKeyRequired);
            }
            let place = postgres::Place::from_url(url)?;
            let session = Session::postgres(place.connect_first().await?);
            Ok((Database::Postgres(postgres::Database::new(place)), session))
        }
    }
}

impl Common {
    /// Tells everybody of a commit of this process.
    pub(crate) fn tell(&self, effects: Effects) {
        self.hear(effects);
        if let Some(outbox) = &self.outbox {
            outbox.put(effects);
        }
    }

    /// Tells this process of a commit.
    pub(crate) fn hear(&self, effects: Effects) {
        if effects.rows {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        if effects.jobs {
            self.jobs.ring();
        }
        if effects.deliveries {
            self.deliveries.ring();
        }
    }

    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// What goes wrong on purpose at this point, if anything.
    pub(crate) fn fault(&self, point: FaultPoint) -> Result<(), Error> {
        match self.faults.as_ref().map(|faults| faults.at(point)) {
            None | Some(FaultAction::Continue) => Ok(()),
            Some(FaultAction::Fail) => Err(Error::Full),
            Some(FaultAction::Stop) => {
                self.stop();
                Err(Error::Stopped)
            }
        }
    }

    pub(crate) fn note_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Release);
    }
}
