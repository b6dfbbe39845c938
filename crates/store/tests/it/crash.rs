//! A change, its event and its job are stored together or not at all, at every point of a crash.

use kinora_domain::{Event, Media};
use kinora_store::{Error, FaultAction, FaultPoint, JobKind, JobQueue, NewJob, Page, Store};

use crate::support::{TestStore, claim_jobs, workspace, write};

suite!(
    failed_commit_stores_no_media_event_or_job,
    crash_before_commit_loses_all_after_commit_nothing,
    commit_survives_lost_response,
    disk_full_is_reported_until_a_write_succeeds,
);

async fn failed_commit_stores_no_media_event_or_job(world: TestStore) {
    let store = world.open().await;
    let (media, event) = world.media(workspace(&store).await);
    let webhook = world.webhook(&store, media.workspace).await;
    let generation = store.generation();
    world.faults.plan(FaultPoint::BeforeCommit, FaultAction::Fail);
    assert!(matches!(create(&store, &media, &event).await, Err(Error::Full)));
    assert_eq!(seen(&world, &store, &media).await, (0, 0, 0));
    assert!(world.claim(&store, &webhook).await.is_empty());
    assert_eq!(store.generation(), generation);

    // The disk has free space again: the same call succeeds completely.
    create(&store, &media, &event).await.unwrap();
    assert_eq!(seen(&world, &store, &media).await, (1, 1, 1));
}

async fn crash_before_commit_loses_all_after_commit_nothing(world: TestStore) {
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

async fn commit_survives_lost_response(world: TestStore) {
    let store = world.open().await;
    let (media, event) = world.media(workspace(&store).await);
    world.webhook(&store, media.workspace).await;
    let generation = store.generation();
    world.faults.plan(FaultPoint::AfterCommit, FaultAction::Fail);
    assert!(matches!(create(&store, &media, &event).await, Err(Error::Full)));
    assert_ne!(store.generation(), generation);
    assert_eq!(seen(&world, &store, &media).await, (1, 1, 1));
}

async fn disk_full_is_reported_until_a_write_succeeds(world: TestStore) {
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

/// Stores a media with its event and its job.
async fn create(store: &Store, media: &Media, event: &Event) -> Result<(), Error> {
    let (media, event) = (media.clone(), event.clone());
    write(store, async move |tx| {
        tx.insert_media(&media).await?;
        tx.push_event(&event).await?;
        let kind = JobKind::Download { media: media.id };
        tx.enqueue(NewJob::due_now(kind, media.workspace, event.at)).await.map(drop)
    })
    .await
}

/// The numbers of media, deliveries and jobs. Claims them and releases the leases.
async fn seen(world: &TestStore, store: &Store, media: &Media) -> (usize, usize, usize) {
    let page = Page { limit: 10, number: 1, newest_first: true };
    let page = store.media_page(media.workspace, page).await.unwrap();
    assert_eq!(page.total, u64::try_from(page.items.len()).unwrap());
    let webhook = store.webhooks(None).await.unwrap().remove(0);
    let deliveries = world.claim(store, &webhook).await;
    let jobs = claim_jobs(world, store, JobQueue::Download, 10).await;
    world.free_leases(store).await;
    (page.items.len(), deliveries.len(), jobs.len())
}
