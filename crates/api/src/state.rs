//! The state that the operations share.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use kinora_domain::{Clock, Random};
use kinora_intake::Intake;
use kinora_service::Service;
use kinora_store::Store;
use kinora_web::auth::Authenticator;
use kinora_web::base_urls::BaseUrls;
use kinora_web::idempotency::Idempotency;
use kinora_web::rate_limit::RateLimits;

use crate::response_cache::ResponseCache;
use crate::signing_keys::KeyPairs;

/// The state of the API routes. Cheap to clone.
#[derive(Clone)]
pub struct ApiState(Arc<ApiParts>);

/// The parts of [`ApiState`].
pub struct ApiParts {
    /// Reads and writes rows of the database.
    pub store: Store,
    /// Runs operations.
    pub service: Service,
    /// Receives uploads.
    pub intake: Intake,
    /// Gives the current time.
    pub clock: Arc<dyn Clock>,
    /// Generates randomness.
    pub random: Arc<dyn Random>,
    /// The base URLs of this server for clients and players.
    pub base_urls: Arc<BaseUrls>,
    /// Checks access tokens.
    pub authenticator: Authenticator,
    /// Stores responses by idempotency key.
    pub idempotency: Idempotency,
    /// `None`: tokens are not limited.
    pub rate_limits: Option<RateLimits>,
    /// Caches responses.
    pub response_cache: ResponseCache,
    /// Makes signing keys.
    pub key_pairs: KeyPairs,
}

impl ApiState {
    /// Creates the state from its parts.
    pub fn new(parts: ApiParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for ApiState {
    type Target = ApiParts;

    fn deref(&self) -> &ApiParts {
        &self.0
    }
}

impl FromRef<ApiState> for Authenticator {
    fn from_ref(state: &ApiState) -> Self {
        state.authenticator.clone()
    }
}
