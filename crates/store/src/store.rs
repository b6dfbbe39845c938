//! The handle: how to open it, and what all its clones share.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kinora_domain::{Clock, Random};
use tokio::sync::{mpsc, oneshot};

use crate::keyring::Keyring;
use crate::sql::{Database, Session, statements, values};
use crate::tx::Effects;
use crate::wake::Bell;
use crate::write::Work;
use crate::{Error, Faults, Tx, Wake, folder, schema, writer};

/// Who opens a store (contract decision 42). On an empty folder either makes the schema, the key and the first rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opener {
    /// `serve`: brings an older schema up to date.
    Server,
    /// Any other command: works on its own schema only.
    Command,
}

/// What it takes to open a store.
pub struct StoreOptions {
    /// The folder of the database and the key.
    pub data_dir: PathBuf,
    /// Who opens it.
    pub opener: Opener,
    /// `KINORA_SECRET_KEY`: Base64 of 32 bytes, several separated by commas; the first one seals, all of them open. `None`: the
    /// key file of the folder.
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
    /// `None` once closed.
    requests: Mutex<Option<mpsc::Sender<Box<dyn Work>>>>,
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
    generation: AtomicU64,
    is_stopped: AtomicBool,
    is_full: AtomicBool,
}

statements! {
    /// Costs nothing and fails when the database cannot be read.
    PING = "SELECT count(*) AS organisations FROM organisation";
    /// Writes for the sake of writing.
    PROBE = "INSERT INTO setting (key, value) VALUES ('write_probe', $1)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
}

impl Store {
    /// Opens the database of a folder, making what is missing: folder, schema, key, first rows. Several processes may do so at
    /// once.
    ///
    /// Errors a person can act on: [`Error::SchemaTooNew`], [`Error::SchemaOther`], [`Error::WrongKey`], [`Error::KeyMissing`],
    /// [`Error::BadKey`], [`Error::Folder`], [`Error::Full`], and [`Error::Busy`] when another process writes for more than 5 s.
    pub async fn open(options: StoreOptions) -> Result<Self, Error> {
        folder::make(&options.data_dir)?;
        let file = options.data_dir.join("kinora.db");
        folder::make_file(&file)?;
        let database = Database::sqlite(file);
        let mut session = database.connect().await?;
        let keyring = schema::prepare(&mut session, &options).await?;
        let common = Arc::new(Common {
            keyring,
            clock: options.clock,
            random: options.random,
            faults: options.faults,
            jobs: Bell::new(),
            deliveries: Bell::new(),
            generation: AtomicU64::new(0),
            is_stopped: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
        });
        let (requests, waiting) = mpsc::channel(writer::QUEUE_MAX);
        let ended = start_writer(session, Arc::clone(&common), waiting)?;
        Ok(Self {
            shared: Arc::new(Shared {
                common,
                database,
                requests: Mutex::new(Some(requests)),
                ended: tokio::sync::Mutex::new(Some(ended)),
            }),
        })
    }

    /// Ends it: what was sent to the writer is still done, everything later answers [`Error::Stopped`]. May run twice.
    ///
    /// Dropping the last clone does the same without waiting.
    pub async fn close(&self) {
        drop(self.requests().take());
        if let Some(ended) = self.shared.ended.lock().await.take() {
            // The sender is dropped unsent when the thread ends.
            let _ = ended.await;
        }
        self.shared.database.close().await;
        self.shared.common.stop();
    }

    /// Changes whenever rows that answers are made from may have changed: workspaces, tokens, media, webhooks. What was read
    /// after this number was taken may be kept under it. Changes by other processes are seen by [`Store::watch_others`].
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

    /// Whether it can be read, and written: after a write that found the disk full this tries a small one, and answers
    /// [`Error::Full`] until there is room again.
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
        self.shared.database.reader().await
    }

    /// A connection for several reads of one instant.
    pub(crate) async fn snapshot(&self) -> Result<Session, Error> {
        self.check_running()?;
        self.shared.database.snapshot().await
    }

    pub(crate) fn common(&self) -> &Common {
        &self.shared.common
    }

    pub(crate) fn database(&self) -> &Database {
        &self.shared.database
    }

    pub(crate) fn check_running(&self) -> Result<(), Error> {
        if self.shared.common.is_stopped() { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Hands a closure to the writer, waiting for a place in its queue.
    pub(crate) async fn send(&self, work: Box<dyn Work>) -> Result<(), Error> {
        let requests = self.requests().clone().ok_or(Error::Stopped)?;
        requests.send(work).await.map_err(|_| Error::Stopped)
    }

    fn requests(&self) -> std::sync::MutexGuard<'_, Option<mpsc::Sender<Box<dyn Work>>>> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Common {
    /// Tells of a commit.
    pub(crate) fn tell(&self, effects: Effects) {
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

    pub(crate) fn note_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Release);
    }
}

/// A thread of its own with a runtime of its own: there the futures of closures need not be `Send`, and a busy server does not
/// hold up a transaction that holds the database.
fn start_writer(
    session: Session,
    common: Arc<Common>,
    waiting: mpsc::Receiver<Box<dyn Work>>,
) -> Result<oneshot::Receiver<()>, Error> {
    let (alive, ended) = oneshot::channel::<()>();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(Error::internal)?;
    std::thread::Builder::new()
        .name("kinora-writer".into())
        .spawn(move || {
            runtime.block_on(writer::run(session, common, waiting));
            drop(alive);
        })
        .map_err(Error::internal)?;
    Ok(ended)
}
