//! Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload), interop versions 5 to 9.
//!
//! 104 (Upload Resumption Supported) is not sent. Its one use is to send the client its upload address
//! early, and here the client has had that address from the start. The server under axum could not send it
//! either.

mod command;
mod field;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use kinora_domain::{LengthRejected, Timestamp, UploadClaims};
use kinora_intake::{IntakeError, UploadProgress};
use kinora_web::error::ApiError;

use super::upload_request::{Chunk, UploadRequest, empty_response, require_open};
use crate::error;
use crate::problem::{self, Problem};
use command::{Command, Version};

const COMPLETE: HeaderName = HeaderName::from_static("upload-complete");
const OFFSET: HeaderName = HeaderName::from_static("upload-offset");
const LENGTH: HeaderName = HeaderName::from_static("upload-length");
const LIMIT: HeaderName = HeaderName::from_static("upload-limit");
const VERSION: HeaderName = HeaderName::from_static("upload-draft-interop-version");

pub(super) async fn answer(mut upload_request: UploadRequest<'_>) -> Response {
    let version = match Version::read(upload_request.headers) {
        Ok(version) => version,
        Err(rejection) => return problem::answer(rejection, Problem::AboutBlank),
    };
    let mut response = match command::read(&upload_request.method, upload_request.headers, version) {
        Ok(command) => run_command(&mut upload_request, command, version).await,
        Err((refusal, problem)) => problem::answer(refusal, problem),
    };
    if let Some(number) = version.0 {
        response.headers_mut().insert(VERSION, number.into());
    }
    response
}

/// The limits of an upload: its size, and its remaining lifetime.
pub(super) fn add_limits(
    headers: &mut HeaderMap,
    claims: &UploadClaims,
    expires_at: Timestamp,
    now: Timestamp,
) {
    let max_age = expires_at.micros_since(now).max(0) / Timestamp::SECOND;
    let max_size = claims.size_max.map(|max| format!("max-size={max}, ")).unwrap_or_default();
    let limits = HeaderValue::from_str(&format!("{max_size}min-size=1, max-age={max_age}"));
    headers.insert(LIMIT, limits.expect("made of letters and digits"));
}

async fn run_command(upload_request: &mut UploadRequest<'_>, command: Command, version: Version) -> Response {
    match command {
        Command::Create { file_len, first_chunk: None } => {
            match upload_request.create(file_len).await.and_then(require_open) {
                Ok(progress) => created_response(upload_request, &progress),
                Err(error) => error_response(error, 0),
            }
        }
        Command::Create { first_chunk: Some(chunk), .. } => match upload_request.receive(chunk).await {
            Ok(standing) => created_response(upload_request, &standing),
            Err(error) => error_response(error, 0),
        },
        Command::Status => match upload_request.status().await.and_then(require_open) {
            Ok(standing) => status_response(upload_request, &standing),
            Err(error) => error_response(error, 0),
        },
        Command::Append(piece) => append(upload_request, piece, version).await,
        Command::Cancel => match upload_request.cancel().await {
            Ok(()) => empty_response(StatusCode::NO_CONTENT),
            Err(IntakeError::Complete(upload)) => {
                problem::answer(ApiError::upload_not_cancelled(&upload), Problem::Completed)
            }
            Err(error) => error_response(error, 0),
        },
    }
}

async fn append(upload_request: &mut UploadRequest<'_>, chunk: Chunk, version: Version) -> Response {
    let (start, body_len, is_last) = (chunk.start, chunk.body_len, chunk.is_last);
    let status = version.append_status();
    match upload_request.receive(chunk).await {
        Ok(progress) => {
            let mut response = empty_response(status);
            add_offset(response.headers_mut(), &progress);
            response
        }
        // An upload is complete with its last byte when its length is known. A separate request that marks
        // its end afterwards is still valid.
        Err(IntakeError::Complete(upload)) if is_last && body_len == Some(0) && start == upload.offset() => {
            let mut response = empty_response(status);
            let offset = upload.offset();
            add_offset(response.headers_mut(), &UploadProgress { upload: *upload, offset });
            response
        }
        Err(error) => error_response(error, start),
    }
}

fn created_response(upload_request: &UploadRequest<'_>, progress: &UploadProgress) -> Response {
    let mut response = empty_response(StatusCode::CREATED);
    let headers = response.headers_mut();
    let location =
        HeaderValue::from_str(&upload_request.location).expect("made of a checked base and base64url");
    headers.insert(header::LOCATION, location);
    add_offset(headers, progress);
    add_limits_of(headers, upload_request, progress);
    response
}

fn status_response(upload_request: &UploadRequest<'_>, progress: &UploadProgress) -> Response {
    let mut response = empty_response(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    add_offset(headers, progress);
    if let Some(length) = progress.upload.length {
        headers.insert(LENGTH, length.into());
    }
    add_limits_of(headers, upload_request, progress);
    response
}

fn add_offset(headers: &mut HeaderMap, progress: &UploadProgress) {
    let complete = if progress.is_complete() { "?1" } else { "?0" };
    headers.insert(COMPLETE, HeaderValue::from_static(complete));
    headers.insert(OFFSET, progress.offset.into());
}

fn add_limits_of(headers: &mut HeaderMap, upload_request: &UploadRequest<'_>, progress: &UploadProgress) {
    if let Some(expires_at) = progress.expires_at() {
        add_limits(headers, upload_request.claims, expires_at, upload_request.app.clock.now());
    }
}

/// The error response to a request whose first byte was meant for offset `provided`.
fn error_response(error: IntakeError, provided: u64) -> Response {
    let (problem, offset) = match &error {
        IntakeError::WrongOffset { offset, .. } => {
            (Problem::MismatchingOffset { expected: *offset, provided }, Some(*offset))
        }
        IntakeError::Complete(upload) => (Problem::Completed, Some(upload.offset())),
        IntakeError::Length(LengthRejected::Changed { .. } | LengthRejected::BelowOffset { .. }) => {
            (Problem::InconsistentLength, None)
        }
        IntakeError::TooManyBytes { offset, .. } | IntakeError::TooFewBytes { offset } => {
            (Problem::InconsistentLength, Some(*offset))
        }
        _ => (Problem::AboutBlank, None),
    };
    let complete = if problem == Problem::Completed { "?1" } else { "?0" };
    let mut response = problem::answer(error::from_intake(error), problem);
    if let Some(offset) = offset {
        response.headers_mut().insert(OFFSET, offset.into());
        response.headers_mut().insert(COMPLETE, HeaderValue::from_static(complete));
    }
    response
}
