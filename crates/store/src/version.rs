//! Whether anything has changed: a mark that stays equal as long as nothing has.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio_util::task::AbortOnDropHandle;

use crate::Error;
use crate::sql::postgres::Place;
use crate::sql::{Session, statements, values};

/// How long one look may take, connecting included.
const LOOK_TIME_MAX: Duration = Duration::from_secs(3);
/// Callers that wait for an answer before others have to wait for a place.
const WAITING_MAX: usize = 1024;

statements! {
    /// The transactions that a statement sees: equal texts see the same ones,
    /// https://www.postgresql.org/docs/15/functions-info.html#FUNCTIONS-PG-SNAPSHOT
    SNAPSHOT = "SELECT pg_current_snapshot()::text AS snapshot";
}

/// What [`Store::version`](crate::Store::version) answers. Marks of one store can be compared, and mean
/// nothing else.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Version(Mark);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Mark {
    Generation(u64),
    Snapshot(String),
}

impl Version {
    pub(crate) fn of_generation(generation: u64) -> Self {
        Self(Mark::Generation(generation))
    }
}

type Answer = oneshot::Sender<Result<Version, Error>>;

/// Asks PostgreSQL on a connection of its own. Everybody who came while one question was under way shares the
/// next one: a question that began earlier might not see what the caller has just been told of.
pub(crate) struct VersionTeller {
    questions: mpsc::Sender<Answer>,
    task: AbortOnDropHandle<()>,
}

impl VersionTeller {
    /// The connection belongs to the runtime this is called in, and is made when it is needed.
    pub(crate) fn start(place: Place) -> Self {
        let (questions, waiting) = mpsc::channel(WAITING_MAX);
        let task = AbortOnDropHandle::new(tokio::spawn(answer(place, waiting)));
        Self { questions, task }
    }

    pub(crate) async fn ask(&self) -> Result<Version, Error> {
        let (reply, answer) = oneshot::channel();
        self.questions.send(reply).await.map_err(|_| Error::Stopped)?;
        answer.await.unwrap_or(Err(Error::Stopped))
    }

    /// Whoever asks later hears that the store is stopped.
    pub(crate) fn stop(&self) {
        self.task.abort();
    }
}

async fn answer(place: Place, mut questions: mpsc::Receiver<Answer>) {
    let mut session = None;
    while let Some(first) = questions.recv().await {
        let mut waiting = vec![first];
        // Whoever is about to ask joins: as long as each turn of the others brings somebody, one question for
        // all of them costs less than several.
        loop {
            let count = waiting.len();
            tokio::task::yield_now().await;
            waiting.extend(std::iter::from_fn(|| questions.try_recv().ok()));
            if waiting.len() == count || waiting.len() >= WAITING_MAX {
                break;
            }
        }
        let found = match tokio::time::timeout(LOOK_TIME_MAX, look(&place, session.take())).await {
            Ok(Ok((version, used))) => {
                session = Some(used);
                Ok(version)
            }
            Ok(Err(error)) => Err(error),
            Err(elapsed) => Err(Error::unavailable(elapsed)),
        };
        for reply in waiting {
            // A caller that went away wants no answer.
            let _ = reply.send(found.clone());
        }
    }
}

/// Connects anew when the session of the last look is gone.
async fn look(place: &Place, session: Option<Session>) -> Result<(Version, Session), Error> {
    if let Some(mut session) = session
        && let Ok(version) = read(&mut session).await
    {
        return Ok((version, session));
    }
    let mut session = Session::postgres(place.connect().await.map_err(Error::unavailable)?);
    let version = read(&mut session).await?;
    Ok((version, session))
}

async fn read(session: &mut Session) -> Result<Version, Error> {
    let row = session.first(SNAPSHOT, values![]).await?;
    let row = row.ok_or_else(|| Error::internal("PostgreSQL does not tell its snapshot"))?;
    Ok(Version(Mark::Snapshot(row.text("snapshot")?)))
}
