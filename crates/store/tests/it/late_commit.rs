//! Transactions that commit in another order than they began: a reader in between misses none.

use std::sync::Arc;

use kinora_domain::{Event, Media};
use kinora_store::{Error, JobQueue, Page, Store};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::support::{SECOND, TestStore, claim_jobs, workspace, write};

postgres_only!(
    late_commit_keeps_list_order,
    delivery_committed_late_is_claimed,
    job_committed_late_is_claimed,
);

async fn late_commit_keeps_list_order(world: TestStore) {
    let scene = LateCommit::begin(&world).await;
    let page = |number| Page { limit: 1, number, newest_first: false };
    let list = async |number| scene.store.media_page(scene.early.workspace, page(number)).await.unwrap();
    assert_eq!((list(1).await.items, list(1).await.total), (vec![scene.late_begun.clone()], 1));
    scene.finish_early().await;
    assert_eq!((list(1).await.items, list(1).await.total), (vec![scene.early.clone()], 2));
    assert_eq!(list(2).await.items, std::slice::from_ref(&scene.late_begun));
}

async fn delivery_committed_late_is_claimed(world: TestStore) {
    let scene = LateCommit::begin(&world).await;
    let webhook = scene.store.webhooks(None).await.unwrap().remove(0);
    let claim = async || {
        let claimed = world.claim(&scene.store, &webhook).await;
        claimed.into_iter().map(|delivery| delivery.event.event).collect::<Vec<_>>()
    };
    assert_eq!(claim().await, std::slice::from_ref(&scene.late_begun_event));
    scene.finish_early().await;
    assert_eq!(claim().await, std::slice::from_ref(&scene.early_event));
    assert_eq!(claim().await, []);
}

async fn job_committed_late_is_claimed(world: TestStore) {
    let scene = LateCommit::begin(&world).await;
    let claim = async || claim_jobs(&world, &scene.store, JobQueue::Download, 9).await.len();
    assert_eq!((claim().await, claim().await), (1, 0));
    scene.finish_early().await;
    assert_eq!((claim().await, claim().await), (1, 0));
}

/// A media whose transaction began first and is still open, and a later one that is committed.
struct LateCommit {
    store: Store,
    early: Media,
    early_event: Event,
    late_begun: Media,
    late_begun_event: Event,
    release: Arc<Notify>,
    committing: std::sync::Mutex<Option<JoinHandle<Result<(), Error>>>>,
}

impl LateCommit {
    async fn begin(world: &TestStore) -> Self {
        let store = world.open().await;
        let workspace = workspace(&store).await;
        world.webhook(&store, workspace).await;
        let (early, early_event) = world.media(workspace);
        world.clock.advance(SECOND);
        let (late_begun, late_begun_event) = world.media(workspace);

        let (release, began) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let committing = {
            let (store, media, event) = (store.clone(), early.clone(), early_event.clone());
            let (release, began) = (release.clone(), began.clone());
            tokio::spawn(async move {
                write(&store, async move |tx| {
                    // Its numbers are assigned now, before those of the other.
                    tx.push_event(&event).await?;
                    began.notify_one();
                    release.notified().await;
                    // A retry does not wait.
                    release.notify_one();
                    tx.insert_media(&media).await?;
                    let kind = kinora_store::JobKind::Download { media: media.id };
                    tx.enqueue(kinora_store::NewJob::due_now(kind, media.workspace, event.at)).await.map(drop)
                })
                .await
            })
        };
        began.notified().await;
        let (media, event) = (late_begun.clone(), late_begun_event.clone());
        write(&store, async move |tx| tx.register_media(&media, &event, event.at).await).await.unwrap();
        let committing = std::sync::Mutex::new(Some(committing));
        Self { store, early, early_event, late_begun, late_begun_event, release, committing }
    }

    async fn finish_early(&self) {
        let committing = self.committing.lock().unwrap().take().expect("finished once");
        self.release.notify_one();
        committing.await.unwrap().unwrap();
    }
}
