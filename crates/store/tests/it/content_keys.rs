//! Keys of encrypted playback IDs: created with the IDs, sealed, never changed, and deleted with them.

use kinora_domain::{
    AccessPolicy, ContentKey, Encryption, Media, NewPlaybackId, PlaybackId, PlaybackIdSettings,
};
use kinora_store::{Error, Store, StoreOptions};

use crate::support::{SECRET_KEY, TestStore, insert, workspace, write};

suite!(content_key_is_created_and_deleted_with_playback_id, content_key_opens_after_key_rotation,);

fn handle(world: &TestStore, encryption: Encryption) -> PlaybackIdSettings {
    let restrictions = kinora_domain::AccessRestrictions::default();
    let new = NewPlaybackId { policy: AccessPolicy::Public, restrictions, resolution: None, encryption };
    PlaybackIdSettings::new(new, world.now(), world.random.as_ref())
}

/// A media with a playback ID that is not encrypted, and two that are.
async fn encrypted(world: &TestStore, store: &Store) -> (Media, [PlaybackId; 2]) {
    let (mut media, event) = world.media(workspace(store).await);
    media.playback_ids.push(handle(world, Encryption::Aes128));
    insert(store, &media, &event).await;
    media.playback_ids.push(handle(world, Encryption::Aes128));
    save(store, &mut media).await;
    let ids = [media.playback_ids[1].id, media.playback_ids[2].id];
    (media, ids)
}

async fn save(store: &Store, media: &mut Media) {
    let saved = media.clone();
    write(store, async move |tx| tx.save_media(&saved).await).await.unwrap();
    media.version += 1;
}

async fn keys(store: &Store, ids: [PlaybackId; 2]) -> [Option<ContentKey>; 2] {
    [store.content_key(ids[0]).await.unwrap(), store.content_key(ids[1]).await.unwrap()]
}

async fn content_key_is_created_and_deleted_with_playback_id(world: TestStore) {
    let store = world.open().await;
    let (mut media, ids) = encrypted(&world, &store).await;
    assert_eq!(store.content_key(media.playback_ids[0].id).await.unwrap(), None, "it is not encrypted");
    let made = keys(&store, ids).await;
    assert!(made[0].is_some() && made[1].is_some() && made[0] != made[1], "each has its own");

    save(&store, &mut media).await;
    assert_eq!(keys(&store, ids).await, made, "another save makes no other key");
    media.playback_ids.remove(1);
    save(&store, &mut media).await;
    assert_eq!(keys(&store, ids).await, [None, made[1].clone()]);
    let id = media.id;
    assert!(write(&store, async move |tx| tx.delete_media(id).await).await.unwrap());
    assert_eq!(keys(&store, ids).await, [None, None]);
    assert_eq!(world.edit_many("DELETE FROM content_key").await, 0, "no row is left");
}

async fn content_key_opens_after_key_rotation(world: TestStore) {
    let secret_keys = |keys: &str| StoreOptions { secret_keys: Some(keys.to_owned()), ..world.options() };
    let store = Store::open(secret_keys(SECRET_KEY)).await.unwrap();
    let (_, ids) = encrypted(&world, &store).await;
    let made = keys(&store, ids).await;
    assert_eq!(world.edit_many("UPDATE content_key SET secret = secret WHERE secret LIKE '1.%'").await, 2);
    store.close().await;

    let new_key = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=";
    Store::open(secret_keys(&format!("{new_key},{SECRET_KEY}"))).await.unwrap().close().await;
    let store = Store::open(secret_keys(new_key)).await.unwrap();
    assert_eq!(keys(&store, ids).await, made);
    // A key that was copied to the row of another cannot be opened.
    let other = "(SELECT secret FROM content_key WHERE playback_id <> kept.playback_id)";
    assert_eq!(world.edit_many(&format!("UPDATE content_key AS kept SET secret = {other}")).await, 2);
    assert!(matches!(store.content_key(ids[0]).await, Err(Error::WrongKey)));
}
