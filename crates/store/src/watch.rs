//! What other processes changed.

use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::sql::{Database, Session, statements, values};
use crate::tx::Effects;
use crate::{Error, Store, Version, notify};

/// How often to look (C-42).
const INTERVAL: Duration = Duration::from_millis(500);

statements! {
    /// Differs when another connection has committed, https://www.sqlite.org/pragma.html#pragma_data_version.
    /// Reads a counter in memory that all processes share.
    DATA_VERSION = "PRAGMA data_version";
}

impl Store {
    /// Looks every 500 ms whether anything was committed, and then changes the generation and wakes
    /// everybody, until `cancel`. On PostgreSQL it also hears of commits as they happen.
    ///
    /// It sees this process's own commits as well, so a busy process changes its generation twice a second
    /// more than it must. On PostgreSQL it takes transactions of other databases of the server for ours.
    pub async fn watch_others(&self, cancel: CancellationToken) {
        // Boxed: it holds what connecting takes.
        let _ = cancel.run_until_cancelled(Box::pin(self.watch())).await;
    }

    async fn watch(&self) {
        match self.database() {
            Database::Sqlite(_) => self.look(Marks::Data(None)).await,
            Database::Postgres(database) => {
                tokio::select! {
                    () = self.look(Marks::Version) => {}
                    () = notify::listen(database.place(), self.common()) => {}
                }
            }
        }
    }

    async fn look(&self, mut marks: Marks) {
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
                        self.common().hear(Effects::ALL);
                    }
                }
                Err(Error::Stopped) => return,
                Err(error) => {
                    // Unknown is changed.
                    seen = None;
                    self.common().hear(Effects::ALL);
                    if !std::mem::replace(&mut fails, true) {
                        tracing::warn!(error = &error as &dyn std::error::Error, "cannot look for changes");
                    }
                }
            }
        }
    }

    /// Differs when something was committed.
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

/// Where to look.
enum Marks {
    /// At SQLite, on a connection of one's own.
    Data(Option<Session>),
    /// At PostgreSQL.
    Version,
}

#[derive(PartialEq, Eq)]
enum Mark {
    Data(i64),
    Version(Version),
}
