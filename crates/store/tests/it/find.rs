//! Objects found by their id.

use kinora_domain::{NewPlaylist, Playlist, SigningKey, SigningKeyId, WorkspaceId};
use kinora_store::{FoundKind, FoundObject, Store};

use crate::support::{TestStore, insert, workspace, write};

suite!(
    object_of_every_kind_is_found_by_its_id,
    ids_of_another_workspace_find_nothing,
    event_of_a_deleted_media_leads_to_it,
);

async fn found(store: &Store, workspace: WorkspaceId, id: &impl ToString) -> Vec<FoundObject> {
    store.objects_with_id(workspace, &id.to_string()).await.unwrap()
}

/// A ready media with a playback ID and tracks, a playlist and a key: the kind and the id of each.
async fn objects(world: &TestStore, store: &Store) -> Vec<(FoundKind, String)> {
    let here = workspace(store).await;
    let (mut media, event) = world.media(here);
    media.settings.title = Some("Tour".into());
    insert(store, &media, &event).await;
    let source = world.source();
    let started = media.clone().start_download(source, world.now()).unwrap();
    let facts = world.facts();
    let track = facts.tracks[0].id;
    let (ready, became_ready) = started.finish(source, facts, world.now()).unwrap();
    let new = NewPlaylist {
        workspace: here,
        name: "Shorts".into(),
        reference_id: "shorts".into(),
        description: String::new(),
        limit: 3,
        smart: None,
    };
    let playlist = Playlist::create(new, world.now(), world.random.as_ref());
    let key = SigningKey {
        id: SigningKeyId::new(world.now(), world.random.as_ref()),
        workspace: here,
        public_key: "PEM".into(),
        created_at: world.now(),
    };
    let ids = vec![
        (FoundKind::Media, ready.id.to_string()),
        (FoundKind::PlaybackId, ready.playback_ids[0].id.to_string()),
        (FoundKind::Track, track.to_string()),
        (FoundKind::Playlist, playlist.id.to_string()),
        (FoundKind::SigningKey, key.id.to_string()),
    ];
    let event = write(store, async move |tx| {
        tx.save_media(&ready).await?;
        tx.insert_playlist(&playlist).await?;
        tx.insert_signing_key(&key).await?;
        tx.push_event(&became_ready).await
    });
    let event = event.await.unwrap();
    ids.into_iter().chain([(FoundKind::Event, event.to_string())]).collect()
}

async fn object_of_every_kind_is_found_by_its_id(world: TestStore) {
    let store = world.open().await;
    let (here, objects) = (workspace(&store).await, objects(&world, &store).await);
    let media = objects[0].1.parse().unwrap();
    for (kind, id) in &objects {
        let found = found(&store, here, id).await;
        let [object] = &found[..] else { panic!("{kind:?}: {found:?}") };
        assert_eq!((object.kind, &object.id), (*kind, id));
        let belongs = !matches!(kind, FoundKind::Playlist | FoundKind::SigningKey);
        assert_eq!(object.media, belongs.then_some(media), "{kind:?}");
        let (title, state) = match kind {
            FoundKind::Media => (Some("Tour"), Some("Ready")),
            FoundKind::PlaybackId => (Some("Tour"), Some("public")),
            FoundKind::Track => (Some("Tour"), Some("available")),
            FoundKind::Playlist => (Some("Shorts"), Some("manual")),
            FoundKind::SigningKey => (None, None),
            FoundKind::Event => (Some("video.media.ready"), None),
            FoundKind::Upload => unreachable!("none was made"),
        };
        assert_eq!((object.title.as_deref(), object.state.as_deref()), (title, state), "{kind:?}");
    }
    let unknown = found(&store, here, &world.source()).await;
    assert_eq!(unknown, []);
}

async fn ids_of_another_workspace_find_nothing(world: TestStore) {
    let store = world.open().await;
    let objects = objects(&world, &store).await;
    let elsewhere = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    for (kind, id) in &objects {
        assert_eq!(found(&store, elsewhere, id).await, [], "{kind:?}");
    }
}

async fn event_of_a_deleted_media_leads_to_it(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let (media, event) = world.media(here);
    let saved = media.clone();
    let event = write(&store, async move |tx| {
        tx.insert_media(&saved).await?;
        tx.push_event(&event).await
    });
    let event = event.await.unwrap();
    let (now, id) = (world.now(), media.id);
    write(&store, async move |tx| tx.remove_media(media.clone(), now).await).await.unwrap();
    let found = found(&store, here, &event).await;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].media), (FoundKind::Event, Some(id)));
    assert_eq!(found[0].state.as_deref(), Some("deleted"));
}
