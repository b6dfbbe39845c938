//! A database that goes away and comes back: callers are told soon, and nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kinora_store::{Error, JobKind, JobQueue, NewJob, Page, Priority, Store};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::{World, insert, until, workspace, write};

postgres_only!(
    connections_that_were_ended_are_replaced,
    a_transaction_whose_connection_is_ended_runs_again,
    a_database_that_is_away_is_told_within_seconds_and_then_goes_on,
    those_who_watch_go_on_after_an_outage,
    a_change_by_another_process_is_seen_at_once,
);

/// More than any call takes that finds the database away.
const SOON: Duration = Duration::from_secs(10);

async fn connections_that_were_ended_are_replaced(world: World) {
    let store = world.open().await;
    let (media, event) = world.media(workspace(&store).await);
    insert(&store, &media, &event).await;
    store.version().await.unwrap();
    assert!(world.server().end_connections().await >= 3);
    // The pools find out one connection at a time.
    until(async || available(store.media_by_id(media.id).await)).await;
    until(async || available(store.version().await)).await;
    let (other, event) = world.media(media.workspace);
    insert(&store, &other, &event).await;
    assert_eq!(store.media_by_id(other.id).await.unwrap(), Some(other));
}

async fn a_transaction_whose_connection_is_ended_runs_again(world: World) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let media = world.media(workspace).0;
    let (runs, wrote, ended) =
        (Arc::new(AtomicU32::new(0)), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let writing = {
        let (store, saved) = (store.clone(), media.clone());
        let (runs, wrote, ended) = (runs.clone(), wrote.clone(), ended.clone());
        tokio::spawn(async move {
            write(&store, async move |tx| {
                tx.insert_media(&saved).await?;
                if runs.fetch_add(1, Ordering::SeqCst) == 0 {
                    wrote.notify_one();
                    ended.notified().await;
                }
                tx.media_by_id(saved.id).await.map(drop)
            })
            .await
        })
    };
    wrote.notified().await;
    world.server().end_connections().await;
    ended.notify_one();
    writing.await.unwrap().unwrap();
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    let page = Page { limit: 9, number: 1, newest_first: true };
    let page = until(async || available(store.media_page(workspace, page).await)).await;
    assert_eq!((page.media, page.total), (vec![media], 1));
}

async fn a_database_that_is_away_is_told_within_seconds_and_then_goes_on(world: World) {
    let store = world.open().await;
    let (media, event) = world.media(workspace(&store).await);
    insert(&store, &media, &event).await;
    world.server().go_away().await;

    let started = Instant::now();
    let (other, other_event) = world.media(media.workspace);
    let enqueue = async |store: &Store| {
        let job = NewJob { kind: JobKind::Sweep, run_at: other_event.at, priority: Priority::Normal };
        write(store, async move |tx| tx.enqueue(job.clone()).await).await.map(drop)
    };
    let (read, written, version, pinged) =
        tokio::join!(store.media_by_id(media.id), enqueue(&store), store.version(), store.ping(),);
    assert!(matches!(read, Err(Error::Unavailable { .. })), "{read:?}");
    assert!(matches!(written, Err(Error::Unavailable { .. })), "{written:?}");
    assert!(matches!(version, Err(Error::Unavailable { .. })), "{version:?}");
    assert!(matches!(pinged, Err(Error::Unavailable { .. })), "{pinged:?}");
    assert!(started.elapsed() < SOON);

    world.server().come_back().await;
    until(async || available(store.media_by_id(media.id).await)).await;
    assert_eq!(store.next_job_due(JobQueue::Upkeep).await.unwrap(), None);
    enqueue(&store).await.unwrap();
    insert(&store, &other, &other_event).await;
    assert_eq!(store.media_by_id(other.id).await.unwrap(), Some(other));
    store.version().await.unwrap();
}

async fn those_who_watch_go_on_after_an_outage(world: World) {
    let (server, command) = (world.open().await, world.open().await);
    let cancel = CancellationToken::new();
    let watching = {
        let (server, cancel) = (server.clone(), cancel.clone());
        tokio::spawn(async move { server.watch_others(cancel).await })
    };
    let mut jobs = server.jobs_woken();
    jobs.notified().await;
    world.server().go_away().await;
    until(async || server.version().await.is_err().then_some(())).await;
    world.server().come_back().await;
    until(async || available(server.version().await)).await;

    let (media, event) = world.media(until(async || available(command.workspaces().await)).await[0].id);
    insert(&command, &media, &event).await;
    let mut jobs = server.jobs_woken();
    let generation = server.generation();
    until(async || (server.generation() != generation).then_some(())).await;
    tokio::time::timeout(SOON, jobs.notified()).await.unwrap();
    cancel.cancel();
    watching.await.unwrap();
}

async fn a_change_by_another_process_is_seen_at_once(world: World) {
    let (reader, writer) = (world.open().await, world.open().await);
    let workspace = workspace(&writer).await;
    for _ in 0..20 {
        let before = reader.version().await.unwrap();
        let (media, event) = world.media(workspace);
        insert(&writer, &media, &event).await;
        assert_ne!(reader.version().await.unwrap(), before);
    }
    // Other databases of the server commit too, so it may take some looks to find two that nothing came between.
    until(async || (reader.version().await.unwrap() == reader.version().await.unwrap()).then_some(())).await;
    assert_eq!(writer.workspaces().await.unwrap().len(), 2);
}

/// What a call answered, `None` while the database is not available. Any other error is wrong.
fn available<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(found) => Some(found),
        Err(Error::Unavailable { .. }) => None,
        Err(error) => panic!("{error:?}"),
    }
}
