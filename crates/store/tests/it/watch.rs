//! What another process changes is seen.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::support::{World, insert, workspace};

suite!(a_change_by_another_process_changes_the_generation_and_wakes_everybody);

/// A limit against hangs.
const PATIENCE: Duration = Duration::from_secs(60);

async fn a_change_by_another_process_changes_the_generation_and_wakes_everybody(world: World) {
    let (server, command) = (world.open().await, world.open().await);
    let cancel = CancellationToken::new();
    let watching = {
        let (server, cancel) = (server.clone(), cancel.clone());
        tokio::spawn(async move { server.watch_others(cancel).await })
    };
    // Its first look.
    let (mut jobs, mut deliveries) = (server.jobs_woken(), server.deliveries_woken());
    tokio::time::timeout(PATIENCE, jobs.notified()).await.unwrap();
    deliveries.notified().await;

    let before = server.generation();
    let (media, event) = world.media(workspace(&command).await);
    insert(&command, &media, &event).await;
    tokio::time::timeout(PATIENCE, jobs.notified()).await.unwrap();
    tokio::time::timeout(PATIENCE, deliveries.notified()).await.unwrap();
    assert_ne!(server.generation(), before);
    assert_eq!(server.media_by_id(media.id).await.unwrap(), Some(media));

    cancel.cancel();
    tokio::time::timeout(PATIENCE, watching).await.unwrap().unwrap();
}
