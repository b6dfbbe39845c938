//! Delivers events to webhooks: at least once, signed, with retries, one lane per webhook.
//!
//! A lane is the queue of one webhook, not a worker pool. It has a bounded number of posts, so a receiver
//! that never responds delays only its own events (`concurrency.rs`).

mod concurrency;
mod payload;
mod post;

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use kinora_domain::WebhookId;
use kinora_store::{ClaimDeliveries, ClaimedDelivery, DueWebhook};
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::Context;
use crate::error::JobError;
use crate::lease::{LEASE, lease_until};
use crate::outage_retry::{RetrySubject, retry_during_outage};
use concurrency::WebhookConcurrency;

pub use payload::event_body;

/// Polling interval. Wake-ups are only an optimisation (C-42).
const POLL_EVERY: Duration = Duration::from_millis(500);

/// Webhooks whose deliveries are claimed before the list of due webhooks is read again.
const CLAIMS_AT_ONCE: usize = 8;

/// Delivers until `stop` is cancelled. Posts in progress at that time are delivered again after the next
/// start.
pub(crate) async fn run(context: Context, stop: CancellationToken) {
    let mut posts: JoinSet<PostEnd> = JoinSet::new();
    let mut lanes = WebhookConcurrency::new();
    let mut woken = context.store.delivery_wake();
    loop {
        start_due(&context, &mut posts, &mut lanes).await;
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(ended) = posts.join_next(), if !posts.is_empty() => {
                end_post(&mut lanes, ended);
                while let Some(ended) = posts.try_join_next() {
                    end_post(&mut lanes, ended);
                }
            }
            () = woken.notified() => {}
            () = tokio::time::sleep(POLL_EVERY) => {}
        }
    }
    posts.shutdown().await;
}

/// The webhook of a finished post, and whether the event was delivered.
type PostEnd = (WebhookId, bool);

fn end_post(lanes: &mut WebhookConcurrency, ended: Result<PostEnd, JoinError>) {
    let (webhook, is_delivered) =
        ended.expect("panics are caught inside, and nothing is aborted before the end");
    lanes.post_ended(webhook, is_delivered);
}

/// Claims the due deliveries of every lane with free permits, until there are none.
async fn start_due(context: &Context, posts: &mut JoinSet<PostEnd>, lanes: &mut WebhookConcurrency) {
    loop {
        let now = context.clock.now();
        let due = match context.store.webhooks_due(now).await {
            Ok(due) => due,
            Err(error) => return tracing::warn!(error = %error, "due deliveries could not be read"),
        };
        let mut has_begun = false;
        let mut claims_left = CLAIMS_AT_ONCE;
        for (webhook, share) in lanes.distribute(&due) {
            if claims_left == 0 {
                break; // a webhook that became due meanwhile may be first
            }
            let limit = u32::try_from(share).unwrap_or(u32::MAX);
            let (owner, lease_until) = (context.worker, lease_until(now));
            let claim = ClaimDeliveries { webhook: webhook.id, owner, now, lease_until, limit };
            match context.store.claim_deliveries(claim).await {
                Ok(claimed) => {
                    has_begun |= !claimed.is_empty();
                    claims_left -= usize::from(!claimed.is_empty());
                    start_posts(context, posts, lanes, webhook, claimed).await;
                }
                Err(error) => {
                    tracing::warn!(webhook.id = %webhook.id, error = %error, "deliveries could not be claimed")
                }
            }
        }
        if !has_begun {
            return;
        }
    }
}

async fn start_posts(
    context: &Context,
    posts: &mut JoinSet<PostEnd>,
    lanes: &mut WebhookConcurrency,
    due: DueWebhook,
    claimed: Vec<ClaimedDelivery>,
) {
    if claimed.is_empty() {
        return;
    }
    // The claim is valid until its lease ends, so a short outage of the database does not lose it.
    let read = async || context.store.webhook(due.id).await.map_err(JobError::from);
    let webhook = match retry_during_outage(RetrySubject::Webhook(due.id), LEASE, read).await {
        Ok(Some(webhook)) => std::sync::Arc::new(webhook),
        Ok(None) => return, // deleted meanwhile, and its deliveries with it
        Err(error) => {
            return tracing::warn!(webhook.id = %due.id, error = %error, "a webhook could not be read");
        }
    };
    for delivery in claimed {
        lanes.post_started(due);
        let (context, webhook) = (context.clone(), webhook.clone());
        posts.spawn(async move {
            // Catches a panic, so that the lane gets its permit back. The lease expires and the event is
            // posted again.
            let post = AssertUnwindSafe(post::run(&context, &webhook, &delivery)).catch_unwind();
            let is_delivered = post.await.unwrap_or_else(|_| {
                tracing::error!(webhook.id = %webhook.id, event.id = %delivery.event.id, "a delivery panicked");
                false
            });
            (webhook.id, is_delivered)
        });
    }
}
