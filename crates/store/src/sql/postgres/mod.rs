//! The PostgreSQL half: how to connect, bind, run, and read errors.

mod error;
mod place;

use std::future::Future;
use std::time::Duration;

pub(crate) use place::Place;

use error::engine_error;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgArguments, PgConnection, PgPool, PgPoolOptions, PgRow};
use sqlx::query::Query;
use sqlx::{Connection as _, Postgres, Row as _};
use tokio::time::error::Elapsed;

use super::{EngineError, Remedy, Row, Statement, Value};
use crate::Error;

/// Connections that read beside each other. PostgreSQL lets 100 in by default (its `max_connections`), and
/// every process of an installation takes these, the writers, and four of its own: one that listens, one that
/// tells, one for the mark of what the database holds, one for the lock of who serves. docs/scale-out.md
/// states the sum.
const READERS_MAX: u32 = 6;
/// Transactions that write beside each other; more of them only stand in each other's way.
const WRITERS_MAX: u32 = 6;
/// How long a caller waits for a connection before it is told that the database is away or too busy.
const ACQUIRE_TIME_MAX: Duration = Duration::from_secs(3);
/// How long the server works on one statement. All of ours are short: they go by an index and take a bounded
/// number of rows.
const STATEMENT_TIME_MAX: Duration = Duration::from_secs(4);
/// How long an answer may take; a server that ended the statement has told so before.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(5);
/// How long an answer may take that needs no work: to a `BEGIN`, or whether a connection still lives. Less
/// than [`ACQUIRE_TIME_MAX`], so that another connection can be made in the same attempt.
const SIGN_TIME_MAX: Duration = Duration::from_secs(2);
/// After that the server ends a transaction whose client went silent, so that its locks do not stay. Longer
/// than any closure.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// A connection that has been idle for longer is asked whether it still lives before it is used.
const IDLE_TRUSTED: Duration = Duration::from_secs(1);
/// How long a connection that is given back may take to end what was under way.
const RELEASE_TIME_MAX: Duration = Duration::from_secs(2);
/// Idle connections go after that time.
const IDLE_TIME_MAX: Duration = Duration::from_secs(300);
/// How long the end of a pool waits for its connections. One that fell silent may not even take the goodbye.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(5);
/// A transaction whose connection turns out to be gone when it begins is begun on another one, this often.
const BEGINS_MAX: usize = 3;

/// A read of one instant.
const BEGIN_SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
const BEGIN_SERIALIZABLE: &str = "BEGIN ISOLATION LEVEL SERIALIZABLE READ WRITE";
const BEGIN_ROW_BY_ROW: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// How much a transaction sees of its neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Nothing: as if all ran one after the other.
    Serial,
    /// Every statement sees what was committed before it. For statements that each are right by themselves:
    /// claims that lock what they take, and renewals.
    RowByRow,
}

/// A database with the connections that read it, which are opened when needed.
pub(crate) struct Database {
    place: Place,
    readers: PgPool,
}

impl Database {
    /// The pool belongs to the runtime this is called in.
    pub(crate) fn new(place: Place) -> Self {
        let readers = pool(&place, READERS_MAX);
        Self { place, readers }
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
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

/// The connections that write.
#[derive(Clone)]
pub(crate) struct Writers(PgPool);

impl Writers {
    /// The pool belongs to the runtime this is called in.
    pub(crate) fn new(place: &Place) -> Self {
        Self(pool(place, WRITERS_MAX))
    }

    pub(crate) async fn begin(&self, isolation: Isolation) -> Result<Connection, EngineError> {
        let statement = match isolation {
            Isolation::Serial => BEGIN_SERIALIZABLE,
            Isolation::RowByRow => BEGIN_ROW_BY_ROW,
        };
        begin(&self.0, statement).await
    }

    /// Waits a moment for the transactions under way and allows no more.
    pub(crate) async fn close(&self) {
        close(&self.0).await;
    }
}

async fn begin(pool: &PgPool, statement: &'static str) -> Result<Connection, EngineError> {
    for _ in 1..BEGINS_MAX {
        match begin_once(pool, statement).await {
            Err(EngineError { remedy: Remedy::Reconnect, .. }) => {}
            result => return result,
        }
    }
    begin_once(pool, statement).await
}

async fn begin_once(pool: &PgPool, statement: &'static str) -> Result<Connection, EngineError> {
    let mut connection = Connection::Transaction(acquire(pool).await.map_err(engine_error)?);
    let begun = tokio::time::timeout(SIGN_TIME_MAX, sqlx::raw_sql(statement).execute(connection.raw())).await;
    let is_silent = begun.is_err();
    match connection.heard(begun) {
        Ok(_) => Ok(connection),
        // Nothing was done on it yet.
        Err(EngineError { error, .. }) if is_silent => Err(EngineError { error, remedy: Remedy::Reconnect }),
        Err(error) => Err(error),
    }
}

/// Boxed: to make a connection is 4 KiB of state, which all that reads or writes would carry along, down to
/// requests that are answered from memory.
async fn acquire(pool: &PgPool) -> Result<PoolConnection<Postgres>, sqlx::Error> {
    Box::pin(pool.acquire()).await
}

async fn close(pool: &PgPool) {
    if tokio::time::timeout(CLOSE_TIME_MAX, pool.close()).await.is_err() {
        tracing::debug!("connections to PostgreSQL were left without a goodbye");
    }
}

fn pool(place: &Place, size_max: u32) -> PgPool {
    PgPoolOptions::new()
        .max_connections(size_max)
        .acquire_timeout(ACQUIRE_TIME_MAX)
        .idle_timeout(IDLE_TIME_MAX)
        .test_before_acquire(false)
        .after_connect(|connection, _| Box::pin(tune(connection)))
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for <= IDLE_TRUSTED {
                    return Ok(true);
                }
                Ok(matches!(tokio::time::timeout(SIGN_TIME_MAX, connection.ping()).await, Ok(Ok(()))))
            })
        })
        // Ends what was not committed, and also a transaction whose caller went away while it began. The
        // pool's own test after this one would wait for ever for a server that fell silent.
        .after_release(|connection, _| {
            Box::pin(async move {
                let ended = sqlx::raw_sql("ROLLBACK").execute(connection);
                Ok(matches!(tokio::time::timeout(RELEASE_TIME_MAX, ended).await, Ok(Ok(_))))
            })
        })
        .connect_lazy_with(place.options())
}

/// The one connection that listens; it is made again when it breaks.
pub(crate) fn listener_pool(place: &Place) -> PgPool {
    PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(ACQUIRE_TIME_MAX)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_lazy_with(place.named("kinora listen").options())
}

/// Settings of every pooled connection.
async fn tune(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    // Without sequential scans: SERIALIZABLE takes one for a read of the whole table, and every statement of
    // ours has its index. A commit that is told must be kept, so an asynchronous one is not left to the
    // server's configuration. Notices would come to the log without what they are about, such as one for
    // every ROLLBACK of nothing.
    const TUNE: &str = "SELECT set_config('statement_timeout', $1, false),
        set_config('idle_in_transaction_session_timeout', $2, false),
        set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false),
        set_config('client_min_messages', 'error', false),
        CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END";
    sqlx::query(TUNE)
        .bind(STATEMENT_TIME_MAX.as_millis().to_string())
        .bind(SILENCE_MAX.as_millis().to_string())
        .execute(connection)
        .await
        .map(drop)
}

/// A connection of one of the three kinds.
pub(crate) enum Connection {
    /// Nobody else's.
    Own(PgConnection),
    /// For one read.
    Pooled(PoolConnection<Postgres>),
    /// For several statements. Rolled back when it is given back, unless it was committed.
    Transaction(PoolConnection<Postgres>),
}

impl Connection {
    pub(super) async fn execute(
        &mut self,
        statement: Statement,
        values: Vec<Value>,
    ) -> Result<u64, EngineError> {
        let done = in_time(query(statement, values).execute(self.raw())).await;
        Ok(self.heard(done)?.rows_affected())
    }

    pub(super) async fn all(
        &mut self,
        statement: Statement,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, EngineError> {
        let rows = in_time(query(statement, values).fetch_all(self.raw())).await;
        Ok(self.heard(rows)?.into_iter().map(Row::Postgres).collect())
    }

    pub(super) async fn script(&mut self, text: &'static str) -> Result<(), EngineError> {
        sqlx::raw_sql(text).execute(self.raw()).await.map(drop).map_err(engine_error)
    }

    pub(super) async fn commit(mut self) -> Result<(), EngineError> {
        if !matches!(self, Self::Transaction(_)) {
            return Err(Error::internal("this connection is no transaction").into());
        }
        let done = in_time(sqlx::raw_sql("COMMIT").execute(self.raw())).await;
        self.heard(done).map(drop).map_err(|error| match error {
            // It is not known whether it was kept: running again might do it twice.
            EngineError { error, remedy: Remedy::Reconnect } => error.into(),
            error => error,
        })
    }

    pub(super) async fn close(self) -> Result<(), Error> {
        match self {
            Self::Own(connection) => connection.close().await.map_err(|error| engine_error(error).error),
            Self::Pooled(_) | Self::Transaction(_) => Ok(()),
        }
    }

    pub(crate) fn raw(&mut self) -> &mut PgConnection {
        match self {
            Self::Own(connection) => connection,
            Self::Pooled(connection) | Self::Transaction(connection) => connection,
        }
    }

    /// What came of a wait for an answer. A connection that gave none in time is closed, not used again.
    fn heard<T>(&mut self, answer: Result<Result<T, sqlx::Error>, Elapsed>) -> Result<T, EngineError> {
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

/// Bounds the wait for an answer.
async fn in_time<T>(
    work: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<Result<T, sqlx::Error>, Elapsed> {
    tokio::time::timeout(ANSWER_TIME_MAX, work).await
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
