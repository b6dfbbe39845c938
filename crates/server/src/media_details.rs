//! Facts about media for the dashboard, from the packager and the bodies of events.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use kinora_dashboard::MediaDetails;
use kinora_domain::PresentationId;
use kinora_packager::{Packager, Rendition};
use kinora_store::StoredEvent;
use kinora_web::base_urls::BaseUrls;
use serde_json::Value;

/// The sources of these facts.
pub(crate) struct Details {
    pub(crate) packager: Packager,
    pub(crate) base_urls: Arc<BaseUrls>,
}

impl MediaDetails for Details {
    fn segment_counts(
        &self,
        presentation: PresentationId,
        names: Vec<String>,
    ) -> BoxFuture<'_, Vec<Option<u32>>> {
        Box::pin(async move {
            let packaged = match self.packager.packaged(presentation).await {
                Ok(packaged) => packaged,
                Err(error) => {
                    tracing::warn!(error = %error, "segments could not be counted: the index is not readable");
                    return vec![None; names.len()];
                }
            };
            let count = |name: &String| packaged.encoded_segment_count(Rendition::from_text(name)?);
            names.iter().map(count).collect()
        })
    }

    fn event_body(&self, event: &StoredEvent) -> Value {
        kinora_jobs::event_body(event, &self.base_urls.images)
    }
}
