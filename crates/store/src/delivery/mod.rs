//! Deliveries: which event each webhook is still to be told, and how it went.

mod claim;
mod finish;
mod outcome;

use kinora_domain::{Attempt, DeliveryId, Event, EventId, Timestamp, WebhookId, Workspace, WorkspaceId};

#[cfg(test)]
pub(crate) use claim::STATEMENTS as CLAIM;
#[cfg(test)]
pub(crate) use finish::STATEMENTS as FINISH;

use crate::WorkerId;

/// Microseconds after which the next first attempt no longer waits for the end of the one before it
/// (C-9).
const FIRST_ATTEMPT_HOLDS_US: i64 = 1_000_000;

/// A claimed delivery, and so the body of its event, lists at most so many attempts (C-8).
const ATTEMPTS_SHOWN: u32 = 10;

/// A webhook that has deliveries to be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueWebhook {
    /// Which.
    pub id: WebhookId,
    /// Whose.
    pub workspace: WorkspaceId,
}

/// Which deliveries to take, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct ClaimDeliveries {
    /// Whose.
    pub webhook: WebhookId,
    /// Who takes them.
    pub owner: WorkerId,
    /// The present instant.
    pub now: Timestamp,
    /// When somebody else may take them.
    pub lease_until: Timestamp,
    /// Most of them.
    pub limit: u32,
}

/// A delivery in the hands of one worker.
#[derive(Debug, Clone)]
pub struct ClaimedDelivery {
    /// Its id.
    pub id: DeliveryId,
    /// Where to.
    pub webhook: WebhookId,
    /// What to tell.
    pub event: StoredEvent,
    /// The last attempts made so far, oldest first, as many as the body of the event lists.
    pub attempts: Vec<Attempt>,
    /// How many attempts were made so far in all.
    pub attempt_count: u32,
    pub(crate) owner: WorkerId,
    pub(crate) claim: u32,
}

/// An event as it was committed.
#[derive(Debug, Clone)]
pub struct StoredEvent {
    /// Its id, the same in every delivery.
    pub id: EventId,
    /// What happened.
    pub event: Event,
    /// Where it happened.
    pub workspace: Workspace,
}

/// What becomes of a delivery after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryNext {
    /// It arrived.
    Delivered,
    /// Try again then.
    RetryAt(Timestamp),
    /// It will never arrive.
    GivenUp,
    /// It stays due: its webhook was disabled and may be enabled again.
    Pending,
}
