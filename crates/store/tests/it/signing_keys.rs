//! Signing keys: those of one workspace, counted, paged and deleted.

use kinora_domain::{SigningKey, SigningKeyId, WorkspaceId};
use kinora_store::{Page, Store};

use crate::support::{SECOND, TestStore, workspace, write};

suite!(
    signing_key_is_read_in_its_workspace_only,
    key_id_is_unique_per_workspace,
    signing_key_is_deleted_in_its_workspace_only,
    keys_are_paged_from_either_end,
);

async fn saved(world: &TestStore, store: &Store, workspace: WorkspaceId) -> SigningKey {
    world.clock.advance(SECOND);
    let id = SigningKeyId::new(world.now(), world.random.as_ref());
    let public_key = format!("-----BEGIN PUBLIC KEY-----\n{id}\n-----END PUBLIC KEY-----\n");
    let key = SigningKey { id, workspace, public_key, created_at: world.now() };
    let row = key.clone();
    write(store, async move |tx| tx.insert_signing_key(&row).await).await.unwrap();
    key
}

async fn other_workspace(store: &Store) -> WorkspaceId {
    store.workspace_by_name("Production").await.unwrap().unwrap().id
}

async fn signing_key_is_read_in_its_workspace_only(world: TestStore) {
    let store = world.open().await;
    let (mine, theirs) = (workspace(&store).await, other_workspace(&store).await);
    let key = saved(&world, &store, mine).await;
    assert_eq!(store.signing_key(mine, key.id).await.unwrap(), Some(key.clone()));
    assert_eq!(store.signing_key(theirs, key.id).await.unwrap(), None);
    assert_eq!(store.signing_key_count(mine).await.unwrap(), 1);
    assert_eq!(store.signing_key_count(theirs).await.unwrap(), 0);

    store.close().await;
    assert_eq!(world.open().await.signing_key(mine, key.id).await.unwrap(), Some(key));
}

async fn key_id_is_unique_per_workspace(world: TestStore) {
    let store = world.open().await;
    let (mine, theirs) = (workspace(&store).await, other_workspace(&store).await);
    let key = saved(&world, &store, mine).await;
    let other = SigningKey { workspace: theirs, public_key: "another".into(), ..key.clone() };
    let row = other.clone();
    write(&store, async move |tx| tx.insert_signing_key(&row).await).await.unwrap();
    let (row, id) = (SigningKey { public_key: "a third".into(), ..key.clone() }, key.id);
    assert!(write(&store, async move |tx| tx.insert_signing_key(&row).await).await.is_err(), "once in each");
    let found = write(&store, async move |tx| {
        Ok([tx.signing_key(mine, id).await?, tx.signing_key(theirs, id).await?])
    });
    assert_eq!(found.await.unwrap(), [Some(key.clone()), Some(other.clone())]);
    assert!(write(&store, async move |tx| tx.delete_signing_key(theirs, id).await).await.unwrap());
    assert_eq!(store.signing_key(theirs, id).await.unwrap(), None);
    assert_eq!(store.signing_key(mine, id).await.unwrap(), Some(key));
}

async fn signing_key_is_deleted_in_its_workspace_only(world: TestStore) {
    let store = world.open().await;
    let (mine, theirs) = (workspace(&store).await, other_workspace(&store).await);
    let (key, remaining) = (saved(&world, &store, mine).await, saved(&world, &store, mine).await);
    let delete = async |workspace, id| {
        write(&store, async move |tx| tx.delete_signing_key(workspace, id).await).await.unwrap()
    };
    assert!(!delete(theirs, key.id).await);
    assert_eq!(store.signing_key(mine, key.id).await.unwrap(), Some(key.clone()));

    let before = store.version().await.unwrap();
    assert!(delete(mine, key.id).await);
    assert_eq!(store.signing_key(mine, key.id).await.unwrap(), None);
    assert_ne!(store.version().await.unwrap(), before, "the cached key is stale");
    assert!(!delete(mine, key.id).await, "once");
    let count = write(&store, async move |tx| tx.signing_key_count(mine).await).await.unwrap();
    assert_eq!(count, 1);
    assert_eq!(store.signing_key(mine, remaining.id).await.unwrap(), Some(remaining));
}

async fn keys_are_paged_from_either_end(world: TestStore) {
    let store = world.open().await;
    let mine = workspace(&store).await;
    let mut oldest_first = Vec::new();
    for _ in 0..5 {
        oldest_first.push(saved(&world, &store, mine).await);
    }
    saved(&world, &store, other_workspace(&store).await).await;
    let newest_first: Vec<_> = oldest_first.iter().rev().cloned().collect();
    let check = async |limit, number, newest_first: bool, expected: &[SigningKey]| {
        let page = Page { limit, number, newest_first };
        let found = store.signing_key_page(mine, page).await.unwrap();
        assert_eq!((found.items.as_slice(), found.total), (expected, 5), "{page:?}");
    };
    check(10, 1, true, &newest_first).await;
    check(10, 1, false, &oldest_first).await;
    for number in 1..=3 {
        let range = (number - 1) * 2..(number * 2).min(5);
        let page = u32::try_from(number).unwrap();
        check(2, page, true, &newest_first[range.clone()]).await;
        check(2, page, false, &oldest_first[range]).await;
    }
    check(2, 4, true, &[]).await;
    check(50, u32::MAX, false, &[]).await;
}
