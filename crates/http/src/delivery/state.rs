use std::ops::Deref;
use std::sync::Arc;

use kinora_domain::Clock;
use kinora_packager::Packager;
use kinora_store::Store;

use super::{GateCache, PlaylistCache};
use crate::addresses::Addresses;
use crate::assets::Assets;
use crate::gzip::GzipCache;

/// What players and pages are answered from. Cheap to clone.
#[derive(Clone)]
pub(crate) struct DeliveryState(Arc<DeliveryParts>);

pub(crate) struct DeliveryParts {
    pub(crate) store: Store,
    pub(crate) packager: Packager,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) addresses: Arc<Addresses>,
    pub(crate) assets: Arc<dyn Assets>,
    pub(crate) gate: GateCache,
    pub(crate) playlists: PlaylistCache,
    pub(crate) gzip: Arc<GzipCache>,
    /// How long shared caches may store what lies below a signed path, in seconds; `None`: not at all.
    pub(crate) shared_max_age_s: Option<u32>,
}

impl DeliveryState {
    pub(crate) fn new(parts: DeliveryParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for DeliveryState {
    type Target = DeliveryParts;

    fn deref(&self) -> &DeliveryParts {
        &self.0
    }
}
