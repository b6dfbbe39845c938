//! Detects changes of other processes.

use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::sql::{Database, Session, statements, values};
use crate::tx::CommitSignals;
use crate::{DataVersion, Error, Store, pg_notify};

/// The polling interval (C-42).
const POLL_INTERVAL: Duration = Duration::from_millis(500);

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
            Database::Sqlite(_) => self.poll(VersionSource::Sqlite(None)).await,
            Database::Postgres(database) => {
                tokio::select! {
                    () = self.poll(VersionSource::Postgres) => {}
                    () = pg_notify::listen(database.address(), self.shared()) => {}
                }
            }
        }
    }

    async fn poll(&self, mut source: VersionSource) {
        let mut seen = None;
        let mut is_failing = false;
        let mut ticks = tokio::time::interval(POLL_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match self.observe_version(&mut source).await {
                Ok(version) => {
                    is_failing = false;
                    if seen.as_ref() != Some(&version) {
                        seen = Some(version);
                        self.shared().apply_signals(CommitSignals::ALL);
                    }
                }
                Err(Error::Stopped) => return,
                Err(error) => {
                    // An unknown state counts as a change.
                    seen = None;
                    self.shared().apply_signals(CommitSignals::ALL);
                    if !std::mem::replace(&mut is_failing, true) {
                        tracing::warn!(error = &error as &dyn std::error::Error, "cannot look for changes");
                    }
                }
            }
        }
    }

    /// Reads a version that differs after each commit.
    async fn observe_version(&self, source: &mut VersionSource) -> Result<ObservedVersion, Error> {
        self.check_running()?;
        match source {
            VersionSource::Postgres => self.version().await.map(ObservedVersion::Postgres),
            VersionSource::Sqlite(session) => {
                let mut used = match session.take() {
                    Some(session) => session,
                    None => self.database().connect().await?,
                };
                let row = used.first(DATA_VERSION, values![]).await?;
                let row = row.ok_or_else(|| Error::internal("SQLite does not tell its data version"))?;
                *session = Some(used);
                row.int("data_version").map(ObservedVersion::Sqlite)
            }
        }
    }
}

/// The source of the observed versions.
enum VersionSource {
    /// SQLite, on a separate connection.
    Sqlite(Option<Session>),
    /// PostgreSQL.
    Postgres,
}

#[derive(PartialEq, Eq)]
enum ObservedVersion {
    Sqlite(i64),
    Postgres(DataVersion),
}
