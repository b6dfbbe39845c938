//! Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload), interop versions 5 to 9.
//!
//! 104 (Upload Resumption Supported) is not sent: its one use is to tell a client the address of its upload
//! while it sends, and here the client has had that address from the start. The server under axum could not
//! send it either.

mod ask;
mod field;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use kinora_domain::{LengthProblem, Timestamp, UploadTicket};
use kinora_intake::{IntakeError, Standing};
use kinora_web::error::ApiError;

use super::call::{Call, Piece, alive, empty};
use crate::error;
use crate::problem::{self, Problem};
use ask::{Ask, Version};

const COMPLETE: HeaderName = HeaderName::from_static("upload-complete");
const OFFSET: HeaderName = HeaderName::from_static("upload-offset");
const LENGTH: HeaderName = HeaderName::from_static("upload-length");
const LIMIT: HeaderName = HeaderName::from_static("upload-limit");
const VERSION: HeaderName = HeaderName::from_static("upload-draft-interop-version");

pub(super) async fn answer(mut call: Call<'_>) -> Response {
    let version = match Version::read(call.headers) {
        Ok(version) => version,
        Err(refusal) => return problem::answer(refusal, Problem::Unnamed),
    };
    let mut response = match ask::read(&call.method, call.headers, version) {
        Ok(ask) => answer_ask(&mut call, ask, version).await,
        Err((refusal, problem)) => problem::answer(refusal, problem),
    };
    if let Some(number) = version.0 {
        response.headers_mut().insert(VERSION, number.into());
    }
    response
}

/// What an upload may be: how large, and how long it lives from now on.
pub(super) fn add_limits(headers: &mut HeaderMap, ticket: &UploadTicket, until: Timestamp, now: Timestamp) {
    let max_age = until.micros_since(now).max(0) / Timestamp::SECOND;
    let max_size = ticket.size_max.map(|max| format!("max-size={max}, ")).unwrap_or_default();
    let limits = HeaderValue::from_str(&format!("{max_size}min-size=1, max-age={max_age}"));
    headers.insert(LIMIT, limits.expect("made of letters and digits"));
}

async fn answer_ask(call: &mut Call<'_>, ask: Ask, version: Version) -> Response {
    match ask {
        Ask::Create { length, with: None } => match call.create(length).await.and_then(alive) {
            Ok(standing) => created(call, &standing),
            Err(error) => refused(error, 0),
        },
        Ask::Create { with: Some(piece), .. } => match call.receive(piece).await {
            Ok(standing) => created(call, &standing),
            Err(error) => refused(error, 0),
        },
        Ask::Stand => match call.stand().await.and_then(alive) {
            Ok(standing) => stands(call, &standing),
            Err(error) => refused(error, 0),
        },
        Ask::Append(piece) => append(call, piece, version).await,
        Ask::Cancel => match call.cancel().await {
            Ok(()) => empty(StatusCode::NO_CONTENT),
            Err(IntakeError::Complete(upload)) => {
                problem::answer(ApiError::upload_not_cancelled(&upload), Problem::Completed)
            }
            Err(error) => refused(error, 0),
        },
    }
}

async fn append(call: &mut Call<'_>, piece: Piece, version: Version) -> Response {
    let (start, len, is_last) = (piece.start, piece.len, piece.is_last);
    let status = version.appended();
    match call.receive(piece).await {
        Ok(standing) => {
            let mut response = empty(status);
            add_standing(response.headers_mut(), &standing);
            response
        }
        // An upload is complete with its last byte when its length is known. A client that says so
        // afterwards, in a request of its own, is right.
        Err(IntakeError::Complete(upload)) if is_last && len == Some(0) && start == upload.kept() => {
            let mut response = empty(status);
            let offset = upload.kept();
            add_standing(response.headers_mut(), &Standing { upload: *upload, offset });
            response
        }
        Err(error) => refused(error, start),
    }
}

fn created(call: &Call<'_>, standing: &Standing) -> Response {
    let mut response = empty(StatusCode::CREATED);
    let headers = response.headers_mut();
    let location = HeaderValue::from_str(&call.location).expect("made of a checked base and base64url");
    headers.insert(header::LOCATION, location);
    add_standing(headers, standing);
    add_limits_of(headers, call, standing);
    response
}

fn stands(call: &Call<'_>, standing: &Standing) -> Response {
    let mut response = empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    add_standing(headers, standing);
    if let Some(length) = standing.upload.length {
        headers.insert(LENGTH, length.into());
    }
    add_limits_of(headers, call, standing);
    response
}

fn add_standing(headers: &mut HeaderMap, standing: &Standing) {
    let complete = if standing.is_complete() { "?1" } else { "?0" };
    headers.insert(COMPLETE, HeaderValue::from_static(complete));
    headers.insert(OFFSET, standing.offset.into());
}

fn add_limits_of(headers: &mut HeaderMap, call: &Call<'_>, standing: &Standing) {
    if let Some(expires_at) = standing.expires_at() {
        add_limits(headers, call.ticket, expires_at, call.app.clock.now());
    }
}

/// A refusal of a request whose bytes were to begin at `provided`.
fn refused(error: IntakeError, provided: u64) -> Response {
    let (problem, offset) = match &error {
        IntakeError::WrongOffset { offset, .. } => {
            (Problem::MismatchingOffset { expected: *offset, provided }, Some(*offset))
        }
        IntakeError::Complete(upload) => (Problem::Completed, Some(upload.kept())),
        IntakeError::Length(LengthProblem::Changed { .. } | LengthProblem::BelowKept { .. }) => {
            (Problem::InconsistentLength, None)
        }
        IntakeError::TooManyBytes { offset, .. } | IntakeError::TooFewBytes { offset } => {
            (Problem::InconsistentLength, Some(*offset))
        }
        _ => (Problem::Unnamed, None),
    };
    let complete = if problem == Problem::Completed { "?1" } else { "?0" };
    let mut response = problem::answer(error::from_intake(error), problem);
    if let Some(offset) = offset {
        response.headers_mut().insert(OFFSET, offset.into());
        response.headers_mut().insert(COMPLETE, HeaderValue::from_static(complete));
    }
    response
}
