//! Delivers events to webhooks: at least once, signed, tried again, each webhook in a lane of its own.
//!
//! A lane holds a bounded number of posts, so a receiver that never answers fills its own lane and nobody else's.

mod post;
mod wire;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt as _;
use kinora_domain::WebhookId;
use kinora_store::{ClaimDeliveries, ClaimedDelivery};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::Context;
use crate::lease::lease_until;

/// Posts to one webhook at once.
const LANE_MAX: usize = 16;
/// Posts at once in all; a post holds some KiB and a connection. Lanes share it evenly only when it is used up.
const POSTS_MAX: usize = 1024;
/// Nothing depends on being woken: rows are looked at this often anyway (contract decision 42).
const POLL_EVERY: Duration = Duration::from_millis(500);

/// Delivers until `stop` is cancelled. What is under way then is delivered again after the next start.
pub(crate) async fn run(context: Context, stop: CancellationToken) {
    let mut posts: JoinSet<WebhookId> = JoinSet::new();
    let mut lanes: HashMap<WebhookId, usize> = HashMap::new();
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

fn leave(lanes: &mut HashMap<WebhookId, usize>, ended: Result<WebhookId, tokio::task::JoinError>) {
    let webhook = ended.expect("panics are caught inside, and nothing is aborted before the end");
    if let Some(held) = lanes.get_mut(&webhook) {
        *held -= 1;
        if *held == 0 {
            lanes.remove(&webhook);
        }
    }
}

/// Claims what is due for every lane that has room.
async fn fill(context: &Context, posts: &mut JoinSet<WebhookId>, lanes: &mut HashMap<WebhookId, usize>) {
    let now = context.clock.now();
    let due = match context.store.webhooks_due(now).await {
        Ok(due) => due,
        Err(error) => return tracing::warn!(error = %error, "due deliveries could not be read"),
    };
    for webhook in due {
        let held = lanes.get(&webhook).copied().unwrap_or(0);
        let room = LANE_MAX.saturating_sub(held).min(POSTS_MAX.saturating_sub(posts.len()));
        if room == 0 {
            continue;
        }
        let limit = u32::try_from(room).unwrap_or(u32::MAX);
        let claim =
            ClaimDeliveries { webhook, owner: context.worker, now, lease_until: lease_until(now), limit };
        match context.store.claim_deliveries(claim).await {
            Ok(claimed) => start(context, posts, lanes, webhook, claimed).await,
            Err(error) => {
                tracing::warn!(webhook.id = %webhook, error = %error, "deliveries could not be claimed")
            }
        }
    }
}

async fn start(
    context: &Context,
    posts: &mut JoinSet<WebhookId>,
    lanes: &mut HashMap<WebhookId, usize>,
    webhook: WebhookId,
    claimed: Vec<ClaimedDelivery>,
) {
    if claimed.is_empty() {
        return;
    }
    let webhook = match context.store.webhook(webhook).await {
        Ok(Some(webhook)) => std::sync::Arc::new(webhook),
        Ok(None) => return, // deleted meanwhile, and its deliveries with it
        Err(error) => {
            return tracing::warn!(webhook.id = %webhook, error = %error, "a webhook could not be read");
        }
    };
    for delivery in claimed {
        *lanes.entry(webhook.id).or_default() += 1;
        let (context, webhook) = (context.clone(), webhook.clone());
        posts.spawn(async move {
            // Caught here, so that the place in the lane is given back; the lease runs out and the event is posted again.
            let post = AssertUnwindSafe(post::run(&context, &webhook, &delivery)).catch_unwind();
            if post.await.is_err() {
                tracing::error!(webhook.id = %webhook.id, event.id = %delivery.event.id, "a delivery panicked");
            }
            webhook.id
        });
    }
}
