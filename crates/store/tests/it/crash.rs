//! A change, its event and its job are kept together or not at all, whenever the process dies.

use kinora_domain::{Event, Media};
use kinora_store::{Error, FaultAction, FaultPoint, JobKind, JobQueue, NewJob, Page, Store};

use crate::support::{World, claim_jobs, workspace, write};

suite!(
    a_failed_commit_keeps_neither_state_nor_event_nor_job,
    a_crash_before_the_commit_keeps_nothing_and_one_after_it_keeps_all,
    a_lost_answer_is_no_lost_change,
    a_full_disk_is_told_until_a_write_finds_room,
);

async fn a_failed_commit_keeps_neither_state_nor_event_nor_job(world: World) {
    let store = world.open().await;
    let (media, event) = world.media(workspace(&store).await);
    let webhook = world.webhook(&store, media.workspace).await;
    let generation = store.generation();
    world.faults.plan(FaultPoint::BeforeCommit, FaultAction::Fail);
    assert!(matches!(create(&store, &media, &event).await, Err(Error::Full)));
    assert_eq!(seen(&world, &store, &media).await, (0, 0, 0));
    assert!(world.claim(&store, &webhook).await.is_empty());
    assert_eq!(store.generation(), generation);

    // The disk has room again: the same call does all of it.
    create(&store, &media, &event).await.unwrap();
    assert_eq!(seen(&world, &store, &media).await, (1, 1, 1));
}

async fn a_crash_before_the_commit_keeps_nothing_and_one_after_it_keeps_all(world: World) {
    let mut total = 0;
    for point in [FaultPoint::BeforeCommit, FaultPoint::AfterCommit] {
        let store = world.open().await;
        let (media, event) = world.media(workspace(&store).await);
        if store.webhooks(None).await.unwrap().is_empty() {
            world.webhook(&store, media.workspace).await;
        }
        world.faults.plan(point, FaultAction::Stop);
        assert!(matches!(create(&store, &media, &event).await, Err(Error::Stopped)), "{point:?}");
        assert!(matches!(create(&store, &media, &event).await, Err(Error::Stopped)), "{point:?}");
        assert!(matches!(store.media_by_id(media.id).await, Err(Error::Stopped)), "{point:?}");
        drop(store);

        let store = world.open().await;
        total += usize::from(point == FaultPoint::AfterCommit);
        assert_eq!(seen(&world, &store, &media).await, (total, total, total), "{point:?}");
    }
    assert_eq!(total, 1);
}

async fn a_lost_answer_is_no_lost_change(world: World) {
    let store = world.open().await;
    let (media, event) = world.media(workspace(&store).await);
    world.webhook(&store, media.workspace).await;
    let generation = store.generation();
    world.faults.plan(FaultPoint::AfterCommit, FaultAction::Fail);
    assert!(matches!(create(&store, &media, &event).await, Err(Error::Full)));
    assert_ne!(store.generation(), generation);
    assert_eq!(seen(&world, &store, &media).await, (1, 1, 1));
}

async fn a_full_disk_is_told_until_a_write_finds_room(world: World) {
    let store = world.open().await;
    let (media, event) = world.media(workspace(&store).await);
    store.ping().await.unwrap();
    let before = world.faults.commits();
    store.ping().await.unwrap();
    assert_eq!(world.faults.commits(), before, "a healthy store is asked without a write");

    world.faults.plan(FaultPoint::BeforeCommit, FaultAction::Fail);
    assert!(matches!(create(&store, &media, &event).await, Err(Error::Full)));
    world.faults.plan(FaultPoint::BeforeCommit, FaultAction::Fail);
    assert!(matches!(store.ping().await, Err(Error::Full)));
    store.ping().await.unwrap();
    assert_eq!(world.faults.commits(), before + 1);
    store.ping().await.unwrap();
    assert_eq!(world.faults.commits(), before + 1);
}

/// A media with its event and its job.
async fn create(store: &Store, media: &Media, event: &Event) -> Result<(), Error> {
    let (media, event) = (media.clone(), event.clone());
    write(store, async move |tx| {
        tx.insert_media(&media).await?;
        tx.push_event(&event).await?;
        let kind = JobKind::Download { media: media.id };
        tx.enqueue(NewJob::soon(kind, media.workspace, event.at)).await.map(drop)
    })
    .await
}

/// How many media, deliveries and jobs there are. Takes the leases and gives them back.
async fn seen(world: &World, store: &Store, media: &Media) -> (usize, usize, usize) {
    let page = Page { limit: 10, number: 1, newest_first: true };
    let page = store.media_page(media.workspace, page).await.unwrap();
    assert_eq!(page.total, u64::try_from(page.items.len()).unwrap());
    let webhook = store.webhooks(None).await.unwrap().remove(0);
    let deliveries = world.claim(store, &webhook).await;
    let jobs = claim_jobs(world, store, JobQueue::Download, 10).await;
    world.free_leases(store).await;
    (page.items.len(), deliveries.len(), jobs.len())
}
