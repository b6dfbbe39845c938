//! The events of one media with their deliveries.

use kinora_domain::{Attempt, AttemptOutcome, DisabledReason, Media, Webhook, WebhookState};
use kinora_store::{
    ClaimedDelivery, DeliveryState, LastAttempt, ListedDelivery, ListedEvent, NextDeliveryState, Store,
};

use crate::support::{SECOND, TestStore, insert, push, workspace, write};

suite!(
    events_of_a_media_are_listed_newest_first_and_no_others,
    events_of_a_deleted_media_are_read_in_its_workspace,
    pages_of_events_ignore_later_ones,
    delivery_has_its_state_and_last_attempt,
    delivery_of_disabled_webhook_has_no_next_attempt,
    event_in_unknown_form_is_listed_without_its_facts,
);

async fn created(world: &TestStore, store: &Store) -> Media {
    let (media, event) = world.media(workspace(store).await);
    insert(store, &media, &event).await;
    media
}

async fn events(store: &Store, media: &Media) -> Vec<ListedEvent> {
    store.events_of_media(media.workspace, media.id, None, 100).await.unwrap()
}

fn kinds(events: &[ListedEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

async fn finish(store: &Store, delivery: &ClaimedDelivery, attempt: &Attempt, next: NextDeliveryState) {
    let (delivery, attempt) = (delivery.clone(), attempt.clone());
    write(store, async move |tx| tx.finish_delivery(&delivery, &attempt, next).await).await.unwrap();
}

async fn events_of_a_media_are_listed_newest_first_and_no_others(world: TestStore) {
    let store = world.open().await;
    let (media, other) = (created(&world, &store).await, created(&world, &store).await);
    push(&store, &other, world.now()).await;
    push(&store, &media, world.now().plus_seconds(1)).await;
    let listed = events(&store, &media).await;
    assert_eq!(kinds(&listed), ["video.media.deleted", "video.media.created"]);
    assert!(listed[0].sequence > listed[1].sequence);
    let stored = listed[1].event.as_ref().unwrap();
    assert_eq!((stored.id, stored.event.at), (listed[1].id, listed[1].at));
    assert_eq!(Some(&stored.workspace), store.workspace(media.workspace).await.unwrap().as_ref());
    assert!(listed.iter().all(|event| event.deliveries.is_empty()), "there is no webhook");
    let (unknown, _) = world.media(media.workspace);
    assert!(events(&store, &unknown).await.is_empty());
}

async fn events_of_a_deleted_media_are_read_in_its_workspace(world: TestStore) {
    let store = world.open().await;
    let media = created(&world, &store).await;
    let (deleted, now) = (media.clone(), world.now());
    write(&store, async move |tx| tx.remove_media(deleted.clone(), now).await).await.unwrap();
    assert_eq!(store.media(media.workspace, media.id).await.unwrap(), None);
    let kept = ["video.media.deleted", "video.media.created"];
    assert_eq!(kinds(&events(&store, &media).await), kept);
    let elsewhere = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    assert!(store.events_of_media(elsewhere, media.id, None, 100).await.unwrap().is_empty());
}

async fn pages_of_events_ignore_later_ones(world: TestStore) {
    let store = world.open().await;
    let media = created(&world, &store).await;
    for second in 1..7 {
        push(&store, &media, world.now().plus_seconds(second)).await;
    }
    let expected: Vec<_> = events(&store, &media).await.iter().map(|event| event.id).collect();
    assert_eq!(expected.len(), 7);
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let page = store.events_of_media(media.workspace, media.id, before, 2).await.unwrap();
        let Some(last) = page.last() else { break };
        before = Some(last.sequence);
        found.extend(page.iter().map(|event| event.id));
        push(&store, &media, world.now().plus_seconds(60)).await;
    }
    assert_eq!(found, expected);
}

async fn delivery_has_its_state_and_last_attempt(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let one = world.webhook(&store, here).await;
    world.clock.advance(SECOND);
    let two = world.webhook(&store, here).await;
    let media = created(&world, &store).await;
    let due_at = world.now();

    let listed = events(&store, &media).await;
    let webhooks: Vec<_> = listed[0].deliveries.iter().map(|delivery| delivery.webhook).collect();
    assert_eq!(webhooks, [one.id, two.id], "the oldest webhook first");
    let delivery = listed[0].deliveries[0].clone();
    let expected = ListedDelivery {
        id: delivery.id,
        webhook: one.id,
        webhook_url: one.url.clone(),
        state: DeliveryState::Pending { due_at: Some(due_at) },
        attempt_count: 0,
        last_attempt: None,
    };
    assert_eq!(delivery, expected);

    let state = async |webhook: &Webhook| {
        let delivery = events(&store, &media).await[0].deliveries.clone();
        let delivery = delivery.into_iter().find(|delivery| delivery.webhook == webhook.id).unwrap();
        (delivery.state, delivery.attempt_count, delivery.last_attempt)
    };
    let retry_at = world.now().plus_seconds(5);
    let failed = world.attempt(500);
    let claimed = world.claim(&store, &one).await.remove(0);
    finish(&store, &claimed, &failed, NextDeliveryState::RetryAt(retry_at)).await;
    let last = |attempt: &Attempt| Some(LastAttempt { at: attempt.at, outcome: attempt.outcome.clone() });
    assert_eq!(state(&one).await, (DeliveryState::Pending { due_at: Some(retry_at) }, 1, last(&failed)));
    assert_eq!(state(&two).await, (DeliveryState::Pending { due_at: Some(due_at) }, 0, None));

    world.clock.advance(5 * SECOND);
    let silent = Attempt { outcome: AttemptOutcome::Unanswered("no response".into()), ..world.attempt(0) };
    let claimed = world.claim(&store, &one).await.remove(0);
    finish(&store, &claimed, &silent, NextDeliveryState::GivenUp).await;
    assert_eq!(state(&one).await, (DeliveryState::GivenUp, 2, last(&silent)));
    let claimed = world.claim(&store, &two).await.remove(0);
    let answered = world.attempt(204);
    finish(&store, &claimed, &answered, NextDeliveryState::Delivered).await;
    assert_eq!(state(&two).await, (DeliveryState::Delivered, 1, last(&answered)));
}

async fn delivery_of_disabled_webhook_has_no_next_attempt(world: TestStore) {
    let store = world.open().await;
    let webhook = world.webhook(&store, workspace(&store).await).await;
    let media = created(&world, &store).await;
    let (id, since) = (webhook.id, world.now());
    write(&store, async move |tx| {
        let mut webhook = tx.webhook(id).await?.unwrap();
        webhook.state = WebhookState::Disabled { since, reason: DisabledReason::ByReceiver };
        tx.save_webhook(&webhook).await
    })
    .await
    .unwrap();
    let delivery = events(&store, &media).await[0].deliveries[0].clone();
    assert_eq!(delivery.state, DeliveryState::Pending { due_at: None });
}

/// After a downgrade, for example.
async fn event_in_unknown_form_is_listed_without_its_facts(world: TestStore) {
    let store = world.open().await;
    let media = created(&world, &store).await;
    world.edit("UPDATE event SET kind = 'video.media.sung'").await;
    let listed = events(&store, &media).await;
    assert_eq!(kinds(&listed), ["video.media.sung"]);
    assert!(listed[0].event.is_none());
}
