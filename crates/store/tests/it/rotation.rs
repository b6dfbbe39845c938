//! A new key while several processes run: whatever they sealed meanwhile is opened by the new key, or no
//! server starts without the old one.

use kinora_domain::{
    AccessPolicy, AccessRestrictions, ContentKey, Encryption, NewPlayback, PlaybackHandle, PlaybackId,
    Webhook, WorkspaceId,
};
use kinora_store::{Error, KeptAnswer, RequestKey, Store, StoreOptions};

use crate::support::{SECRET_KEY, World, insert, until, workspace, write};

suite!(
    what_another_process_sealed_meanwhile_is_sealed_again_at_its_next_start,
    each_kind_of_secret_keeps_a_server_from_starting_without_its_key,
    answers_whose_key_is_gone_go_too,
    two_servers_with_another_first_key_each_come_to_an_end,
);
postgres_only!(a_secret_that_is_changed_meanwhile_stays);

const NEW_KEY: &str = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";

fn old_first() -> String {
    format!("{SECRET_KEY},{NEW_KEY}")
}

fn new_first() -> String {
    format!("{NEW_KEY},{SECRET_KEY}")
}

async fn try_open(world: &World, keys: &str) -> Result<Store, Error> {
    Store::open(StoreOptions { secret_keys: Some(keys.to_owned()), ..world.options() }).await
}

async fn open(world: &World, keys: &str) -> Store {
    try_open(world, keys).await.unwrap()
}

/// A webhook whose secret was rotated.
async fn rotated(world: &World, store: &Store) -> Webhook {
    let webhook = world.webhook(store, workspace(store).await).await;
    let rotated = webhook.rotate(3600, world.now(), world.random.as_ref());
    let saved = rotated.clone();
    write(store, async move |tx| tx.save_webhook(&saved).await).await.unwrap();
    rotated
}

/// A playback ID that encrypts, and its key.
async fn encrypted(world: &World, store: &Store) -> (PlaybackId, ContentKey) {
    let (mut media, event) = world.media(workspace(store).await);
    let new = NewPlayback {
        policy: AccessPolicy::Public,
        restrictions: AccessRestrictions::default(),
        resolution: None,
        encryption: Encryption::Aes128,
    };
    media.playback.push(PlaybackHandle::new(new, world.now(), world.random.as_ref()));
    insert(store, &media, &event).await;
    let id = media.playback[1].id;
    (id, store.content_key(id).await.unwrap().unwrap())
}

fn request(workspace: WorkspaceId, byte: u8) -> RequestKey {
    RequestKey { workspace, hash: [byte; 32] }
}

fn answer() -> KeptAnswer {
    KeptAnswer { fingerprint: [7; 32], status: 201, body: b"a secret".to_vec() }
}

async fn kept(world: &World, store: &Store, byte: u8) -> RequestKey {
    let (key, now) = (request(workspace(store).await, byte), world.now());
    assert!(write(store, async move |tx| tx.keep_answer(key, &answer(), now).await).await.unwrap());
    key
}

fn secrets(webhook: &Webhook) -> (String, Option<String>) {
    (webhook.secret.reveal(), webhook.previous.as_ref().map(|(secret, _)| secret.reveal()))
}

async fn what_another_process_sealed_meanwhile_is_sealed_again_at_its_next_start(world: World) {
    let slow = open(&world, &old_first()).await;
    let before = rotated(&world, &slow).await;
    let quick = open(&world, &new_first()).await;
    // The slow one goes on sealing with the old key behind the quick one's back.
    let webhook = rotated(&world, &slow).await;
    let (id, key) = encrypted(&world, &slow).await;
    let request = kept(&world, &slow, 1).await;
    let refused = try_open(&world, NEW_KEY).await.map(drop).unwrap_err();
    assert!(matches!(refused, Error::KeyNotAtHand { what: "secrets of webhooks" }), "{refused:?}");
    assert!(refused.to_string().contains("put it back behind the first one"), "{refused}");
    slow.close().await;
    quick.close().await;

    open(&world, &new_first()).await.close().await;
    let store = open(&world, NEW_KEY).await;
    for expected in [before, webhook] {
        let found = store.webhook(expected.id).await.unwrap().unwrap();
        assert_eq!(secrets(&found), secrets(&expected));
    }
    assert_eq!(store.content_key(id).await.unwrap(), Some(key));
    assert_eq!(store.kept_answer(request, world.now()).await.unwrap(), Some(answer()));
    assert!(matches!(try_open(&world, SECRET_KEY).await, Err(Error::WrongKey)), "the canary went along");
}

async fn each_kind_of_secret_keeps_a_server_from_starting_without_its_key(world: World) {
    open(&world, &old_first()).await.close().await;
    let (slow, quick) = (open(&world, &old_first()).await, open(&world, &new_first()).await);
    let (id, key) = encrypted(&world, &slow).await;
    let without = async || try_open(&world, NEW_KEY).await.map(drop);
    let refused = without().await;
    assert!(matches!(refused, Err(Error::KeyNotAtHand { what: "keys of encrypted playback IDs" })));
    assert_eq!(quick.content_key(id).await.unwrap(), Some(key.clone()), "one that has it opens it");
    quick.close().await;

    let webhook = rotated(&world, &slow).await;
    let remember = "INSERT INTO setting (key, value) SELECT 'older', previous_secret FROM webhook";
    assert_eq!(world.edit_many(remember).await, 1);
    slow.close().await;
    // A refusal has changed nothing: the old key is brought back, and all is there.
    let store = open(&world, &new_first()).await;
    assert_eq!(store.content_key(id).await.unwrap(), Some(key));
    store.close().await;
    without().await.unwrap();
    // Of a webhook only the older secret is still sealed with the old key.
    world.edit("UPDATE webhook SET previous_secret = (SELECT value FROM setting WHERE key = 'older')").await;
    assert!(matches!(without().await, Err(Error::KeyNotAtHand { what: "secrets of webhooks" })));
    let store = open(&world, &new_first()).await;
    assert_eq!(secrets(&store.webhook(webhook.id).await.unwrap().unwrap()), secrets(&webhook));
    store.close().await;
    without().await.unwrap();
}

async fn answers_whose_key_is_gone_go_too(world: World) {
    let slow = open(&world, &old_first()).await;
    let quick = open(&world, &new_first()).await;
    let here = workspace(&slow).await;
    for byte in 0..3 {
        kept(&world, &slow, byte).await;
    }
    kept(&world, &quick, 3).await;
    slow.close().await;
    quick.close().await;

    let store = open(&world, NEW_KEY).await;
    for byte in 0..3 {
        assert_eq!(store.kept_answer(request(here, byte), world.now()).await.unwrap(), None);
        kept(&world, &store, byte).await;
    }
    assert_eq!(store.kept_answer(request(here, 3), world.now()).await.unwrap(), Some(answer()));
    let counted = "UPDATE workspace SET kept_answer_bytes = 0 WHERE kept_answer_bytes =
        (SELECT sum(length(body)) FROM kept_answer WHERE workspace_id = workspace.id)";
    assert_eq!(world.edit_many(counted).await, 1, "what went was counted out");
}

async fn two_servers_with_another_first_key_each_come_to_an_end(world: World) {
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

async fn a_secret_that_is_changed_meanwhile_stays(world: World) {
    let store = open(&world, &old_first()).await;
    let webhook = rotated(&world, &store).await;
    store.close().await;
    // Somebody else is about to change the row: here both secrets change places.
    let mut somebody = world.server().connect().await;
    let swap = "BEGIN; UPDATE webhook SET secret = previous_secret, previous_secret = secret";
    sqlx::raw_sql(swap).execute(&mut somebody).await.unwrap();
    let new_first = new_first();
    let meanwhile = async {
        // The start has read what was there, and waits for the row.
        let waits =
            "UPDATE setting SET value = value WHERE key = 'canary' AND EXISTS (SELECT 1 FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND datname = current_database())";
        until(async || (world.edit_many(waits).await == 1).then_some(())).await;
        sqlx::raw_sql("COMMIT").execute(&mut somebody).await.unwrap();
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
