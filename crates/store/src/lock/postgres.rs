//! The serve lock of a database on PostgreSQL: an advisory lock, which lasts as long as a connection.

use std::time::Duration;

use kinora_domain::Random;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use super::ObjectStorageKind;
use crate::Error;
use crate::sql::postgres::PgAddress;
use crate::sql::{Session, Statement, statements, values};

/// The interval between two checks of the connection.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// The timeout of one check, or of one try to take the lock again.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// The lock is lost after rejections for this long. The server needs some time to end our earlier
/// connection.
const RELOCK_TIMEOUT: Duration = Duration::from_secs(5);

statements! {
    // The two numbers are Kinora's own: "kino", and 1 for this purpose.
    LOCK_EXCLUSIVE = "SELECT CASE WHEN pg_try_advisory_lock(1802071663, 1) THEN 1::bigint ELSE 0 END AS taken";
    LOCK_SHARED = "SELECT CASE WHEN pg_try_advisory_lock_shared(1802071663, 1) THEN 1::bigint ELSE 0 END AS taken";
    /// Checks that the connection lives, and with it the lock.
    CHECK_ALIVE = "SELECT 1::bigint AS alive";
    /// Ends a connection of ours that the network lost and the server still has.
    END_EARLIER = "SELECT count(pg_terminate_backend(pid)) AS ended FROM pg_stat_activity
        WHERE application_name = $1 AND usename = current_user AND pid <> pg_backend_pid()";
}

/// The lock. A task owns its connection.
pub(super) struct PostgresLock {
    is_lost: watch::Receiver<bool>,
    _task: AbortOnDropHandle<()>,
}

impl PostgresLock {
    pub(super) async fn acquire(
        address: &PgAddress,
        objects: ObjectStorageKind,
        random: &dyn Random,
    ) -> Result<Self, Error> {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        let name = format!("kinora serve {:016x}", u64::from_be_bytes(bytes));
        let lock_task = LockTask {
            address: address.with_application_name(&name),
            name,
            lock_statement: lock_statement(objects),
        };
        let Some(session) = lock_task.try_lock().await? else { return Err(Error::DatabaseLocked) };
        let (lost_sender, is_lost) = watch::channel(false);
        let task = tokio::spawn(async move {
            lock_task.watch_until_lost(session).await;
            let _ = lost_sender.send(true);
        });
        Ok(Self { is_lost, _task: AbortOnDropHandle::new(task) })
    }

    pub(super) async fn wait_lost(&self) {
        let mut is_lost = self.is_lost.clone();
        // The sender sets the value before it is dropped.
        let _ = is_lost.wait_for(|is_lost| *is_lost).await;
    }
}

fn lock_statement(objects: ObjectStorageKind) -> Statement {
    match objects {
        ObjectStorageKind::Folder => LOCK_EXCLUSIVE,
        ObjectStorageKind::Shared => LOCK_SHARED,
    }
}

struct LockTask {
    address: PgAddress,
    name: String,
    lock_statement: Statement,
}

impl LockTask {
    /// A session that has the lock; `None` while another process has it.
    async fn try_lock(&self) -> Result<Option<Session>, Error> {
        let mut session = Session::postgres(self.address.connect().await?);
        let row = session.first(self.lock_statement, values![]).await?;
        let is_taken = row.ok_or_else(|| Error::internal("a lock gives no answer"))?.flag("taken")?;
        Ok(is_taken.then_some(session))
    }

    /// Returns when the lock is lost.
    async fn watch_until_lost(&self, session: Session) {
        let mut session = Some(session);
        let mut rejected_since: Option<Instant> = None;
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let checked = tokio::time::timeout(CHECK_TIMEOUT, self.check(session.take())).await;
            match checked.unwrap_or_else(|elapsed| Err(Error::unavailable(elapsed))) {
                Ok(Some(locked)) => {
                    session = Some(locked);
                    rejected_since = None;
                }
                Ok(None) => {
                    let since = *rejected_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= RELOCK_TIMEOUT {
                        return;
                    }
                }
                // While the database is unreachable, no process can serve it.
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::debug!(error, "the lock of the database cannot be read");
                }
            }
        }
    }

    /// The session that has the lock, a new one if the last is gone.
    async fn check(&self, session: Option<Session>) -> Result<Option<Session>, Error> {
        if let Some(mut session) = session
            && session.first(CHECK_ALIVE, values![]).await.is_ok()
        {
            return Ok(Some(session));
        }
        let locked = self.try_lock().await?;
        if locked.is_none() {
            let mut session = Session::postgres(self.address.connect().await?);
            session.first(END_EARLIER, values![self.name.as_str()]).await?;
        }
        Ok(locked)
    }
}
