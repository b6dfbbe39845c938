//! The one place that turns what went wrong into a status and a message (contract 1.4, decision 40).

mod playback;
mod playlist;
mod problem;
mod tracks;
mod upload;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use kinora_domain::error_chain;
use kinora_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use crate::roles::Roles;

pub(crate) use problem::Problem;

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
    /// The same for players. Browsers know no dialogue for it: a page that plays must not ask its viewer for a password.
    const PLAYBACK_TOKEN: &str = "Bearer realm=\"playback\"";
    /// Seconds a client should wait when the server cannot write right now.
    const BUSY_RETRY_AFTER_S: u32 = 1;
    /// The same when the database or the object store does not answer: a restart takes some seconds.
    const AWAY_RETRY_AFTER_S: u32 = 5;
    /// The same when a file is being made, which takes about as long as the media at best.
    const PREPARING_RETRY_AFTER_S: u32 = 10;
    /// The same when the disk is full: freeing it takes a person.
    const FULL_RETRY_AFTER_S: u32 = 30;

    /// The same when a workspace has no room for another answer: the oldest ones leave with each sweep.
    const KEPT_RETRY_AFTER_S: u32 = 600;

    fn new(status: StatusCode, message: &'static str, detail: Detail) -> Self {
        Self { status, message, detail, retry_after_s: None, challenge: None, allow: None }
    }

    fn described(status: StatusCode, message: &'static str, description: impl Into<String>) -> Self {
        Self::new(status, message, Detail::Description(description.into()))
    }

    /// The status that it answers.
    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// What programs compare.
    pub(crate) fn message(&self) -> &'static str {
        self.message
    }

    /// Whether it names fields in place of a description.
    pub(crate) fn has_fields(&self) -> bool {
        matches!(self.detail, Detail::Fields(_))
    }

    /// Whether it says when to come again.
    pub(crate) fn has_retry_after(&self) -> bool {
        self.retry_after_s.is_some()
    }

    /// Whether it asks who is there.
    pub(crate) fn has_challenge(&self) -> bool {
        self.challenge.is_some()
    }

    /// The fields that it names.
    #[cfg(test)]
    pub(crate) fn fields(&self) -> Vec<&str> {
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

    fn challenged(challenge: &'static str, description: &'static str) -> Self {
        let mut error = Self::described(StatusCode::UNAUTHORIZED, "unauthorized", description);
        error.challenge = Some(challenge);
        error
    }

    /// 400: the request cannot be read at all.
    pub fn bad_request(description: impl Into<String>) -> Self {
        Self::described(StatusCode::BAD_REQUEST, "bad request", description)
    }

    /// 400 to a player: it may try again soon. The web player looks for "ready" in the message (contract 4.3).
    pub fn not_ready() -> Self {
        Self::described(
            StatusCode::BAD_REQUEST,
            "media is not ready",
            "the media is still being prepared; try again in a moment",
        )
    }

    /// 401: no valid token. Says nothing about what exists.
    pub fn unauthorized() -> Self {
        Self::challenged(
            Self::BASIC,
            "send a valid access token by HTTP Basic: its id as user name, its secret as password",
        )
    }

    /// 403: the token may not do that.
    pub fn read_only() -> Self {
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

    /// 404: an operation of the contract that is not built (contract decision 37). `docs/unsupported.md` lists them.
    pub fn not_supported(what: &str) -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "not supported by this server",
            format!("there are no {what} here; docs/unsupported.md lists what this server does not have"),
        )
    }

    /// 404: the path belongs to a role that this process does not have.
    pub fn other_role(wanted: &'static str, roles: Roles) -> Self {
        let has = roles.names().join(", ");
        let description =
            format!("this path is served by processes with the role {wanted}; this one has {has}");
        Self::described(StatusCode::NOT_FOUND, "not found", description)
    }

    /// 404: the file of a media has not been read, or could not be.
    pub fn input_info_not_found() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "input info not found",
            "the file of this media is not known; it is once the media is Ready",
        )
    }

    /// 404: no such media in the caller's workspace.
    pub fn media_not_found() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "media workspace relation not found",
            "there is no media with this id in the workspace of the access token",
        )
    }

    /// 404: no such signing key in the caller's workspace.
    pub fn signing_key_not_found() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "signing key not found",
            "there is no signing key with this id in the workspace of the access token",
        )
    }

    /// 404: no such DRM configuration. The message is the contract's (1.4).
    pub fn drm_configuration_not_found() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "media workspace relation not found",
            "there is no DRM configuration with this id; this server has no licence service",
        )
    }

    /// 404: no such playback ID.
    pub fn playback_not_found() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "Media/PlaybackId not Found",
            "there is no media with this playback ID",
        )
    }

    /// 404: the media will never play.
    pub fn playback_failed() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "Media/PlaybackId not Found",
            "this media failed and cannot be played",
        )
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
    pub fn body_timeout() -> Self {
        Self::described(
            StatusCode::REQUEST_TIMEOUT,
            "request timeout",
            "the request body did not arrive in time",
        )
    }

    /// 400: there are as many of something as there may be. The status is the contract's for limits (1.4), and the same for all of them
    /// (decision 0078).
    fn limit_reached(description: impl Into<String>) -> Self {
        Self::described(StatusCode::BAD_REQUEST, "limit reached", description)
    }

    /// 400: the workspace has as many signing keys as it may have.
    pub fn too_many_signing_keys(max: u64) -> Self {
        Self::limit_reached(format!(
            "a workspace has at most {max} signing keys; delete one that nothing is signed with any more"
        ))
    }

    /// 409: the same request is being answered.
    pub fn request_under_way() -> Self {
        let mut error = Self::described(
            StatusCode::CONFLICT,
            "request under way",
            "a request with this Idempotency-Key is being answered; send it again as Retry-After says",
        );
        error.retry_after_s = Some(Self::BUSY_RETRY_AFTER_S);
        error
    }

    /// 422: another request had this key.
    pub fn idempotency_key_reused() -> Self {
        Self::invalid_field(
            "Idempotency-Key",
            "was sent within the last 24 hours with another path, body or access token; use a new one for each request",
        )
    }

    /// 429: the workspace has no room for another answer.
    pub fn too_many_kept_answers() -> Self {
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
    pub fn rate_limited(requests: u32, window_s: u32, retry_after_s: u32) -> Self {
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
    pub(crate) fn precondition_failed() -> Self {
        Self::described(
            StatusCode::PRECONDITION_FAILED,
            "precondition failed",
            "it was changed since; read it again, and send the ETag of that answer in If-Match",
        )
    }

    /// 413: more bytes than allowed.
    pub fn body_too_large(max_bytes: usize) -> Self {
        Self::described(
            StatusCode::PAYLOAD_TOO_LARGE,
            "payload too large",
            format!("a request body has at most {max_bytes} bytes"),
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

    /// 416: no such bytes.
    pub fn range_not_satisfiable() -> Self {
        Self::described(
            StatusCode::RANGE_NOT_SATISFIABLE,
            "range not satisfiable",
            "the range lies outside the file",
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
    pub(crate) fn upload_full() -> Self {
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

impl From<kinora_packager::Error> for ApiError {
    fn from(error: kinora_packager::Error) -> Self {
        match error.root() {
            _ if error.is_full() => Self::full(),
            kinora_packager::Error::NotInPlan => Self::no_such_path(),
            kinora_packager::Error::NoPicture => {
                Self::described(StatusCode::NOT_FOUND, "not found", "this media has no picture")
            }
            kinora_packager::Error::TooMuch => Self::invalid_field(
                "end",
                "this clip takes too much to be made: ask for a shorter one, or a narrower one with fewer frames",
            ),
            kinora_packager::Error::NoEncoder(encoder) => Self::described(
                StatusCode::NOT_FOUND,
                "not found",
                format!("not supported by this server: its ffmpeg has no {encoder}"),
            ),
            kinora_packager::Error::NoFile => {
                Self::described(StatusCode::NOT_FOUND, "not found", "this file cannot be made of the media")
            }
            _ if error.is_of_file() => Self::segment_undecodable(&error),
            kinora_packager::Error::NotYet => Self::file_not_ready(),
            kinora_packager::Error::Busy => Self::busy(),
            // Deleted a moment ago, perhaps by another process, after the viewer was let in.
            kinora_packager::Error::Gone => Self::playback_not_found(),
            kinora_packager::Error::Unavailable(_) | kinora_packager::Error::EngineAway(_) => {
                Self::away(&error)
            }
            _ => Self::internal(&error),
        }
    }
}

/// How a refusal is written (contract 1.4).
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

#[cfg(test)]
mod tests {
    use kinora_domain::{TooManyPlaybackIds, TrackRefused};

    use super::*;

    #[test]
    fn every_limit_that_is_reached_is_refused_alike_and_says_what_to_do() {
        for refused in [
            ApiError::too_many_signing_keys(1),
            ApiError::too_many_playlists(1),
            ApiError::too_many_playback_ids(TooManyPlaybackIds),
            ApiError::track_refused(TrackRefused::TooMany),
        ] {
            assert_eq!((refused.status().as_u16(), refused.message()), (400, "limit reached"));
            let Detail::Description(description) = &refused.detail else { panic!("no description") };
            assert!(description.contains("; delete one"), "{description}");
            assert!(!refused.has_retry_after(), "no time heals it");
        }
    }
}
