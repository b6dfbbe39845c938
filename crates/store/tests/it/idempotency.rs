//! Stored responses of idempotency keys: stored with the change, sealed, for a day, per workspace.

use kinora_domain::{Timestamp, WorkspaceId};
use kinora_store::{Error, IdempotencyKey, PrunedCounts, Store, StoreOptions, StoredResponse};

use crate::support::{DAY, SECRET_KEY, TestStore, workspace, write};

suite!(
    idempotency_key_finds_response_for_24_hours,
    unexpired_response_is_not_replaced,
    response_and_change_commit_together,
    stored_response_quota_is_freed_by_sweep,
    stored_response_opens_after_key_rotation,
);

const SECRET: &str = "a secret that is answered once";

fn key(workspace: WorkspaceId, byte: u8) -> IdempotencyKey {
    IdempotencyKey { workspace, hash: [byte; 32] }
}

fn answer(body: impl Into<Vec<u8>>) -> StoredResponse {
    StoredResponse { fingerprint: [7; 32], status: 201, body: body.into() }
}

async fn save(store: &Store, key: IdempotencyKey, answer: StoredResponse, now: Timestamp) -> bool {
    write(store, async move |tx| tx.store_response(key, &answer, now).await).await.unwrap()
}

async fn idempotency_key_finds_response_for_24_hours(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let elsewhere = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    let (now, stored) = (world.now(), answer("first"));
    assert!(save(&store, key(here, 1), stored.clone(), now).await);
    let find = async |key, at| store.stored_response(key, at).await.unwrap();
    assert_eq!(find(key(here, 1), now).await, Some(stored.clone()));
    assert_eq!(find(key(here, 2), now).await, None);
    assert_eq!(find(key(elsewhere, 1), now).await, None);
    assert_eq!(find(key(here, 1), now.plus_micros(DAY - 1)).await, Some(stored));

    let later = now.plus_micros(DAY);
    assert_eq!(find(key(here, 1), later).await, None, "also while it is not swept");
    assert!(save(&store, key(here, 1), answer("second"), later).await);
    assert_eq!(find(key(here, 1), later).await, Some(answer("second")));

    assert_eq!(store.prune(later.plus_micros(DAY - 1)).await.unwrap(), PrunedCounts::default());
    let pruned = store.prune(later.plus_micros(DAY)).await.unwrap();
    assert_eq!(pruned, PrunedCounts { responses: 1, ..PrunedCounts::default() });
    assert_eq!(find(key(here, 1), later).await, None);
}

async fn unexpired_response_is_not_replaced(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let now = world.now();
    assert!(save(&store, key(here, 1), answer("first"), now).await);
    for at in [now, now.plus_micros(DAY - 1)] {
        let second = answer("second");
        let outcome = write(&store, async move |tx| tx.store_response(key(here, 1), &second, at).await).await;
        assert!(outcome.is_err(), "{outcome:?}");
        assert_eq!(store.stored_response(key(here, 1), at).await.unwrap(), Some(answer("first")));
    }
    let over = now.plus_micros(DAY);
    assert!(save(&store, key(here, 1), answer("second"), over).await);
    assert_eq!(store.stored_response(key(here, 1), over).await.unwrap(), Some(answer("second")));
}

async fn response_and_change_commit_together(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let (media, _) = world.media(here);
    let (id, now) = (media.id, world.now());
    let refused = store.write::<(), Error, _>(async move |tx| {
        tx.insert_media(&media).await?;
        assert!(tx.store_response(key(here, 1), &answer("made"), now).await?);
        assert_eq!(tx.stored_response(key(here, 1), now).await?, Some(answer("made")));
        Err(Error::Busy)
    });
    assert!(matches!(refused.await, Err(Error::Busy)));
    assert_eq!(store.media_by_id(id).await.unwrap(), None);
    assert_eq!(store.stored_response(key(here, 1), now).await.unwrap(), None);
}

async fn stored_response_quota_is_freed_by_sweep(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let elsewhere = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    let now = world.now();
    assert!(save(&store, key(here, 1), answer("small"), now).await);
    // The quota is used except for a little.
    let left = 1000;
    let full = StoredResponse::BYTES_PER_WORKSPACE_MAX - left;
    world.edit(&format!("UPDATE workspace SET kept_answer_bytes = {full} WHERE id = '{here}'")).await;
    assert!(!save(&store, key(here, 2), answer(vec![b'a'; 1000]), now).await);
    assert_eq!(store.stored_response(key(here, 2), now).await.unwrap(), None);
    assert!(save(&store, key(elsewhere, 2), answer(vec![b'a'; 1000]), now).await, "it is each one's own");
    assert!(save(&store, key(here, 2), answer(vec![b'a'; 100]), now).await);

    let pruned = store.prune(now.plus_micros(DAY)).await.unwrap();
    assert_eq!(pruned.responses, 3);
    let rest = "UPDATE workspace SET kept_answer_bytes = 0 WHERE kept_answer_bytes";
    assert_eq!(
        world.edit_many(&format!("{rest} = 0 AND id = '{elsewhere}'")).await,
        1,
        "all of it came back"
    );
    let small = world.edit_many(&format!("{rest} BETWEEN {full} - 200 AND {full} AND id = '{here}'")).await;
    assert_eq!(small, 1, "the bytes of the first response were released");
}

async fn stored_response_opens_after_key_rotation(world: TestStore) {
    let secret_keys = |keys: &str| StoreOptions { secret_keys: Some(keys.to_owned()), ..world.options() };
    // A folder also accepts a key from the options.
    let store = Store::open(secret_keys(SECRET_KEY)).await.unwrap();
    let here = workspace(&store).await;
    let now = world.now();
    for byte in 0..3 {
        save(&store, key(here, byte), answer(SECRET), now).await;
    }
    let in_clear = format!("UPDATE kept_answer SET status = 201 WHERE body LIKE '%{SECRET}%'");
    assert_eq!(world.edit_many(&in_clear).await, 0);
    assert_eq!(world.edit_many("UPDATE kept_answer SET status = 201 WHERE body LIKE '1.%'").await, 3);
    store.close().await;

    let new_key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    Store::open(secret_keys(&format!("{new_key},{SECRET_KEY}"))).await.unwrap().close().await;
    let store = Store::open(secret_keys(new_key)).await.unwrap();
    for byte in 0..3 {
        assert_eq!(store.stored_response(key(here, byte), now).await.unwrap(), Some(answer(SECRET)));
    }
    // A response that was copied to the row of another cannot be opened.
    let other = "(SELECT body FROM kept_answer WHERE key_hash <> kept.key_hash ORDER BY key_hash LIMIT 1)";
    world.edit_many(&format!("UPDATE kept_answer AS kept SET body = {other}")).await;
    assert!(matches!(store.stored_response(key(here, 0), now).await, Err(Error::WrongKey)));
}
