//! Which deliveries are claimed, and in what order (C-9).

use kinora_domain::{DisabledReason, Event, EventKind, Timestamp, Webhook, WebhookState};
use kinora_store::{ClaimDeliveries, ClaimedDelivery, DueWebhook, Error, NextDeliveryState, Store};

use crate::support::{SECOND, TestStore, insert, push, workspace, write};

suite!(
    event_snapshot_is_delivered_to_every_webhook_of_workspace,
    events_of_a_media_follow_commit_order_despite_clock_skew,
    first_attempts_of_one_subject_are_sequential,
    slow_first_attempt_delays_next_event_one_second,
    retry_does_not_delay_later_events,
    pending_deliveries_resume_oldest_first_when_webhook_is_enabled,
    delivery_lists_last_ten_attempts,
    delivery_with_lost_lease_is_not_recorded,
    finished_delivery_is_not_claimed_again,
    next_delivery_due_matches_claimable_time,
    two_workers_never_get_the_same_delivery,
);

async fn event_snapshot_is_delivered_to_every_webhook_of_workspace(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let elsewhere = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    let (one, two, other) = (
        world.webhook(&store, here).await,
        world.webhook(&store, here).await,
        world.webhook(&store, elsewhere).await,
    );
    let (media, created) = world.media(here);
    insert(&store, &media, &created).await;
    // The media changes; its event does not.
    let source = world.source();
    let (ready, became_ready) = media
        .start_download(source, world.now())
        .unwrap()
        .finish(source, world.facts(), world.now())
        .unwrap();
    let (saved, pushed) = (ready.clone(), became_ready.clone());
    write(&store, async move |tx| {
        tx.save_media(&saved).await?;
        tx.push_event(&pushed).await
    })
    .await
    .unwrap();

    let mut due = store.webhooks_due(world.now()).await.unwrap();
    due.sort_by_key(|due| due.id);
    assert_eq!(due, [&one, &two].map(|webhook| DueWebhook { id: webhook.id, workspace: one.workspace }));
    let first = world.claim(&store, &one).await;
    let same = world.claim(&store, &two).await;
    assert_eq!((first.len(), same.len()), (1, 1));
    assert_eq!((first[0].event.id, &first[0].event.event), (same[0].event.id, &created));
    assert_ne!(first[0].id, same[0].id);
    assert_eq!(Some(&first[0].event.workspace), store.workspace(here).await.unwrap().as_ref());
    assert_eq!((first[0].webhook, first[0].attempt_count, first[0].attempts.len()), (one.id, 0, 0));
    finish(&world, &store, &first[0], NextDeliveryState::Delivered).await.unwrap();
    // The clock has not moved.
    let expected = Event { at: became_ready.at.plus_micros(1), ..became_ready };
    assert_eq!(world.claim(&store, &one).await[0].event.event, expected);
    assert!(world.claim(&store, &other).await.is_empty());
}

/// A change reads the clock before its position in the writer queue, and clocks of several machines differ.
async fn events_of_a_media_follow_commit_order_despite_clock_skew(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let (media, created) = world.media(workspace);
    let (other, created_other) = world.media(workspace);
    insert(&store, &media, &created).await;
    insert(&store, &other, &created_other).await;
    let at = |micros: i64| created.at.plus_micros(micros);
    // Earlier than its media, at the same time as the event before, ahead, before that; and another media
    // has its own order.
    for (media, micros) in [(&media, -1_000), (&media, 1), (&media, 5_000_000), (&media, 30), (&other, 40)] {
        push(&store, media, at(micros)).await;
    }
    // The last event, in one commit with the rows.
    let (gone, removed_at) = (media.clone(), at(50));
    write(&store, async move |tx| tx.remove_media(gone.clone(), removed_at).await).await.unwrap();

    let mut times = Vec::new();
    while let [delivery, ..] = &world.claim(&store, &webhook).await[..] {
        let event = &delivery.event.event;
        if event.kind.subject() == created.kind.subject() {
            times.push(event.at.micros_since(created.at));
        } else {
            assert!([created_other.at, at(40)].contains(&event.at), "{event:?}");
        }
        finish(&world, &store, delivery, NextDeliveryState::Delivered).await.unwrap();
    }
    assert_eq!(times, [0, 1, 2, 5_000_000, 5_000_001, 5_000_002]);
}

async fn first_attempts_of_one_subject_are_sequential(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let (a, created_a) = world.media(workspace);
    let (b, created_b) = world.media(workspace);
    insert(&store, &a, &created_a).await;
    push(&store, &a, world.now()).await;
    insert(&store, &b, &created_b).await;
    push(&store, &b, world.now()).await;

    // One of each subject.
    let first = world.claim(&store, &webhook).await;
    assert_eq!(names(&first), ["video.media.created", "video.media.created"]);
    assert!(world.claim(&store, &webhook).await.is_empty());
    assert_eq!(store.webhooks_due(world.now()).await.unwrap(), []);

    // A failed first attempt has ended too.
    let later = world.now().plus_seconds(5);
    finish(&world, &store, &first[1], NextDeliveryState::RetryAt(later)).await.unwrap();
    let second = world.claim(&store, &webhook).await;
    assert_eq!(second.len(), 1);
    assert_eq!(second[0].event.event.kind, EventKind::MediaDeleted(b.id));
    assert!(world.claim(&store, &webhook).await.is_empty());
}

async fn slow_first_attempt_delays_next_event_one_second(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let (media, created) = world.media(workspace);
    insert(&store, &media, &created).await;
    push(&store, &media, world.now()).await;
    push(&store, &media, world.now()).await;

    let started = world.now();
    assert_eq!(names(&world.claim(&store, &webhook).await), ["video.media.created"]);
    world.clock.advance(SECOND - 1);
    assert!(world.claim(&store, &webhook).await.is_empty());
    assert_eq!(store.next_delivery_due().await.unwrap(), Some(started.plus_seconds(1)));
    world.clock.advance(1);
    assert_eq!(store.webhooks_due(world.now()).await.unwrap(), [DueWebhook { id: webhook.id, workspace }]);
    // The third one waits for the second one.
    assert_eq!(names(&world.claim(&store, &webhook).await), ["video.media.deleted"]);
    assert!(world.claim(&store, &webhook).await.is_empty());
}

async fn retry_does_not_delay_later_events(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let (media, created) = world.media(workspace);
    insert(&store, &media, &created).await;
    let first = world.claim(&store, &webhook).await;
    finish(&world, &store, &first[0], NextDeliveryState::RetryAt(world.now())).await.unwrap();
    push(&store, &media, world.now()).await;
    let both = world.claim(&store, &webhook).await;
    assert_eq!(names(&both), ["video.media.created", "video.media.deleted"]);
    assert_eq!(both[0].attempts.len(), 1);
}

async fn pending_deliveries_resume_oldest_first_when_webhook_is_enabled(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let mut subjects = Vec::new();
    for _ in 0..3 {
        let (media, created) = world.media(workspace);
        insert(&store, &media, &created).await;
        subjects.push(created.kind.subject());
        world.clock.advance(SECOND);
    }
    let first_claim = world.claim(&store, &webhook).await.remove(0);
    // The receiver rejects further events, and this one stays pending.
    finish(&world, &store, &first_claim, NextDeliveryState::Pending).await.unwrap();
    set_state(
        &store,
        &webhook,
        WebhookState::Disabled { since: world.now(), reason: DisabledReason::ByReceiver },
    )
    .await;
    world.clock.advance(60 * SECOND);
    assert!(world.claim(&store, &webhook).await.is_empty());
    assert_eq!(store.webhooks_due(world.now()).await.unwrap(), []);
    assert_eq!(store.next_delivery_due().await.unwrap(), None);
    let (late, created) = world.media(workspace);
    insert(&store, &late, &created).await;
    subjects.push(created.kind.subject());

    let mut woken = store.delivery_wake();
    set_state(&store, &webhook, WebhookState::Enabled).await;
    woken.notified().await;
    let claimed = world.claim(&store, &webhook).await;
    let order: Vec<_> = claimed.iter().map(|delivery| delivery.event.event.kind.subject()).collect();
    assert_eq!(order, subjects);
    assert_eq!(claimed[0].attempt_count, 1);
}

async fn delivery_lists_last_ten_attempts(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let (media, created) = world.media(workspace);
    insert(&store, &media, &created).await;
    let mut made = Vec::new();
    for status in 500..512 {
        let delivery = world.claim(&store, &webhook).await.remove(0);
        let attempt = world.attempt(status);
        made.push(attempt.clone());
        let at = world.now();
        write(&store, async move |tx| {
            tx.finish_delivery(&delivery, &attempt, NextDeliveryState::RetryAt(at)).await
        })
        .await
        .unwrap();
        world.clock.advance(SECOND);
    }
    let delivery = world.claim(&store, &webhook).await.remove(0);
    assert_eq!((delivery.attempt_count, delivery.attempts.as_slice()), (12, &made[2..]));
}

async fn delivery_with_lost_lease_is_not_recorded(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let (media, created) = world.media(workspace);
    insert(&store, &media, &created).await;
    let lost = world.claim(&store, &webhook).await.remove(0);
    world.clock.advance(30 * SECOND);
    let reclaimed = world.claim(&store, &webhook).await.remove(0);
    assert_eq!((lost.id, lost.event.id), (reclaimed.id, reclaimed.event.id));

    let refused = finish(&world, &store, &lost, NextDeliveryState::Delivered).await;
    assert!(matches!(refused, Err(Error::LeaseLost)));
    finish(&world, &store, &reclaimed, NextDeliveryState::RetryAt(world.now())).await.unwrap();
    let again = world.claim(&store, &webhook).await.remove(0);
    assert_eq!((again.attempt_count, again.attempts.len()), (1, 1));
}

async fn finished_delivery_is_not_claimed_again(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    for next in [NextDeliveryState::Delivered, NextDeliveryState::GivenUp] {
        let (media, created) = world.media(workspace);
        insert(&store, &media, &created).await;
        let delivery = world.claim(&store, &webhook).await.remove(0);
        finish(&world, &store, &delivery, next).await.unwrap();
        let twice = finish(&world, &store, &delivery, NextDeliveryState::RetryAt(world.now())).await;
        assert!(matches!(twice, Err(Error::LeaseLost)));
        world.clock.advance(3600 * SECOND);
        assert!(world.claim(&store, &webhook).await.is_empty());
        assert_eq!(store.next_delivery_due().await.unwrap(), None);
    }
}

async fn next_delivery_due_matches_claimable_time(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let check = async |expected: Option<Timestamp>| {
        assert_eq!(store.next_delivery_due().await.unwrap(), expected);
    };
    check(None).await;
    let (media, created) = world.media(workspace);
    insert(&store, &media, &created).await;
    check(Some(world.now())).await;
    let started = world.now();
    let delivery = world.claim(&store, &webhook).await.remove(0);
    check(Some(started.plus_seconds(30))).await;
    finish(&world, &store, &delivery, NextDeliveryState::RetryAt(started.plus_seconds(5))).await.unwrap();
    check(Some(started.plus_seconds(5))).await;
}

async fn finish(
    world: &TestStore,
    store: &Store,
    delivery: &ClaimedDelivery,
    next: NextDeliveryState,
) -> Result<(), Error> {
    let (delivery, attempt) = (delivery.clone(), world.attempt(500));
    write(store, async move |tx| tx.finish_delivery(&delivery, &attempt, next).await).await
}

async fn set_state(store: &Store, webhook: &Webhook, state: WebhookState) {
    let id = webhook.id;
    write(store, async move |tx| {
        let mut webhook = tx.webhook(id).await?.unwrap();
        webhook.state = state;
        tx.save_webhook(&webhook).await
    })
    .await
    .unwrap();
}

fn names(deliveries: &[ClaimedDelivery]) -> Vec<&'static str> {
    deliveries.iter().map(|delivery| delivery.event.event.kind.name()).collect()
}

async fn two_workers_never_get_the_same_delivery(world: TestStore) {
    const EVENTS: usize = 40;
    let (store, other) = (world.open().await, world.open().await);
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    for _ in 0..EVENTS {
        let (media, created) = world.media(workspace);
        insert(&store, &media, &created).await;
        // Of one subject, only this first one is claimable now.
        push(&store, &media, world.now()).await;
    }
    let now = world.now();
    let work = async |store: &Store| {
        let mut all = Vec::new();
        for _ in 0..EVENTS {
            let claim = ClaimDeliveries {
                webhook: webhook.id,
                owner: world.worker(),
                now,
                lease_until: now.plus_seconds(30),
                limit: 3,
            };
            all.extend(store.claim_deliveries(claim).await.unwrap());
        }
        all
    };
    let (a, b, c) = tokio::join!(work(&store), work(&other), work(&store));
    let all = [a, b, c].concat();
    assert_eq!(names(&all), ["video.media.created"; EVENTS]);
    let ids: std::collections::HashSet<_> = all.iter().map(|delivery| delivery.id).collect();
    assert_eq!(ids.len(), EVENTS);
}
