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
            .weigher(|_, (_, response): &(DataVersion, TaggedResponse)| {
                u32::try_from(response.size_bytes()).unwrap_or(u32::MAX)
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
        let (cached_version, response) = self.media.get(&(workspace, media))?;
        (cached_version == *version).then_some(response)
    }

    pub(crate) fn put(
        &self,
        workspace: WorkspaceId,
        media: MediaId,
        version: DataVersion,
        response: TaggedResponse,
    ) {
        self.media.insert((workspace, media), (version, response));
    }
}
