//! The PostgreSQL engine: connects, binds, runs statements and reads errors.

mod address;
mod error;

use std::future::Future;
use std::time::Duration;

pub(crate) use address::PgAddress;

use error::engine_error;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, PgPool, PgPoolOptions, PgRow};
use sqlx::query::Query;
use sqlx::{Connection as _, Postgres, Row as _};
use tokio::time::error::Elapsed;

use super::{EngineError, RetryAction, Row, Statement, Value};
use crate::Error;

/// Connections for concurrent reads. PostgreSQL allows 100 by default (its `max_connections`). Every
/// process of an installation takes these, the writers, and four further ones: for LISTEN, for NOTIFY, for
/// the version of the database and for the serve lock. docs/scale-out.md states the sum.
const READERS_MAX: u32 = 6;
/// Concurrent write transactions; more of them only conflict with each other.
const WRITERS_MAX: u32 = 6;
/// How long a caller waits for a connection before the database counts as unavailable.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);
/// The server's timeout for one statement. All of ours are short: they use an index and read a bounded
/// number of rows.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(4);
/// The timeout for a response; a server that cancels the statement responds earlier.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout for a response that needs no work: to a `BEGIN` or a liveness check. Less than
/// [`ACQUIRE_TIMEOUT`], so that the same attempt can open another connection.
const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// The server rolls back a transaction whose client was silent for this long, to release its locks. Longer
/// than any closure.
const IDLE_TRANSACTION_TIMEOUT: Duration = Duration::from_secs(60);
/// A connection that was idle for longer gets a liveness check before use.
const IDLE_CHECK_AFTER: Duration = Duration::from_secs(1);
/// The time to end the work of a returned connection.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// Idle connections are closed after this time.
const IDLE_TIMEOUT: Duration = Duration::from_secs(300);
/// The timeout to close a pool. A silent connection may not even accept the close message.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The most connections that are tried for one transaction, if they turn out to be gone at its `BEGIN`.
const BEGINS_MAX: usize = 3;

/// A read of one snapshot.
const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const BEGIN_SERIALIZABLE: &str = "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE";
const BEGIN_READ_COMMITTED: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// The isolation of a transaction from concurrent ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Serializable: as if all ran one after the other.
    Serializable,
    /// Read committed: every statement sees earlier commits. For statements that are each correct alone:
    /// claims that lock their rows, and renewals.
    ReadCommitted,
}

/// A database with its read connections, which are opened when needed.
pub(crate) struct Database {
    address: PgAddress,
    readers: PgPool,
}

impl Database {
    /// The pool belongs to the runtime that calls this.
    pub(crate) fn new(address: PgAddress) -> Self {
        let readers = pool(&address, READERS_MAX);
        Self { address, readers }
    }

    pub(crate) fn address(&self) -> &PgAddress {
        &self.address
    }

    pub(super) async fn reader(&self) -> Result<Connection, Error> {
        acquire(&self.readers).await.map(Connection::Pooled).map_err(|error| engine_error(error).error)
    }

    pub(super) async fn snapshot(&self) -> Result<Connection, Error> {
        begin(&self.readers, BEGIN_SNAPSHOT).await.map_err(|error| error.error)
    }

    pub(super) async fn close(&self) {
        close(&self.readers).await;
    }
}

/// The write connections.
#[derive(Clone)]
pub(crate) struct Writers(PgPool);

impl Writers {
    /// The pool belongs to the runtime that calls this.
    pub(crate) fn new(address: &PgAddress) -> Self {
        Self(pool(address, WRITERS_MAX))
    }

    pub(crate) async fn begin(&self, isolation: Isolation) -> Result<Connection, EngineError> {
        let statement = match isolation {
            Isolation::Serializable => BEGIN_SERIALIZABLE,
            Isolation::ReadCommitted => BEGIN_READ_COMMITTED,
        };
        begin(&self.0, statement).await
    }

    /// Waits a short time for running transactions and rejects new ones.
    pub(crate) async fn close(&self) {
        close(&self.0).await;
    }
}

async fn begin(pool: &PgPool, statement: &'static str) -> Result<Connection, EngineError> {
    for _ in 1..BEGINS_MAX {
        match begin_once(pool, statement).await {
            Err(EngineError { remedy: RetryAction::Reconnect, .. }) => {}
            result => return result,
        }
    }
    begin_once(pool, statement).await
}

async fn begin_once(pool: &PgPool, statement: &'static str) -> Result<Connection, EngineError> {
    let mut connection = Connection::Transaction(acquire(pool).await.map_err(engine_error)?);
    let begun = tokio::time::timeout(PING_TIMEOUT, sqlx::raw_sql(statement).execute(connection.raw())).await;
    let is_silent = begun.is_err();
    match connection.check_response(begun) {
        Ok(_) => Ok(connection),
        // No statement has run on it yet.
        Err(EngineError { error, .. }) if is_silent => {
            Err(EngineError { error, remedy: RetryAction::Reconnect })
        }
        Err(error) => Err(error),
    }
}

/// Boxed: opening a connection needs 4 KiB of state. All futures that read or write would contain it, also
/// those of requests that hit a cache.
async fn acquire(pool: &PgPool) -> Result<PoolConnection<Postgres>, sqlx::Error> {
    Box::pin(pool.acquire()).await
}

async fn close(pool: &PgPool) {
    if tokio::time::timeout(CLOSE_TIMEOUT, pool.close()).await.is_err() {
        tracing::debug!("connections to PostgreSQL were not closed cleanly");
    }
}

fn pool(address: &PgAddress, size_max: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(size_max)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(IDLE_TIMEOUT)
        .test_before_acquire(false)
        .after_connect(|connection, _| Box::pin(tune(connection)))
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for <= IDLE_CHECK_AFTER {
                    return Ok(true);
                }
                Ok(matches!(tokio::time::timeout(PING_TIMEOUT, connection.ping()).await, Ok(Ok(()))))
            })
        })
        // Rolls back uncommitted work, also a transaction whose caller was dropped during `BEGIN`. The
        // pool's own test after this one would wait forever for a silent server.
        .after_release(|connection, _| {
            Box::pin(async move {
                let ended = sqlx::raw_sql("ROLLBACK").execute(connection);
                Ok(matches!(tokio::time::timeout(RELEASE_TIMEOUT, ended).await, Ok(Ok(_))))
            })
        })
        .connect_lazy_with(address.options())
}

/// The one connection that listens; it is reopened when it breaks.
pub(crate) fn listener_pool(address: &PgAddress) -> PgPool {
    PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(address.with_application_name("kinora listen").options())
}

/// Settings of every pooled connection.
async fn tune(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    // No sequential scans: SERIALIZABLE locks the whole table for one, and every statement of ours has its
    // index. A reported commit must be durable, so an asynchronous commit is not left to the configuration
    // of the server. Notices would be logged without context, such as one for every ROLLBACK without a
    // transaction.
    const TUNE: &str = "SELECT set_config('statement_timeout', $1, false),
        set_config('idle_in_transaction_session_timeout', $2, false),
        set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),
        set_config('client_min_messages', 'error', false),
        CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END";
    sqlx::query(TUNE)
        .bind(STATEMENT_TIMEOUT.as_millis().to_string())
        .bind(IDLE_TRANSACTION_TIMEOUT.as_millis().to_string())
        .execute(connection)
        .await
        .map(drop)
}

/// A connection of one of the three kinds.
pub(crate) enum Connection {
    /// Not pooled.
    Unpooled(PgConnection),
    /// For one read.
    Pooled(PoolConnection<Postgres>),
    /// For several statements. Rolled back when it returns to the pool, unless it was committed.
    Transaction(PoolConnection<Postgres>),
}

impl Connection {
    pub(super) async fn execute(
        &mut self,
        statement: Statement,
        values: Vec<Value>,
    ) -> Result<u64, EngineError> {
        let done = with_timeout(query(statement, values).execute(self.raw())).await;
        Ok(self.check_response(done)?.rows_affected())
    }

    pub(super) async fn all(
        &mut self,
        statement: Statement,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, EngineError> {
        let rows = with_timeout(query(statement, values).fetch_all(self.raw())).await;
        Ok(self.check_response(rows)?.into_iter().map(Row::Postgres).collect())
    }

    pub(super) async fn script(&mut self, text: &'static str) -> Result<(), EngineError> {
        sqlx::raw_sql(text).execute(self.raw()).await.map(drop).map_err(engine_error)
    }

    pub(super) async fn commit(mut self) -> Result<(), EngineError> {
        if !matches!(self, Self::Transaction(_)) {
            return Err(Error::internal("this connection is no transaction").into());
        }
        let done = with_timeout(sqlx::raw_sql("COMMIT").execute(self.raw())).await;
        self.check_response(done).map(drop).map_err(|error| match error {
            // The commit may have succeeded, so a retry might write twice.
            EngineError { error, remedy: RetryAction::Reconnect } => error.into(),
            error => error,
        })
    }

    pub(super) async fn close(self) -> Result<(), Error> {
        match self {
            Self::Unpooled(connection) => connection.close().await.map_err(|error| engine_error(error).error),
            Self::Pooled(_) | Self::Transaction(_) => Ok(()),
        }
    }

    pub(crate) fn raw(&mut self) -> &mut PgConnection {
        match self {
            Self::Unpooled(connection) => connection,
            Self::Pooled(connection) | Self::Transaction(connection) => connection,
        }
    }

    /// The result of a wait for a response. A connection that did not respond in time is closed, not used
    /// again.
    fn check_response<T>(
        &mut self,
        answer: Result<Result<T, sqlx::Error>, Elapsed>,
    ) -> Result<T, EngineError> {
        match answer {
            Ok(result) => result.map_err(engine_error),
            Err(elapsed) => {
                if let Self::Pooled(connection) | Self::Transaction(connection) = self {
                    connection.close_on_drop();
                }
                Err(Error::unavailable(elapsed).into())
            }
        }
    }
}

/// Limits the wait for a response.
async fn with_timeout<T>(
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<Result<T, sqlx::Error>, Elapsed> {
    tokio::time::timeout(RESPONSE_TIMEOUT, work).await
}

pub(super) fn column<'r, T>(row: &'r PgRow, name: &'static str) -> Result<T, Error>
where
    T: sqlx::Decode<'r, Postgres> + sqlx::Type<Postgres>,
{
    row.try_get(name).map_err(|error| engine_error(error).error)
}

fn query(statement: Statement, values: Vec<Value>) -> Query<'static, Postgres, PgArguments> {
    values.into_iter().fold(sqlx::query(statement.postgres()), |query, value| match value {
        Value::Text(text) => query.bind(text),
        Value::Int(number) => query.bind(number),
        Value::Bytes(bytes) => query.bind(bytes),
    })
}
