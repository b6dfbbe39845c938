//! The SQLite engine: connects, binds, runs statements and reads errors.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};
use sqlx::{
    ConnectOptions as _, Connection as _, Row as _, Sqlite, SqliteConnection, SqlitePool, Transaction,
};
use tokio::time::Instant;

use super::{Row, Statement, Value};
use crate::Error;

/// How long a caller waits for the writer of another process (C-42).
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// Concurrent readers. More than the cores of a usual machine gain nothing, and each has a page cache.
const READERS_MAX: u32 = 8;
/// More than there are statements, so each is parsed once per connection.
const STATEMENTS_MAX: usize = 256;
/// The delay between two tries to switch a database to WAL, for which SQLite does not wait by itself.
const CONNECT_RETRY_DELAY: Duration = Duration::from_millis(20);

/// A database file with its read connections, which are opened when needed.
pub(crate) struct Database {
    file: PathBuf,
    readers: SqlitePool,
}

impl Database {
    /// The file must exist; it may be empty.
    pub(crate) fn new(file: PathBuf) -> Self {
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS_MAX)
            .acquire_timeout(BUSY_TIMEOUT)
            .test_before_acquire(false)
            .connect_lazy_with(options(&file).pragma("query_only", "ON"));
        Self { file, readers }
    }

    /// Several processes may connect at once, also to an empty file.
    pub(super) async fn connect(&self) -> Result<Connection, Error> {
        // FULL: in WAL mode NORMAL loses the last commits when the power fails.
        let options =
            options(&self.file).journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        let started = Instant::now();
        loop {
            match options.connect().await.map_err(error) {
                Err(Error::Busy) if started.elapsed() < BUSY_TIMEOUT => {
                    tokio::time::sleep(CONNECT_RETRY_DELAY).await;
                }
                result => return result.map(Connection::Writer),
            }
        }
    }

    pub(super) async fn reader(&self) -> Result<Connection, Error> {
        self.readers.acquire().await.map(Connection::Reader).map_err(error)
    }

    pub(super) async fn snapshot(&self) -> Result<Connection, Error> {
        self.readers.begin().await.map(Connection::Snapshot).map_err(error)
    }

    pub(super) async fn close(&self) {
        self.readers.close().await;
    }
}

fn options(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(file)
        .foreign_keys(true)
        .busy_timeout(BUSY_TIMEOUT)
        .statement_cache_capacity(STATEMENTS_MAX)
        .disable_statement_logging()
}

/// A connection of one of the three kinds.
pub(crate) enum Connection {
    /// May write, and is not pooled.
    Writer(SqliteConnection),
    /// For one read.
    Reader(PoolConnection<Sqlite>),
    /// For several reads of one snapshot, which ends with it.
    Snapshot(Transaction<'static, Sqlite>),
}

impl Connection {
    pub(super) async fn execute(&mut self, statement: Statement, values: Vec<Value>) -> Result<u64, Error> {
        let done = query(statement, values).execute(self.raw()).await.map_err(error)?;
        Ok(done.rows_affected())
    }

    pub(super) async fn all(&mut self, statement: Statement, values: Vec<Value>) -> Result<Vec<Row>, Error> {
        let rows = query(statement, values).fetch_all(self.raw()).await.map_err(error)?;
        Ok(rows.into_iter().map(Row::Sqlite).collect())
    }

    pub(super) async fn script(&mut self, text: &'static str) -> Result<(), Error> {
        sqlx::raw_sql(text).execute(self.raw()).await.map(drop).map_err(error)
    }

    /// The last connection to a database checkpoints its WAL into the file.
    pub(super) async fn close(self) -> Result<(), Error> {
        match self {
            Self::Writer(connection) => connection.close().await.map_err(error),
            Self::Reader(_) | Self::Snapshot(_) => Ok(()),
        }
    }

    pub(super) fn raw(&mut self) -> &mut SqliteConnection {
        match self {
            Self::Writer(connection) => connection,
            Self::Reader(connection) => connection,
            Self::Snapshot(transaction) => transaction,
        }
    }
}

pub(super) fn column<'r, T>(row: &'r SqliteRow, name: &'static str) -> Result<T, Error>
where
    T: sqlx::Decode<'r, Sqlite> + sqlx::Type<Sqlite>,
{
    row.try_get(name).map_err(error)
}

fn query(statement: Statement, values: Vec<Value>) -> Query<'static, Sqlite, SqliteArguments> {
    values.into_iter().fold(sqlx::query(statement.sqlite()), |query, value| match value {
        Value::Text(text) => query.bind(text),
        Value::Int(number) => query.bind(number),
        Value::Bytes(bytes) => query.bind(bytes),
    })
}

/// Maps an error of the driver to an error of the store.
fn error(error: sqlx::Error) -> Error {
    // https://www.sqlite.org/rescode.html
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    const FULL: i32 = 13;
    /// No disk space for the file that readers and the writer share.
    const IOERR_SHMSIZE: i32 = 4874;

    let code = match &error {
        sqlx::Error::PoolTimedOut => return Error::Busy,
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => return Error::Stopped,
        sqlx::Error::Database(error) => error.code().and_then(|code| code.parse::<i32>().ok()),
        _ => None,
    };
    // The low byte is the primary code.
    match code {
        Some(IOERR_SHMSIZE) => Error::Full,
        Some(code) if code & 0xff == BUSY || code & 0xff == LOCKED => Error::Busy,
        Some(code) if code & 0xff == FULL => Error::Full,
        _ => Error::internal(error),
    }
}
