//! Telling other processes of commits, and hearing of theirs, by NOTIFY and LISTEN of PostgreSQL.
//!
//! Only a hint: nothing depends on it, and [`watch`](crate::watch) looks by itself. It is sent after the
//! commit, from a connection of its own: transactions that notify commit one after the other in the whole
//! database.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kinora_domain::Random;
use sqlx::postgres::PgListener;
use tokio::sync::Notify;

use crate::Error;
use crate::sql::postgres::{Place, listener_pool};
use crate::sql::{Session, statements, values};
use crate::store::Common;
use crate::tx::Effects;

/// Channels belong to one database.
const CHANNEL: &str = "kinora";
/// Commits that follow one another this closely share a notification.
const GAP: Duration = Duration::from_millis(10);
/// Before connecting again.
const PAUSE: Duration = Duration::from_secs(1);

statements! {
    NOTIFY = "SELECT pg_notify('kinora', $1)";
}

/// What this process has committed and others have not been told.
pub(crate) struct Outbox {
    /// Tells our own notifications from others.
    sender: String,
    effects: Mutex<Effects>,
    bell: Notify,
}

impl Outbox {
    pub(crate) fn new(random: &dyn Random) -> Self {
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        Self {
            sender: format!("{:016x}", u64::from_be_bytes(bytes)),
            effects: Mutex::default(),
            bell: Notify::new(),
        }
    }

    pub(crate) fn put(&self, effects: Effects) {
        if effects.is_some() {
            self.effects.lock().unwrap_or_else(PoisonError::into_inner).add(effects);
            self.bell.notify_one();
        }
    }

    async fn take(&self) -> Effects {
        self.bell.notified().await;
        std::mem::take(&mut *self.effects.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Sends what is in the outbox, for ever. What cannot be sent is forgotten.
pub(crate) async fn tell(place: Place, common: Arc<Common>) {
    let Some(outbox) = &common.outbox else { return };
    let mut session = None;
    loop {
        let effects = outbox.take().await;
        match send(&place, session.take(), &payload(&outbox.sender, effects)).await {
            Ok(used) => session = Some(used),
            Err(error) => {
                tracing::debug!(error = &error as &dyn std::error::Error, "a notification was not sent");
                tokio::time::sleep(PAUSE).await;
            }
        }
        tokio::time::sleep(GAP).await;
    }
}

async fn send(place: &Place, session: Option<Session>, payload: &str) -> Result<Session, Error> {
    let mut session = match session {
        Some(session) => session,
        None => Session::postgres(place.connect().await?),
    };
    session.execute(NOTIFY, values![payload]).await?;
    Ok(session)
}

/// Hears of the commits of others, for ever.
pub(crate) async fn listen(place: &Place, common: &Common) {
    let pool = listener_pool(place);
    loop {
        if let Err(error) = hear(&pool, common).await {
            tracing::debug!(error = &error as &dyn std::error::Error, "notifications are not heard");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn hear(pool: &sqlx::PgPool, common: &Common) -> Result<(), sqlx::Error> {
    let own = common.outbox.as_ref().map(|outbox| outbox.sender.as_str());
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen(CHANNEL).await?;
    loop {
        match listener.try_recv().await? {
            // Whatever was said while nobody listened is found by looking.
            None => {}
            Some(heard) => match read(heard.payload()) {
                Some((sender, _)) if Some(sender) == own => {}
                Some((_, effects)) => common.hear(effects),
                None => common.hear(Effects::ALL),
            },
        }
    }
}

/// `SENDER:rjd`, with a letter for each effect.
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
    fn a_payload_tells_sender_and_effects() {
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
