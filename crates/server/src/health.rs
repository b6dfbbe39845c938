//! What `/readyz` looks at.

use std::time::Duration;

use futures_util::future::BoxFuture;
use kinora_blob::Blob;
use kinora_engine::Confinement;
use kinora_jobs::Room;
use kinora_store::Store;
use kinora_web::operate::{Check, Health};
use tokio::time::timeout;

use crate::confinement;

/// Below this much room uploads and databases begin to fail in odd places.
pub(crate) const FREE_BYTES_MIN: u64 = 64 << 20;

/// Whoever asks wants to know now: a part that has not answered by then does not.
const ANSWER: Duration = Duration::from_secs(5);

/// The parts of a running server.
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) blob: Blob,
    pub(crate) room: Room,
    /// As it was measured at the start.
    pub(crate) confinement: Confinement,
}

impl Health for Parts {
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

impl Parts {
    async fn database(&self) -> Option<String> {
        match timeout(ANSWER, self.store.ping()).await {
            Ok(Ok(())) => None,
            Ok(Err(kinora_store::Error::Full)) => {
                Some("the disk is full; jobs wait, nothing is lost: make room in the data folder".to_owned())
            }
            Ok(Err(error @ kinora_store::Error::Unavailable { .. })) => {
                Some(format!("{error}; jobs wait, nothing is lost"))
            }
            Ok(Err(error)) => Some(format!("the database cannot be used: {error}")),
            Err(_) => Some("the database does not answer; jobs wait, nothing is lost".to_owned()),
        }
    }

    async fn storage(&self) -> Option<String> {
        let problem = storage(&self.blob).await;
        problem.or_else(|| {
            self.room.is_wanted().then(|| {
                "the disk has no room for what is being fetched; jobs wait, nothing is lost: make room in the data folder"
                    .to_owned()
            })
        })
    }
}

/// What is wrong with the store of objects.
pub(crate) async fn storage(blob: &Blob) -> Option<String> {
    timeout(ANSWER, look(blob)).await.unwrap_or_else(|_| Some("the object store does not answer".to_owned()))
}

async fn look(blob: &Blob) -> Option<String> {
    match blob.free_space().await {
        Ok(Some(free)) if free < FREE_BYTES_MIN => {
            return Some(format!(
                "only {} MiB are free; jobs wait, nothing is lost: make room in the data folder",
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
