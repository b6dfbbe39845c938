//! Webhooks are read as they were saved.

use kinora_domain::{DisabledReason, Webhook, WebhookState};
use kinora_store::Error;

use crate::support::{TestStore, workspace, write};

suite!(webhook_is_read_with_secrets_and_state, concurrent_webhook_save_is_conflict);

async fn webhook_is_read_with_secrets_and_state(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let mut webhook = world.webhook(&store, workspace).await;
    let random = world.random.as_ref();
    let rotated = webhook.clone().rotate(60, world.now(), random);
    let failing = Webhook { failing_since: Some(world.now()), ..rotated.clone() };
    let mut disabled = rotated.clone();
    disabled.state = WebhookState::Disabled { since: world.now(), reason: DisabledReason::Failing };
    for state in [webhook.clone(), rotated.clone(), failing, disabled, rotated.enable()] {
        webhook = Webhook { version: webhook.version, ..state };
        let saved = webhook.clone();
        write(&store, async move |tx| tx.save_webhook(&saved).await).await.unwrap();
        webhook.version += 1;
        assert_eq!(summary(&store.webhook(webhook.id).await.unwrap().unwrap()), summary(&webhook));
    }
    let listed = store.webhooks(Some(workspace)).await.unwrap();
    assert_eq!(listed.iter().map(summary).collect::<Vec<_>>(), [summary(&webhook)]);
    assert_eq!(store.webhooks(None).await.unwrap().len(), 1);
    let production = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    assert_eq!(store.webhooks(Some(production)).await.unwrap().len(), 0);
}

async fn concurrent_webhook_save_is_conflict(world: TestStore) {
    let store = world.open().await;
    let webhook = world.webhook(&store, workspace(&store).await).await;
    let newer = webhook.clone().rotate(0, world.now(), world.random.as_ref());
    let saved = newer.clone();
    write(&store, async move |tx| tx.save_webhook(&saved).await).await.unwrap();
    let stale = webhook.clone();
    let refused = write(&store, async move |tx| tx.save_webhook(&stale).await).await;
    assert!(matches!(refused, Err(Error::Busy)));
    assert_eq!(store.webhook(webhook.id).await.unwrap().unwrap().secret, newer.secret);
}

/// All stored fields of a webhook, with its secrets revealed.
fn summary(webhook: &Webhook) -> String {
    let previous = webhook.previous_secret.as_ref().map(|(secret, until)| (secret.reveal(), *until));
    format!("{webhook:?} {} {previous:?}", webhook.secret.reveal())
}
