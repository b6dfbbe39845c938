//! Lists of media: paged by cursor and by number, filtered, and counted.

use std::collections::BTreeMap;

use kinora_domain::{Media, MediaId, MediaSettings, WorkspaceId};
use kinora_store::{Error, ListPage, MediaFilter, Page, PageStart, Position, Store};

use crate::support::{SECOND, TestStore, insert, workspace, write};

suite!(
    cursor_pagination_returns_each_media_once_both_ways,
    cursor_pagination_survives_inserts_and_deletes,
    each_filter_matches_exactly_its_media,
    filters_combine_with_and,
    filters_follow_updates_and_deletions,
    filtered_totals_are_exact_up_to_their_bound,
    sparse_filter_matches_are_found_across_pages,
);

fn after(limit: u32, newest_first: bool, position: Position) -> ListPage {
    ListPage { limit, newest_first, start: PageStart::After(position) }
}

fn before(limit: u32, newest_first: bool, position: Position) -> ListPage {
    ListPage { limit, newest_first, start: PageStart::Before(position) }
}

fn first(limit: u32, newest_first: bool) -> ListPage {
    ListPage { limit, newest_first, start: PageStart::Number(1) }
}

fn ids(media: &[Media]) -> Vec<MediaId> {
    media.iter().map(|media| media.id).collect()
}

/// A media with these settings, one second after the one before.
async fn made(world: &TestStore, store: &Store, workspace: WorkspaceId, settings: MediaSettings) -> Media {
    world.clock.advance(SECOND);
    let (mut media, event) = world.media(workspace);
    media.settings = settings;
    insert(store, &media, &event).await;
    media
}

fn settings(title: &str, creator: &str, metadata: &[(&str, &str)]) -> MediaSettings {
    let entry = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let metadata: BTreeMap<_, _> = metadata.iter().map(entry).collect();
    let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    MediaSettings {
        title: text(title),
        creator_id: text(creator),
        metadata: (!metadata.is_empty()).then_some(metadata),
        ..MediaSettings::default()
    }
}

async fn seven(world: &TestStore, store: &Store) -> (WorkspaceId, Vec<MediaId>) {
    let (here, elsewhere) =
        (workspace(store).await, store.workspace_by_name("Production").await.unwrap().unwrap().id);
    let mut oldest_first = Vec::new();
    for at in 0..7 {
        // Two of them at one instant: then the id decides.
        let (media, event) = world.media(here);
        if at != 3 {
            world.clock.advance(SECOND);
        }
        insert(store, &media, &event).await;
        oldest_first.push((media.created_at, media.id.to_string(), media.id));
        made(world, store, elsewhere, MediaSettings::default()).await;
    }
    oldest_first.sort();
    (here, oldest_first.into_iter().map(|(_, _, id)| id).collect())
}

async fn cursor_pagination_returns_each_media_once_both_ways(world: TestStore) {
    let store = world.open().await;
    let (here, oldest_first) = seven(&world, &store).await;
    for newest_first in [true, false] {
        let mut all = oldest_first.clone();
        if newest_first {
            all.reverse();
        }
        let list = async |slice| store.media_list(here, &MediaFilter::default(), slice).await.unwrap();
        let (mut walked, mut back) = (Vec::new(), Vec::new());
        let mut part = list(first(3, newest_first)).await;
        assert_eq!(part.previous, None);
        loop {
            assert_eq!((part.total, part.is_lower_bound), (7, false));
            walked.extend(ids(&part.items));
            let Some(next) = part.next else { break };
            part = list(after(3, newest_first, next)).await;
        }
        assert_eq!(walked, all, "newest first: {newest_first}");
        assert_eq!(part.items.len(), 1);
        while let Some(previous) = part.previous {
            part = list(before(3, newest_first, previous)).await;
            back.splice(0..0, ids(&part.items));
        }
        assert_eq!(back, all[..6], "newest first: {newest_first}");

        // By number from both sides of the middle, with the same neighbours as by cursor.
        for number in 1..=3 {
            let page = store.media_page(here, Page { limit: 3, number, newest_first }).await.unwrap();
            let at = 3 * usize::try_from(number - 1).unwrap();
            assert_eq!(ids(&page.items), all[at..(at + 3).min(7)]);
            assert_eq!((page.previous.is_some(), page.next.is_some()), (number > 1, number < 3));
            if let Some(next) = page.next {
                let beside = list(after(3, newest_first, next)).await;
                assert_eq!(ids(&beside.items), all[at + 3..(at + 6).min(7)]);
            }
            if let Some(previous) = page.previous {
                let beside = list(before(3, newest_first, previous)).await;
                assert_eq!(ids(&beside.items), all[at - 3..at]);
            }
        }
    }
}

async fn cursor_pagination_survives_inserts_and_deletes(world: TestStore) {
    let store = world.open().await;
    let (here, oldest_first) = seven(&world, &store).await;
    let list = async |slice| store.media_list(here, &MediaFilter::default(), slice).await.unwrap();
    let part = list(first(3, true)).await;
    let last = part.items[2].id;
    assert_eq!(last, oldest_first[4]);
    write(&store, async move |tx| tx.delete_media(last).await).await.unwrap();
    made(&world, &store, here, MediaSettings::default()).await;
    let part = list(after(3, true, part.next.unwrap())).await;
    assert_eq!(
        ids(&part.items),
        [oldest_first[3], oldest_first[2], oldest_first[1]],
        "none twice, none left out"
    );
    assert_eq!(part.total, 7);
}

async fn each_filter_matches_exactly_its_media(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let elsewhere = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    let all = [
        made(
            &world,
            &store,
            here,
            settings("Summer at sea", "ann", &[("genre", "travel"), ("year", "2024")]),
        )
        .await,
        made(&world, &store, here, settings("SUMMERTIME", "Ann", &[("genre", "music")])).await,
        made(&world, &store, here, settings("Ärger im Büro", "", &[("year", "")])).await,
        made(&world, &store, here, settings("A summer", "ann", &[])).await,
        made(&world, &store, here, MediaSettings::default()).await,
    ];
    made(&world, &store, elsewhere, settings("Summer", "ann", &[("genre", "travel")])).await;
    let ready = all[1].clone().start_download(world.source(), world.now()).unwrap();
    write(&store, async move |tx| tx.save_media(&ready).await).await.unwrap();

    let check = async |filter: MediaFilter, expected: &[usize]| {
        let expected: Vec<_> = expected.iter().map(|at| all[*at].id).collect();
        for newest_first in [false, true] {
            let list = store.media_list(here, &filter, first(50, newest_first)).await.unwrap();
            let mut found = ids(&list.items);
            if newest_first {
                found.reverse();
            }
            assert_eq!((found, list.total), (expected.clone(), expected.len() as u64), "{filter:?}");
            assert!(!list.is_lower_bound && list.next.is_none() && list.previous.is_none());
        }
    };
    let none = MediaFilter::default;
    let text = |text: &str| Some(text.to_owned());
    check(MediaFilter { state: text("Created"), ..none() }, &[0, 2, 3, 4]).await;
    check(MediaFilter { state: text("Downloading"), ..none() }, &[1]).await;
    check(MediaFilter { state: text("Ready"), ..none() }, &[]).await;
    check(MediaFilter { creator_id: text("ann"), ..none() }, &[0, 3]).await;
    check(MediaFilter { creator_id: text("an"), ..none() }, &[]).await;
    check(MediaFilter { title_prefix: text("sUmmer"), ..none() }, &[0, 1]).await;
    check(MediaFilter { title_prefix: text("ÄRGER"), ..none() }, &[2]).await;
    check(MediaFilter { title_prefix: text("sea"), ..none() }, &[]).await;
    check(MediaFilter { title_prefix: text("summer_"), ..none() }, &[]).await;
    check(MediaFilter { title_prefix: text("%"), ..none() }, &[]).await;
    check(MediaFilter { metadata_key: text("year"), ..none() }, &[0, 2]).await;
    check(MediaFilter { metadata_key: text("Year"), ..none() }, &[]).await;
    let entry = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
    check(MediaFilter { metadata: entry("genre", "travel"), ..none() }, &[0]).await;
    check(MediaFilter { metadata: entry("year", ""), ..none() }, &[2]).await;
    check(MediaFilter { metadata: entry("genre", "2024"), ..none() }, &[]).await;
    let at = |index: usize| Some(all[index].created_at);
    check(MediaFilter { created_from: at(1), ..none() }, &[1, 2, 3, 4]).await;
    check(MediaFilter { created_before: at(1), ..none() }, &[0]).await;
    check(MediaFilter { created_from: at(1), created_before: at(3), ..none() }, &[1, 2]).await;
    check(MediaFilter { created_from: at(4).map(|at| at.plus_micros(1)), ..none() }, &[]).await;
}

async fn filters_combine_with_and(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let mut all = Vec::new();
    for at in 0..12 {
        let title = if at % 2 == 0 { "Even" } else { "Odd" };
        let creator = if at % 3 == 0 { "ann" } else { "ben" };
        let half = if at < 6 { "first" } else { "second" };
        all.push(made(&world, &store, here, settings(title, creator, &[("half", half), ("all", "")])).await);
    }
    let filter = MediaFilter {
        title_prefix: Some("EVEN".into()),
        creator_id: Some("ben".into()),
        metadata_key: Some("all".into()),
        state: Some("Created".into()),
        created_from: Some(all[1].created_at),
        ..MediaFilter::default()
    };
    // 2, 4, 8 and 10 are even, and Ben's.
    let expected = [10, 8, 4, 2].map(|at: usize| all[at].id);
    let list = async |slice| store.media_list(here, &filter, slice).await.unwrap();
    let part = list(first(3, true)).await;
    assert_eq!((ids(&part.items), part.total, part.is_lower_bound), (expected[..3].to_vec(), 4, false));
    let rest = list(after(3, true, part.next.unwrap())).await;
    assert_eq!((ids(&rest.items), rest.total, rest.next), (expected[3..].to_vec(), 4, None));
    let back = list(before(3, true, rest.previous.unwrap())).await;
    assert_eq!((ids(&back.items), back.previous), (expected[..3].to_vec(), None));
    assert_eq!(ids(&list(before(2, true, rest.previous.unwrap())).await.items), expected[1..3]);
    let page = store
        .media_list(here, &filter, Page { limit: 3, number: 2, newest_first: true }.into())
        .await
        .unwrap();
    assert_eq!((ids(&page.items), page.next, page.previous.is_some()), (expected[3..].to_vec(), None, true));
    let behind = store
        .media_list(here, &filter, Page { limit: 3, number: 3, newest_first: true }.into())
        .await
        .unwrap();
    assert_eq!((behind.items.len(), behind.total), (0, 4));
    let second = MediaFilter {
        metadata: vec![("half".into(), "second".into()), ("all".into(), String::new())],
        ..filter.clone()
    };
    let list = store.media_list(here, &second, first(50, false)).await.unwrap();
    assert_eq!(ids(&list.items), [all[8].id, all[10].id]);
}

async fn filters_follow_updates_and_deletions(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let media = made(&world, &store, here, settings("Before", "ann", &[("a", "1"), ("b", "2")])).await;
    let count =
        async |filter: MediaFilter| store.media_list(here, &filter, first(9, true)).await.unwrap().total;
    let counts = async |title: &str, entry: (&str, &str), key: &str| {
        let none = MediaFilter::default;
        let metadata = vec![(entry.0.to_owned(), entry.1.to_owned())];
        [
            count(MediaFilter { title_prefix: Some(title.into()), ..none() }).await,
            count(MediaFilter { metadata, ..none() }).await,
            count(MediaFilter { metadata_key: Some(key.into()), ..none() }).await,
        ]
    };
    assert_eq!(counts("before", ("a", "1"), "b").await, [1, 1, 1]);
    let mut changed = media.clone();
    changed.settings = settings("After", "ann", &[("a", "9")]);
    write(&store, async move |tx| tx.save_media(&changed).await).await.unwrap();
    assert_eq!(counts("before", ("a", "1"), "b").await, [0, 0, 0]);
    assert_eq!(counts("after", ("a", "9"), "a").await, [1, 1, 1]);
    let id = media.id;
    write(&store, async move |tx| tx.delete_media(id).await).await.unwrap();
    assert_eq!(counts("after", ("a", "9"), "a").await, [0, 0, 0]);
}

/// Many media with only an index row, created with direct SQL.
async fn many(world: &TestStore, here: WorkspaceId, count: u32) {
    let numbers = format!(
        "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {count}) \
         INSERT INTO media (id, workspace_id, creator_id, title, title_key, max_resolution, quality, source_access, optimize_audio, \
         state, created_at, updated_at, version) \
         SELECT '019a0000-0000-7000-8000-' || substr('00000000' || CAST(n AS TEXT), -8) || '0000', '{here}', \
         CASE WHEN n % 2 = 0 THEN 'ann' ELSE 'ben' END, 'Clip', 'clip', '1080p', 'standard', 0, 0, 'Created', n, n, 0 FROM number"
    );
    // PostgreSQL counts the positions of a text from its start only.
    let numbers = if world.database.is_some() {
        numbers.replace("substr('00000000' || CAST(n AS TEXT), -8)", "lpad(CAST(n AS TEXT), 8, '0')")
    } else {
        numbers
    };
    world.edit_many(&numbers).await;
    world.edit(&format!("UPDATE workspace SET media_count = {count} WHERE id = '{here}'")).await;
}

async fn filtered_totals_are_exact_up_to_their_bound(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let max = MediaFilter::SCAN_MAX;
    many(&world, here, 2 * max).await;
    let ann = MediaFilter { creator_id: Some("ann".into()), ..MediaFilter::default() };
    let list =
        async |filter: &MediaFilter, slice: ListPage| store.media_list(here, filter, slice).await.unwrap();
    let all = list(&ann, first(3, false)).await;
    assert_eq!((all.total, all.is_lower_bound), (u64::from(max), false), "exactly so many");
    let last = Page { limit: 10, number: max / 10, newest_first: true };
    let page = list(&ann, last.into()).await;
    assert_eq!((page.items.len(), page.next, page.previous.is_some()), (10, None, true));
    assert_eq!(page.items[9].created_at.as_micros(), 2);

    let clip = MediaFilter { state: Some("Created".into()), ..MediaFilter::default() };
    let all = list(&clip, first(3, false)).await;
    assert_eq!((all.total, all.is_lower_bound), (u64::from(max), true));
    let beyond = Page { limit: 50, number: 2 * max / 50, newest_first: false };
    let page = list(&clip, beyond.into()).await;
    assert_eq!((page.items.len(), page.next), (50, None), "pages continue beyond the counted rows");
    assert_eq!(page.items[49].created_at.as_micros(), i64::from(2 * max));
    let behind = list(&clip, Page { limit: 50, number: 2 * max / 50 + 1, newest_first: false }.into()).await;
    assert_eq!((behind.items.len(), behind.next), (0, None));
}

async fn sparse_filter_matches_are_found_across_pages(world: TestStore) {
    let store = world.open().await;
    let here = workspace(&store).await;
    let max = MediaFilter::SCAN_MAX;
    many(&world, here, 3 * max).await;
    // Only Ann's oldest one has another title; both filters match more than the limit.
    world
        .edit(&format!(
            "UPDATE media SET title_key = 'other' WHERE workspace_id = '{here}' AND created_at = 2"
        ))
        .await;
    let rare = async |title: &str, creator: &str| {
        let filter = MediaFilter {
            title_prefix: Some(title.into()),
            creator_id: Some(creator.into()),
            ..MediaFilter::default()
        };
        let mut list = store.media_list(here, &filter, first(10, true)).await.unwrap();
        let (mut found, mut steps) = (Vec::new(), 1);
        loop {
            found.extend(list.items.iter().map(|media| media.created_at.as_micros()));
            let Some(next) = list.next else { return (found, steps, list.is_lower_bound, list.total) };
            assert!(steps < 9, "it ends");
            steps += 1;
            list = store.media_list(here, &filter, after(10, true, next)).await.unwrap();
        }
    };
    assert_eq!(rare("other", "ann").await, (vec![2], 1, false, 1), "few have the title, so they are asked");
    world
        .edit_many(&format!(
            "UPDATE media SET title_key = 'other' WHERE workspace_id = '{here}' AND creator_id = 'ben'"
        ))
        .await;
    let (found, steps, is_lower_bound, total) = rare("other", "ann").await;
    assert_eq!((found, is_lower_bound, total), (vec![2], true, 0), "{steps} steps");
    assert!(steps > 1, "{steps} steps");

    let filter = MediaFilter {
        title_prefix: Some("other".into()),
        creator_id: Some("ann".into()),
        ..MediaFilter::default()
    };
    let far = store.media_list(here, &filter, Page { limit: 10, number: 2, newest_first: true }.into()).await;
    assert!(matches!(far, Err(Error::PageOutOfRange { counted: 0 })), "{far:?}");
}
