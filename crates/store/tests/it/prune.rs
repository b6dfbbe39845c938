//! What leaves, and when.

use kinora_domain::{DisabledReason, Timestamp, WebhookState};
use kinora_store::{DeliveryNext, JobKind, JobQueue, NewJob, Priority, Pruned, Store};

use crate::support::{DAY, SECOND, World, claim_jobs, insert, workspace, write};

suite!(
    finished_jobs_leave_after_seven_days_and_waiting_ones_never,
    finished_deliveries_and_their_events_leave_after_thirty_days,
    deliveries_to_a_disabled_webhook_are_given_up_after_thirty_days,
    tokens_that_were_taken_back_leave_a_day_after_their_end_and_others_never,
    more_rows_than_a_batch_leave_too,
);

async fn finished_jobs_leave_after_seven_days_and_waiting_ones_never(world: World) {
    let store = world.open().await;
    let now = world.now();
    for _ in 0..2 {
        enqueue(&store, now).await;
    }
    let job = claim_jobs(&world, &store, JobQueue::Upkeep, 1).await.remove(0);
    write(&store, async move |tx| tx.complete_job(&job).await).await.unwrap();

    assert_eq!(prune(&store, now, 7 * DAY - 1).await, Pruned::default());
    assert_eq!(prune(&store, now, 7 * DAY).await, Pruned { jobs: 1, ..Pruned::default() });
    assert_eq!(prune(&store, now, 99 * DAY).await, Pruned::default());
    assert!(store.next_job_due(JobQueue::Upkeep).await.unwrap().is_some());
}

async fn finished_deliveries_and_their_events_leave_after_thirty_days(world: World) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let now = world.now();
    for next in [DeliveryNext::Delivered, DeliveryNext::RetryAt(now)] {
        let (media, created) = world.media(workspace);
        insert(&store, &media, &created).await;
        let (delivery, attempt) = (world.claim(&store, &webhook).await.remove(0), world.attempt(200));
        write(&store, async move |tx| tx.finish_delivery(&delivery, &attempt, next).await).await.unwrap();
    }
    assert_eq!(prune(&store, now, 30 * DAY - 1).await, Pruned::default());
    let pruned = prune(&store, now, 30 * DAY).await;
    assert_eq!(pruned, Pruned { deliveries: 1, events: 1, ..Pruned::default() });
    assert_eq!(prune(&store, now, 99 * DAY).await, Pruned::default());
    assert_eq!(world.claim(&store, &webhook).await.len(), 1);
}

async fn tokens_that_were_taken_back_leave_a_day_after_their_end_and_others_never(world: World) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let now = world.now();
    let revoke = async |jti: &'static str, expires_at: Option<Timestamp>| {
        let revoke = write(&store, async move |tx| tx.revoke_token(workspace, jti, expires_at, now).await);
        revoke.await.unwrap().expires_at
    };
    let at = |seconds| Some(now.plus_seconds(seconds));
    assert_eq!(revoke("short", at(60)).await, at(60));
    assert_eq!(revoke("long", at(60)).await, at(60));
    assert_eq!(revoke("long", at(3600)).await, at(3600), "the later end counts");
    assert_eq!(revoke("long", at(10)).await, at(3600));
    assert_eq!(revoke("for ever", at(60)).await, at(60));
    assert_eq!(revoke("for ever", None).await, None);
    assert_eq!(revoke("for ever", at(60)).await, None);

    let held = async || {
        let mut held = Vec::new();
        for jti in ["short", "long", "for ever", "another"] {
            if store.is_token_revoked(workspace, jti).await.unwrap() {
                held.push(jti);
            }
        }
        held
    };
    assert_eq!(prune(&store, now, 30 * DAY + 59 * SECOND).await, Pruned::default());
    assert_eq!(held().await, ["short", "long", "for ever"]);
    assert_eq!(
        prune(&store, now, 30 * DAY + 60 * SECOND).await,
        Pruned { revoked_tokens: 1, ..Pruned::default() }
    );
    assert_eq!(held().await, ["long", "for ever"]);
    assert_eq!(prune(&store, now, 99 * DAY).await, Pruned { revoked_tokens: 1, ..Pruned::default() });
    assert_eq!(held().await, ["for ever"]);
    let other = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    assert!(!store.is_token_revoked(other, "for ever").await.unwrap(), "of another workspace");
}

async fn deliveries_to_a_disabled_webhook_are_given_up_after_thirty_days(world: World) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let now = world.now();
    let (media, created) = world.media(workspace);
    insert(&store, &media, &created).await;
    assert_eq!(prune(&store, now, 30 * DAY).await, Pruned::default());

    let mut disabled = webhook.clone();
    disabled.state = WebhookState::Disabled { since: now, reason: DisabledReason::Gone };
    write(&store, async move |tx| tx.save_webhook(&disabled).await).await.unwrap();
    assert_eq!(prune(&store, now, 30 * DAY - 1).await, Pruned::default());
    assert_eq!(prune(&store, now, 30 * DAY).await, Pruned { given_up: 1, ..Pruned::default() });

    let enabled = store.webhook(webhook.id).await.unwrap().unwrap().enable();
    write(&store, async move |tx| tx.save_webhook(&enabled).await).await.unwrap();
    assert!(world.claim(&store, &webhook).await.is_empty());
    // It stays for those who look, as long as any other that is finished.
    let pruned = prune(&store, now, 60 * DAY).await;
    assert_eq!(pruned, Pruned { deliveries: 1, events: 1, ..Pruned::default() });
}

async fn more_rows_than_a_batch_leave_too(world: World) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let (media, created) = world.media(workspace);
    insert(&store, &media, &created).await;
    write(&store, async move |tx| {
        for _ in 0..1100 {
            tx.push_event(&created).await?;
        }
        Ok(())
    })
    .await
    .unwrap();
    let pruned = prune(&store, world.now(), 30 * DAY).await;
    assert_eq!(pruned, Pruned { events: 1101, ..Pruned::default() });
}

async fn enqueue(store: &Store, run_at: Timestamp) {
    let job = NewJob { kind: JobKind::Sweep, workspace: None, run_at, priority: Priority::Low };
    write(store, async move |tx| tx.enqueue(job.clone()).await).await.unwrap();
}

async fn prune(store: &Store, now: Timestamp, after: i64) -> Pruned {
    store.prune(now.plus_micros(after)).await.unwrap()
}
