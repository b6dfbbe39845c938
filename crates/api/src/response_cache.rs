//! Cached responses of the API.

use kinora_domain::{MediaId, WorkspaceId};
use kinora_store::DataVersion;
use kinora_web::preconditions::TaggedResponse;

/// Caches responses to `GET /on-demand/{mediaId}`, valid until any process writes.
///
/// A client reads its own writes from every process: each response is cached under the version of the
/// database that it was made from (D-0029).
pub struct ResponseCache {
    media: moka::sync::Cache<(WorkspaceId, MediaId), (DataVersion, TaggedResponse)>,
}

impl Default for ResponseCache {
    fn default() -> Self {
        let media = moka::sync::Cache::builder()
            .max_capacity(Self::BYTES_MAX)
            .weigher(|_, (_, answer): &(DataVersion, TaggedResponse)| {
                u32::try_from(answer.size_bytes()).unwrap_or(u32::MAX)
            })
            .build();
        Self { media }
    }
}

impl ResponseCache {
    /// A response has about 1.5 KiB.
    const BYTES_MAX: u64 = 16 << 20;

    pub(crate) fn get(
        &self,
        workspace: WorkspaceId,
        media: MediaId,
        version: &DataVersion,
    ) -> Option<TaggedResponse> {
        let (at, answer) = self.media.get(&(workspace, media))?;
        (at == *version).then_some(answer)
    }

    pub(crate) fn put(
        &self,
        workspace: WorkspaceId,
        media: MediaId,
        version: DataVersion,
        answer: TaggedResponse,
    ) {
        self.media.insert((workspace, media), (version, answer));
    }
}
