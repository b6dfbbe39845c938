//! Answers to requests with an idempotency key: kept with the change, sealed, for a day, each workspace's
//! own.

use kinora_domain::{Timestamp, WorkspaceId};
use kinora_store::{Error, KeptAnswer, Pruned, RequestKey, Store, StoreOptions};

use crate::support::{DAY, SECRET_KEY, World, workspace, write};

suite!(
    an_answer_is_found_by_its_key_in_its_workspace_for_a_day,
    an_answer_that_still_counts_is_not_replaced,
    an_answer_is_kept_with_its_change_or_neither_is,
    a_workspace_keeps_so_many_bytes_and_gets_them_back,
    an_answer_lies_sealed_and_is_opened_after_a_new_key,
);

const SECRET: &str = "a secret that is answered once";

fn key(workspace: WorkspaceId, byte: u8) -> RequestKey {
    RequestKey { workspace, hash: [byte; 32] }
}

fn answer(body: impl Into<Vec<u8>>) -> KeptAnswer {
    KeptAnswer { fingerprint: [7; 32], status: 201, body: body.into() }
}

async fn keep(store: &Store, key: RequestKey, answer: KeptAnswer, now: Timestamp) -> bool {
    write(store, async move |tx| tx.keep_answer(key, &answer, now).await).await.unwrap()
}

async fn an_answer_is_found_by_its_key_in_its_workspace_for_a_day(world: World) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let elsewhere = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    let (now, kept) = (world.now(), answer("first"));
    assert!(keep(&store, key(here, 1), kept.clone(), now).await);
    let find = async |key, at| store.kept_answer(key, at).await.unwrap();
    assert_eq!(find(key(here, 1), now).await, Some(kept.clone()));
    assert_eq!(find(key(here, 2), now).await, None);
    assert_eq!(find(key(elsewhere, 1), now).await, None);
    assert_eq!(find(key(here, 1), now.plus_micros(DAY - 1)).await, Some(kept));

    let later = now.plus_micros(DAY);
    assert_eq!(find(key(here, 1), later).await, None, "also while it is not swept");
    assert!(keep(&store, key(here, 1), answer("second"), later).await);
    assert_eq!(find(key(here, 1), later).await, Some(answer("second")));

    assert_eq!(store.prune(later.plus_micros(DAY - 1)).await.unwrap(), Pruned::default());
    let pruned = store.prune(later.plus_micros(DAY)).await.unwrap();
    assert_eq!(pruned, Pruned { answers: 1, ..Pruned::default() });
    assert_eq!(find(key(here, 1), later).await, None);
}

async fn an_answer_that_still_counts_is_not_replaced(world: World) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let now = world.now();
    assert!(keep(&store, key(here, 1), answer("first"), now).await);
    for at in [now, now.plus_micros(DAY - 1)] {
        let second = answer("second");
        let kept = write(&store, async move |tx| tx.keep_answer(key(here, 1), &second, at).await).await;
        assert!(kept.is_err(), "{kept:?}");
        assert_eq!(store.kept_answer(key(here, 1), at).await.unwrap(), Some(answer("first")));
    }
    let over = now.plus_micros(DAY);
    assert!(keep(&store, key(here, 1), answer("second"), over).await);
    assert_eq!(store.kept_answer(key(here, 1), over).await.unwrap(), Some(answer("second")));
}

async fn an_answer_is_kept_with_its_change_or_neither_is(world: World) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let (media, _) = world.media(here);
    let (id, now) = (media.id, world.now());
    let refused = store.write::<(), Error, _>(async move |tx| {
        tx.insert_media(&media).await?;
        assert!(tx.keep_answer(key(here, 1), &answer("made"), now).await?);
        assert_eq!(tx.kept_answer(key(here, 1), now).await?, Some(answer("made")));
        Err(Error::Busy)
    });
    assert!(matches!(refused.await, Err(Error::Busy)));
    assert_eq!(store.media_by_id(id).await.unwrap(), None);
    assert_eq!(store.kept_answer(key(here, 1), now).await.unwrap(), None);
}

async fn a_workspace_keeps_so_many_bytes_and_gets_them_back(world: World) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let elsewhere = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    let now = world.now();
    assert!(keep(&store, key(here, 1), answer("small"), now).await);
    // All but a little has been kept.
    let left = 1000;
    let full = KeptAnswer::BYTES_PER_WORKSPACE_MAX - left;
    world.edit(&format!("UPDATE workspace SET kept_answer_bytes = {full} WHERE id = '{here}'")).await;
    assert!(!keep(&store, key(here, 2), answer(vec![b'a'; 1000]), now).await);
    assert_eq!(store.kept_answer(key(here, 2), now).await.unwrap(), None);
    assert!(keep(&store, key(elsewhere, 2), answer(vec![b'a'; 1000]), now).await, "it is each one's own");
    assert!(keep(&store, key(here, 2), answer(vec![b'a'; 100]), now).await);

    let pruned = store.prune(now.plus_micros(DAY)).await.unwrap();
    assert_eq!(pruned.answers, 3);
    let rest = "UPDATE workspace SET kept_answer_bytes = 0 WHERE kept_answer_bytes";
    assert_eq!(
        world.edit_many(&format!("{rest} = 0 AND id = '{elsewhere}'")).await,
        1,
        "all of it came back"
    );
    let small = world.edit_many(&format!("{rest} BETWEEN {full} - 200 AND {full} AND id = '{here}'")).await;
    assert_eq!(small, 1, "what was counted of the first one came back too");
}

async fn an_answer_lies_sealed_and_is_opened_after_a_new_key(world: World) {
    let secret_keys = |keys: &str| StoreOptions { secret_keys: Some(keys.to_owned()), ..world.options() };
    // A folder takes a key that it is given as well.
    let store = Store::open(secret_keys(SECRET_KEY)).await.unwrap();
    let here = workspace(&store).await;
    let now = world.now();
    for byte in 0..3 {
        keep(&store, key(here, byte), answer(SECRET), now).await;
    }
    let in_clear = format!("UPDATE kept_answer SET status = 201 WHERE body LIKE '%{SECRET}%'");
    assert_eq!(world.edit_many(&in_clear).await, 0);
    assert_eq!(world.edit_many("UPDATE kept_answer SET status = 201 WHERE body LIKE '1.%'").await, 3);
    store.close().await;

    let new_key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    Store::open(secret_keys(&format!("{new_key},{SECRET_KEY}"))).await.unwrap().close().await;
    let store = Store::open(secret_keys(new_key)).await.unwrap();
    for byte in 0..3 {
        assert_eq!(store.kept_answer(key(here, byte), now).await.unwrap(), Some(answer(SECRET)));
    }
    // An answer that is put in the place of another opens for nobody.
    let other = "(SELECT body FROM kept_answer WHERE key_hash <> kept.key_hash ORDER BY key_hash LIMIT 1)";
    world.edit_many(&format!("UPDATE kept_answer AS kept SET body = {other}")).await;
    assert!(matches!(store.kept_answer(key(here, 0), now).await, Err(Error::WrongKey)));
}
