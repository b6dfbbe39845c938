//! What `/readyz` looks at.

use futures_util::future::BoxFuture;
use kinora_blob::Blob;
use kinora_http::{Check, Health};
use kinora_jobs::Room;
use kinora_store::Store;

/// Below this much room uploads and databases begin to fail in odd places.
pub(crate) const FREE_BYTES_MIN: u64 = 64 << 20;

/// The parts of a running server.
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) blob: Blob,
    pub(crate) room: Room,
}

impl Health for Parts {
    fn checks(&self) -> BoxFuture<'_, Vec<Check>> {
        Box::pin(async {
            vec![
                Check { name: "database", problem: self.database().await },
                Check { name: "storage", problem: self.storage().await },
            ]
        })
    }
}

impl Parts {
    async fn database(&self) -> Option<String> {
        match self.store.ping().await {
            Ok(()) => None,
            Err(kinora_store::Error::Full) => {
                Some("the disk is full; jobs wait, nothing is lost: make room in the data folder".to_owned())
            }
            Err(error) => Some(format!("the database cannot be used: {error}")),
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
    match blob.free_space().await {
        Ok(Some(free)) if free < FREE_BYTES_MIN => Some(format!(
            "only {} MiB are free; jobs wait, nothing is lost: make room in the data folder",
            free >> 20
        )),
        Ok(_) => None,
        Err(error) => Some(format!("the object store cannot be used: {error}")),
    }
}
