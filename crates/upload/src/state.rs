//! State of the routes.

use std::ops::Deref;
use std::sync::Arc;

use kinora_domain::Clock;
use kinora_intake::Intake;
use kinora_store::Store;
use kinora_web::assets::Assets;
use kinora_web::base_urls::BaseUrls;

/// State of the upload routes. Cheap to clone.
#[derive(Clone)]
pub struct UploadRouterState(Arc<UploadRouterParts>);

/// The parts of [`UploadRouterState`].
pub struct UploadRouterParts {
    /// The database.
    pub store: Store,
    /// Receives uploads.
    pub intake: Intake,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// Where clients and players reach this server.
    pub addresses: Arc<BaseUrls>,
    /// Pages and their files.
    pub assets: Arc<dyn Assets>,
}

impl UploadRouterState {
    /// The state with these parts.
    pub fn new(parts: UploadRouterParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for UploadRouterState {
    type Target = UploadRouterParts;

    fn deref(&self) -> &UploadRouterParts {
        &self.0
    }
}
