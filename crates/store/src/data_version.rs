//! The version of the database: equal as long as nothing has changed.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::Error;
use crate::sql::postgres::PgAddress;
use crate::sql::{Session, statements, values};

/// The timeout of one query, connecting included.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
/// Callers in the queue before others must wait for a slot.
const WAITING_MAX: usize = 1024;

statements! {
    /// The transactions that a statement sees: equal texts see the same ones,
    /// https://www.postgresql.org/docs/15/functions-info.html#FUNCTIONS-PG-SNAPSHOT
    SNAPSHOT = "SELECT pg_current_snapshot()::text AS snapshot";
}

/// The result of [`Store::version`](crate::Store::version). Versions of one store can be compared, and have
/// no other meaning.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DataVersion(Inner);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Inner {
    Generation(u64),
    Snapshot(String),
}

impl DataVersion {
    pub(crate) fn from_generation(generation: u64) -> Self {
        Self(Inner::Generation(generation))
    }
}

type ReplySender = oneshot::Sender<Result<DataVersion, Error>>;

/// Queries PostgreSQL on a separate connection. Callers that arrive while a query runs share the next one.
/// A query that began earlier might miss a commit that the caller already knows of.
pub(crate) struct DataVersionReader {
    requests: mpsc::Sender<ReplySender>,
    task: AbortOnDropHandle<()>,
}

impl DataVersionReader {
    /// The connection belongs to the runtime that calls this, and is opened when needed.
    pub(crate) fn start(address: PgAddress) -> Self {
        let (requests, receiver) = mpsc::channel(WAITING_MAX);
        let task = AbortOnDropHandle::new(tokio::spawn(answer_requests(address, receiver)));
        Self { requests, task }
    }

    pub(crate) async fn read_version(&self) -> Result<DataVersion, Error> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(reply).await.map_err(|_| Error::Stopped)?;
        answer.await.unwrap_or(Err(Error::Stopped))
    }

    /// Later callers get an error that the store is stopped.
    pub(crate) fn stop(&self) {
        self.task.abort();
    }
}

async fn answer_requests(address: PgAddress, mut requests: mpsc::Receiver<ReplySender>) {
    let mut session = None;
    while let Some(first) = requests.recv().await {
        let mut waiting = vec![first];
        // Waits for callers that are about to join. As long as each yield adds callers, one shared query
        // costs less than several.
        loop {
            let count = waiting.len();
            tokio::task::yield_now().await;
            waiting.extend(std::iter::from_fn(|| requests.try_recv().ok()));
            if waiting.len() == count || waiting.len() >= WAITING_MAX {
                break;
            }
        }
        let found = match tokio::time::timeout(READ_TIMEOUT, query(&address, session.take())).await {
            Ok(Ok((version, used))) => {
                session = Some(used);
                Ok(version)
            }
            Ok(Err(error)) => Err(error),
            Err(elapsed) => Err(Error::unavailable(elapsed)),
        };
        for reply in waiting {
            // The caller may be gone.
            let _ = reply.send(found.clone());
        }
    }
}

/// Reconnects when the session of the last query is gone.
async fn query(address: &PgAddress, session: Option<Session>) -> Result<(DataVersion, Session), Error> {
    if let Some(mut session) = session
        && let Ok(version) = read(&mut session).await
    {
        return Ok((version, session));
    }
    let mut session = Session::postgres(address.connect().await.map_err(Error::unavailable)?);
    let version = read(&mut session).await?;
    Ok((version, session))
}

async fn read(session: &mut Session) -> Result<DataVersion, Error> {
    let row = session.first(SNAPSHOT, values![]).await?;
    let row = row.ok_or_else(|| Error::internal("PostgreSQL does not tell its snapshot"))?;
    Ok(DataVersion(Inner::Snapshot(row.text("snapshot")?)))
}
