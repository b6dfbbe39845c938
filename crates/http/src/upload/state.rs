use std::ops::Deref;
use std::sync::Arc;

use kinora_domain::Clock;
use kinora_intake::Intake;
use kinora_store::Store;

use crate::addresses::Addresses;
use crate::assets::Assets;

/// What the upload protocols use. Cheap to clone.
#[derive(Clone)]
pub(crate) struct UploadRouterState(Arc<UploadRouterParts>);

pub(crate) struct UploadRouterParts {
    pub(crate) store: Store,
    pub(crate) intake: Intake,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) addresses: Arc<Addresses>,
    pub(crate) assets: Arc<dyn Assets>,
}

impl UploadRouterState {
    pub(crate) fn new(parts: UploadRouterParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for UploadRouterState {
    type Target = UploadRouterParts;

    fn deref(&self) -> &UploadRouterParts {
        &self.0
    }
}
