//! What this crate shows of media and does not know itself.

use futures_util::future::BoxFuture;
use kinora_domain::PresentationId;
use kinora_store::StoredEvent;
use serde_json::Value;

/// Facts from the indexes of media and the bodies of events. Other crates have both.
pub trait MediaDetails: Send + Sync {
    /// The numbers of segments of encoded renditions, in the order of their names. `None` for one that does
    /// not exist, and for all while the index cannot be read.
    fn segment_counts(
        &self,
        presentation: PresentationId,
        names: Vec<String>,
    ) -> BoxFuture<'_, Vec<Option<u32>>>;

    /// The body of an event as webhooks get it, without attempts and without a signed URL.
    fn event_body(&self, event: &StoredEvent) -> Value;
}
