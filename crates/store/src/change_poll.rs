//! Detects changes of other processes.

use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::sql::{Database, Session, statements, values};
use crate::tx::Effects;
use crate::{DataVersion, Error, Store, pg_notify};

/// The polling interval (C-42).
const INTERVAL: Duration = Duration::from_millis(500);

statements! {
    /// Changes when another connection has committed,
    /// https://www.sqlite.org/pragma.html#pragma_data_version. Reads a counter in memory that all processes
    /// share.
    DATA_VERSION = "PRAGMA data_version";
}

impl Store {
    /// Polls every 500 ms for commits, and then changes the generation and wakes all waiting tasks, until
    /// `cancel`. On PostgreSQL it also receives notifications of commits.
    ///
    /// It also detects the commits of this process, so a busy process changes its generation twice a second
    /// more than needed. On PostgreSQL it detects transactions of other databases on the server too.
    pub async fn poll_changes(&self, cancel: CancellationToken) {
        // Boxed: it contains the state of connecting.
        let _ = cancel.run_until_cancelled(Box::pin(self.watch())).await;
    }

    async fn watch(&self) {
        match self.database() {
            Database::Sqlite(_) => self.poll(Marks::Data(None)).await,
            Database::Postgres(database) => {
                tokio::select! {
                    () = self.poll(Marks::Version) => {}
                    () = pg_notify::listen(database.address(), self.common()) => {}
                }
            }
        }
    }

    async fn poll(&self, mut marks: Marks) {
        let mut seen = None;
        let mut fails = false;
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match self.mark(&mut marks).await {
                Ok(mark) => {
                    fails = false;
                    if seen.as_ref() != Some(&mark) {
                        seen = Some(mark);
                        self.common().apply_effects(Effects::ALL);
                    }
                }
                Err(Error::Stopped) => return,
                Err(error) => {
                    // An unknown state counts as a change.
                    seen = None;
                    self.common().apply_effects(Effects::ALL);
                    if !std::mem::replace(&mut fails, true) {
                        tracing::warn!(error = &error as &dyn std::error::Error, "cannot look for changes");
                    }
                }
            }
        }
    }

    /// Changes when a commit happened.
    async fn mark(&self, marks: &mut Marks) -> Result<Mark, Error> {
        self.check_running()?;
        match marks {
            Marks::Version => self.version().await.map(Mark::Version),
            Marks::Data(session) => {
                let mut used = match session.take() {
                    Some(session) => session,
                    None => self.database().connect().await?,
                };
                let row = used.first(DATA_VERSION, values![]).await?;
                let row = row.ok_or_else(|| Error::internal("SQLite does not tell its data version"))?;
                *session = Some(used);
                row.int("data_version").map(Mark::Data)
            }
        }
    }
}

/// The source of the marks.
enum Marks {
    /// SQLite, on a separate connection.
    Data(Option<Session>),
    /// PostgreSQL.
    Version,
}

#[derive(PartialEq, Eq)]
enum Mark {
    Data(i64),
    Version(DataVersion),
}
