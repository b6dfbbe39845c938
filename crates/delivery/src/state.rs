//! The state that the routes share.

use std::ops::Deref;
use std::sync::Arc;

use kinora_domain::Clock;
use kinora_packager::Packager;
use kinora_store::Store;
use kinora_web::assets::Assets;
use kinora_web::base_urls::BaseUrls;
use kinora_web::gzip::GzipCache;

use super::{AuthorizationCache, PlaylistCache};

/// The state of the delivery routes. Cheap to clone.
#[derive(Clone)]
pub struct DeliveryState(Arc<DeliveryParts>);

/// The parts of [`DeliveryState`].
pub struct DeliveryParts {
    /// Reads rows of the database.
    pub store: Store,
    /// Provides the bytes for players.
    pub packager: Packager,
    /// Gives the current time.
    pub clock: Arc<dyn Clock>,
    /// The addresses of this server for clients and players.
    pub base_urls: Arc<BaseUrls>,
    /// Pages and their files.
    pub assets: Arc<dyn Assets>,
    /// Caches the rows of playback IDs and playlists.
    pub authorization: AuthorizationCache,
    /// Caches playlists.
    pub playlists: PlaylistCache,
    /// Caches compressed texts.
    pub gzip: Arc<GzipCache>,
    /// How long shared caches may store content below a signed path, in seconds; `None`: not at all.
    pub shared_max_age_s: Option<u32>,
}

impl DeliveryState {
    /// Creates the state from its parts.
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
