//! What the routes share.

use std::ops::Deref;
use std::sync::Arc;

use kinora_domain::Clock;
use kinora_intake::Intake;
use kinora_store::Store;
use kinora_web::addresses::Addresses;
use kinora_web::assets::Assets;

/// What the upload protocols use. Cheap to clone.
#[derive(Clone)]
pub struct UploadRouterState(Arc<UploadRouterParts>);

/// What [`UploadRouterState`] holds.
pub struct UploadRouterParts {
    /// Rows.
    pub store: Store,
    /// Receives uploads.
    pub intake: Intake,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Where clients and players reach this server.
    pub addresses: Arc<Addresses>,
    /// Pages and their files.
    pub assets: Arc<dyn Assets>,
}

impl UploadRouterState {
    /// Of these parts.
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
