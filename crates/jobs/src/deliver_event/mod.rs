//! Delivers events to webhooks: at least once, signed, tried again, each webhook in a lane of its own.
//!
//! A lane holds a bounded number of posts, so a receiver that never answers waits in its own lane and nobody
//! else's (`lanes.rs`).

mod lanes;
mod post;
mod wire;

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
use crate::patience::{Waiter, keep_trying};
use lanes::Lanes;

/// Nothing depends on being woken: rows are looked at this often anyway (C-42).
const POLL_EVERY: Duration = Duration::from_millis(500);

/// Webhooks that are claimed for before it is looked again which ones are due.
const CLAIMS_AT_ONCE: usize = 8;

/// Delivers until `stop` is cancelled. What is under way then is delivered again after the next start.
pub(crate) async fn run(context: Context, stop: CancellationToken) {
    let mut posts: JoinSet<Ended> = JoinSet::new();
    let mut lanes = Lanes::new();
    let mut woken = context.store.deliveries_woken();
    loop {
        fill(&context, &mut posts, &mut lanes).await;
        tokio::select! {
            biased;
            () = stop.cancelled() => break,
            Some(ended) = posts.join_next(), if !posts.is_empty() => {
                leave(&mut lanes, ended);
                while let Some(ended) = posts.try_join_next() {
                    leave(&mut lanes, ended);
                }
            }
            () = woken.notified() => {}
            () = tokio::time::sleep(POLL_EVERY) => {}
        }
    }
    posts.shutdown().await;
}

/// A post to this webhook ended, and the event arrived or did not.
type Ended = (WebhookId, bool);

fn leave(lanes: &mut Lanes, ended: Result<Ended, JoinError>) {
    let (webhook, arrived) = ended.expect("panics are caught inside, and nothing is aborted before the end");
    lanes.leave(webhook, arrived);
}

/// Claims what is due for every lane that has room, until nothing comes.
async fn fill(context: &Context, posts: &mut JoinSet<Ended>, lanes: &mut Lanes) {
    loop {
        let now = context.clock.now();
        let due = match context.store.webhooks_due(now).await {
            Ok(due) => due,
            Err(error) => return tracing::warn!(error = %error, "due deliveries could not be read"),
        };
        let mut has_begun = false;
        let mut claims_left = CLAIMS_AT_ONCE;
        for (webhook, room) in lanes.share_out(&due) {
            if claims_left == 0 {
                break; // a webhook that became due meanwhile may be first
            }
            let limit = u32::try_from(room).unwrap_or(u32::MAX);
            let (owner, lease_until) = (context.worker, lease_until(now));
            let claim = ClaimDeliveries { webhook: webhook.id, owner, now, lease_until, limit };
            match context.store.claim_deliveries(claim).await {
                Ok(claimed) => {
                    has_begun |= !claimed.is_empty();
                    claims_left -= usize::from(!claimed.is_empty());
                    start(context, posts, lanes, webhook, claimed).await;
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

async fn start(
    context: &Context,
    posts: &mut JoinSet<Ended>,
    lanes: &mut Lanes,
    due: DueWebhook,
    claimed: Vec<ClaimedDelivery>,
) {
    if claimed.is_empty() {
        return;
    }
    // What was claimed is ours until its lease is over: it is not let go because the database is away for a
    // moment.
    let read = async || context.store.webhook(due.id).await.map_err(JobError::from);
    let webhook = match keep_trying(Waiter::Webhook(due.id), LEASE, read).await {
        Ok(Some(webhook)) => std::sync::Arc::new(webhook),
        Ok(None) => return, // deleted meanwhile, and its deliveries with it
        Err(error) => {
            return tracing::warn!(webhook.id = %due.id, error = %error, "a webhook could not be read");
        }
    };
    for delivery in claimed {
        lanes.enter(due);
        let (context, webhook) = (context.clone(), webhook.clone());
        posts.spawn(async move {
            // Caught here, so that the place in the lane is given back; the lease runs out and the event is
            // posted again.
            let post = AssertUnwindSafe(post::run(&context, &webhook, &delivery)).catch_unwind();
            let arrived = post.await.unwrap_or_else(|_| {
                tracing::error!(webhook.id = %webhook.id, event.id = %delivery.event.id, "a delivery panicked");
                false
            });
            (webhook.id, arrived)
        });
    }
}
