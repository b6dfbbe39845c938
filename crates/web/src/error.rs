//! Maps errors to a status and a message: which status stands for which error (C-113, C-109, C-40).
//!
//! Covers the errors of several crates; each crate of routes has an `error.rs` for its own. Status codes and
//! messages of errors exist in these files alone.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kinora_domain::{Upload, error_chain};
use kinora_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use crate::roles::Roles;

/// An error response, as the client sees it.
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

/// One invalid field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldError {
    /// Path of the field, such as `inputs[0].url`.
    pub field: String,
    /// The rule that the value must meet.
    pub message: String,
}

impl ApiError {
    /// Value of `WWW-Authenticate` with a 401 (RFC 9110, 11.6.1).
    const BASIC: &str = "Basic realm=\"kinora\", charset=\"UTF-8\"";
    /// Seconds a client should wait when the server cannot write right now.
    pub const BUSY_RETRY_AFTER_S: u32 = 1;
    /// The same when the database or the object store does not respond: a restart takes some seconds.
    const UNAVAILABLE_RETRY_AFTER_S: u32 = 5;
    /// The same when the disk is full: the operator must free space.
    const DISK_FULL_RETRY_AFTER_S: u32 = 30;

    /// The same when a workspace stores too many idempotent responses: each sweep deletes the oldest ones.
    const STORED_RESPONSES_RETRY_AFTER_S: u32 = 600;

    fn new(status: StatusCode, message: &'static str, detail: Detail) -> Self {
        Self { status, message, detail, retry_after_s: None, challenge: None, allow: None }
    }

    /// This status with this message, which programs compare, and a description for people.
    pub fn described(status: StatusCode, message: &'static str, description: impl Into<String>) -> Self {
        Self::new(status, message, Detail::Description(description.into()))
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The message, which programs compare.
    pub fn message(&self) -> &'static str {
        self.message
    }

    /// Whether it names fields instead of a description.
    pub(crate) fn has_fields(&self) -> bool {
        matches!(self.detail, Detail::Fields(_))
    }

    /// Whether it has a `Retry-After`.
    pub fn has_retry_after(&self) -> bool {
        self.retry_after_s.is_some()
    }

    /// Whether it has a `WWW-Authenticate`.
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

    /// The response body.
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
    pub fn with_retry_after(self, seconds: u32) -> Self {
        Self { retry_after_s: Some(seconds), ..self }
    }

    /// Adds `Allow`.
    #[must_use]
    pub fn with_allow(self, methods: &'static str) -> Self {
        Self { allow: Some(methods), ..self }
    }

    /// 401 with this `WWW-Authenticate`.
    pub fn unauthorized_with(challenge: &'static str, description: &'static str) -> Self {
        let mut error = Self::described(StatusCode::UNAUTHORIZED, "unauthorized", description);
        error.challenge = Some(challenge);
        error
    }

    /// 400: the request cannot be read at all.
    pub fn bad_request(description: impl Into<String>) -> Self {
        Self::described(StatusCode::BAD_REQUEST, "bad request", description)
    }

    /// 401: no valid token. Says nothing about what exists.
    pub fn unauthorized() -> Self {
        Self::unauthorized_with(
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

    /// 403: the role of the person may not do that.
    pub(crate) fn viewer_reads_only() -> Self {
        Self::described(
            StatusCode::FORBIDDEN,
            "forbidden",
            "your role is viewer, which may only read; ask an administrator for the role member",
        )
    }

    /// 404: no such path.
    pub fn no_such_path() -> Self {
        Self::described(StatusCode::NOT_FOUND, "not found", "this path does not exist")
    }

    /// 404: the path belongs to a role that this process does not have.
    pub fn role_disabled(role: &'static str, roles: Roles) -> Self {
        let has = roles.names().join(", ");
        let description =
            format!("this path is served by processes with the role {role}; this one has {has}");
        Self::described(StatusCode::NOT_FOUND, "not found", description)
    }

    /// 404: the workspace does not exist, or the person may not see it.
    pub fn workspace_not_found() -> Self {
        let description = "there is no workspace with this id";
        Self::described(StatusCode::NOT_FOUND, "workspace not found", description)
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

    /// The same for an upload in this state.
    pub fn upload_ended_already(state: &str) -> Self {
        let description = format!("the upload is {state}; only an unfinished upload can be cancelled");
        Self::described(StatusCode::BAD_REQUEST, "Bad Request", description)
    }

    /// 405: the path has other methods.
    pub fn method_not_allowed() -> Self {
        Self::described(
            StatusCode::METHOD_NOT_ALLOWED,
            "method not allowed",
            "this path does not support the method; the Allow header lists the supported ones",
        )
    }

    /// 408: the body did not arrive in time.
    pub(crate) fn body_timeout() -> Self {
        Self::described(
            StatusCode::REQUEST_TIMEOUT,
            "request timeout",
            "the request body did not arrive in time; send the request again",
        )
    }

    /// 400: the limit of a resource is reached. The status is the contract's for limits (C-112), and the
    /// same for all of them (D-0078).
    pub fn limit_reached(description: impl Into<String>) -> Self {
        Self::described(StatusCode::BAD_REQUEST, "limit reached", description)
    }

    /// 409: an identical request is in progress.
    pub(crate) fn request_in_progress() -> Self {
        let mut error = Self::described(
            StatusCode::CONFLICT,
            "request under way",
            "a request with this Idempotency-Key is still running; wait Retry-After seconds, then retry",
        );
        error.retry_after_s = Some(Self::BUSY_RETRY_AFTER_S);
        error
    }

    /// 422: another request used this idempotency key.
    pub(crate) fn idempotency_key_reused() -> Self {
        Self::invalid_field(
            "Idempotency-Key",
            "was used within the last 24 hours with another path, body or access token; use a new key for each request",
        )
    }

    /// 429: the workspace stores too many idempotent responses.
    pub(crate) fn too_many_stored_responses() -> Self {
        let mut error = Self::described(
            StatusCode::TOO_MANY_REQUESTS,
            "too many requests",
            "too many idempotent responses are stored for this workspace, and nothing was changed; retry \
                without the key or after 24 hours",
        );
        error.retry_after_s = Some(Self::STORED_RESPONSES_RETRY_AFTER_S);
        error
    }

    /// 429: the access token has sent as many requests as it may. Nothing was read, and nothing done.
    pub(crate) fn rate_limited(requests: u32, window_s: u32, retry_after_s: u32) -> Self {
        let mut error = Self::described(
            StatusCode::TOO_MANY_REQUESTS,
            "too many requests",
            format!(
                "this access token may send {requests} requests within {window_s} seconds, and nothing was \
                    changed; wait Retry-After seconds, then retry"
            ),
        );
        error.retry_after_s = Some(retry_after_s);
        error
    }

    /// 412: the version on the server is not the one that the client has.
    pub fn precondition_failed() -> Self {
        Self::described(
            StatusCode::PRECONDITION_FAILED,
            "precondition failed",
            "the resource was changed since you read it; read it again and send its new ETag in If-Match",
        )
    }

    /// 413: more bytes than allowed.
    pub(crate) fn body_too_large(max_bytes: usize) -> Self {
        Self::described(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload too large",
            format!("the request body must have at most {max_bytes} bytes"),
        )
    }

    /// 415: not JSON.
    pub fn unsupported_media_type() -> Self {
        Self::described(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported media type",
            "send JSON, with the header Content-Type: application/json",
        )
    }

    /// 422 with the invalid fields.
    pub fn invalid(fields: Vec<FieldError>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "payload validation failed", Detail::Fields(fields))
    }

    /// 422 for one field.
    pub fn invalid_field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::invalid(vec![FieldError { field: field.into(), message: message.into() }])
    }

    /// 500: a fault of the server. The cause goes to the log, not to the client.
    pub fn internal(cause: &dyn std::error::Error) -> Self {
        tracing::error!(error = %error_chain(cause), "a request failed");
        Self::internal_example()
    }

    /// The same, without a cause and a log line.
    pub(crate) fn internal_example() -> Self {
        Self::described(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal server error",
            "an internal error occurred; search the server log for the X-Request-Id of this response",
        )
    }

    /// 503: the server is busy.
    pub fn busy() -> Self {
        let mut error = Self::described(
            StatusCode::SERVICE_UNAVAILABLE,
            "service unavailable",
            "the server is busy; wait Retry-After seconds, then retry",
        );
        error.retry_after_s = Some(Self::BUSY_RETRY_AFTER_S);
        error
    }

    /// 503: a component that this server needs does not respond. The cause goes to the log.
    pub fn unavailable(cause: &dyn std::error::Error) -> Self {
        tracing::warn!(error = %error_chain(cause), "a request failed: a component of the server does not respond");
        let mut error = Self::described(
            StatusCode::SERVICE_UNAVAILABLE,
            "service unavailable",
            "a component of the server does not respond; wait Retry-After seconds, then retry",
        );
        error.retry_after_s = Some(Self::UNAVAILABLE_RETRY_AFTER_S);
        error
    }

    /// 507: the disk is full.
    pub fn disk_full() -> Self {
        Self::insufficient_storage(
            "the server's disk is full, and nothing was changed; wait Retry-After seconds, then retry",
        )
    }

    /// The same for an upload.
    pub fn upload_disk_full() -> Self {
        Self::insufficient_storage(
            "the server's disk is full; the bytes stored so far are safe; wait Retry-After seconds, then resume the upload",
        )
    }

    fn insufficient_storage(description: &'static str) -> Self {
        let mut error =
            Self::described(StatusCode::INSUFFICIENT_STORAGE, "insufficient storage", description);
        error.retry_after_s = Some(Self::DISK_FULL_RETRY_AFTER_S);
        error
    }
}

impl From<store::Error> for ApiError {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Full => Self::disk_full(),
            store::Error::Busy | store::Error::Conflict => Self::busy(),
            store::Error::Unavailable { .. } => Self::unavailable(&error),
            store::Error::PageOutOfRange { counted } => Self::invalid_field(
                "offset",
                format!(
                    "must be within the first {counted} records, the most that are counted for these filters; \
                        use fewer filters, or the cursor in the Link header of the previous page"
                ),
            ),
            other => Self::internal(&other),
        }
    }
}

/// The JSON of an error response (C-109, C-110).
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
