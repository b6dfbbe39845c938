//! What the operations share.

use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use kinora_domain::{Clock, Random};
use kinora_intake::Intake;
use kinora_service::Service;
use kinora_store::Store;
use kinora_web::addresses::Addresses;
use kinora_web::auth::Authenticator;
use kinora_web::once::Idempotency;
use kinora_web::rate_limit::RateLimits;

use crate::answer_cache::AnswerCache;
use crate::key_pairs::KeyPairs;

/// What the operations of the API use. Cheap to clone.
#[derive(Clone)]
pub struct ApiState(Arc<ApiParts>);

/// What [`ApiState`] holds.
pub struct ApiParts {
    /// Rows.
    pub store: Store,
    /// Runs operations.
    pub service: Service,
    /// Receives uploads.
    pub intake: Intake,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Draws randomness.
    pub random: Arc<dyn Random>,
    /// Where clients and players reach this server.
    pub addresses: Arc<Addresses>,
    /// Checks access tokens.
    pub authenticator: Authenticator,
    /// Stores responses by idempotency key.
    pub idempotency: Idempotency,
    /// `None`: tokens are not limited.
    pub rate_limits: Option<RateLimits>,
    /// Cached answers.
    pub answers: AnswerCache,
    /// Makes signing keys.
    pub key_pairs: KeyPairs,
}

impl ApiState {
    /// Of these parts.
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
