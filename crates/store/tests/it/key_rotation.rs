//! Key rotation while several processes run: the new key opens all secrets that they sealed meanwhile, or
//! no server starts without the old one.

use kinora_domain::{
    AccessPolicy, AccessRestrictions, ContentKey, Encryption, NewPlaybackId, PlaybackId, PlaybackIdSettings,
    Webhook, WorkspaceId,
};
use kinora_store::{Error, IdempotencyKey, Store, StoreOptions, StoredResponse};

use crate::support::{SECRET_KEY, TestStore, insert, until, workspace, write};

suite!(
    next_start_reseals_secrets_of_other_processes,
    missing_key_of_any_secret_prevents_start,
    responses_sealed_with_missing_key_are_deleted,
    two_key_rotations_at_once_terminate,
);
postgres_only!(key_rotation_keeps_concurrent_change);

const NEW_KEY: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

fn old_first() -> String {
    format!("{SECRET_KEY},{NEW_KEY}")
}

fn new_first() -> String {
    format!("{NEW_KEY},{SECRET_KEY}")
}

async fn try_open(world: &TestStore, keys: &str) -> Result<Store, Error> {
    Store::open(StoreOptions { secret_keys: Some(keys.to_owned()), ..world.options() }).await
}

async fn open(world: &TestStore, keys: &str) -> Store {
    try_open(world, keys).await.unwrap()
}

/// A webhook whose secret was rotated.
async fn rotated(world: &TestStore, store: &Store) -> Webhook {
    let webhook = world.webhook(store, workspace(store).await).await;
    let rotated = webhook.rotate(3600, world.now(), world.random.as_ref());
    let saved = rotated.clone();
    write(store, async move |tx| tx.save_webhook(&saved).await).await.unwrap();
    rotated
}

/// An encrypted playback ID, and its key.
async fn encrypted(world: &TestStore, store: &Store) -> (PlaybackId, ContentKey) {
    let (mut media, event) = world.media(workspace(store).await);
    let new = NewPlaybackId {
        policy: AccessPolicy::Public,
        restrictions: AccessRestrictions::default(),
        resolution: None,
        encryption: Encryption::Aes128,
    };
    media.playback_ids.push(PlaybackIdSettings::new(new, world.now(), world.random.as_ref()));
    insert(store, &media, &event).await;
    let id = media.playback_ids[1].id;
    (id, store.content_key(id).await.unwrap().unwrap())
}

fn request(workspace: WorkspaceId, byte: u8) -> IdempotencyKey {
    IdempotencyKey { workspace, hash: [byte; 32] }
}

fn answer() -> StoredResponse {
    StoredResponse { fingerprint: [7; 32], status: 201, body: b"a secret".to_vec() }
}

async fn store_response(world: &TestStore, store: &Store, byte: u8) -> IdempotencyKey {
    let (key, now) = (request(workspace(store).await, byte), world.now());
    assert!(write(store, async move |tx| tx.store_response(key, &answer(), now).await).await.unwrap());
    key
}

fn secrets(webhook: &Webhook) -> (String, Option<String>) {
    (webhook.secret.reveal(), webhook.previous_secret.as_ref().map(|(secret, _)| secret.reveal()))
}

async fn next_start_reseals_secrets_of_other_processes(world: TestStore) {
    let slow = open(&world, &old_first()).await;
    let before = rotated(&world, &slow).await;
    let quick = open(&world, &new_first()).await;
    // The slow one still seals with the old key, unnoticed by the quick one.
    let webhook = rotated(&world, &slow).await;
    let (id, key) = encrypted(&world, &slow).await;
    let request = store_response(&world, &slow, 1).await;
    let refused = try_open(&world, NEW_KEY).await.map(drop).unwrap_err();
    assert!(matches!(refused, Error::KeyUnknown { what: "secrets of webhooks" }), "{refused:?}");
    assert!(refused.to_string().contains("add it after the first one"), "{refused}");
    slow.close().await;
    quick.close().await;

    open(&world, &new_first()).await.close().await;
    let store = open(&world, NEW_KEY).await;
    for expected in [before, webhook] {
        let found = store.webhook(expected.id).await.unwrap().unwrap();
        assert_eq!(secrets(&found), secrets(&expected));
    }
    assert_eq!(store.content_key(id).await.unwrap(), Some(key));
    assert_eq!(store.stored_response(request, world.now()).await.unwrap(), Some(answer()));
    assert!(matches!(try_open(&world, SECRET_KEY).await, Err(Error::WrongKey)), "the canary went along");
}

async fn missing_key_of_any_secret_prevents_start(world: TestStore) {
    open(&world, &old_first()).await.close().await;
    let (slow, quick) = (open(&world, &old_first()).await, open(&world, &new_first()).await);
    let (id, key) = encrypted(&world, &slow).await;
    let without = async || try_open(&world, NEW_KEY).await.map(drop);
    let refused = without().await;
    assert!(matches!(refused, Err(Error::KeyUnknown { what: "keys of encrypted playback IDs" })));
    assert_eq!(quick.content_key(id).await.unwrap(), Some(key.clone()), "one that has it opens it");
    quick.close().await;

    let webhook = rotated(&world, &slow).await;
    let remember = "INSERT INTO setting (key, value) SELECT 'older', previous_secret FROM webhook";
    assert_eq!(world.edit_many(remember).await, 1);
    slow.close().await;
    // A rejected start has changed nothing: with the old key again, all rows are readable.
    let store = open(&world, &new_first()).await;
    assert_eq!(store.content_key(id).await.unwrap(), Some(key));
    store.close().await;
    without().await.unwrap();
    // Only the older secret of a webhook is still sealed with the old key.
    world.edit("UPDATE webhook SET previous_secret = (SELECT value FROM setting WHERE key = 'older')").await;
    assert!(matches!(without().await, Err(Error::KeyUnknown { what: "secrets of webhooks" })));
    let store = open(&world, &new_first()).await;
    assert_eq!(secrets(&store.webhook(webhook.id).await.unwrap().unwrap()), secrets(&webhook));
    store.close().await;
    without().await.unwrap();
}

async fn responses_sealed_with_missing_key_are_deleted(world: TestStore) {
    let slow = open(&world, &old_first()).await;
    let quick = open(&world, &new_first()).await;
    let here = workspace(&slow).await;
    for byte in 0..3 {
        store_response(&world, &slow, byte).await;
    }
    store_response(&world, &quick, 3).await;
    slow.close().await;
    quick.close().await;

    let store = open(&world, NEW_KEY).await;
    for byte in 0..3 {
        assert_eq!(store.stored_response(request(here, byte), world.now()).await.unwrap(), None);
        store_response(&world, &store, byte).await;
    }
    assert_eq!(store.stored_response(request(here, 3), world.now()).await.unwrap(), Some(answer()));
    let counted = "UPDATE workspace SET kept_answer_bytes = 0 WHERE kept_answer_bytes =
        (SELECT sum(length(body)) FROM kept_answer WHERE workspace_id = workspace.id)";
    assert_eq!(world.edit_many(counted).await, 1, "what went was counted out");
}

async fn two_key_rotations_at_once_terminate(world: TestStore) {
    let store = open(&world, &old_first()).await;
    let mut webhooks = Vec::new();
    for _ in 0..20 {
        webhooks.push(rotated(&world, &store).await);
    }
    store.close().await;
    let (old_first, new_first) = (old_first(), new_first());
    let (one, other) = tokio::join!(try_open(&world, &new_first), try_open(&world, &old_first));
    let (one, other) = (one.unwrap(), other.unwrap());
    for store in [&one, &other] {
        for webhook in &webhooks {
            let found = store.webhook(webhook.id).await.unwrap().unwrap();
            assert_eq!(secrets(&found), secrets(webhook));
        }
    }
}

async fn key_rotation_keeps_concurrent_change(world: TestStore) {
    let store = open(&world, &old_first()).await;
    let webhook = rotated(&world, &store).await;
    store.close().await;
    // Another transaction is about to change the row: it swaps both secrets.
    let mut other = world.server().connect().await;
    let swap = "BEGIN; UPDATE webhook SET secret = previous_secret, previous_secret = secret";
    sqlx::raw_sql(swap).execute(&mut other).await.unwrap();
    let new_first = new_first();
    let meanwhile = async {
        // The start has read the rows, and waits for the lock of one.
        let waits =
            "UPDATE setting SET value = value WHERE key = 'canary' AND EXISTS (SELECT 1 FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND datname = current_database())";
        until(async || (world.edit_many(waits).await == 1).then_some(())).await;
        sqlx::raw_sql("COMMIT").execute(&mut other).await.unwrap();
    };
    let (opened, ()) = tokio::join!(try_open(&world, &new_first), meanwhile);
    let store = opened.unwrap();
    let found = store.webhook(webhook.id).await.unwrap().unwrap();
    let (secret, previous) = secrets(&webhook);
    assert_eq!(secrets(&found), (previous.unwrap(), Some(secret)));
    store.close().await;
    open(&world, &new_first).await.close().await;
    let found = open(&world, NEW_KEY).await.webhook(webhook.id).await.unwrap().unwrap();
    assert_eq!(secrets(&found).1, Some(secrets(&webhook).0));
}
