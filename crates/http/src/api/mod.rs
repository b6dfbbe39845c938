//! The JSON API: one folder a resource, one file an operation.

mod on_demand;
mod view;

use axum::Router;
use axum::routing::{any, get};
use bytes::Bytes;
use kinora_domain::{MediaId, WorkspaceId};

use crate::app::App;
use crate::error::ApiError;

/// Paths of the contract that are not served yet, and are no media ids (contract 2.1, routing traps).
const NOT_YET: [&str; 4] =
    ["/on-demand/upload", "/on-demand/uploads", "/on-demand/playlists", "/on-demand/drm-configurations"];

/// Every operation, below a prefix. A nested router would say the same, and take its prefix off each request anew.
pub(crate) fn routes(prefix: &str) -> Router<App> {
    let router = NOT_YET.iter().fold(Router::new(), |router, path| {
        router.route(&format!("{prefix}{path}"), any(async || ApiError::no_such_path()))
    });
    router
        .route(&format!("{prefix}/on-demand"), get(on_demand::list).post(on_demand::create))
        .route(&format!("{prefix}/on-demand/{{mediaId}}"), get(on_demand::read).delete(on_demand::delete))
}

/// Answers to `GET /on-demand/{mediaId}`, valid as long as nothing was written.
///
/// Every commit moves the store's generation, also one by another process (within 0.5 s), so an answer is never older than that.
pub(crate) struct AnswerCache {
    media: moka::sync::Cache<(WorkspaceId, MediaId), (u64, Bytes)>,
}

impl AnswerCache {
    /// An answer has about 1.5 KiB.
    const BYTES_MAX: u64 = 16 << 20;

    pub(crate) fn new() -> Self {
        let media = moka::sync::Cache::builder()
            .max_capacity(Self::BYTES_MAX)
            .weigher(|_, (_, answer): &(u64, Bytes)| u32::try_from(answer.len()).unwrap_or(u32::MAX))
            .build();
        Self { media }
    }

    fn get(&self, workspace: WorkspaceId, media: MediaId, generation: u64) -> Option<Bytes> {
        let (at, answer) = self.media.get(&(workspace, media))?;
        (at == generation).then_some(answer)
    }

    fn put(&self, workspace: WorkspaceId, media: MediaId, generation: u64, answer: Bytes) {
        self.media.insert((workspace, media), (generation, answer));
    }
}
