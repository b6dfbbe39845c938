//! The guarantees of a write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use kinora_domain::Media;
use kinora_store::{Error, JobKind, JobQueue, NewJob, Priority, Store, Tx};
use tokio::sync::Notify;

use crate::support::{SECOND, TestStore, insert, until, workspace, write};

suite!(
    version_conflict_reruns_closure,
    five_version_conflicts_return_busy,
    failed_closure_rolls_back_only_its_savepoint,
    panicking_closure_rolls_back_and_writer_continues,
    swallowed_database_error_still_rolls_back,
    cancelled_caller_does_not_cancel_transaction,
    generation_changes_only_with_visible_rows,
    closed_store_rejects_every_call,
);

sqlite_only!(waiting_writers_share_a_commit);

/// An error of a caller.
#[derive(Debug)]
enum CallerError {
    Refused(u32),
    Store(Error),
}

impl From<Error> for CallerError {
    fn from(error: Error) -> Self {
        Self::Store(error)
    }
}

async fn version_conflict_reruns_closure(world: TestStore) {
    let store = world.open().await;
    let media = inserted(&world, &store).await;
    let stale = media.clone();
    let current = media.clone().start_download(world.source(), world.now()).unwrap();
    let saved = current.clone();
    write(&store, async move |tx| tx.save_media(&saved).await).await.unwrap();

    let mut cached = Some(stale);
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let source = world.source();
    let now = world.now();
    write(&store, async move |tx| {
        counted.fetch_add(1, Ordering::SeqCst);
        let media = match cached.take() {
            Some(media) => media,
            None => tx.media_by_id(current.id).await?.unwrap(),
        };
        tx.save_media(&media.start_download(source, now).unwrap()).await
    })
    .await
    .unwrap();
    let found = store.media_by_id(media.id).await.unwrap().unwrap();
    assert_eq!((found.version, found.source(), runs.load(Ordering::SeqCst)), (2, Some(source), 2));
}

async fn five_version_conflicts_return_busy(world: TestStore) {
    let store = world.open().await;
    let media = inserted(&world, &store).await;
    let stale = Media { version: 7, ..media.clone() };
    let runs = Arc::new(AtomicU32::new(0));
    let counted = runs.clone();
    let now = world.now();
    let result = store.write(async move |tx: &mut Tx| {
        counted.fetch_add(1, Ordering::SeqCst);
        tx.enqueue(NewJob { kind: JobKind::Sweep, workspace: None, run_at: now, priority: Priority::Low })
            .await?;
        tx.save_media(&stale).await.map_err(CallerError::Store)
    });
    assert!(matches!(result.await, Err(CallerError::Store(Error::Busy))));
    assert_eq!(runs.load(Ordering::SeqCst), 5);
    assert_eq!(store.media_by_id(media.id).await.unwrap(), Some(media));
    assert_eq!(store.next_job_due(JobQueue::Maintenance).await.unwrap(), None);
}

async fn failed_closure_rolls_back_only_its_savepoint(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let (first, second, third) =
        (world.media(workspace).0, world.media(workspace).0, world.media(workspace).0);
    let ids = [first.id, second.id, third.id];
    let commit_media = |media: Media| {
        store.write(async move |tx: &mut Tx| Ok::<_, CallerError>(tx.insert_media(&media).await?))
    };
    let refuse = store.write(async move |tx: &mut Tx| {
        tx.insert_media(&second).await?;
        Err::<(), _>(CallerError::Refused(42))
    });
    let release = hold(&store).await;
    let (_, first_result, refused, third_result) = tokio::join!(
        async { release.notify_one() },
        commit_media(first.clone()),
        refuse,
        commit_media(third.clone())
    );
    assert!(first_result.is_ok() && third_result.is_ok());
    assert!(matches!(refused, Err(CallerError::Refused(42))));
    let mut found = Vec::new();
    for id in ids {
        found.push(store.media_by_id(id).await.unwrap());
    }
    assert_eq!(found, [Some(first), None, Some(third)]);
}

async fn panicking_closure_rolls_back_and_writer_continues(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let (lost, stored) = (world.media(workspace).0, world.media(workspace).0);
    let ids = [lost.id, stored.id];
    let inserted = stored.clone();
    let release = hold(&store).await;
    let panics = write(&store, async move |tx| {
        tx.insert_media(&lost).await?;
        let nothing: Option<()> = None;
        nothing.ok_or(Error::Conflict).expect("this panic is part of the test");
        Ok(())
    });
    let insertion = write(&store, async move |tx| tx.insert_media(&inserted).await);
    let (_, panicked, result) = tokio::join!(async { release.notify_one() }, panics, insertion);
    assert!(matches!(panicked, Err(Error::Internal { .. })));
    assert!(result.is_ok());
    assert_eq!(store.media_by_id(ids[0]).await.unwrap(), None);
    assert_eq!(store.media_by_id(ids[1]).await.unwrap(), Some(stored));
}

async fn swallowed_database_error_still_rolls_back(world: TestStore) {
    let store = world.open().await;
    let media = inserted(&world, &store).await;
    let (twice, other) = (media.clone(), world.media(media.workspace).0);
    let id = other.id;
    let result = write(&store, async move |tx| {
        tx.insert_media(&other).await?;
        // Its id is taken.
        assert!(tx.insert_media(&twice).await.is_err());
        Ok(())
    });
    assert!(matches!(result.await, Err(Error::Internal { .. })));
    assert_eq!(store.media_by_id(id).await.unwrap(), None);
}

async fn waiting_writers_share_a_commit(world: TestStore) {
    const WRITERS: usize = 100;
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let before = world.faults.commits();
    let release = hold(&store).await;
    let mut writers: Vec<_> = (0..WRITERS)
        .map(|_| {
            let (media, event) = world.media(workspace);
            let store = &store;
            Box::pin(async move { insert(store, &media, &event).await })
        })
        .collect();
    // Each has sent its closure once it was polled.
    for writer in &mut writers {
        assert!(futures_util::poll!(writer).is_pending());
    }
    release.notify_one();
    for writer in writers {
        writer.await;
    }
    let commits = world.faults.commits() - before;
    assert!(commits < 50, "{WRITERS} writers took {commits} commits");
    let page = kinora_store::Page { limit: 1, number: 1, newest_first: true };
    assert_eq!(store.media_page(workspace, page).await.unwrap().total, 100);
}

async fn cancelled_caller_does_not_cancel_transaction(world: TestStore) {
    let store = world.open().await;
    let media = world.media(workspace(&store).await).0;
    let inserted = media.clone();
    let release = hold(&store).await;
    let mut call = Box::pin(write(&store, async move |tx| tx.insert_media(&inserted).await));
    assert!(futures_util::poll!(&mut call).is_pending());
    drop(call);
    release.notify_one();
    let found = until(async || store.media_by_id(media.id).await.unwrap()).await;
    assert_eq!(found, media);
}

async fn generation_changes_only_with_visible_rows(world: TestStore) {
    let store = world.open().await;
    let before = store.generation();
    inserted(&world, &store).await;
    let after = store.generation();
    assert_ne!(before, after);

    let now = world.now();
    write(&store, async move |tx| {
        tx.enqueue(NewJob { kind: JobKind::Sweep, workspace: None, run_at: now, priority: Priority::Low })
            .await
    })
    .await
    .unwrap();
    write(&store, async |_| Ok(())).await.unwrap();
    let media = world.media(workspace(&store).await).0;
    let refused = store.write(async move |tx: &mut Tx| {
        tx.insert_media(&media).await?;
        Err::<(), _>(CallerError::Refused(1))
    });
    assert!(refused.await.is_err());
    assert_eq!(store.generation(), after);
}

async fn closed_store_rejects_every_call(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let copy = store.clone();
    let media = inserted(&world, &store).await;
    store.close().await;
    copy.close().await;
    assert!(matches!(copy.workspace(workspace).await, Err(Error::Stopped)));
    assert!(matches!(copy.media_by_id(media.id).await, Err(Error::Stopped)));
    assert!(matches!(copy.ping().await, Err(Error::Stopped)));
    let id = media.id;
    let refused = write(&copy, async move |tx| tx.delete_media(id).await);
    assert!(matches!(refused.await, Err(Error::Stopped)));
    assert_eq!(world.open().await.media_by_id(media.id).await.unwrap().as_ref(), Some(&media));
}

async fn inserted(world: &TestStore, store: &Store) -> Media {
    world.clock.advance(SECOND);
    let (media, event) = world.media(workspace(store).await);
    insert(store, &media, &event).await;
    media
}

/// Blocks the writer until notified, so that the next writes wait together. Breaks the rule for closures on
/// purpose.
async fn hold(store: &Store) -> Arc<Notify> {
    let (release, began) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (released, begins, store) = (release.clone(), began.clone(), store.clone());
    tokio::spawn(async move {
        write(&store, async move |_| {
            begins.notify_one();
            released.notified().await;
            Ok(())
        })
        .await
    });
    began.notified().await;
    release
}
