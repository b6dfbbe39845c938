//! The checks of `/readyz`.

use std::time::Duration;

use futures_util::future::BoxFuture;
use kinora_blob::Blob;
use kinora_engine::Confinement;
use kinora_jobs::DiskFullJobs;
use kinora_store::Store;
use kinora_web::health::{Check, Health};
use tokio::time::timeout;

use crate::confinement;

/// With less free disk space, uploads and databases begin to fail in unexpected ways.
pub(crate) const FREE_BYTES_MIN: u64 = 64 << 20;

/// Timeout of a check: a client of `/readyz` needs a fast result, so a slower part counts as failed.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);

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
    async fn database(&self) -> Option<String> {
        match timeout(CHECK_TIMEOUT, self.store.ping()).await {
            Ok(Ok(())) => None,
            Ok(Err(kinora_store::Error::Full)) => Some(
                "the disk is full; jobs wait and nothing is lost; free disk space in the data folder"
                    .to_owned(),
            ),
            Ok(Err(error @ kinora_store::Error::Unavailable { .. })) => {
                Some(format!("{error}; jobs wait and nothing is lost"))
            }
            Ok(Err(error)) => Some(format!("the database cannot be used: {error}")),
            Err(_) => Some("the database does not respond; jobs wait and nothing is lost".to_owned()),
        }
    }

    async fn storage(&self) -> Option<String> {
        let problem = storage(&self.blob).await;
        problem.or_else(|| {
            self.disk_full_jobs.is_any_waiting().then(|| {
                "the disk has too little space for the current downloads; jobs wait and nothing is lost; free disk space in the data folder"
                    .to_owned()
            })
        })
    }
}

/// The problem with the object store; `None` when it works.
pub(crate) async fn storage(blob: &Blob) -> Option<String> {
    timeout(CHECK_TIMEOUT, check_all(blob))
        .await
        .unwrap_or_else(|_| Some("the object store does not respond".to_owned()))
}

async fn check_all(blob: &Blob) -> Option<String> {
    match blob.free_space().await {
        Ok(Some(free)) if free < FREE_BYTES_MIN => {
            return Some(format!(
                "only {} MiB are free; jobs wait and nothing is lost; free disk space in the data folder",
                free >> 20
            ));
        }
        Ok(_) => {}
        Err(error) => return Some(unusable(&error)),
    }
    blob.ping().await.err().map(|error| unusable(&error))
}

fn unusable(error: &kinora_blob::Error) -> String {
    format!("the object store cannot be used: {error}")
}
