//! How many requests a principal, such as an access token, may send (C-23, D-0077).
//!
//! [`limit`] lies before every operation of the API, behind nothing but who is asked: no body is read and
//! nothing is looked up for a request that is too much. What viewers, operators and signed upload addresses
//! ask for has no token, and is not counted.

mod allowance;
mod setting;

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::Clock;
use kinora_service::Principal;

use crate::auth::Authenticator;
use crate::error::ApiError;
use allowance::{Allowance, Allowances};

pub use setting::{NoRateLimit, RateLimit};

/// What the policy is (draft-ietf-httpapi-ratelimit-headers-11, 3).
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// What is left of it (the same, 4).
const LEFT: HeaderName = HeaderName::from_static("ratelimit");

/// What the tokens of a process may still send.
pub struct RateLimits {
    limit: RateLimit,
    clock: Arc<dyn Clock>,
    allowances: Allowances,
    policy: HeaderValue,
}

impl RateLimits {
    /// Of one process.
    pub fn new(limit: RateLimit, clock: Arc<dyn Clock>) -> Self {
        let policy = format!("\"token\";q={};w={}", limit.requests(), limit.window_s());
        let policy = HeaderValue::from_str(&policy).expect("a name and numbers");
        Self { limit, clock, allowances: Allowances::new(limit), policy }
    }

    fn take(&self, principal: Principal) -> Allowance {
        self.allowances.take(principal, &*self.clock)
    }
}

/// Counts a request to its token, and refuses it with 429 when the token has sent as many as it may. Every
/// answer to a token says how many are left. Whoever is nobody is refused here too: what is not let in is
/// counted to no token.
pub async fn limit<F>(
    limits: Option<&RateLimits>,
    authenticator: &Authenticator,
    request: Request,
    next: impl FnOnce(Request) -> F,
) -> Response
where
    F: Future<Output = Response>,
{
    let Some(limits) = limits else { return next(request).await };
    let (mut parts, body) = request.into_parts();
    let principal = match authenticator.identify(&mut parts).await {
        Ok(principal) => principal,
        Err(refusal) => return refusal.into_response(),
    };
    let allowance = limits.take(principal);
    let mut response = if allowance.is_spent {
        ApiError::rate_limited(limits.limit.requests(), limits.limit.window_s(), allowance.more_in_s)
            .into_response()
    } else {
        next(Request::from_parts(parts, body)).await
    };
    let left = format!("\"token\";r={};t={}", allowance.left, allowance.more_in_s);
    let headers = response.headers_mut();
    headers.insert(POLICY, limits.policy.clone());
    headers.insert(LEFT, HeaderValue::from_str(&left).expect("a name and numbers"));
    response
}
