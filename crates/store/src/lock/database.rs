//! Who serves a database on PostgreSQL: an advisory lock, which lasts as long as a connection.

use std::time::Duration;

use kinora_domain::Random;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::ObjectsPlace;
use crate::Error;
use crate::sql::postgres::Place;
use crate::sql::{Session, Statement, statements, values};

/// How often the connection is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How long one look, or one try to take the lock again, may last.
const LOOK_TIME_MAX: Duration = Duration::from_secs(5);
/// Who is refused for that long has lost the lock. The server needs a moment to end the connection we had.
const REFUSED_TIME_MAX: Duration = Duration::from_secs(5);

statements! {
    // The two numbers are Kinora's own: "kino", and 1 for this purpose.
    TAKE_ALONE = "SELECT CASE WHEN pg_try_advisory_lock(1802071663, 1) THEN 1::bigint ELSE 0 END AS taken";
    TAKE_SHARED = "SELECT CASE WHEN pg_try_advisory_lock_shared(1802071663, 1) THEN 1::bigint ELSE 0 END AS taken";
    /// The connection lives, and with it the lock.
    LOOK = "SELECT 1::bigint AS alive";
    /// A connection of ours that the network lost and the server still keeps.
    END_EARLIER = "SELECT count(pg_terminate_backend(pid)) AS ended FROM pg_stat_activity
        WHERE application_name = $1 AND usename = current_user AND pid <> pg_backend_pid()";
}

/// Held by a task that keeps the connection.
pub(super) struct DatabaseLock {
    is_lost: watch::Receiver<bool>,
    _keeping: AbortOnDropHandle<()>,
}

impl DatabaseLock {
    pub(super) async fn acquire(
        place: &Place,
        objects: ObjectsPlace,
        random: &dyn Random,
    ) -> Result<Self, Error> {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        let name = format!("kinora serve {:016x}", u64::from_be_bytes(bytes));
        let holder = Holder { place: place.named(&name), name, take: take(objects) };
        let Some(session) = holder.take().await? else { return Err(Error::DatabaseServed) };
        let (tell, is_lost) = watch::channel(false);
        let keeping = tokio::spawn(async move {
            holder.keep(session).await;
            let _ = tell.send(true);
        });
        Ok(Self { is_lost, _keeping: AbortOnDropHandle::new(keeping) })
    }

    pub(super) async fn lost(&self) {
        let mut is_lost = self.is_lost.clone();
        // The sender says so before it goes.
        let _ = is_lost.wait_for(|is_lost| *is_lost).await;
    }
}

fn take(objects: ObjectsPlace) -> Statement {
    match objects {
        ObjectsPlace::Folder => TAKE_ALONE,
        ObjectsPlace::Shared => TAKE_SHARED,
    }
}

struct Holder {
    place: Place,
    name: String,
    take: Statement,
}

impl Holder {
    /// A session that holds the lock; `None` while somebody else does.
    async fn take(&self) -> Result<Option<Session>, Error> {
        let mut session = Session::postgres(self.place.connect().await?);
        let row = session.first(self.take, values![]).await?;
        let taken = row.ok_or_else(|| Error::internal("a lock gives no answer"))?.flag("taken")?;
        Ok(taken.then_some(session))
    }

    /// Returns when the lock is lost.
    async fn keep(&self, session: Session) {
        let mut session = Some(session);
        let mut refused_since: Option<Instant> = None;
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let looked = tokio::time::timeout(LOOK_TIME_MAX, self.look(session.take())).await;
            match looked.unwrap_or_else(|elapsed| Err(Error::unavailable(elapsed))) {
                Ok(Some(held)) => {
                    session = Some(held);
                    refused_since = None;
                }
                Ok(None) => {
                    let since = *refused_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= REFUSED_TIME_MAX {
                        return;
                    }
                }
                // A database that is away is served by nobody.
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::debug!(error, "the lock of the database cannot be looked at");
                }
            }
        }
    }

    /// The session that holds the lock, a new one if the last is gone.
    async fn look(&self, session: Option<Session>) -> Result<Option<Session>, Error> {
        if let Some(mut session) = session
            && session.first(LOOK, values![]).await.is_ok()
        {
            return Ok(Some(session));
        }
        let taken = self.take().await?;
        if taken.is_none() {
            let mut session = Session::postgres(self.place.connect().await?);
            session.first(END_EARLIER, values![self.name.as_str()]).await?;
        }
        Ok(taken)
    }
}
