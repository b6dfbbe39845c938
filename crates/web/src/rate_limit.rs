//! The rate limit of each principal, such as an access token (C-23, D-0077).
//!
//! [`limit`] runs before every operation of the API, right after authentication. No body is read and nothing
//! is looked up for a request over the limit. Requests of viewers and operators, and those to signed upload
//! addresses, have no token and are not counted.

mod gcra;
mod setting;

use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::Clock;
use kinora_service::Principal;

use crate::auth::Authenticator;
use crate::error::ApiError;
use gcra::{LimitStatus, RateLimiter};

pub use setting::{InvalidRateLimit, RateLimit};

/// The policy (draft-ietf-httpapi-ratelimit-headers-11, 3).
const POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
/// The remaining requests (the same, 4).
const RATELIMIT: HeaderName = HeaderName::from_static("ratelimit");

/// The rate limits of all tokens, counted in this process.
pub struct RateLimits {
    limit: RateLimit,
    clock: Arc<dyn Clock>,
    limiter: RateLimiter,
    policy: HeaderValue,
}

impl RateLimits {
    /// The limits of one process.
    pub fn new(limit: RateLimit, clock: Arc<dyn Clock>) -> Self {
        let policy = format!("\"token\";q={};w={}", limit.requests(), limit.window_s());
        let policy = HeaderValue::from_str(&policy).expect("a name and numbers");
        Self { limit, clock, limiter: RateLimiter::new(limit), policy }
    }

    fn count_request(&self, principal: Principal) -> LimitStatus {
        self.limiter.count_request(principal, &*self.clock)
    }
}

/// Counts a request to its token, and rejects it with 429 when the token is over its limit.
///
/// Every response to a token names its remaining requests. A request without a valid token is also rejected
/// here, and counted to no token.
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
        Err(rejection) => return rejection.into_response(),
    };
    let limit_status = limits.count_request(principal);
    let mut response = if limit_status.is_limited {
        ApiError::rate_limited(limits.limit.requests(), limits.limit.window_s(), limit_status.retry_after_s)
            .into_response()
    } else {
        next(Request::from_parts(parts, body)).await
    };
    let remaining = format!("\"token\";r={};t={}", limit_status.remaining, limit_status.retry_after_s);
    let headers = response.headers_mut();
    headers.insert(POLICY, limits.policy.clone());
    headers.insert(RATELIMIT, HeaderValue::from_str(&remaining).expect("a name and numbers"));
    response
}
