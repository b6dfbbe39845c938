//! Turns what went wrong into a status and a message (C-109, C-40).
//!
//! Has the errors of several crates; each crate of routes has an `error.rs` for its own. Status codes and
//! messages of errors exist in these files alone.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kinora_domain::{Upload, error_chain};
use kinora_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use crate::roles::Roles;

/// A refusal, as the client sees it.
#[derive(Debug, Clone)]
pub struct ApiError {
    status: StatusCode,
    message: &'static str,
    detail: Detail,
    retry_after_s: Option<u32>,
    challenge: Option<&'static str>,
    allow: Option<&'static str>,
}

#[derive(Debug, Clone)]
enum Detail {
    Description(String),
    Fields(Vec<FieldError>),
}

/// What is wrong with one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldError {
    /// Its path, `inputs[0].url`.
    pub field: String,
    /// What must be so.
    pub message: String,
}

impl ApiError {
    /// How to answer a 401 (RFC 9110, 11.6.1).
    const BASIC: &str = "Basic realm=\"kinora\", charset=\"UTF-8\"";
    /// Seconds a client should wait when the server cannot write right now.
    pub const BUSY_RETRY_AFTER_S: u32 = 1;
    /// The same when the database or the object store does not answer: a restart takes some seconds.
    const AWAY_RETRY_AFTER_S: u32 = 5;
    /// The same when the disk is full: freeing it takes a person.
    const FULL_RETRY_AFTER_S: u32 = 30;

    /// The same when a workspace has no room for another answer: the oldest ones leave with each sweep.
    const KEPT_RETRY_AFTER_S: u32 = 600;

    fn new(status: StatusCode, message: &'static str, detail: Detail) -> Self {
        Self { status, message, detail, retry_after_s: None, challenge: None, allow: None }
    }

    /// This status with this message, which programs compare, and a description for people.
    pub fn described(status: StatusCode, message: &'static str, description: impl Into<String>) -> Self {
        Self::new(status, message, Detail::Description(description.into()))
    }

    /// The status that it answers.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What programs compare.
    pub fn message(&self) -> &'static str {
        self.message
    }

    /// Whether it names fields in place of a description.
    pub(crate) fn has_fields(&self) -> bool {
        matches!(self.detail, Detail::Fields(_))
    }

    /// Whether it says when to come again.
    pub fn has_retry_after(&self) -> bool {
        self.retry_after_s.is_some()
    }

    /// Whether it asks who is there.
    pub(crate) fn has_challenge(&self) -> bool {
        self.challenge.is_some()
    }

    /// The description; `None` where it names fields.
    pub fn description(&self) -> Option<&str> {
        match &self.detail {
            Detail::Description(text) => Some(text),
            Detail::Fields(_) => None,
        }
    }

    /// The fields that it names.
    pub fn fields(&self) -> Vec<&str> {
        match &self.detail {
            Detail::Description(_) => Vec::new(),
            Detail::Fields(fields) => fields.iter().map(|field| field.field.as_str()).collect(),
        }
    }

    /// The body that it answers.
    pub(crate) fn body(&self) -> ErrorBody<'_> {
        let (description, fields) = match &self.detail {
            Detail::Description(text) => (Some(text.as_str()), None),
            Detail::Fields(fields) => (None, Some(fields.as_slice())),
        };
        let error = ErrorInBody { code: self.status.as_u16(), message: self.message, description, fields };
        ErrorBody { success: false, error }
    }

    /// Adds `Retry-After`.
    #[must_use]
    pub fn retry_after(self, seconds: u32) -> Self {
        Self { retry_after_s: Some(seconds), ..self }
    }

    /// Adds `Allow`.
    #[must_use]
    pub fn allowing(self, methods: &'static str) -> Self {
        Self { allow: Some(methods), ..self }
    }

    /// 401 with this `WWW-Authenticate`.
    pub fn challenged(challenge: &'static str, description: &'static str) -> Self {
        let mut error = Self::described(StatusCode::UNAUTHORIZED, "unauthorized", description);
        error.challenge = Some(challenge);
        error
    }

    /// 400: the request cannot be read at all.
    pub fn bad_request(description: impl Into<String>) -> Self {
        Self::described(StatusCode::BAD_REQUEST, "bad request", description)
    }

    /// 401: no valid token. Says nothing about what exists.
    pub(crate) fn unauthorized() -> Self {
        Self::challenged(
            Self::BASIC,
            "send a valid access token by HTTP Basic: its id as user name, its secret as password",
        )
    }

    /// 403: the token may not do that.
    pub(crate) fn read_only() -> Self {
        Self::described(
            StatusCode::FORBIDDEN,
            "forbidden",
            "this access token is read-only; use a read-write token",
        )
    }

    /// 404: no such path.
    pub fn no_such_path() -> Self {
        Self::described(StatusCode::NOT_FOUND, "not found", "there is nothing at this path")
    }

    /// 404: the path belongs to a role that this process does not have.
    pub fn other_role(wanted: &'static str, roles: Roles) -> Self {
        let has = roles.names().join(", ");
        let description =
            format!("this path is served by processes with the role {wanted}; this one has {has}");
        Self::described(StatusCode::NOT_FOUND, "not found", description)
    }

    /// 404: no such playback ID.
    pub fn playback_not_found() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "Media/PlaybackId not Found",
            "there is no media with this playback ID",
        )
    }

    /// 400: an upload that has ended cannot be cancelled. The message is the contract's (C-111).
    pub fn upload_not_cancelled(upload: &Upload) -> Self {
        Self::upload_ended_already(upload.state.name())
    }

    /// The same of an upload in this state.
    pub fn upload_ended_already(state: &str) -> Self {
        let description = format!("the upload is {state} and cannot be cancelled any more");
        Self::described(StatusCode::BAD_REQUEST, "Bad Request", description)
    }

    /// 405: the path knows other methods.
    pub fn method_not_allowed() -> Self {
        Self::described(
            StatusCode::METHOD_NOT_ALLOWED,
            "method not allowed",
            "the Allow header lists what this path knows",
        )
    }

    /// 408: the body did not arrive in time.
    pub(crate) fn body_timeout() -> Self {
        Self::described(
            StatusCode::REQUEST_TIMEOUT,
            "request timeout",
            "the request body did not arrive in time",
        )
    }

    /// 400: there are as many of something as there may be. The status is the contract's for limits (C-112),
    /// and the same for all of them (D-0078).
    pub fn limit_reached(description: impl Into<String>) -> Self {
        Self::described(StatusCode::BAD_REQUEST, "limit reached", description)
    }

    /// 409: the same request is being answered.
    pub(crate) fn request_under_way() -> Self {
        let mut error = Self::described(
            StatusCode::CONFLICT,
            "request under way",
            "a request with this Idempotency-Key is being answered; send it again as Retry-After says",
        );
        error.retry_after_s = Some(Self::BUSY_RETRY_AFTER_S);
        error
    }

    /// 422: another request had this key.
    pub(crate) fn idempotency_key_reused() -> Self {
        Self::invalid_field(
            "Idempotency-Key",
            "was sent within the last 24 hours with another path, body or access token; use a new one for each request",
        )
    }

    /// 429: the workspace has no room for another answer.
    pub(crate) fn too_many_kept_answers() -> Self {
        let mut error = Self::described(
            StatusCode::TOO_MANY_REQUESTS,
            "too many requests",
            "this workspace has sent more requests with an Idempotency-Key than answers are kept of, and nothing was done; \
             answers leave after 24 hours, and a request without the key is not refused",
        );
        error.retry_after_s = Some(Self::KEPT_RETRY_AFTER_S);
        error
    }

    /// 429: the access token has sent as many requests as it may. Nothing was read, and nothing done.
    pub(crate) fn rate_limited(requests: u32, window_s: u32, retry_after_s: u32) -> Self {
        let mut error = Self::described(
            StatusCode::TOO_MANY_REQUESTS,
            "too many requests",
            format!(
                "this access token may send {requests} requests within {window_s} seconds, and nothing was done; \
                 send it again as Retry-After says"
            ),
        );
        error.retry_after_s = Some(retry_after_s);
        error
    }

    /// 412: what is there is not what the client knows.
    pub fn precondition_failed() -> Self {
        Self::described(
            StatusCode::PRECONDITION_FAILED,
            "precondition failed",
            "it was changed since; read it again, and send the ETag of that answer in If-Match",
        )
    }

    /// 413: more bytes than allowed.
    pub(crate) fn body_too_large(max_bytes: usize) -> Self {
        Self::described(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload too large",
            format!("a request body has at most {max_bytes} bytes"),
        )
    }

    /// 415: not JSON.
    pub(crate) fn unsupported_media_type() -> Self {
        Self::described(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported media type",
            "send JSON, with the header Content-Type: application/json",
        )
    }

    /// 422: what is wrong with which field.
    pub fn invalid(fields: Vec<FieldError>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "payload validation failed", Detail::Fields(fields))
    }

    /// 422 for one field.
    pub fn invalid_field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::invalid(vec![FieldError { field: field.into(), message: message.into() }])
    }

    /// 500: our fault. The cause goes to the log, not to the client.
    pub fn internal(cause: &dyn std::error::Error) -> Self {
        tracing::error!(error = %error_chain(cause), "a request failed");
        Self::fault()
    }

    /// The same, said of no request.
    pub(crate) fn fault() -> Self {
        Self::described(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal server error",
            "the fault is ours; the request id finds it in the log",
        )
    }

    /// 503: not now.
    pub fn busy() -> Self {
        let mut error = Self::described(
            StatusCode::SERVICE_UNAVAILABLE,
            "service unavailable",
            "the server is busy; try again as Retry-After says",
        );
        error.retry_after_s = Some(Self::BUSY_RETRY_AFTER_S);
        error
    }

    /// 503: a part that this server needs does not answer. The cause goes to the log.
    pub fn away(cause: &dyn std::error::Error) -> Self {
        tracing::warn!(error = %error_chain(cause), "a request could not be answered");
        let mut error = Self::described(
            StatusCode::SERVICE_UNAVAILABLE,
            "service unavailable",
            "a part of the server does not answer; try again as Retry-After says",
        );
        error.retry_after_s = Some(Self::AWAY_RETRY_AFTER_S);
        error
    }

    /// 507: no room to write.
    pub fn full() -> Self {
        Self::without_room("the server's disk is full; nothing was changed")
    }

    /// The same to somebody who sends a file.
    pub fn upload_full() -> Self {
        Self::without_room(
            "the server's disk is full; what was kept before stays, and the upload can go on later",
        )
    }

    fn without_room(description: &'static str) -> Self {
        let mut error =
            Self::described(StatusCode::INSUFFICIENT_STORAGE, "insufficient storage", description);
        error.retry_after_s = Some(Self::FULL_RETRY_AFTER_S);
        error
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Full => Self::full(),
            store::Error::Busy | store::Error::Conflict => Self::busy(),
            store::Error::Unavailable { .. } => Self::away(&error),
            store::Error::TooFar { counted } => Self::invalid_field(
                "offset",
                format!(
                    "lies behind the first {counted} records, which are all that is counted of these filters; use fewer of them, \
                    or go on with the cursor in the Link header of the page before"
                ),
            ),
            other => Self::internal(&other),
        }
    }
}

/// How a refusal is written (C-109, C-110).
#[derive(Serialize)]
pub(crate) struct ErrorBody<'a> {
    success: bool,
    error: ErrorInBody<'a>,
}

#[derive(Serialize)]
struct ErrorInBody<'a> {
    code: u16,
    message: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<&'a [FieldError]>,
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.body()).expect("strings and numbers are always JSON");
        let mut response = (self.status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(challenge) = self.challenge {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Some(methods) = self.allow {
            headers.insert(header::ALLOW, HeaderValue::from_static(methods));
        }
        if let Some(seconds) = self.retry_after_s {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}
