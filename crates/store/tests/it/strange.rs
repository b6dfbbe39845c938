//! Rows that another version wrote. They are written behind the store's back.

use kinora_domain::EventKind;
use kinora_store::{JobKind, JobQueue, NewJob};

use crate::support::{World, claim_jobs, insert, push, workspace, write};

suite!(
    a_job_that_is_not_known_fails_and_costs_no_other,
    an_event_that_cannot_be_read_is_given_up_and_holds_nothing_back,
);

async fn a_job_that_is_not_known_fails_and_costs_no_other(world: World) {
    let store = world.open().await;
    let now = world.now();
    let mut jobs = Vec::new();
    for _ in 0..3 {
        let new = NewJob::soon(JobKind::Sweep, None, now);
        jobs.push(write(&store, async move |tx| tx.enqueue(new.clone()).await).await.unwrap());
    }
    world.edit(&format!("UPDATE job SET kind = 'from_the_future' WHERE id = '{}'", jobs[0])).await;
    world.edit(&format!("UPDATE job SET payload = 'no json' WHERE id = '{}'", jobs[1])).await;
    let claimed = claim_jobs(&world, &store, JobQueue::Upkeep, 9).await;
    assert_eq!(claimed.iter().map(|job| job.id).collect::<Vec<_>>(), [jobs[2]]);
    // They have failed: they do not come again.
    world.free_leases(&store).await;
    assert_eq!(claim_jobs(&world, &store, JobQueue::Upkeep, 9).await.len(), 1);
}

async fn an_event_that_cannot_be_read_is_given_up_and_holds_nothing_back(world: World) {
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
