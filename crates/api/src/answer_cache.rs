//! Cached answers of the API.

use kinora_domain::{MediaId, WorkspaceId};
use kinora_store::Version;
use kinora_web::condition::Tagged;

/// Answers to `GET /on-demand/{mediaId}`, valid as long as nothing was written by anybody.
///
/// A client of several processes reads what it wrote, whichever of them it asks: each answer is kept under
/// the version of the database that it was made from (D-0029).
pub struct AnswerCache {
    media: moka::sync::Cache<(WorkspaceId, MediaId), (Version, Tagged)>,
}

impl Default for AnswerCache {
    fn default() -> Self {
        let media = moka::sync::Cache::builder()
            .max_capacity(Self::BYTES_MAX)
            .weigher(|_, (_, answer): &(Version, Tagged)| {
                u32::try_from(answer.size_bytes()).unwrap_or(u32::MAX)
            })
            .build();
        Self { media }
    }
}

impl AnswerCache {
    /// An answer has about 1.5 KiB.
    const BYTES_MAX: u64 = 16 << 20;

    pub(crate) fn get(&self, workspace: WorkspaceId, media: MediaId, version: &Version) -> Option<Tagged> {
        let (at, answer) = self.media.get(&(workspace, media))?;
        (at == *version).then_some(answer)
    }

    pub(crate) fn put(&self, workspace: WorkspaceId, media: MediaId, version: Version, answer: Tagged) {
        self.media.insert((workspace, media), (version, answer));
    }
}
