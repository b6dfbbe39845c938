//! The next start on a folder: its lock proves that whoever held a lease is no more.

use kinora_domain::Clock as _;
use kinora_store::JobQueue;

use crate::fault::stop::{ends_well, half_way};

#[tokio::test]
async fn the_next_start_takes_back_the_work_of_a_killed_server_without_waiting_for_its_lease() {
    let (mut app, clock, id) = half_way().await;
    app.kill().await;
    let lease_end = app.store.next_job_due(JobQueue::Download).await.unwrap();
    assert!(lease_end.is_some_and(|end| clock.now() < end), "nobody else may have it yet");
    app.restart().await;
    ends_well(&app, &clock, &id).await;
}
