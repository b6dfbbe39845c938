//! The next start on a folder: its lock proves that the owners of all leases have ended.

use kinora_domain::Clock as _;
use kinora_store::JobQueue;

use crate::fault::stop::{check_completes, half_downloaded};

#[tokio::test]
async fn restart_reclaims_jobs_of_killed_server_before_lease_end() {
    let (mut app, clock, id) = half_downloaded().await;
    app.kill().await;
    let lease_end = app.store.next_job_due(JobQueue::Download).await.unwrap();
    assert!(lease_end.is_some_and(|end| clock.now() < end), "the lease has not expired");
    app.restart().await;
    check_completes(&app, &clock, &id).await;
}
