//! The checks of `/readyz`.

use std::time::Duration;

use futures_util::future::BoxFuture;
use kinora_blob::Blob;
use kinora_engine::Confinement;
use kinora_jobs::DiskFullJobs;
use kinora_store::Store;
use kinora_web::health::{Check, Health, Problem};
use tokio::time::timeout;

use crate::confinement;

/// With less free disk space, uploads and databases begin to fail in unexpected ways.
pub(crate) const FREE_BYTES_MIN: u64 = 64 << 20;

/// What to do when the disk is full.
const FREE_SPACE: &str = "free disk space in the data folder";
/// What to do when the database cannot be reached.
const CHECK_DATABASE: &str = "check that the database runs and accepts connections";

/// Timeout of a check: a client of `/readyz` needs a fast result, so a slower part counts as failed.
pub(crate) const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

/// The parts of a running server that are checked.
pub(crate) struct ReadinessChecks {
    pub(crate) store: Store,
    pub(crate) blob: Blob,
    pub(crate) disk_full_jobs: DiskFullJobs,
    /// As measured at the start.
    pub(crate) confinement: Confinement,
}

impl Health for ReadinessChecks {
    fn checks(&self) -> BoxFuture<'_, Vec<Check>> {
        Box::pin(async {
            vec![
                Check { name: "database", problem: self.database().await, is_required: true },
                Check { name: "storage", problem: self.storage().await, is_required: true },
                Check {
                    name: "confinement",
                    problem: confinement::problem(&self.confinement),
                    is_required: false,
                },
            ]
        })
    }
}

impl ReadinessChecks {
    async fn database(&self) -> Option<Problem> {
        let (what, advice) = match timeout(CHECK_TIMEOUT, self.store.ping()).await {
            Ok(Ok(())) => return None,
            Ok(Err(kinora_store::Error::Full)) => ("the disk is full".to_owned(), FREE_SPACE),
            Ok(Err(error @ kinora_store::Error::Unavailable { .. })) => (error.to_string(), CHECK_DATABASE),
            Ok(Err(error)) => {
                let what = format!("the database cannot be used: {error}");
                return Some(Problem::new(what, "search the log of the server for the cause"));
            }
            Err(_) => ("the database does not respond".to_owned(), CHECK_DATABASE),
        };
        Some(Problem::new(format!("{what}; jobs wait and nothing is lost"), advice))
    }

    async fn storage(&self) -> Option<Problem> {
        let problem = storage(&self.blob).await;
        problem.or_else(|| {
            self.disk_full_jobs.is_any_waiting().then(|| {
                let what =
                    "the disk has too little space for the current downloads; jobs wait and nothing is lost";
                Problem::new(what, FREE_SPACE)
            })
        })
    }
}

/// The problem with the object store; `None` when it works.
pub(crate) async fn storage(blob: &Blob) -> Option<Problem> {
    timeout(CHECK_TIMEOUT, check_all(blob))
        .await
        .unwrap_or_else(|_| Some(Problem::new("the object store does not respond", advice(blob))))
}

async fn check_all(blob: &Blob) -> Option<Problem> {
    match blob.free_space().await {
        Ok(Some(free)) if free < FREE_BYTES_MIN => {
            let what = format!("only {} MiB are free; jobs wait and nothing is lost", free >> 20);
            return Some(Problem::new(what, FREE_SPACE));
        }
        Ok(_) => {}
        Err(error) => return Some(unusable(blob, &error)),
    }
    blob.ping().await.err().map(|error| unusable(blob, &error))
}

fn unusable(blob: &Blob, error: &kinora_blob::Error) -> Problem {
    Problem::new(format!("the object store cannot be used: {error}"), advice(blob))
}

/// What to do when the object store does not work.
fn advice(blob: &Blob) -> &'static str {
    if blob.is_shared() {
        "check the bucket, its address and its credentials with kinora storage check"
    } else {
        "check that the folder of the objects exists and that the server may write there"
    }
}
