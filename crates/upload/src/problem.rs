//! Errors as `application/problem+json` (RFC 9457), the format of the draft of resumable uploads.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use kinora_web::error::ApiError;
use serde::Serialize;

/// The type of a problem, if the draft defines it (draft-ietf-httpbis-resumable-upload-08, 8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// `about:blank`, no defined type: the status says enough (RFC 9457, 4.2.1).
    AboutBlank,
    /// The bytes do not follow the stored ones.
    MismatchingOffset {
        /// The offset where the next bytes belong.
        expected: u64,
        /// The offset that the client sent.
        provided: u64,
    },
    /// The file is complete.
    Completed,
    /// The client sent two different lengths for one file.
    InconsistentLength,
}

#[derive(Serialize)]
struct ProblemBody<'a> {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(rename = "expected-offset", skip_serializing_if = "Option::is_none")]
    expected_offset: Option<u64>,
    #[serde(rename = "provided-offset", skip_serializing_if = "Option::is_none")]
    provided_offset: Option<u64>,
}

/// The response of an error as a problem.
pub(crate) fn answer(rejection: ApiError, problem: Problem) -> Response {
    let (kind, title) = match problem {
        Problem::AboutBlank => ("about:blank", rejection.message()),
        Problem::MismatchingOffset { .. } => (
            "https://iana.org/assignments/http-problem-types#mismatching-upload-offset",
            "offset from request does not match offset of resource",
        ),
        Problem::Completed => (
            "https://iana.org/assignments/http-problem-types#completed-upload",
            "upload is already completed",
        ),
        Problem::InconsistentLength => (
            "https://iana.org/assignments/http-problem-types#inconsistent-upload-length",
            "inconsistent length values for upload",
        ),
    };
    let (expected_offset, provided_offset) = match problem {
        Problem::MismatchingOffset { expected, provided } => (Some(expected), Some(provided)),
        _ => (None, None),
    };
    let (status, detail) = (rejection.status().as_u16(), rejection.description());
    let body = ProblemBody { r#type: kind, title, status, detail, expected_offset, provided_offset };
    let body = serde_json::to_vec(&body).expect("strings and numbers are always JSON");
    let mut response = rejection.into_response();
    *response.body_mut() = body.into();
    let problem_type = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(header::CONTENT_TYPE, problem_type);
    response.headers_mut().remove(header::CONTENT_LENGTH);
    response
}
