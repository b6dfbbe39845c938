//! What other processes changed.

use std::time::Duration;

use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::sql::{Session, statements, values};
use crate::tx::Effects;
use crate::{Error, Store};

/// How often to look (contract decision 42).
const INTERVAL: Duration = Duration::from_millis(500);

statements! {
    /// Differs when another connection has committed, https://www.sqlite.org/pragma.html#pragma_data_version. Reads a counter in
    /// memory that all processes share.
    DATA_VERSION = "PRAGMA data_version";
}

impl Store {
    /// Looks every 500 ms whether anything was committed, and then changes the generation and wakes everybody, until `cancel`.
    ///
    /// It sees this process's own commits as well, so a busy process changes its generation twice a second more than it must.
    pub async fn watch_others(&self, cancel: CancellationToken) {
        let _ = cancel.run_until_cancelled(self.watch()).await;
    }

    async fn watch(&self) {
        let mut session = None;
        let mut seen = None;
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match self.data_version(&mut session).await {
                Ok(version) => {
                    if seen.replace(version) != Some(version) {
                        self.common().tell(Effects::ALL);
                    }
                }
                Err(Error::Stopped) => return,
                Err(error) => {
                    // Unknown is changed. The next look connects anew.
                    session = None;
                    self.common().tell(Effects::ALL);
                    tracing::warn!(error = &error as &dyn std::error::Error, "cannot look for changes");
                }
            }
        }
    }

    async fn data_version(&self, session: &mut Option<Session>) -> Result<i64, Error> {
        self.check_running()?;
        let session = match session {
            Some(session) => session,
            None => session.insert(self.database().connect().await?),
        };
        let row = session.first(DATA_VERSION, values![]).await?;
        row.ok_or_else(|| Error::internal("SQLite does not tell its data version"))?.int("data_version")
    }
}
