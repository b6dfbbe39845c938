//! What the routes share.

use std::ops::Deref;
use std::sync::Arc;

use kinora_domain::Clock;
use kinora_packager::Packager;
use kinora_store::Store;
use kinora_web::addresses::Addresses;
use kinora_web::assets::Assets;
use kinora_web::gzip::GzipCache;

use super::{GateCache, PlaylistCache};

/// What players and pages are answered from. Cheap to clone.
#[derive(Clone)]
pub struct DeliveryState(Arc<DeliveryParts>);

/// What [`DeliveryState`] holds.
pub struct DeliveryParts {
    /// Rows.
    pub store: Store,
    /// Bytes for players.
    pub packager: Packager,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Where clients and players reach this server.
    pub addresses: Arc<Addresses>,
    /// Pages and their files.
    pub assets: Arc<dyn Assets>,
    /// Caches what playback IDs play.
    pub gate: GateCache,
    /// Caches playlists.
    pub playlists: PlaylistCache,
    /// Caches compressed texts.
    pub gzip: Arc<GzipCache>,
    /// How long shared caches may store what lies below a signed path, in seconds; `None`: not at all.
    pub shared_max_age_s: Option<u32>,
}

impl DeliveryState {
    /// Of these parts.
    pub fn new(parts: DeliveryParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for DeliveryState {
    type Target = DeliveryParts;

    fn deref(&self) -> &DeliveryParts {
        &self.0
    }
}
