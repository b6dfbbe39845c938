//! The events of one media with their deliveries, newest first.
//!
//! An upload shares the subject of its media, and events of tracks have it too, so all of them are here.

use std::collections::HashMap;

use kinora_domain::{AttemptOutcome, DeliveryId, EventId, MediaId, Timestamp, WebhookId, WorkspaceId};

use super::subject_of_media;
use crate::delivery::{decode_outcome, stored_event};
use crate::sql::{Row, statements, values};
use crate::{Error, Store, StoredEvent};

statements! {
    /// The rows of another workspace are dropped afterwards: with the workspace as a condition PostgreSQL may
    /// read all events of a workspace, if it plans with empty tables.
    PAGE = "SELECT e.sequence, e.id AS event_id, e.kind, e.facts, e.at,
            s.id AS workspace_id, s.organisation_id, s.name AS workspace_name, s.created_at AS workspace_created_at
        FROM event e JOIN workspace s ON s.id = e.workspace_id
        WHERE e.subject = $1 AND e.sequence < $2 ORDER BY e.sequence DESC LIMIT $3";
    /// The deliveries of a page, and the last attempt of each.
    DELIVERIES = "SELECT d.id, d.event_id, d.state, d.attempt_count, d.due_at, d.webhook_id, w.url, w.state AS webhook_state,
            a.at AS attempt_at, a.outcome
        FROM event e JOIN delivery d ON d.event_id = e.id JOIN webhook w ON w.id = d.webhook_id
        LEFT JOIN attempt a ON a.delivery_id = d.id AND a.number = d.attempt_count
        WHERE e.subject = $1 AND e.sequence >= $2 AND e.sequence <= $3
        ORDER BY w.created_at, w.id";
}

/// An event in the list of its media.
#[derive(Debug, Clone)]
pub struct ListedEvent {
    /// Its position in the order of all events.
    pub sequence: i64,
    /// Its id.
    pub id: EventId,
    /// The event type in payloads.
    pub kind: String,
    /// Its time.
    pub at: Timestamp,
    /// The event with its facts; `None` if a newer version wrote it in a form that is not known here.
    pub event: Option<StoredEvent>,
    /// One for each webhook that existed then and exists now, oldest webhook first.
    pub deliveries: Vec<ListedDelivery>,
}

/// A delivery in the list of the events of a media.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedDelivery {
    /// Its id.
    pub id: DeliveryId,
    /// The webhook that receives it.
    pub webhook: WebhookId,
    /// The address of the webhook, which may contain secrets.
    pub webhook_url: String,
    /// Its state.
    pub state: DeliveryState,
    /// The number of all attempts so far.
    pub attempt_count: u32,
    /// The last attempt that ended.
    pub last_attempt: Option<LastAttempt>,
}

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryState {
    /// Another attempt follows at this time, or as soon as possible after it. `None` while the webhook is
    /// disabled.
    Pending {
        /// The time of the attempt.
        due_at: Option<Timestamp>,
    },
    /// It was delivered.
    Delivered,
    /// It is never retried.
    GivenUp,
}

/// An attempt of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastAttempt {
    /// Its start.
    pub at: Timestamp,
    /// Its outcome.
    pub outcome: AttemptOutcome,
}

impl Store {
    /// A page of the events of a media of this workspace or of its upload, newest first; also of a media that
    /// was deleted. `before`: the sequence of the last event of the page before. Events that are added
    /// meanwhile change no later page.
    pub async fn events_of_media(
        &self,
        workspace: WorkspaceId,
        media: MediaId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<ListedEvent>, Error> {
        let subject = subject_of_media(media);
        let mut snapshot = self.snapshot().await?;
        let values = values![subject.as_str(), before.unwrap_or(i64::MAX), limit];
        let rows = snapshot.all(PAGE, values).await?;
        let mut events = Vec::new();
        for row in &rows {
            if row.id::<WorkspaceId>("workspace_id")? == workspace {
                events.push(read_event(row)?);
            }
        }
        let (Some(newest), Some(oldest)) = (events.first(), events.last()) else { return Ok(events) };
        let values = values![subject.as_str(), oldest.sequence, newest.sequence];
        let mut deliveries: HashMap<EventId, Vec<ListedDelivery>> = HashMap::new();
        for row in snapshot.all(DELIVERIES, values).await? {
            deliveries.entry(row.id("event_id")?).or_default().push(read_delivery(&row)?);
        }
        for event in &mut events {
            event.deliveries = deliveries.remove(&event.id).unwrap_or_default();
        }
        Ok(events)
    }
}

fn read_event(row: &Row) -> Result<ListedEvent, Error> {
    Ok(ListedEvent {
        sequence: row.int("sequence")?,
        id: row.id("event_id")?,
        kind: row.text("kind")?,
        at: row.time("at")?,
        event: stored_event(row).ok(),
        deliveries: Vec::new(),
    })
}

fn read_delivery(row: &Row) -> Result<ListedDelivery, Error> {
    let is_enabled = row.text("webhook_state")? == "enabled";
    let state = match row.text("state")?.as_str() {
        "pending" => DeliveryState::Pending { due_at: Some(row.time("due_at")?).filter(|_| is_enabled) },
        "delivered" => DeliveryState::Delivered,
        "given_up" => DeliveryState::GivenUp,
        _ => return Err(Row::invalid_column("state")),
    };
    let last_attempt = match row.time_or_none("attempt_at")? {
        Some(at) => Some(LastAttempt { at, outcome: decode_outcome(&row.text("outcome")?)? }),
        None => None,
    };
    Ok(ListedDelivery {
        id: row.id("id")?,
        webhook: row.id("webhook_id")?,
        webhook_url: row.text("url")?,
        state,
        attempt_count: row.number("attempt_count")?,
        last_attempt,
    })
}
