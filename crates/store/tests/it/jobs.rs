//! Claims and leases of jobs.

use std::collections::HashSet;

use kinora_domain::{JobId, Timestamp, WorkspaceId};
use kinora_store::{
    ClaimJobs, ClaimedJob, DownloadProgress, DueWorkspace, Error, JobKind, JobQueue, NewJob, Priority, Store,
    Tx, WorkerId, WorkspaceLimit,
};

use crate::support::{SECOND, TestStore, insert, workspace, write};

suite!(
    jobs_come_by_priority_then_time_and_only_when_due,
    two_workers_never_get_the_same_job,
    expired_lease_can_be_claimed_by_another_worker,
    lost_lease_rejects_completion,
    lease_renewal_extends_active_leases_only,
    retried_job_is_claimed_again_finished_job_is_not,
    next_job_due_matches_claimable_time,
    new_job_wakes_waiting_workers,
    claim_takes_at_most_the_limit_per_workspace,
    rescheduled_download_keeps_its_progress,
);

sqlite_only!(restart_releases_all_leases);

postgres_only!(restart_keeps_leases_of_other_processes, concurrent_claims_do_not_block_each_other);

async fn jobs_come_by_priority_then_time_and_only_when_due(world: TestStore) {
    let store = world.open().await;
    let now = world.now();
    let late = enqueue(&store, now.plus_seconds(-1), Priority::Normal).await;
    let early = enqueue(&store, now.plus_seconds(-2), Priority::Normal).await;
    let low = enqueue(&store, now.plus_seconds(-9), Priority::Low).await;
    let high = enqueue(&store, now, Priority::High).await;
    let future = enqueue(&store, now.plus_micros(1), Priority::High).await;

    let owner = world.worker();
    assert!(claim(&world, &store, owner, JobQueue::Download, 9).await.is_empty());
    assert_eq!(ids(&claim(&world, &store, owner, JobQueue::Maintenance, 0).await), []);
    assert_eq!(ids(&claim(&world, &store, owner, JobQueue::Maintenance, 2).await), [high, early]);
    assert_eq!(ids(&claim(&world, &store, owner, JobQueue::Maintenance, 9).await), [late, low]);
    world.clock.advance(1);
    let claimed = claim(&world, &store, owner, JobQueue::Maintenance, 9).await;
    assert_eq!(
        claimed,
        [ClaimedJob {
            id: future,
            kind: JobKind::Sweep,
            workspace: None,
            attempt: 1,
            owner,
            created_at: now,
            run_at: now.plus_micros(1),
            priority: Priority::High,
            progress: None,
        }]
    );
}

async fn two_workers_never_get_the_same_job(world: TestStore) {
    const JOBS: usize = 60;
    let store = world.open().await;
    // A second process.
    let other = world.open().await;
    for _ in 0..JOBS {
        enqueue(&store, world.now(), Priority::Normal).await;
    }
    let work = async |store: &Store| {
        let mut all = Vec::new();
        loop {
            let claimed = claim(&world, store, world.worker(), JobQueue::Maintenance, 3).await;
            if claimed.is_empty() {
                return all;
            }
            all.extend(ids(&claimed));
        }
    };
    let (a, b, c) = tokio::join!(work(&store), work(&other), work(&store));
    let all = [a, b, c].concat();
    assert_eq!(all.len(), JOBS);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), JOBS);
}

async fn expired_lease_can_be_claimed_by_another_worker(world: TestStore) {
    let store = world.open().await;
    enqueue(&store, world.now(), Priority::Normal).await;
    let first = claim(&world, &store, world.worker(), JobQueue::Maintenance, 1).await;
    world.clock.advance(30 * SECOND - 1);
    assert!(claim(&world, &store, world.worker(), JobQueue::Maintenance, 1).await.is_empty());
    world.clock.advance(1);
    let second = claim(&world, &store, world.worker(), JobQueue::Maintenance, 1).await;
    assert_eq!(ids(&second), ids(&first));
    assert_eq!((first[0].attempt, second[0].attempt), (1, 2));
}

async fn lost_lease_rejects_completion(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    enqueue(&store, world.now(), Priority::Normal).await;
    let owner = world.worker();
    let lost = claim(&world, &store, owner, JobQueue::Maintenance, 1).await.remove(0);
    world.clock.advance(30 * SECOND);
    // The same worker, whose new claim does not renew the old lease.
    let current = claim(&world, &store, owner, JobQueue::Maintenance, 1).await.remove(0);

    let now = world.now();
    for end in 0..4 {
        let (job, media) = (lost.clone(), world.media(workspace).0);
        let id = media.id;
        let result = write(&store, async move |tx| {
            tx.insert_media(&media).await?;
            let ended = match end {
                0 => tx.complete_job(&job).await,
                1 => tx.retry_job(&job, now, "again").await,
                2 => tx.lock_job(&job).await,
                _ => tx.fail_job(&job, "no").await,
            };
            // Even if the closure ignores it.
            assert!(matches!(ended, Err(Error::LeaseLost)));
            Ok(())
        });
        assert!(matches!(result.await, Err(Error::LeaseLost)));
        assert_eq!(store.media_by_id(id).await.unwrap(), None);
    }
    let job = current.clone();
    write(&store, async move |tx| tx.lock_job(&job).await).await.unwrap();
    complete(&store, &current).await.unwrap();
    assert!(matches!(complete(&store, &current).await, Err(Error::LeaseLost)));
}

async fn lease_renewal_extends_active_leases_only(world: TestStore) {
    let store = world.open().await;
    enqueue(&store, world.now(), Priority::Normal).await;
    enqueue(&store, world.now(), Priority::Normal).await;
    let jobs = claim(&world, &store, world.worker(), JobQueue::Maintenance, 2).await;
    complete(&store, &jobs[1]).await.unwrap();
    world.clock.advance(20 * SECOND);
    let until = world.now().plus_seconds(30);
    let leases = jobs.iter().map(ClaimedJob::lease).collect();
    assert_eq!(store.renew_jobs(leases, until).await.unwrap(), [jobs[0].lease()]);
    world.clock.advance(20 * SECOND);
    assert!(claim(&world, &store, world.worker(), JobQueue::Maintenance, 2).await.is_empty());
    world.clock.advance(10 * SECOND);
    assert_eq!(claim(&world, &store, world.worker(), JobQueue::Maintenance, 2).await.len(), 1);
    assert_eq!(store.renew_jobs(vec![jobs[0].lease()], until).await.unwrap(), []);
}

async fn retried_job_is_claimed_again_finished_job_is_not(world: TestStore) {
    let store = world.open().await;
    for _ in 0..3 {
        enqueue(&store, world.now(), Priority::Normal).await;
    }
    let jobs = claim(&world, &store, world.worker(), JobQueue::Maintenance, 3).await;
    let at = world.now().plus_seconds(5);
    let ended = jobs.clone();
    write(&store, async move |tx| {
        tx.complete_job(&ended[0]).await?;
        tx.retry_job(&ended[1], at, "the receiver is away").await?;
        tx.fail_job(&ended[2], "it is no media").await
    })
    .await
    .unwrap();
    assert!(claim(&world, &store, world.worker(), JobQueue::Maintenance, 3).await.is_empty());
    world.clock.advance(60 * SECOND);
    let again = claim(&world, &store, world.worker(), JobQueue::Maintenance, 3).await;
    assert_eq!((ids(&again), again[0].attempt, again[0].run_at), (vec![jobs[1].id], 2, at));
}

async fn restart_releases_all_leases(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let (media, event) = world.media(workspace);
    insert(&store, &media, &event).await;
    enqueue(&store, world.now(), Priority::Normal).await;
    let job = claim(&world, &store, world.worker(), JobQueue::Maintenance, 1).await.remove(0);
    let delivery = world.claim(&store, &webhook).await.remove(0);
    assert!(world.claim(&store, &webhook).await.is_empty());
    drop(store);

    let store = world.open().await;
    store.release_leases().await.unwrap();
    assert!(matches!(complete(&store, &job).await, Err(Error::LeaseLost)));
    assert_eq!(ids(&claim(&world, &store, world.worker(), JobQueue::Maintenance, 1).await), [job.id]);
    assert_eq!(world.claim(&store, &webhook).await[0].id, delivery.id);
}

async fn restart_keeps_leases_of_other_processes(world: TestStore) {
    let (store, other) = (world.open().await, world.open().await);
    enqueue(&store, world.now(), Priority::Normal).await;
    let job = claim(&world, &store, world.worker(), JobQueue::Maintenance, 1).await.remove(0);
    other.release_leases().await.unwrap();
    assert!(claim(&world, &other, world.worker(), JobQueue::Maintenance, 1).await.is_empty());
    complete(&store, &job).await.unwrap();
}

async fn concurrent_claims_do_not_block_each_other(world: TestStore) {
    let store = world.open().await;
    let (locked, free) = (
        enqueue(&store, world.now(), Priority::Normal).await,
        enqueue(&store, world.now(), Priority::Normal).await,
    );
    // A worker that is just claiming the first one.
    let mut connection = world.server().connect().await;
    let mut taking = sqlx::Connection::begin(&mut connection).await.unwrap();
    let lock = sqlx::AssertSqlSafe(format!("SELECT id FROM job WHERE id = '{locked}' FOR UPDATE"));
    sqlx::query(lock).execute(&mut *taking).await.unwrap();
    assert_eq!(ids(&claim(&world, &store, world.worker(), JobQueue::Maintenance, 2).await), [free]);
    taking.rollback().await.unwrap();
    assert_eq!(ids(&claim(&world, &store, world.worker(), JobQueue::Maintenance, 2).await), [locked]);
}

async fn next_job_due_matches_claimable_time(world: TestStore) {
    let store = world.open().await;
    let now = world.now();
    let check = async |expected: Option<Timestamp>| {
        assert_eq!(store.next_job_due(JobQueue::Maintenance).await.unwrap(), expected);
    };
    check(None).await;
    enqueue(&store, now.plus_seconds(60), Priority::High).await;
    check(Some(now.plus_seconds(60))).await;
    enqueue(&store, now.plus_seconds(-60), Priority::Low).await;
    check(Some(now)).await;
    let job = claim(&world, &store, world.worker(), JobQueue::Maintenance, 9).await.remove(0);
    check(Some(now.plus_seconds(30))).await;
    complete(&store, &job).await.unwrap();
    check(Some(now.plus_seconds(60))).await;
    assert_eq!(store.next_job_due(JobQueue::Download).await.unwrap(), None);
}

async fn new_job_wakes_waiting_workers(world: TestStore) {
    let store = world.open().await;
    let (mut one, mut two) = (store.job_wake(), store.job_wake());
    enqueue(&store, world.now(), Priority::Normal).await;
    tokio::join!(one.notified(), two.notified());
    // Woken once only.
    assert!(futures_util::poll!(Box::pin(one.notified())).is_pending());
    store.wake_jobs();
    one.notified().await;
}

async fn claim_takes_at_most_the_limit_per_workspace(world: TestStore) {
    let store = world.open().await;
    let now = world.now();
    let mut workspaces: Vec<_> = (0..3).map(|_| WorkspaceId::new(now, world.random.as_ref())).collect();
    workspaces.sort();
    let mut made = Vec::new();
    for (workspace, jobs) in [(None, 1), (Some(workspaces[0]), 3), (Some(workspaces[1]), 1)] {
        let mut of_workspace = Vec::new();
        for n in 0..jobs {
            let job = NewJob {
                kind: JobKind::Sweep,
                workspace,
                run_at: now.plus_micros(n - 9),
                priority: Priority::Low,
            };
            of_workspace.push(write(&store, async move |tx| tx.enqueue(job.clone()).await).await.unwrap());
        }
        made.push(of_workspace);
    }
    // A job that is not due makes no workspace due; the highest priority of the due jobs is returned.
    for (workspace, run_at, priority) in [
        (workspaces[2], now.plus_seconds(1), Priority::Normal),
        (workspaces[1], now.plus_seconds(1), Priority::High),
        (workspaces[1], now, Priority::Normal),
    ] {
        let job = NewJob { kind: JobKind::Sweep, workspace: Some(workspace), run_at, priority };
        write(&store, async move |tx| tx.enqueue(job.clone()).await).await.unwrap();
    }
    let due = |workspace, priority| DueWorkspace { workspace, priority };
    assert_eq!(
        store.job_workspaces_due(JobQueue::Maintenance, now).await.unwrap(),
        [
            due(None, Priority::Low),
            due(Some(workspaces[0]), Priority::Low),
            due(Some(workspaces[1]), Priority::Normal)
        ]
    );
    assert_eq!(store.job_workspaces_due(JobQueue::Download, now).await.unwrap(), []);

    let shares = [(Some(workspaces[0]), 2), (None, 5), (Some(workspaces[2]), 5)];
    let shares = shares.map(|(workspace, limit)| WorkspaceLimit { workspace, limit }).to_vec();
    let (owner, queue, lease_until) = (world.worker(), JobQueue::Maintenance, now.plus_seconds(30));
    let claimed = store
        .claim_jobs(ClaimJobs { owner, queue, workspace_limits: shares, now, lease_until })
        .await
        .unwrap();
    assert_eq!(ids(&claimed), [made[1][0], made[1][1], made[0][0]]);
    assert_eq!(claimed[0].workspace, Some(workspaces[0]));
    assert_eq!(
        store.job_workspaces_due(JobQueue::Maintenance, now).await.unwrap(),
        [due(Some(workspaces[0]), Priority::Low), due(Some(workspaces[1]), Priority::Normal)]
    );
}

async fn rescheduled_download_keeps_its_progress(world: TestStore) {
    let store = world.open().await;
    let now = world.now();
    enqueue(&store, now, Priority::Normal).await;
    let job = claim(&world, &store, world.worker(), JobQueue::Maintenance, 1).await.remove(0);
    let progress = DownloadProgress { failures: 3, time_left: std::time::Duration::from_secs(3600) };
    let later = now.plus_seconds(9);
    let put_back = job.clone();
    let go_on = async move |tx: &mut Tx| tx.reschedule_download(&put_back, later, progress).await;
    write(&store, go_on).await.unwrap();
    assert!(claim(&world, &store, world.worker(), JobQueue::Maintenance, 1).await.is_empty());
    world.clock.advance(9 * SECOND);
    let again = claim(&world, &store, world.worker(), JobQueue::Maintenance, 1).await.remove(0);
    assert_eq!((again.id, again.attempt, again.progress), (job.id, 1, Some(progress)));
    let lost = async move |tx: &mut Tx| tx.reschedule_download(&job, later, progress).await;
    assert!(matches!(write(&store, lost).await, Err(Error::LeaseLost)));
    // After an attempt that failed by a fault of our own, the download has all its tries again: an outage
    // may last longer than these.
    let failed = again.clone();
    write(&store, async move |tx| tx.retry_job(&failed, later, "no").await).await.unwrap();
    let again = claim(&world, &store, world.worker(), JobQueue::Maintenance, 1).await.remove(0);
    assert_eq!((again.attempt, again.progress), (2, None));
}

async fn enqueue(store: &Store, run_at: Timestamp, priority: Priority) -> JobId {
    let job = NewJob { kind: JobKind::Sweep, workspace: None, run_at, priority };
    write(store, async move |tx| tx.enqueue(job.clone()).await).await.unwrap()
}

async fn claim(
    world: &TestStore,
    store: &Store,
    owner: WorkerId,
    queue: JobQueue,
    limit: u32,
) -> Vec<ClaimedJob> {
    let (now, shares) = (world.now(), vec![WorkspaceLimit { workspace: None, limit }]);
    store
        .claim_jobs(ClaimJobs {
            owner,
            queue,
            workspace_limits: shares,
            now,
            lease_until: now.plus_seconds(30),
        })
        .await
        .unwrap()
}

async fn complete(store: &Store, job: &ClaimedJob) -> Result<(), Error> {
    let job = job.clone();
    write(store, async move |tx| tx.complete_job(&job).await).await
}

fn ids(jobs: &[ClaimedJob]) -> Vec<JobId> {
    jobs.iter().map(|job| job.id).collect()
}
