use std::ops::Deref;
use std::sync::Arc;

use axum::extract::FromRef;
use kinora_domain::{Clock, Random};
use kinora_intake::Intake;
use kinora_store::Store;

use super::{AnswerCache, KeyPairs};
use crate::addresses::Addresses;
use crate::auth::Authenticator;
use crate::once::Idempotency;
use crate::rate_limit::RateLimits;

/// What the operations of the API use. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ApiState(Arc<ApiParts>);

pub(crate) struct ApiParts {
    pub(crate) store: Store,
    pub(crate) intake: Intake,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) random: Arc<dyn Random>,
    pub(crate) addresses: Arc<Addresses>,
    pub(crate) authenticator: Authenticator,
    pub(crate) idempotency: Idempotency,
    /// `None`: tokens are not limited.
    pub(crate) rate_limits: Option<RateLimits>,
    pub(crate) answers: AnswerCache,
    pub(crate) key_pairs: KeyPairs,
}

impl ApiState {
    pub(crate) fn new(parts: ApiParts) -> Self {
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
