//! A database outage: every call ends, and nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use kinora_store::{
    ClaimJobs, Error, JobKind, JobQueue, NewJob, Page, Store, StoreOptions, Tx, WorkspaceLimit,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::proxy::Proxy;
use crate::support::{TestStore, insert, until, workspace, write};

postgres_only!(
    terminated_connections_are_replaced,
    transaction_is_retried_after_connection_loss,
    unresponsive_connections_time_out,
    store_closes_despite_hanging_write,
    calls_are_unavailable_during_an_outage_and_succeed_after_it,
    change_poll_continues_after_outage,
    change_by_another_process_is_visible_immediately,
);

/// A limit against hangs. A silent connection stays silent forever, so a call that ends was ended by a
/// timeout of the store.
const ENDS_WITHIN: Duration = Duration::from_secs(60);

async fn terminated_connections_are_replaced(world: TestStore) {
    let store = world.open().await;
    let (media, event) = world.media(workspace(&store).await);
    insert(&store, &media, &event).await;
    store.version().await.unwrap();
    assert!(world.server().end_connections().await >= 3);
    // The pools detect it one connection at a time.
    until(async || available(store.media_by_id(media.id).await)).await;
    until(async || available(store.version().await)).await;
    let (other, event) = world.media(media.workspace);
    insert(&store, &other, &event).await;
    assert_eq!(store.media_by_id(other.id).await.unwrap(), Some(other));
}

async fn transaction_is_retried_after_connection_loss(world: TestStore) {
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
    assert_eq!((page.items, page.total), (vec![media], 1));
}

async fn calls_are_unavailable_during_an_outage_and_succeed_after_it(world: TestStore) {
    let store = world.open().await;
    let (media, event) = world.media(workspace(&store).await);
    insert(&store, &media, &event).await;
    world.server().stop().await;

    let (other, other_event) = world.media(media.workspace);
    let enqueue = async |store: &Store| {
        let job = NewJob::due_now(JobKind::Sweep, None, other_event.at);
        write(store, async move |tx| tx.enqueue(job.clone()).await).await.map(drop)
    };
    let calls =
        async { tokio::join!(store.media_by_id(media.id), enqueue(&store), store.version(), store.ping()) };
    let (read, written, version, pinged) =
        tokio::time::timeout(ENDS_WITHIN, Box::pin(calls)).await.expect("every call ends");
    assert!(matches!(read, Err(Error::Unavailable { .. })), "{read:?}");
    assert!(matches!(written, Err(Error::Unavailable { .. })), "{written:?}");
    assert!(matches!(version, Err(Error::Unavailable { .. })), "{version:?}");
    assert!(matches!(pinged, Err(Error::Unavailable { .. })), "{pinged:?}");

    world.server().resume().await;
    until(async || available(store.media_by_id(media.id).await)).await;
    assert_eq!(store.next_job_due(JobQueue::Maintenance).await.unwrap(), None);
    enqueue(&store).await.unwrap();
    insert(&store, &other, &other_event).await;
    assert_eq!(store.media_by_id(other.id).await.unwrap(), Some(other));
    store.version().await.unwrap();
}

async fn unresponsive_connections_time_out(world: TestStore) {
    let proxy = Proxy::start(&world.server().url()).await;
    let store = Store::open(StoreOptions { database: proxy.location(), ..world.options() }).await.unwrap();
    let workspace = workspace(&store).await;
    let page = Page { limit: 9, number: 1, newest_first: true };
    let read = async || store.media_by_id(world.media(workspace).0.id).await.map(drop);
    let list = async || store.media_page(workspace, page).await.map(drop);
    let mark = async || store.version().await.map(drop);
    let claim = async || {
        let now = world.now();
        let (owner, queue) = (world.worker(), JobQueue::Maintenance);
        let shares = vec![WorkspaceLimit { workspace: None, limit: 1 }];
        let claim =
            ClaimJobs { owner, queue, workspace_limits: shares, now, lease_until: now.plus_seconds(30) };
        store.claim_jobs(claim).await.map(drop)
    };
    let save = async || {
        let (media, event) = world.media(workspace);
        let inserted = async move |tx: &mut Tx| {
            tx.insert_media(&media).await?;
            tx.push_event(&event).await.map(drop)
        };
        write(&store, inserted).await
    };
    // Several connections of each kind, in use until just now: these get no liveness check.
    let all = || {
        Box::pin(async {
            let reads = async { <[_; 5]>::from(tokio::join!(read(), read(), list(), list(), mark())) };
            let writes = async { <[_; 5]>::from(tokio::join!(claim(), save(), save(), save(), save())) };
            tokio::join!(reads, writes)
        })
    };
    let saved = async || store.media_page(workspace, page).await.map(|page| page.total);
    let (reads, writes) = all().await;
    reads.into_iter().chain(writes).for_each(Result::unwrap);
    assert_eq!(saved().await.unwrap(), 4);

    assert!(proxy.stall() >= 4);
    let (reads, [claim, saves @ ..]) =
        tokio::time::timeout(ENDS_WITHIN, all()).await.expect("every call ends");
    for answer in reads.into_iter().chain([claim]) {
        available(answer);
    }
    let saved_count = saves.into_iter().filter_map(available).count();
    let later = until(async || available(saved().await)).await;
    assert_eq!(later, 4 + saved_count as u64);

    // No silent connection is left in a pool.
    let (reads, writes) = all().await;
    reads.into_iter().chain(writes).for_each(Result::unwrap);

    proxy.stall();
    let ends = async { tokio::join!(save(), store.close()) };
    let (answer, ()) = tokio::time::timeout(ENDS_WITHIN, ends).await.expect("the store ends");
    assert!(matches!(answer, Ok(()) | Err(Error::Unavailable { .. } | Error::Stopped)), "{answer:?}");
}

async fn store_closes_despite_hanging_write(world: TestStore) {
    let store = world.open().await;
    let media = world.media(workspace(&store).await).0;
    let begun = Arc::new(Notify::new());
    let writing = {
        let (store, saved, begun) = (store.clone(), media.clone(), begun.clone());
        tokio::spawn(async move {
            write(&store, async move |tx| {
                tx.insert_media(&saved).await?;
                begun.notify_one();
                std::future::pending().await
            })
            .await
        })
    };
    begun.notified().await;
    tokio::time::timeout(ENDS_WITHIN, store.close()).await.expect("the store ends");
    let answer: Result<(), Error> = writing.await.unwrap();
    assert!(matches!(answer, Err(Error::Stopped)), "{answer:?}");
    assert_eq!(world.open().await.media_by_id(media.id).await.unwrap(), None);
}

async fn change_poll_continues_after_outage(world: TestStore) {
    let (server, command) = (world.open().await, world.open().await);
    let cancel = CancellationToken::new();
    let watching = {
        let (server, cancel) = (server.clone(), cancel.clone());
        tokio::spawn(async move { server.poll_changes(cancel).await })
    };
    let mut jobs = server.job_wake();
    jobs.notified().await;
    world.server().stop().await;
    until(async || server.version().await.is_err().then_some(())).await;
    world.server().resume().await;
    until(async || available(server.version().await)).await;

    let (media, event) = world.media(until(async || available(command.workspaces().await)).await[0].id);
    insert(&command, &media, &event).await;
    let mut jobs = server.job_wake();
    let generation = server.generation();
    until(async || (server.generation() != generation).then_some(())).await;
    tokio::time::timeout(ENDS_WITHIN, jobs.notified()).await.unwrap();
    cancel.cancel();
    watching.await.unwrap();
}

async fn change_by_another_process_is_visible_immediately(world: TestStore) {
    let (reader, writer) = (world.open().await, world.open().await);
    let workspace = workspace(&writer).await;
    for _ in 0..20 {
        let before = reader.version().await.unwrap();
        let (media, event) = world.media(workspace);
        insert(&writer, &media, &event).await;
        assert_ne!(reader.version().await.unwrap(), before);
    }
    // Other databases of the server commit too, so it may take several looks to find two without a commit
    // between.
    until(async || (reader.version().await.unwrap() == reader.version().await.unwrap()).then_some(())).await;
    assert_eq!(writer.workspaces().await.unwrap().len(), 2);
}

/// The result of a call, `None` while the database is not available. Any other error fails the test.
fn available<T>(result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(found) => Some(found),
        Err(Error::Unavailable { .. }) => None,
        Err(error) => panic!("{error:?}"),
    }
}
