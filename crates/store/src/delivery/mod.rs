//! Deliveries: the events that each webhook still has to receive, and the outcomes of their attempts.

mod claim;
mod finish;
mod outcome;

use kinora_domain::{Attempt, DeliveryId, Event, EventId, Timestamp, WebhookId, Workspace, WorkspaceId};

#[cfg(test)]
pub(crate) use claim::STATEMENTS as CLAIM;
pub(crate) use claim::stored_event;
#[cfg(test)]
pub(crate) use finish::STATEMENTS as FINISH;
pub(crate) use outcome::decode as decode_outcome;

use crate::WorkerId;

/// Microseconds after which a first attempt stops blocking the next one of its subject (C-9).
const FIRST_ATTEMPT_BLOCKS_MAX_US: i64 = 1_000_000;

/// The most attempts that a claimed delivery, and so the body of its event, lists (C-8).
const ATTEMPTS_SHOWN: u32 = 10;

/// A webhook with claimable deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DueWebhook {
    /// Its id.
    pub id: WebhookId,
    /// Its workspace.
    pub workspace: WorkspaceId,
}

/// The deliveries to claim, and the end of their leases.
#[derive(Debug, Clone, Copy)]
pub struct ClaimDeliveries {
    /// The webhook of the deliveries.
    pub webhook: WebhookId,
    /// The worker that claims them.
    pub owner: WorkerId,
    /// The present instant.
    pub now: Timestamp,
    /// The end of the lease; from then on another worker may claim them.
    pub lease_until: Timestamp,
    /// The most deliveries to claim.
    pub limit: u32,
}

/// A delivery that one worker leases.
#[derive(Debug, Clone)]
pub struct ClaimedDelivery {
    /// Its id.
    pub id: DeliveryId,
    /// The webhook that receives it.
    pub webhook: WebhookId,
    /// The event to deliver.
    pub event: StoredEvent,
    /// The latest attempts so far, oldest first, as many as the body of the event lists.
    pub attempts: Vec<Attempt>,
    /// The number of all attempts so far.
    pub attempt_count: u32,
    pub(crate) owner: WorkerId,
    pub(crate) claim_count: u32,
}

/// An event as stored.
#[derive(Debug, Clone)]
pub struct StoredEvent {
    /// Its id, the same in every delivery.
    pub id: EventId,
    /// The event and its facts.
    pub event: Event,
    /// The workspace of the event.
    pub workspace: Workspace,
}

/// The state of a delivery after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextDeliveryState {
    /// It was delivered.
    Delivered,
    /// It is retried at this time.
    RetryAt(Timestamp),
    /// It is never retried.
    GivenUp,
    /// It stays due, because its webhook was disabled and may be enabled again.
    Pending,
}
