//! Changes of another process are detected.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::support::{TestStore, insert, workspace};

suite!(change_poll_bumps_generation_and_wakes_waiters);

/// A limit against hangs.
const WAIT_MAX: Duration = Duration::from_secs(60);

async fn change_poll_bumps_generation_and_wakes_waiters(world: TestStore) {
    let (server, command) = (world.open().await, world.open().await);
    let cancel = CancellationToken::new();
    let watching = {
        let (server, cancel) = (server.clone(), cancel.clone());
        tokio::spawn(async move { server.poll_changes(cancel).await })
    };
    // The first look.
    let (mut jobs, mut deliveries) = (server.job_wake(), server.delivery_wake());
    tokio::time::timeout(WAIT_MAX, jobs.notified()).await.unwrap();
    deliveries.notified().await;

    let before = server.generation();
    let (media, event) = world.media(workspace(&command).await);
    insert(&command, &media, &event).await;
    tokio::time::timeout(WAIT_MAX, jobs.notified()).await.unwrap();
    tokio::time::timeout(WAIT_MAX, deliveries.notified()).await.unwrap();
    assert_ne!(server.generation(), before);
    assert_eq!(server.media_by_id(media.id).await.unwrap(), Some(media));

    cancel.cancel();
    tokio::time::timeout(WAIT_MAX, watching).await.unwrap().unwrap();
}
