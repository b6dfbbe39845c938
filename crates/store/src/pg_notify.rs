//! Notifies other processes of commits, and receives their notifications, by NOTIFY and LISTEN of
//! PostgreSQL.
//!
//! A notification is only a hint: [`change_poll`](crate::change_poll) polls too, so nothing depends on it.
//! It is sent after the commit, on a separate connection. PostgreSQL commits transactions that notify one
//! after the other in the whole database.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kinora_domain::Random;
use sqlx::postgres::PgListener;
use tokio::sync::Notify;

use crate::Error;
use crate::sql::postgres::{PgAddress, listener_pool};
use crate::sql::{Session, statements, values};
use crate::store::SharedState;
use crate::tx::CommitSignals;

/// Channels belong to one database.
const CHANNEL: &str = "kinora";
/// Commits within this interval share a notification.
const BATCH_INTERVAL: Duration = Duration::from_millis(10);
/// The delay before a reconnect.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

statements! {
    NOTIFY = "SELECT pg_notify('kinora', $1)";
}

/// The signals of commits that are not sent to other processes yet.
pub(crate) struct Outbox {
    /// Separates our own notifications from those of others.
    sender: String,
    signals: Mutex<CommitSignals>,
    changed: Notify,
}

impl Outbox {
    pub(crate) fn new(random: &dyn Random) -> Self {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        Self {
            sender: format!("{:016x}", u64::from_be_bytes(bytes)),
            signals: Mutex::default(),
            changed: Notify::new(),
        }
    }

    pub(crate) fn add(&self, signals: CommitSignals) {
        if signals.is_some() {
            self.signals.lock().unwrap_or_else(PoisonError::into_inner).add(signals);
            self.changed.notify_one();
        }
    }

    async fn next_signals(&self) -> CommitSignals {
        self.changed.notified().await;
        std::mem::take(&mut *self.signals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Sends the outbox forever. Drops signals that cannot be sent.
pub(crate) async fn send_notifications(address: PgAddress, shared: Arc<SharedState>) {
    let Some(outbox) = &shared.outbox else { return };
    let mut session = None;
    loop {
        let signals = outbox.next_signals().await;
        match send(&address, session.take(), &payload(&outbox.sender, signals)).await {
            Ok(used) => session = Some(used),
            Err(error) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "a notification was not sent");
                tokio::time::sleep(RECONNECT_DELAY).await;
            }
        }
        tokio::time::sleep(BATCH_INTERVAL).await;
    }
}

async fn send(address: &PgAddress, session: Option<Session>, payload: &str) -> Result<Session, Error> {
    let mut session = match session {
        Some(session) => session,
        None => Session::postgres(address.connect().await?),
    };
    session.execute(NOTIFY, values![payload]).await?;
    Ok(session)
}

/// Receives the commits of other processes, forever.
pub(crate) async fn listen(address: &PgAddress, shared: &SharedState) {
    let pool = listener_pool(address);
    loop {
        if let Err(error) = receive_notification(&pool, shared).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "notifications cannot be received");
        }
        tokio::time::sleep(RECONNECT_DELAY).await;
    }
}

async fn receive_notification(pool: &sqlx::PgPool, shared: &SharedState) -> Result<(), sqlx::Error> {
    let own = shared.outbox.as_ref().map(|outbox| outbox.sender.as_str());
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    loop {
        match listener.try_recv().await? {
            // Polling finds the commits that were notified while no connection listened.
            None => {}
            Some(notification) => match read(notification.payload()) {
                Some((sender, _)) if Some(sender) == own => {}
                Some((_, signals)) => shared.apply_signals(signals),
                None => shared.apply_signals(CommitSignals::ALL),
            },
        }
    }
}

/// `SENDER:rjd`, with one letter per signal.
fn payload(sender: &str, signals: CommitSignals) -> String {
    let letters = [(signals.rows, 'r'), (signals.jobs, 'j'), (signals.deliveries, 'd')];
    let letters: String = letters.iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| letter).collect();
    format!("{sender}:{letters}")
}

fn read(payload: &str) -> Option<(&str, CommitSignals)> {
    let (sender, letters) = payload.split_once(':')?;
    let signals = CommitSignals {
        rows: letters.contains('r'),
        jobs: letters.contains('j'),
        deliveries: letters.contains('d'),
    };
    Some((sender, signals))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_round_trips_sender_and_effects() {
        let check = |rows, jobs, deliveries, text: &str| {
            let signals = CommitSignals { rows, jobs, deliveries };
            assert_eq!(payload("0a", signals), text);
            assert_eq!(read(text), Some(("0a", signals)));
        };
        check(true, false, false, "0a:r");
        check(false, true, true, "0a:jd");
        check(true, true, true, "0a:rjd");
        check(false, false, false, "0a:");
        assert_eq!(read("of another version"), None);
    }
}
