//! The handle: how to open it, and the state that all its clones share.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kinora_domain::{Clock, Random};
use tokio::sync::oneshot;

use crate::data_version::DataVersionReader;
use crate::keyring::Keyring;
use crate::pg_notify::Outbox;
use crate::sql::{Database, Session, postgres, sqlite, statements, values};
use crate::tx::CommitSignals;
use crate::usage::UsageCounters;
use crate::wake_signal::WakeSignal;
use crate::write::WriteRequest;
use crate::{
    DataVersion, Error, FaultAction, FaultPoint, Faults, Tx, WakeReceiver, WorkerId, private_file, schema,
    writer,
};

/// The kind of process that opens a store (C-42). On an empty folder both create the schema, the key and
/// the first rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// `serve`: migrates an older schema.
    Server,
    /// Any other command: accepts its own schema only.
    Command,
}

/// The location of the database.
#[derive(Clone, PartialEq, Eq)]
pub enum DatabaseLocation {
    /// An SQLite file and the key file, in this folder.
    Folder(PathBuf),
    /// A database on PostgreSQL.
    Postgres {
        /// `postgres://user:password@host:port/name`. The connection must keep its session: no pooler that
        /// changes the server connection between transactions.
        url: String,
    },
}

/// Omits the password.
impl fmt::Debug for DatabaseLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => f.debug_tuple("Folder").field(path).finish(),
            Self::Postgres { .. } => f.debug_struct("Postgres").finish_non_exhaustive(),
        }
    }
}

/// The options to open a store.
pub struct StoreOptions {
    /// The location of the database.
    pub database: DatabaseLocation,
    /// The kind of process that opens it.
    pub opener: Opener,
    /// `KINORA_SECRET_KEY`: Base64 of 32 bytes, several separated by commas; the first one seals, all of
    /// them open. `None`: the key file of the folder. Required for PostgreSQL, which has no key file.
    pub secret_keys: Option<String>,
    /// The source of the time.
    pub clock: Arc<dyn Clock>,
    /// The source of ids, keys and nonces.
    pub random: Arc<dyn Random>,
    /// Fault injection, in tests.
    pub faults: Option<Arc<dyn Faults>>,
}

/// The open database. Clones are cheap and share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<StoreInner>,
}

struct StoreInner {
    shared: Arc<SharedState>,
    database: Database,
    /// The usage counters of this process.
    usage_counters: UsageCounters,
    /// On PostgreSQL.
    version_reader: Option<DataVersionReader>,
    /// `None` once closed.
    write_queue: Mutex<Option<writer::WriteQueue>>,
    /// Closes when the writer has ended.
    writer_ended: tokio::sync::Mutex<Option<oneshot::Receiver<()>>>,
}

/// The state that the handle and the writer share.
pub(crate) struct SharedState {
    pub(crate) keyring: Keyring,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) faults: Option<Arc<dyn Faults>>,
    job_signal: WakeSignal,
    delivery_signal: WakeSignal,
    /// Signals for other processes, on PostgreSQL.
    pub(crate) outbox: Option<Outbox>,
    generation: AtomicU64,
    is_stopped: AtomicBool,
    is_disk_full: AtomicBool,
    /// Whether commits queue BlurHash jobs.
    pub(crate) has_blur_hash: AtomicBool,
}

statements! {
    /// A cheap read that fails when the database cannot be read.
    PING = "SELECT count(*) AS organisations FROM organisation";
    /// A write that only tests whether writes work.
    PROBE = "INSERT INTO setting (key, value) VALUES ('write_probe', $1)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
}

impl Store {
    /// Opens a database and creates the missing parts: folder, schema, key, first rows. It creates the
    /// database itself only where that is a file. Several processes may do so at once.
    ///
    /// Errors a person can act on: [`Error::SchemaTooNew`], [`Error::SchemaTooOld`],
    /// [`Error::SchemaNotMigrated`], [`Error::WrongKey`], [`Error::KeyUnknown`], [`Error::BadKey`],
    /// [`Error::Full`], and [`Error::Busy`] when another process creates or migrates the database for too
    /// long. Of a folder: [`Error::KeyMissing`], [`Error::Folder`]. Of PostgreSQL:
    /// [`Error::SecretKeyRequired`], [`Error::BadDatabaseUrl`] and those whose names begin with `Database`.
    pub async fn open(options: StoreOptions) -> Result<Self, Error> {
        let (database, mut session) = connect(&options).await?;
        let keyring =
            schema::prepare(&mut session, &options).await.map_err(|error| database.explain(error))?;
        let shared = Arc::new(SharedState {
            keyring,
            outbox: database.address().map(|_| Outbox::new(options.random.as_ref())),
            clock: options.clock,
            random: options.random,
            faults: options.faults,
            job_signal: WakeSignal::new(),
            delivery_signal: WakeSignal::new(),
            generation: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            is_disk_full: AtomicBool::new(false),
            has_blur_hash: AtomicBool::new(true),
        });
        let target = match database.address() {
            None => writer::Target::Sqlite(session),
            Some(address) => {
                session.close().await?;
                writer::Target::Postgres(address)
            }
        };
        let (write_queue, writer_ended) = writer::start(target, Arc::clone(&shared))?;
        let usage_counters = UsageCounters::new(WorkerId::new(shared.random.as_ref()));
        Ok(Self {
            inner: Arc::new(StoreInner {
                shared,
                usage_counters,
                version_reader: database.address().map(DataVersionReader::start),
                database,
                write_queue: Mutex::new(Some(write_queue)),
                writer_ended: tokio::sync::Mutex::new(Some(writer_ended)),
            }),
        })
    }

    /// Stops queueing BlurHash jobs. For tests of other subjects: the job runs ffmpeg and commits at any
    /// later time.
    pub fn disable_blur_hash(&self) {
        self.inner.shared.has_blur_hash.store(false, Ordering::Release);
    }

    /// Closes the store: queued writes still run, and every later operation returns [`Error::Stopped`]. May
    /// run twice.
    ///
    /// Dropping the last clone does the same without waiting.
    pub async fn close(&self) {
        drop(self.write_queue().take());
        if let Some(ended) = self.inner.writer_ended.lock().await.take() {
            // The sender is dropped unsent when the thread ends.
            let _ = ended.await;
        }
        if let Some(version_reader) = &self.inner.version_reader {
            version_reader.stop();
        }
        self.inner.database.close().await;
        self.inner.shared.stop();
    }

    /// The version of the database: as long as it stays equal, every read returns the same.
    ///
    /// Results read after a version was taken stay valid while the version is the same. On SQLite it is
    /// [`Store::generation`] and costs nothing. On PostgreSQL it queries the server, so it includes every
    /// change of every process whose commit was reported. Calls that wait at the same time share one query.
    pub async fn version(&self) -> Result<DataVersion, Error> {
        self.check_running()?;
        match &self.inner.version_reader {
            None => Ok(DataVersion::from_generation(self.generation())),
            Some(version_reader) => version_reader.read_version().await,
        }
    }

    /// The generation changes whenever rows behind responses may have changed: workspaces, tokens, media,
    /// webhooks. Results read after this number was taken may be cached under it. [`Store::poll_changes`]
    /// adds the changes of other processes.
    pub fn generation(&self) -> u64 {
        self.inner.shared.generation.load(Ordering::Acquire)
    }

    /// Wakes the tasks that wait for jobs.
    pub fn wake_jobs(&self) {
        self.inner.shared.job_signal.notify();
    }

    /// Waits for jobs: woken after commits that queued some.
    pub fn job_wake(&self) -> WakeReceiver {
        self.inner.shared.job_signal.listen()
    }

    /// Wakes the tasks that wait for deliveries.
    pub fn wake_deliveries(&self) {
        self.inner.shared.delivery_signal.notify();
    }

    /// Waits for deliveries: woken after commits that added or unblocked some.
    pub fn delivery_wake(&self) -> WakeReceiver {
        self.inner.shared.delivery_signal.listen()
    }

    /// Whether the database can be read and written. After a write that found the disk full, this tries a
    /// small one, and returns [`Error::Full`] until disk space is free again.
    pub async fn ping(&self) -> Result<(), Error> {
        self.reader().await?.first(PING, values![]).await?;
        if self.inner.shared.is_disk_full.load(Ordering::Acquire) {
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
        // Boxed: rare reads do not enlarge the futures of all callers.
        Box::pin(self.inner.database.reader()).await
    }

    /// A connection for several reads of one snapshot.
    pub(crate) async fn snapshot(&self) -> Result<Session, Error> {
        self.check_running()?;
        Box::pin(self.inner.database.snapshot()).await
    }

    pub(crate) fn shared(&self) -> &SharedState {
        &self.inner.shared
    }

    pub(crate) fn database(&self) -> &Database {
        &self.inner.database
    }

    pub(crate) fn usage_counters(&self) -> &UsageCounters {
        &self.inner.usage_counters
    }

    pub(crate) fn check_running(&self) -> Result<(), Error> {
        if self.inner.shared.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Sends a closure to the writer, and waits for a slot in its queue.
    pub(crate) async fn send(&self, work: Box<dyn WriteRequest>) -> Result<(), Error> {
        let write_queue = self.write_queue().clone().ok_or(Error::Stopped)?;
        write_queue.send(work).await.map_err(|_| Error::Stopped)
    }

    fn write_queue(&self) -> std::sync::MutexGuard<'_, Option<writer::WriteQueue>> {
        self.inner.write_queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The database of these options, and a first connection.
async fn connect(options: &StoreOptions) -> Result<(Database, Session), Error> {
    match &options.database {
        DatabaseLocation::Folder(data_dir) => {
            private_file::create_folder(data_dir)?;
            let file = data_dir.join("kinora.db");
            private_file::create_file(&file)?;
            let database = Database::Sqlite(sqlite::Database::new(file));
            let session = database.connect().await?;
            Ok((database, session))
        }
        DatabaseLocation::Postgres { url } => {
            if options.secret_keys.is_none() {
                return Err(Error::SecretKeyRequired);
            }
            let address = postgres::PgAddress::from_url(url)?;
            let session = Session::postgres(address.connect_first().await?);
            Ok((Database::Postgres(postgres::Database::new(address)), session))
        }
    }
}

impl SharedState {
    /// Notifies this process and the others of a commit of this process.
    pub(crate) fn notify(&self, signals: CommitSignals) {
        self.apply_signals(signals);
        if let Some(outbox) = &self.outbox {
            outbox.add(signals);
        }
    }

    /// Notifies this process of a commit.
    pub(crate) fn apply_signals(&self, signals: CommitSignals) {
        if signals.rows {
            self.generation.fetch_add(1, Ordering::AcqRel);
        }
        if signals.jobs {
            self.job_signal.notify();
        }
        if signals.deliveries {
            self.delivery_signal.notify();
        }
    }

    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Injects the fault of this point, if any.
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

    pub(crate) fn set_disk_full(&self, is_disk_full: bool) {
        self.is_disk_full.store(is_disk_full, Ordering::Release);
    }
}
