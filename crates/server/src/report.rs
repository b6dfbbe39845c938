//! The state of this process, for the page Server of the dashboard.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use kinora_blob::Blob;
use kinora_dashboard::{DatabaseKind, ServerReport, ServerStatus, StorageKind};
use kinora_domain::Timestamp;
use kinora_web::health::Health;
use kinora_web::roles::Roles;
use tokio::time::timeout;

use crate::readiness::CHECK_TIMEOUT;

/// What is known about this process.
pub(crate) struct Report {
    pub(crate) health: Arc<dyn Health>,
    pub(crate) blob: Blob,
    pub(crate) started_at: Timestamp,
    pub(crate) roles: Roles,
    pub(crate) database: DatabaseKind,
    pub(crate) schema: i64,
    pub(crate) engine_version: String,
}

impl ServerReport for Report {
    fn status(&self) -> BoxFuture<'_, ServerStatus> {
        Box::pin(async {
            ServerStatus {
                version: env!("CARGO_PKG_VERSION"),
                started_at: self.started_at,
                roles: self.roles,
                checks: self.health.checks().await,
                database: self.database,
                schema: self.schema,
                storage: self.storage().await,
                engine_version: self.engine_version.clone(),
            }
        })
    }
}

impl Report {
    /// The object store. A volume that cannot be read has no known space; the check names the problem.
    async fn storage(&self) -> StorageKind {
        if self.blob.is_shared() {
            return StorageKind::S3;
        }
        let space = timeout(CHECK_TIMEOUT, self.blob.disk_space()).await.ok();
        let space = space.and_then(Result::ok).flatten();
        StorageKind::Folder {
            free_bytes: space.map(|space| space.free_bytes),
            total_bytes: space.map(|space| space.total_bytes),
        }
    }
}
