//! Claims deliveries that are due.

use kinora_domain::{Attempt, DeliveryId, Event, Timestamp, Workspace};

use super::{
    ATTEMPTS_SHOWN, ClaimDeliveries, ClaimedDelivery, DueWebhook, FIRST_ATTEMPT_BLOCKS_MAX_US, StoredEvent,
    outcome,
};
use crate::sql::{Row, Session, statements, values};
use crate::{Error, Store, Tx, event};

/// Whether `d` can be claimed at $1. A first attempt waits for earlier first attempts of the same subject,
/// unless they started at $2 or before. A retry never waits.
macro_rules! claimable {
    () => {
        "d.state = 'pending' AND d.due_at <= $1 AND (d.leased_until IS NULL OR d.leased_until <= $1)
         AND (d.first_started_at IS NOT NULL OR NOT EXISTS (
            SELECT 1 FROM delivery e WHERE e.webhook_id = d.webhook_id AND e.subject = d.subject
            AND e.sequence < d.sequence AND e.state = 'pending' AND e.first_ended = 0
            AND (e.first_started_at IS NULL OR e.first_started_at > $2) ORDER BY e.sequence LIMIT 1 OFFSET 0))"
    };
}

/// The deliveries of webhook $3 that can be claimed, $4 at most, locked as `$lock` says.
macro_rules! claimable_of_webhook {
    ($lock:literal) => {
        concat!(
            "SELECT d.id, d.claim_count, d.attempt_count, e.id AS event_id, e.kind, e.facts, e.at,
                s.id AS workspace_id, s.organisation_id, s.name AS workspace_name, s.created_at AS workspace_created_at
             FROM delivery d
             JOIN webhook w ON w.id = d.webhook_id
             JOIN event e ON e.id = d.event_id
             JOIN workspace s ON s.id = e.workspace_id
             WHERE d.webhook_id = $3 AND w.state = 'enabled' AND ",
            claimable!(),
            " ORDER BY d.due_at, d.sequence LIMIT $4",
            $lock
        )
    };
}

statements! {
    /// Checks only the deliveries of enabled webhooks, and stops at the first claimable one.
    ///
    /// PostgreSQL caches a plan that it made while the table was empty, when any plan seems good. A plan
    /// that joined each webhook with all deliveries took 2.7 s for 20,000 deliveries. OFFSET prevents the
    /// join, and each ORDER BY fits one index only.
    WEBHOOKS_DUE = concat!(
        "SELECT w.id, w.workspace_id FROM webhook w WHERE w.state = 'enabled' AND EXISTS (
            SELECT 1 FROM delivery d WHERE d.webhook_id = w.id AND ", claimable!(), "
            ORDER BY d.due_at, d.sequence LIMIT 1 OFFSET 0)
         ORDER BY w.id"
    );
    CLAIMABLE = claimable_of_webhook!(""),
        // Skips rows that another worker is claiming.
        postgres: claimable_of_webhook!(" FOR UPDATE OF d SKIP LOCKED");
    LEASE = "UPDATE delivery SET lease_owner = $2, leased_until = $3, claim_count = claim_count + 1,
        first_started_at = coalesce(first_started_at, $4)
        WHERE id = $1";
    /// An event that cannot be read is never delivered.
    GIVE_UP_UNREADABLE = "UPDATE delivery SET state = 'given_up', finished_at = $2, lease_owner = NULL, leased_until = NULL
        WHERE id = $1";
    ATTEMPTS = "SELECT id, at, address, outcome FROM attempt WHERE delivery_id = $1 ORDER BY number DESC LIMIT $2";
    /// When the next delivery becomes due.
    NEXT_DUE = "SELECT min((
            SELECT d.due_at FROM delivery d WHERE d.webhook_id = w.id AND d.state = 'pending' AND d.due_at > $1
            ORDER BY d.due_at LIMIT 1)) AS at
        FROM webhook w WHERE w.state = 'enabled'";
    /// When the next lease ends.
    NEXT_LEASE_END = "SELECT min(d.leased_until) AS at FROM delivery d JOIN webhook w ON w.id = d.webhook_id
        WHERE d.leased_until > $1 AND w.state = 'enabled'";
    /// When the next first attempt stops blocking later ones, if any of them waits. For OFFSET see
    /// `WEBHOOKS_DUE`.
    NEXT_START = "SELECT e.first_started_at AS at FROM delivery e
        WHERE e.state = 'pending' AND e.first_ended = 0 AND e.first_started_at IS NOT NULL AND e.first_started_at > $1
        AND EXISTS (SELECT 1 FROM webhook w WHERE w.id = e.webhook_id AND w.state = 'enabled' LIMIT 1 OFFSET 0)
        AND EXISTS (
            SELECT 1 FROM delivery d WHERE d.webhook_id = e.webhook_id AND d.subject = e.subject
            AND d.sequence > e.sequence AND d.state = 'pending' AND d.first_ended = 0
            AND d.first_started_at IS NULL LIMIT 1 OFFSET 0)
        ORDER BY e.first_started_at LIMIT 1";
    RELEASE_LEASES = "UPDATE delivery SET lease_owner = NULL, leased_until = NULL WHERE leased_until IS NOT NULL";
}

impl Store {
    /// The enabled webhooks with claimable deliveries, in no defined order.
    pub async fn webhooks_due(&self, now: Timestamp) -> Result<Vec<DueWebhook>, Error> {
        webhooks_due(&mut self.reader().await?, now).await
    }

    /// Claims due deliveries of one webhook, oldest first; none of a disabled webhook. It claims one first
    /// attempt per subject at a time: the next one when that has ended, or 1 s after its claim.
    ///
    /// An event that cannot be read (written by a newer version) is given up and logged.
    pub async fn claim_deliveries(&self, claim: ClaimDeliveries) -> Result<Vec<ClaimedDelivery>, Error> {
        self.write_read_committed(async move |tx: &mut Tx| tx.claim_deliveries(&claim).await).await
    }

    /// When the next delivery can be claimed, from the present state; not later than now when one is
    /// claimable already. `None` when no delivery is pending for an enabled webhook.
    pub async fn next_delivery_due(&self) -> Result<Option<Timestamp>, Error> {
        let now = self.shared().clock.now();
        let mut snapshot = self.snapshot().await?;
        if !webhooks_due(&mut snapshot, now).await?.is_empty() {
            return Ok(Some(now));
        }
        let due = read_time(snapshot.first(NEXT_DUE, values![now]).await?)?;
        let lease_end = read_time(snapshot.first(NEXT_LEASE_END, values![now]).await?)?;
        let start = read_time(snapshot.first(NEXT_START, values![ordering_cutoff(now)]).await?)?;
        let unblocked_at = start.map(|start| start.plus_micros(FIRST_ATTEMPT_BLOCKS_MAX_US));
        Ok([due, lease_end, unblocked_at].into_iter().flatten().min())
    }

    /// Whether a worker leases a delivery of an enabled webhook.
    pub async fn is_delivery_leased(&self) -> Result<bool, Error> {
        let now = self.shared().clock.now();
        let lease_end = self.reader().await?.first(NEXT_LEASE_END, values![now]).await?;
        Ok(read_time(lease_end)?.is_some())
    }
}

impl Tx {
    async fn claim_deliveries(&mut self, claim: &ClaimDeliveries) -> Result<Vec<ClaimedDelivery>, Error> {
        let values = values![claim.now, ordering_cutoff(claim.now), claim.webhook, claim.limit];
        let mut claimed = Vec::new();
        for row in self.session.all(CLAIMABLE, values).await? {
            let id: DeliveryId = row.id("id")?;
            let event = match stored_event(&row) {
                Ok(event) => event,
                Err(error) => {
                    let error: &dyn std::error::Error = &error;
                    tracing::error!(delivery.id = %id, error, "an event cannot be read and is dropped");
                    self.session.execute(GIVE_UP_UNREADABLE, values![id, claim.now]).await?;
                    continue;
                }
            };
            self.session.execute(LEASE, values![id, claim.owner, claim.lease_until, claim.now]).await?;
            let attempt_count = row.number("attempt_count")?;
            let attempts =
                if attempt_count > 0 { attempts(&mut self.session, id).await? } else { Vec::new() };
            claimed.push(ClaimedDelivery {
                id,
                webhook: claim.webhook,
                event,
                attempts,
                attempt_count,
                owner: claim.owner,
                claim_count: row.number::<u32>("claim_count")?.saturating_add(1),
            });
        }
        Ok(claimed)
    }

    pub(crate) async fn release_delivery_leases(&mut self) -> Result<(), Error> {
        self.signals.deliveries = true;
        self.session.execute(RELEASE_LEASES, values![]).await.map(drop)
    }
}

async fn webhooks_due(session: &mut Session, now: Timestamp) -> Result<Vec<DueWebhook>, Error> {
    let rows = session.all(WEBHOOKS_DUE, values![now, ordering_cutoff(now)]).await?;
    let due = |row: &Row| Ok(DueWebhook { id: row.id("id")?, workspace: row.id("workspace_id")? });
    rows.iter().map(due).collect()
}

async fn attempts(session: &mut Session, delivery: DeliveryId) -> Result<Vec<Attempt>, Error> {
    let rows = session.all(ATTEMPTS, values![delivery, ATTEMPTS_SHOWN]).await?;
    let read = |row: &Row| {
        Ok(Attempt {
            id: row.id("id")?,
            at: row.time("at")?,
            address: row.text("address")?,
            outcome: outcome::decode(&row.text("outcome")?)?,
        })
    };
    rows.iter().rev().map(read).collect()
}

/// The event of a row with the columns of the event and its workspace.
pub(crate) fn stored_event(row: &Row) -> Result<StoredEvent, Error> {
    let workspace = row.id("workspace_id")?;
    Ok(StoredEvent {
        id: row.id("event_id")?,
        event: Event {
            workspace,
            kind: event::decode(&row.text("kind")?, &row.text("facts")?)?,
            at: row.time("at")?,
        },
        workspace: Workspace {
            id: workspace,
            organisation: row.id("organisation_id")?,
            name: row.text("workspace_name")?,
            created_at: row.time("workspace_created_at")?,
        },
    })
}

/// First attempts that started at or before this time no longer block later ones.
fn ordering_cutoff(now: Timestamp) -> Timestamp {
    now.plus_micros(-FIRST_ATTEMPT_BLOCKS_MAX_US)
}

fn read_time(row: Option<Row>) -> Result<Option<Timestamp>, Error> {
    row.map(|row| row.time_or_none("at")).transpose().map(Option::flatten)
}
