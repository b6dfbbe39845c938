//! Rows of encoded renditions.

use kinora_domain::{MediaState, PresentationId, RenditionId, SourceId};
use kinora_store::{RenditionCursor, RenditionRow, RenditionUsage, Store, Tx};

use crate::support::{TestStore, insert, workspace, write};

suite!(
    rendition_row_requires_a_media_with_its_source,
    rendition_name_is_unique_until_broken,
    rendition_counters_add_and_watched_at_never_decreases,
    renditions_list_least_recently_watched_first,
    rendition_is_reset_marked_broken_and_deleted,
    ready_media_lists_its_broken_renditions,
);

/// A media that is being downloaded, and its source.
async fn fetched(world: &TestStore, store: &Store) -> SourceId {
    let (media, created) = world.media(workspace(store).await);
    insert(store, &media, &created).await;
    let source = world.source();
    let fetching = media.start_download(source, world.now()).unwrap();
    write(store, async move |tx| tx.save_media(&fetching).await).await.unwrap();
    source
}

fn id(world: &TestStore) -> RenditionId {
    RenditionId::of_hash(world.source().as_uuid().into_bytes())
}

async fn begin(
    world: &TestStore,
    store: &Store,
    source: SourceId,
    name: &'static str,
) -> (RenditionId, bool) {
    let (id, now) = (id(world), world.now());
    (
        id,
        write(store, async move |tx| tx.insert_rendition(id, PresentationId::of(source), name, now).await)
            .await
            .unwrap(),
    )
}

async fn note(store: &Store, uses: Vec<RenditionUsage>) {
    write(store, async move |tx| tx.add_rendition_usage(&uses).await).await.unwrap();
}

async fn rendition_row_requires_a_media_with_its_source(world: TestStore) {
    let store = world.open().await;
    let source = fetched(&world, &store).await;
    let (unknown, was_begun) = begin(&world, &store, world.source(), "720p").await;
    assert!(!was_begun);
    assert_eq!(store.rendition(unknown).await.unwrap(), None);

    let (id, was_begun) = begin(&world, &store, source, "720p").await;
    assert!(was_begun);
    let row = RenditionRow {
        id,
        presentation: PresentationId::of(source),
        name: "720p".into(),
        bytes: 0,
        segments: 0,
        watched_at: None,
        broken_at: None,
        created_at: world.now(),
    };
    let now = world.now().plus_seconds(5);
    let again =
        write(&store, async move |tx| tx.insert_rendition(id, PresentationId::of(source), "720p", now).await)
            .await;
    assert!(again.unwrap(), "it may run twice");
    assert_eq!(store.renditions_of(PresentationId::of(source)).await.unwrap(), std::slice::from_ref(&row));
    assert_eq!(store.renditions_without_media(None, 9).await.unwrap(), []);

    let media = store.media_of_source(source).await.unwrap().unwrap();
    write(&store, async move |tx| tx.remove_media(media.clone(), now).await).await.unwrap();
    assert_eq!(store.renditions_without_media(None, 9).await.unwrap(), [row]);
    assert_eq!(store.renditions_without_media(Some(id), 9).await.unwrap(), []);
    let again =
        write(&store, async move |tx| tx.insert_rendition(id, PresentationId::of(source), "720p", now).await)
            .await;
    assert!(again.unwrap(), "until it is swept the row is there");
}

async fn rendition_name_is_unique_until_broken(world: TestStore) {
    let store = world.open().await;
    let (source, unknown, now) = (fetched(&world, &store).await, world.source(), world.now());
    let begin = async |source| {
        let id = id(&world);
        let begin = async move |tx: &mut Tx| tx.begin_rendition_named(id, source, "720p whole", now).await;
        (id, write(&store, begin).await.unwrap())
    };
    assert_eq!(begin(PresentationId::of(unknown)).await.1, None, "no media names its source");
    let (first, begun) = begin(PresentationId::of(source)).await;
    assert_eq!(begun, Some(first));
    assert_eq!(begin(PresentationId::of(source)).await.1, Some(first), "the begun rendition continues");
    let row = store.rendition_named(PresentationId::of(source), "720p whole").await.unwrap();
    assert_eq!(row.map(|row| row.id), Some(first));
    assert_eq!(store.rendition_named(PresentationId::of(source), "720p").await.unwrap(), None);

    write(&store, async move |tx| tx.set_rendition_broken(first, now).await).await.unwrap();
    let (second, begun) = begin(PresentationId::of(source)).await;
    assert_eq!(begun, Some(second), "what could not be made is begun anew");
    let ids: Vec<_> =
        store.renditions_of(PresentationId::of(source)).await.unwrap().iter().map(|row| row.id).collect();
    assert_eq!(ids, [second]);
}

async fn rendition_counters_add_and_watched_at_never_decreases(world: TestStore) {
    let store = world.open().await;
    let source = fetched(&world, &store).await;
    let (id, _) = begin(&world, &store, source, "360p").await;
    let (early, late) = (world.now(), world.now().plus_seconds(9));
    note(&store, vec![RenditionUsage { id, bytes: 1000, segments: 2, watched_at: Some(late) }]).await;
    note(&store, vec![RenditionUsage { id, bytes: 1, segments: 1, watched_at: Some(early) }]).await;
    note(&store, vec![RenditionUsage { id, bytes: 0, segments: 0, watched_at: None }]).await;
    note(&store, vec![RenditionUsage { id: self::id(&world), bytes: 7, segments: 7, watched_at: None }])
        .await;
    let row = store.rendition(id).await.unwrap().unwrap();
    assert_eq!((row.bytes, row.segments, row.watched_at), (1001, 3, Some(late)));
    assert_eq!(
        store.renditions_of(PresentationId::of(source)).await.unwrap().len(),
        1,
        "a note makes no row"
    );

    write(&store, async move |tx| tx.correct_rendition_counts(id, u64::MAX, 4).await).await.unwrap();
    let row = store.rendition(id).await.unwrap().unwrap();
    assert_eq!((row.bytes, row.segments, row.watched_at), (i64::MAX as u64, 4, Some(late)));
}

async fn renditions_list_least_recently_watched_first(world: TestStore) {
    let store = world.open().await;
    let source = fetched(&world, &store).await;
    for (name, watched) in [("1080p", Some(30)), ("720p", None), ("480p", Some(10)), ("360p", Some(30))] {
        let (id, _) = begin(&world, &store, source, name).await;
        let watched_at = watched.map(|seconds| world.now().plus_seconds(seconds));
        note(&store, vec![RenditionUsage { id, bytes: 1, segments: 1, watched_at }]).await;
    }
    let mut seen = Vec::new();
    let mut cursor = RenditionCursor::START;
    loop {
        let page = store.renditions_by_watched_at(cursor, 3).await.unwrap();
        let Some(last) = page.last() else { break };
        cursor = last.cursor();
        seen.extend(page.into_iter().map(|row| row.name));
    }
    assert_eq!(seen[..2], ["720p", "480p"]);
    assert_eq!(seen.len(), 4);
    let since = RenditionCursor::before_watched_at(world.now().plus_seconds(11));
    assert_eq!(store.renditions_by_watched_at(since, 9).await.unwrap().len(), 2);
    assert_eq!(store.rendition_bytes(None).await.unwrap(), 4);
    assert_eq!(store.rendition_bytes(Some(world.now().plus_seconds(11))).await.unwrap(), 2);
}

async fn rendition_is_reset_marked_broken_and_deleted(world: TestStore) {
    let store = world.open().await;
    let source = fetched(&world, &store).await;
    let (id, _) = begin(&world, &store, source, "360p").await;
    let at = world.now().plus_seconds(1);
    note(&store, vec![RenditionUsage { id, bytes: 5, segments: 1, watched_at: Some(at) }]).await;
    write(&store, async move |tx| tx.reset_rendition(id).await).await.unwrap();
    for seconds in [2, 3] {
        let now = world.now().plus_seconds(seconds);
        write(&store, async move |tx| tx.set_rendition_broken(id, now).await).await.unwrap();
    }
    let row = store.rendition(id).await.unwrap().unwrap();
    let broken_at = Some(world.now().plus_seconds(2));
    assert_eq!((row.bytes, row.segments, row.watched_at, row.broken_at), (0, 0, Some(at), broken_at));
    write(&store, async move |tx| tx.delete_rendition(id).await).await.unwrap();
    assert_eq!(store.rendition(id).await.unwrap(), None);
}

async fn ready_media_lists_its_broken_renditions(world: TestStore) {
    let store = world.open().await;
    let (media, created) = world.media(workspace(&store).await);
    insert(&store, &media, &created).await;
    let source = world.source();
    let fetching = media.start_download(source, world.now()).unwrap();
    write(&store, async move |tx| tx.save_media(&fetching).await).await.unwrap();
    let fetching = store.media_of_source(source).await.unwrap().unwrap();
    let (ready, _) = fetching.finish(source, world.facts(), world.now()).unwrap();
    write(&store, async move |tx| tx.save_media(&ready).await).await.unwrap();

    let broken = async || match store.media_of_source(source).await.unwrap().unwrap().state {
        MediaState::Ready { facts, .. } => facts.broken_renditions,
        other => panic!("not ready: {other:?}"),
    };
    let (rung, _) = begin(&world, &store, source, "360p").await;
    let (audio, _) = begin(&world, &store, source, "aac").await;
    begin(&world, &store, source, "240p").await;
    assert_eq!(broken().await, [""; 0]);
    let now = world.now();
    for id in [rung, audio] {
        write(&store, async move |tx| tx.set_rendition_broken(id, now).await).await.unwrap();
    }
    assert_eq!(broken().await, ["360p", "aac"]);
}
