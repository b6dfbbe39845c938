//! Events: changes with the facts at their time, stored in the commit of the change.

mod facts;
mod history;
mod media_json;
mod upload_json;

use kinora_domain::{DeliveryId, Event, EventId, EventKind, EventSubject, MediaId, Timestamp, WebhookId};

pub(crate) use facts::{decode, encode};
#[cfg(test)]
pub(crate) use history::STATEMENTS as HISTORY;
pub use history::{DeliveryState, LastAttempt, ListedDelivery, ListedEvent};

use crate::sql::{statements, values};
use crate::{Error, Tx};

statements! {
    /// A time later than every earlier event of the media.
    NEXT_EVENT_TIME = "UPDATE media SET told_at = CASE WHEN told_at >= $2 THEN told_at + 1 ELSE $2 END WHERE id = $1 RETURNING told_at";
    INSERT = "INSERT INTO event (id, workspace_id, kind, subject, facts, at) VALUES ($1, $2, $3, $4, $5, $6)
        RETURNING sequence";
    /// Disabled webhooks too: their deliveries wait.
    WEBHOOKS = "SELECT id FROM webhook WHERE workspace_id = $1 ORDER BY created_at, id";
    DELIVERY_INSERT = "INSERT INTO delivery (id, event_id, webhook_id, sequence, subject, state, due_at, created_at)
        VALUES ($1, $2, $3, $4, $5, 'pending', $6, $6)";
}

impl Tx {
    /// Adds an event, and a delivery of it, due at once, for each webhook of its workspace (C-182). Returns
    /// the event's id.
    ///
    /// Receivers order events by their time (C-183). But a change reads the clock before its position in
    /// the writer queue, and clocks of several machines differ and are set back. So while the row of the
    /// media exists, the time of an event is at least one microsecond after the last event of the same
    /// media.
    pub async fn push_event(&mut self, event: &Event) -> Result<EventId, Error> {
        let (now, random) = (self.now(), self.shared.random.clone());
        let id = EventId::new(now, random.as_ref());
        let subject = subject_text(&event.kind.subject());
        let facts = encode(&event.kind);
        let at = self.event_time(event).await?;
        let values = values![id, event.workspace, event.kind.name(), subject.as_str(), facts, at];
        let rows = self.session.execute_returning(INSERT, values).await?;
        let sequence =
            rows.first().ok_or_else(|| Error::internal("an event got no sequence"))?.int("sequence")?;
        for row in self.session.all(WEBHOOKS, values![event.workspace]).await? {
            let webhook: WebhookId = row.id("id")?;
            let delivery = DeliveryId::new(now, random.as_ref());
            // By the clock, which may be earlier than the event.
            let due_at = event.at.min(now);
            let values = values![delivery, id, webhook, sequence, subject.as_str(), due_at];
            self.session.execute(DELIVERY_INSERT, values).await?;
            self.signals.deliveries = true;
        }
        Ok(id)
    }

    /// The time that the event carries. The first event of a media has the creation time of its row.
    async fn event_time(&mut self, event: &Event) -> Result<Timestamp, Error> {
        if let EventKind::MediaCreated(_) | EventKind::UploadRegistered(_) = event.kind {
            return Ok(event.at);
        }
        let EventSubject::Media(media) = event.kind.subject();
        let rows = self.session.execute_returning(NEXT_EVENT_TIME, values![media, event.at]).await?;
        rows.first().map_or(Ok(event.at), |row| row.time("told_at"))
    }
}

/// The subject of an event as one text: deliveries of one subject keep their order.
fn subject_text(subject: &EventSubject) -> String {
    match subject {
        EventSubject::Media(id) => subject_of_media(*id),
    }
}

fn subject_of_media(id: MediaId) -> String {
    format!("media:{id}")
}
