//! Usage of workspaces: counted in memory by each process, added up in rows.

use kinora_domain::{Day, MediaState, WorkspaceId};
use kinora_store::{
    DailyUsage, Error, FaultAction, FaultPoint, PrunedCounts, Store, StoredBytes, Usage, UsageCounts,
    WrittenUsage,
};

use crate::support::{DAY, TestStore, insert, workspace, write};

suite!(
    usage_of_processes_adds_up_by_workspace_and_day,
    failed_commit_keeps_usage_for_retry,
    lost_commit_response_does_not_double_usage,
    usage_after_outage_is_written_in_batches,
    killed_process_loses_unwritten_usage,
    stored_bytes_are_the_last_measurement,
    source_belongs_to_workspace_of_its_media_upload_or_track,
    usage_writers_are_pruned_after_a_month,
);

const SOME: UsageCounts =
    UsageCounts { encoded_us: 4_000_000, delivered_us: 60_000_000, delivered_bytes: 1000 };

fn times(n: u64) -> UsageCounts {
    let UsageCounts { encoded_us, delivered_us, delivered_bytes } = SOME;
    UsageCounts {
        encoded_us: n * encoded_us,
        delivered_us: n * delivered_us,
        delivered_bytes: n * delivered_bytes,
    }
}

fn today(world: &TestStore) -> Day {
    Day::of(world.now())
}

async fn days(world: &TestStore, store: &Store, workspace: WorkspaceId) -> Vec<DailyUsage> {
    let year = Day::from_text("2025-01-01").unwrap();
    let usage = store.usage(workspace, year, today(world)).await.unwrap();
    assert_eq!(usage.stored_before, None);
    usage.days
}

/// The usage of a workspace so far, all of it today.
async fn used(world: &TestStore, store: &Store, workspace: WorkspaceId) -> UsageCounts {
    match days(world, store, workspace).await.as_slice() {
        [] => UsageCounts::default(),
        [DailyUsage { day, used, stored_bytes: None }] if *day == today(world) => *used,
        other => panic!("{other:?}"),
    }
}

async fn usage_of_processes_adds_up_by_workspace_and_day(world: TestStore) {
    let (store, beside) = (world.open().await, world.open().await);
    let workspace = workspace(&store).await;
    let other = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    assert_eq!(store.write_usage(world.now()).await.unwrap(), None);
    let (before, generation) = (world.faults.commits(), store.generation());
    let first = today(&world);
    for _ in 0..10 {
        store.count_usage(workspace, world.now(), SOME);
        beside.count_usage(workspace, world.now(), SOME);
    }
    store.count_usage(other, world.now(), UsageCounts { delivered_bytes: 7, ..UsageCounts::default() });
    world.clock.advance(DAY);
    beside.count_usage(workspace, world.now(), SOME);
    assert_eq!(world.faults.commits(), before, "counting writes nothing");
    assert_eq!(days(&world, &store, workspace).await, []);

    let written = async |store: &Store| store.write_usage(world.now()).await.unwrap();
    let mut sum = times(10);
    sum.add(UsageCounts { delivered_bytes: 7, ..UsageCounts::default() });
    assert_eq!(written(&store).await, Some(WrittenUsage { used: sum, is_retry: false }));
    assert_eq!(written(&beside).await, Some(WrittenUsage { used: times(11), is_retry: false }));
    assert_eq!((written(&store).await, written(&beside).await), (None, None));
    assert_eq!(world.faults.commits(), before + 2);
    assert_eq!(store.generation(), generation, "no answer that is kept depends on it");

    let of = |day, used| DailyUsage { day, used, stored_bytes: None };
    let expected = [of(first, times(20)), of(today(&world), SOME)];
    assert_eq!(days(&world, &store, workspace).await, expected);
    assert_eq!(days(&world, &beside, workspace).await, expected);
    let bytes = UsageCounts { delivered_bytes: 7, ..UsageCounts::default() };
    assert_eq!(days(&world, &store, other).await, [of(first, bytes)]);
    let only = store.usage(workspace, today(&world), today(&world)).await.unwrap();
    assert_eq!(only, Usage { days: expected[1..].to_vec(), stored_before: None, stored: None });
}

async fn failed_commit_keeps_usage_for_retry(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    store.count_usage(workspace, world.now(), SOME);
    for _ in 0..2 {
        world.faults.plan(FaultPoint::BeforeCommit, FaultAction::Fail);
        assert!(matches!(store.write_usage(world.now()).await, Err(Error::Full)));
        store.count_usage(workspace, world.now(), SOME);
    }
    assert_eq!(used(&world, &store, workspace).await, UsageCounts::default());
    let written = store.write_usage(world.now()).await.unwrap();
    assert_eq!(written, Some(WrittenUsage { used: SOME, is_retry: true }));
    let written = store.write_usage(world.now()).await.unwrap();
    assert_eq!(written, Some(WrittenUsage { used: times(2), is_retry: false }));
    assert_eq!(used(&world, &store, workspace).await, times(3));
}

async fn lost_commit_response_does_not_double_usage(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    for round in 1..=3 {
        store.count_usage(workspace, world.now(), SOME);
        world.faults.plan(FaultPoint::AfterCommit, FaultAction::Fail);
        assert!(matches!(store.write_usage(world.now()).await, Err(Error::Full)));
        assert_eq!(used(&world, &store, workspace).await, times(round), "it took place");
        let again = store.write_usage(world.now()).await.unwrap();
        assert_eq!(again, Some(WrittenUsage { used: SOME, is_retry: true }));
        assert_eq!(used(&world, &store, workspace).await, times(round));
    }
}

async fn usage_after_outage_is_written_in_batches(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let last = today(&world);
    let count =
        || (0..1100).for_each(|day| store.count_usage(workspace, world.now().plus_micros(-day * DAY), SOME));
    let sum = async || {
        let first = Day::of(world.now().plus_micros(-1099 * DAY));
        let days = store.usage(workspace, first, last).await.unwrap().days;
        let mut sum = UsageCounts::default();
        days.iter().for_each(|day| sum.add(day.used));
        (days.len(), sum)
    };
    count();
    let before = world.faults.commits();
    // The second of three fails; then it succeeds, and its response is lost.
    world.faults.plan(FaultPoint::BeforeCommit, FaultAction::Continue);
    world.faults.plan(FaultPoint::BeforeCommit, FaultAction::Fail);
    assert!(matches!(store.write_usage(world.now()).await, Err(Error::Full)));
    assert_eq!((world.faults.commits() - before, sum().await), (1, (500, times(500))));
    world.faults.plan(FaultPoint::AfterCommit, FaultAction::Fail);
    assert!(matches!(store.write_usage(world.now()).await, Err(Error::Full)));
    assert_eq!(sum().await, (1000, times(1000)));
    // Later counts wait.
    count();
    let written = store.write_usage(world.now()).await.unwrap();
    assert_eq!(written, Some(WrittenUsage { used: times(1100), is_retry: true }), "reported once, all of it");
    assert_eq!(sum().await, (1100, times(1100)));
    let before = world.faults.commits();
    let written = store.write_usage(world.now()).await.unwrap();
    assert_eq!(written, Some(WrittenUsage { used: times(1100), is_retry: false }));
    assert_eq!((world.faults.commits() - before, sum().await), (3, (1100, times(2200))));
    assert_eq!(store.write_usage(world.now()).await.unwrap(), None);
}

async fn killed_process_loses_unwritten_usage(world: TestStore) {
    for (point, count) in [(FaultPoint::BeforeCommit, 1), (FaultPoint::AfterCommit, 3)] {
        let store = world.open().await;
        let workspace = workspace(&store).await;
        store.count_usage(workspace, world.now(), SOME);
        store.write_usage(world.now()).await.unwrap();
        store.count_usage(workspace, world.now(), SOME);
        world.faults.plan(point, FaultAction::Stop);
        assert!(matches!(store.write_usage(world.now()).await, Err(Error::Stopped)));
        store.count_usage(workspace, world.now(), SOME);
        assert!(matches!(store.write_usage(world.now()).await, Err(Error::Stopped)));
        drop(store);
        let store = world.open().await;
        assert_eq!(used(&world, &store, workspace).await, times(count), "{point:?}");
    }
}

async fn stored_bytes_are_the_last_measurement(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let other = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    let (first, at) = (today(&world), world.now());
    store.set_stored_bytes(&[(workspace, 500), (other, 0)], at).await.unwrap();
    store.set_stored_bytes(&[(workspace, 300)], at.plus_seconds(60)).await.unwrap();
    store.set_stored_bytes(&[(workspace, 900)], at.plus_seconds(30)).await.unwrap();
    store.count_usage(workspace, at, SOME);
    store.write_usage(at).await.unwrap();
    let of_first = DailyUsage { day: first, used: SOME, stored_bytes: Some(300) };
    let measured = StoredBytes { bytes: 300, at: at.plus_seconds(60) };
    let usage = store.usage(workspace, first, first).await.unwrap();
    assert_eq!(usage, Usage { days: vec![of_first], stored_before: None, stored: Some(measured) });

    world.clock.advance(2 * DAY);
    let usage = store.usage(workspace, today(&world), today(&world)).await.unwrap();
    assert_eq!(usage, Usage { days: vec![], stored_before: Some(measured), stored: Some(measured) });
    let of_other = store.usage(other, first, first).await.unwrap();
    assert_eq!(of_other.stored, Some(StoredBytes { bytes: 0, at }));

    // More workspaces than one transaction writes.
    let many = vec![(workspace, 1); 1001];
    store.set_stored_bytes(&many, world.now()).await.unwrap();
    let usage = store.usage(workspace, first, today(&world)).await.unwrap();
    let of_last = DailyUsage { day: today(&world), used: UsageCounts::default(), stored_bytes: Some(1) };
    assert_eq!(usage.days, [of_first, of_last]);
    assert_eq!(usage.stored, Some(StoredBytes { bytes: 1, at: world.now() }));
}

async fn source_belongs_to_workspace_of_its_media_upload_or_track(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    assert_eq!(store.workspace_of_source(world.source()).await.unwrap(), None);
    let (media, created) = world.media(workspace);
    insert(&store, &media, &created).await;
    let (source, now) = (world.source(), world.now());
    let fetching = media.start_download(source, now).unwrap();
    write(&store, async move |tx| tx.save_media(&fetching).await).await.unwrap();
    assert_eq!(store.workspace_of_source(source).await.unwrap(), Some(workspace));
    let inside = write(&store, async move |tx| tx.workspace_of_source(source).await).await;
    assert_eq!(inside.unwrap(), Some(workspace));

    let media = store.media_of_source(source).await.unwrap().unwrap();
    assert!(matches!(media.state, MediaState::Downloading { .. }));
    write(&store, async move |tx| tx.remove_media(media.clone(), now).await).await.unwrap();
    assert_eq!(store.workspace_of_source(source).await.unwrap(), None);
}

async fn usage_writers_are_pruned_after_a_month(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    store.count_usage(workspace, world.now(), SOME);
    store.write_usage(world.now()).await.unwrap();
    let prune = async |days| store.prune(world.now().plus_micros(days * DAY)).await.unwrap();
    assert_eq!(prune(29).await, PrunedCounts::default());
    assert_eq!(prune(30).await, PrunedCounts { usage_writers: 1, ..PrunedCounts::default() });
    assert_eq!(used(&world, &store, workspace).await, SOME, "usage is unchanged");
    store.count_usage(workspace, world.now(), SOME);
    store.write_usage(world.now()).await.unwrap();
    assert_eq!(used(&world, &store, workspace).await, times(2));
}
