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
use crate::store::Common;
use crate::tx::Effects;

/// Channels belong to one database.
const CHANNEL: &str = "kinora";
/// Commits within this interval share a notification.
const BATCH_INTERVAL: Duration = Duration::from_millis(10);
/// The delay before a reconnect.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);

statements! {
    NOTIFY = "SELECT pg_notify('kinora', $1)";
}

/// The effects of commits that are not sent to other processes yet.
pub(crate) struct Outbox {
    /// Separates our own notifications from those of others.
    sender: String,
    effects: Mutex<Effects>,
    changed: Notify,
}

impl Outbox {
    pub(crate) fn new(random: &dyn Random) -> Self {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        Self {
            sender: format!("{:016x}", u64::from_be_bytes(bytes)),
            effects: Mutex::default(),
            changed: Notify::new(),
        }
    }

    pub(crate) fn put(&self, effects: Effects) {
        if effects.is_some() {
            self.effects.lock().unwrap_or_else(PoisonError::into_inner).add(effects);
            self.changed.notify_one();
        }
    }

    async fn take(&self) -> Effects {
        self.changed.notified().await;
        std::mem::take(&mut *self.effects.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Sends the outbox forever. Drops effects that cannot be sent.
pub(crate) async fn send_notifications(address: PgAddress, common: Arc<Common>) {
    let Some(outbox) = &common.outbox else { return };
    let mut session = None;
    loop {
        let effects = outbox.take().await;
        match send(&address, session.take(), &payload(&outbox.sender, effects)).await {
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
pub(crate) async fn listen(address: &PgAddress, common: &Common) {
    let pool = listener_pool(address);
    loop {
        if let Err(error) = receive_notification(&pool, common).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "notifications cannot be received");
        }
        tokio::time::sleep(RECONNECT_DELAY).await;
    }
}

async fn receive_notification(pool: &sqlx::PgPool, common: &Common) -> Result<(), sqlx::Error> {
    let own = common.outbox.as_ref().map(|outbox| outbox.sender.as_str());
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    loop {
        match listener.try_recv().await? {
            // Polling finds the commits that were notified while no connection listened.
            None => {}
            Some(notification) => match read(notification.payload()) {
                Some((sender, _)) if Some(sender) == own => {}
                Some((_, effects)) => common.apply_effects(effects),
                None => common.apply_effects(Effects::ALL),
            },
        }
    }
}

/// `SENDER:rjd`, with one letter per effect.
fn payload(sender: &str, effects: Effects) -> String {
    let letters = [(effects.rows, 'r'), (effects.jobs, 'j'), (effects.deliveries, 'd')];
    let letters: String = letters.iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| letter).collect();
    format!("{sender}:{letters}")
}

fn read(payload: &str) -> Option<(&str, Effects)> {
    let (sender, letters) = payload.split_once(':')?;
    let effects = Effects {
        rows: letters.contains('r'),
        jobs: letters.contains('j'),
        deliveries: letters.contains('d'),
    };
    Some((sender, effects))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_round_trips_sender_and_effects() {
        let check = |rows, jobs, deliveries, text: &str| {
            let effects = Effects { rows, jobs, deliveries };
            assert_eq!(payload("0a", effects), text);
            assert_eq!(read(text), Some(("0a", effects)));
        };
        check(true, false, false, "0a:r");
        check(false, true, true, "0a:jd");
        check(true, true, true, "0a:rjd");
        check(false, false, false, "0a:");
        assert_eq!(read("of another version"), None);
    }
}
