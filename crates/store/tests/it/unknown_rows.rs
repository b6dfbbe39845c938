//! Rows that another version wrote, created with direct SQL.

use kinora_domain::EventKind;
use kinora_store::{JobKind, JobQueue, NewJob};

use crate::support::{TestStore, claim_jobs, insert, push, workspace, write};

suite!(unknown_job_fails_alone, unreadable_event_is_given_up_without_delaying_others,);

async fn unknown_job_fails_alone(world: TestStore) {
    let store = world.open().await;
    let now = world.now();
    let mut jobs = Vec::new();
    for _ in 0..3 {
        let new = NewJob::due_now(JobKind::Sweep, None, now);
        jobs.push(write(&store, async move |tx| tx.enqueue(new.clone()).await).await.unwrap());
    }
    world.edit(&format!("UPDATE job SET kind = 'from_the_future' WHERE id = '{}'", jobs[0])).await;
    world.edit(&format!("UPDATE job SET payload = 'no json' WHERE id = '{}'", jobs[1])).await;
    let claimed = claim_jobs(&world, &store, JobQueue::Maintenance, 9).await;
    assert_eq!(claimed.iter().map(|job| job.id).collect::<Vec<_>>(), [jobs[2]]);
    // They have failed, so they are not claimed again.
    world.free_leases(&store).await;
    assert_eq!(claim_jobs(&world, &store, JobQueue::Maintenance, 9).await.len(), 1);
}

async fn unreadable_event_is_given_up_without_delaying_others(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let (media, created) = world.media(workspace);
    insert(&store, &media, &created).await;
    push(&store, &media, world.now()).await;
    world.edit("UPDATE event SET facts = '{\"v\":2}' WHERE kind = 'video.media.created'").await;
    assert!(world.claim(&store, &webhook).await.is_empty());
    assert_eq!(world.claim(&store, &webhook).await[0].event.event.kind, EventKind::MediaDeleted(media.id));
}
