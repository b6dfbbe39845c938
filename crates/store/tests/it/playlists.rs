//! Playlists: those of one workspace, their media, and the removal of media from them.

use kinora_domain::{
    Day, DayRange, Media, MediaId, NewPlaylist, PlayOrder, Playlist, SmartRules, Timestamp, WorkspaceId,
};
use kinora_store::{Error, Page, Store};

use crate::support::{DAY, SECOND, TestStore, workspace, write};

suite!(
    playlist_is_read_in_its_workspace_only,
    reference_id_is_unique_in_workspace,
    items_keep_their_order_and_leave_with_their_media,
    concurrent_playlist_save_is_conflict,
    smart_playlist_dates_match_whole_days,
    playlists_are_paged_from_either_end_and_counted,
);

fn new(workspace: WorkspaceId, reference: &str, smart: Option<SmartRules>) -> NewPlaylist {
    NewPlaylist {
        workspace,
        name: format!("Name of {reference}"),
        reference_id: reference.to_owned(),
        description: String::new(),
        limit: 3,
        smart,
    }
}

async fn insert(world: &TestStore, store: &Store, new: NewPlaylist) -> Result<Playlist, Error> {
    world.clock.advance(SECOND);
    let playlist = Playlist::create(new, world.now(), world.random.as_ref());
    write(store, async move |tx| tx.insert_playlist(&playlist).await.map(|()| playlist.clone())).await
}

async fn saved(world: &TestStore, store: &Store, workspace: WorkspaceId, reference: &str) -> Playlist {
    insert(world, store, new(workspace, reference, None)).await.unwrap()
}

async fn other_workspace(store: &Store) -> WorkspaceId {
    store.workspace_by_name("Production").await.unwrap().unwrap().id
}

async fn ready(world: &TestStore, store: &Store, workspace: WorkspaceId) -> Media {
    world.clock.advance(SECOND);
    let source = world.source();
    let (media, _) = world.media(workspace);
    let media = media.start_download(source, world.now()).unwrap();
    let (media, _) = media.finish(source, world.facts(), world.now()).unwrap();
    let row = media.clone();
    write(store, async move |tx| tx.insert_media(&row).await).await.unwrap();
    media
}

async fn media_ids(store: &Store, playlist: &Playlist) -> Vec<MediaId> {
    let (_, media) = store.playlist(playlist.workspace, playlist.id).await.unwrap().unwrap();
    media.iter().map(|media| media.id).collect()
}

/// Changes a playlist in the database.
async fn change(
    store: &Store,
    playlist: &Playlist,
    change: impl Fn(Playlist) -> Playlist + Send + 'static,
) -> Playlist {
    let (workspace, id) = (playlist.workspace, playlist.id);
    write(store, async move |tx| {
        let before = tx.playlist(workspace, id).await?.expect("it is there");
        let after = change(before.clone());
        tx.save_playlist(&before, &after).await.map(|()| after)
    })
    .await
    .unwrap()
}

async fn playlist_is_read_in_its_workspace_only(world: TestStore) {
    let store = world.open().await;
    let (mine, theirs) = (workspace(&store).await, other_workspace(&store).await);
    let day = |text| Some(Day::from_text(text).unwrap());
    let rules = SmartRules {
        order: PlayOrder::OldestFirst,
        created: DayRange { first: day("2025-11-03"), last: None },
        updated: DayRange { first: day("2025-11-04"), last: day("2025-11-05") },
    };
    let smart = insert(&world, &store, new(mine, "smart", Some(rules))).await.unwrap();
    let manual = saved(&world, &store, mine, "manual").await;
    for playlist in [&smart, &manual] {
        let found = store.playlist(mine, playlist.id).await.unwrap();
        assert_eq!(found, Some((playlist.clone(), Vec::new())));
        assert_eq!(store.playlist(theirs, playlist.id).await.unwrap(), None);
        assert_eq!(store.playlist_by_id(playlist.id).await.unwrap().unwrap().0, *playlist);
    }
    let delete = async |workspace, id| {
        write(&store, async move |tx| tx.delete_playlist(workspace, id).await).await.unwrap()
    };
    assert!(!delete(theirs, smart.id).await);
    let before = store.version().await.unwrap();
    assert!(delete(mine, smart.id).await);
    assert_ne!(store.version().await.unwrap(), before, "the cached playlist is stale");
    assert!(!delete(mine, smart.id).await, "once");
    assert_eq!(store.playlist(mine, smart.id).await.unwrap(), None);
    assert!(store.playlist(mine, manual.id).await.unwrap().is_some());
}

async fn reference_id_is_unique_in_workspace(world: TestStore) {
    let store = world.open().await;
    let (mine, theirs) = (workspace(&store).await, other_workspace(&store).await);
    let first = saved(&world, &store, mine, "a").await;
    let again = insert(&world, &store, new(mine, "a", None)).await.unwrap_err();
    assert!(matches!(again, Error::AlreadyExists { .. }), "{again:?}");
    saved(&world, &store, mine, "A").await;
    saved(&world, &store, theirs, "a").await;
    let page = Page { limit: 10, number: 1, newest_first: false };
    assert_eq!(
        store.playlist_page(mine, page).await.unwrap().total,
        2,
        "the rejected playlist is not counted"
    );
    write(&store, async move |tx| tx.delete_playlist(mine, first.id).await).await.unwrap();
    saved(&world, &store, mine, "a").await;

    // The maximum number of playlists.
    let count = i64::try_from(Playlist::PER_WORKSPACE_MAX).unwrap();
    world.edit(&format!("UPDATE workspace SET playlist_count = {count} WHERE id = '{mine}'")).await;
    let refused = insert(&world, &store, new(mine, "b", None)).await.unwrap_err();
    assert!(matches!(refused, Error::LimitReached { .. }), "{refused:?}");
    world.edit(&format!("UPDATE workspace SET playlist_count = {} WHERE id = '{mine}'", count - 1)).await;
    saved(&world, &store, mine, "b").await;
}

async fn items_keep_their_order_and_leave_with_their_media(world: TestStore) {
    let store = world.open().await;
    let mine = workspace(&store).await;
    let playlist = saved(&world, &store, mine, "a").await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.push(ready(&world, &store, mine).await.id);
    }
    let [a, b, c] = ids[..] else { unreachable!("three were made") };
    let now = world.now();
    change(&store, &playlist, move |before| before.append(&[c, a, b], now).unwrap()).await;
    assert_eq!(media_ids(&store, &playlist).await, [c, a, b]);
    change(&store, &playlist, move |before| before.reorder(&[b, a, c], now).unwrap()).await;
    assert_eq!(media_ids(&store, &playlist).await, [b, a, c]);

    let other = saved(&world, &store, mine, "b").await;
    change(&store, &other, move |before| before.append(&[a], now).unwrap()).await;
    let states = write(&store, async move |tx| {
        let stranger = MediaId::from_uuid(uuid::Uuid::nil());
        tx.media_states(mine, &[a, stranger, b]).await
    });
    let states = states.await.unwrap();
    assert_eq!((states.len(), states[&a].as_str(), states[&b].as_str()), (2, "Ready", "Ready"));
    assert!(write(&store, async move |tx| tx.delete_media(a).await).await.unwrap());
    assert_eq!(media_ids(&store, &playlist).await, [b, c]);
    assert_eq!(media_ids(&store, &other).await, []);
    let found = store.playlist(mine, playlist.id).await.unwrap().unwrap().0;
    assert_eq!(found.items().len(), 2);
    change(&store, &playlist, move |before| before.remove(&[b], now).unwrap()).await;
    assert_eq!(media_ids(&store, &playlist).await, [c]);
    write(&store, async move |tx| tx.delete_playlist(mine, playlist.id).await).await.unwrap();
    assert!(store.media(mine, c).await.unwrap().is_some(), "its media stay");
}

async fn concurrent_playlist_save_is_conflict(world: TestStore) {
    let store = world.open().await;
    let mine = workspace(&store).await;
    let before = saved(&world, &store, mine, "a").await;
    let now = world.now();
    change(&store, &before, move |before| before.rename("B".to_owned(), String::new(), now)).await;
    let late = write(&store, async move |tx| {
        let after = before.clone().rename("C".to_owned(), String::new(), now);
        tx.save_playlist(&before, &after).await
    });
    let late = late.await.unwrap_err();
    assert!(matches!(late, Error::Conflict | Error::Busy), "{late:?}");
}

async fn smart_playlist_dates_match_whole_days(world: TestStore) {
    let store = world.open().await;
    let mine = workspace(&store).await;
    let midnight = world.now().as_micros().div_euclid(DAY) * DAY;
    let mut by_creation = Vec::new();
    // The last instant of a day, the first and the last of the next, the first of the day after; each is
    // updated two days later.
    for at in [DAY - 1, DAY, 2 * DAY - 1, 2 * DAY] {
        let id = ready(&world, &store, mine).await.id;
        let dates = format!("created_at = {}, updated_at = {}", midnight + at, midnight + at + 2 * DAY);
        world.edit(&format!("UPDATE media SET {dates} WHERE id = '{id}'")).await;
        by_creation.push(id);
    }
    // A media of another workspace, and one that is not ready: never selected.
    let foreign = ready(&world, &store, other_workspace(&store).await).await;
    let (waiting, _) = world.media(mine);
    let (row, at) = (waiting.clone(), midnight + DAY);
    write(&store, async move |tx| tx.insert_media(&row).await).await.unwrap();
    for id in [foreign.id, waiting.id] {
        let dates = format!("created_at = {at}, updated_at = {}", at + 2 * DAY);
        world.edit(&format!("UPDATE media SET {dates} WHERE id = '{id}'")).await;
    }
    let day = |days: i64| {
        let text = Timestamp::from_micros(midnight + days * DAY).to_string();
        Day::from_text(&text[..10])
    };
    assert!(day(0).is_some());
    let range = |first: Option<i64>, last: Option<i64>| DayRange {
        first: first.and_then(day),
        last: last.and_then(day),
    };
    let none = DayRange::default();
    let mut number = 0;
    let mut check = async |created, updated, expected: &[usize]| {
        for order in PlayOrder::ALL {
            number += 1;
            let rules = SmartRules { order, created, updated };
            let mut new_playlist = new(mine, &number.to_string(), Some(rules));
            new_playlist.limit = 1000;
            let all = insert(&world, &store, new_playlist).await.unwrap();
            let mut expected: Vec<_> = expected.iter().map(|at| by_creation[*at]).collect();
            if order == PlayOrder::NewestFirst {
                expected.reverse();
            }
            assert_eq!(media_ids(&store, &all).await, expected, "{rules:?}");
            number += 1;
            let mut wanted = new(mine, &number.to_string(), Some(rules));
            wanted.limit = 1;
            let one = insert(&world, &store, wanted).await.unwrap();
            assert_eq!(media_ids(&store, &one).await, expected[..expected.len().min(1)], "{rules:?}");
            let page =
                store.playlist_page(mine, Page { limit: 2, number: 1, newest_first: true }).await.unwrap();
            let counts: Vec<_> = page.items.iter().map(|listed| listed.media_count).collect();
            assert_eq!(counts, [expected.len().min(1) as u64, expected.len() as u64], "{rules:?}");
        }
    };
    check(range(Some(1), Some(1)), none, &[1, 2]).await;
    check(range(Some(1), None), none, &[1, 2, 3]).await;
    check(range(None, Some(0)), none, &[0]).await;
    check(none, range(Some(3), Some(3)), &[1, 2]).await;
    check(none, range(None, Some(2)), &[0]).await;
    check(range(Some(1), None), range(None, Some(3)), &[1, 2]).await;
    check(range(Some(7), None), none, &[]).await;
}

async fn playlists_are_paged_from_either_end_and_counted(world: TestStore) {
    let store = world.open().await;
    let mine = workspace(&store).await;
    let mut oldest_first = Vec::new();
    for number in 0..5 {
        oldest_first.push(saved(&world, &store, mine, &number.to_string()).await.id);
    }
    saved(&world, &store, other_workspace(&store).await, "0").await;
    let newest_first: Vec<_> = oldest_first.iter().rev().copied().collect();
    for (order, is_newest_first) in [(&oldest_first, false), (&newest_first, true)] {
        for number in 1..=3_u32 {
            let page = Page { limit: 2, number, newest_first: is_newest_first };
            let found = store.playlist_page(mine, page).await.unwrap();
            let from = (number as usize - 1) * 2;
            let ids: Vec<_> = found.items.iter().map(|listed| listed.playlist.id).collect();
            assert_eq!((ids.as_slice(), found.total), (&order[from..(from + 2).min(5)], 5), "{page:?}");
        }
    }
    let behind = Page { limit: 50, number: u32::MAX, newest_first: true };
    assert_eq!(store.playlist_page(mine, behind).await.unwrap().items, []);
}
