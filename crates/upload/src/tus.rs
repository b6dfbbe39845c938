//! tus 1.0 (<https://tus.io/protocols/resumable-upload>), with the extensions creation, creation-with-upload,
//! creation-defer-length, expiration, checksum and termination.

mod command;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::UploadClaims;
use kinora_intake::{IntakeError, UploadProgress};
use kinora_web::error::ApiError;

use super::date::http_date;
use super::upload_request::{Chunk, UploadRequest, empty_response, require_open};
use crate::error;
use command::Command;

const VERSION: HeaderValue = HeaderValue::from_static("1.0.0");
const EXTENSIONS: HeaderValue = HeaderValue::from_static(
    "creation,creation-with-upload,creation-defer-length,expiration,checksum,termination",
);
const ALGORITHMS: HeaderValue = HeaderValue::from_static("sha1,sha256");

const RESUMABLE: HeaderName = HeaderName::from_static("tus-resumable");
const OFFSET: HeaderName = HeaderName::from_static("upload-offset");
const LENGTH: HeaderName = HeaderName::from_static("upload-length");
const DEFER_LENGTH: HeaderName = HeaderName::from_static("upload-defer-length");
const EXPIRES: HeaderName = HeaderName::from_static("upload-expires");

pub(super) async fn answer(mut upload_request: UploadRequest<'_>) -> Response {
    let mut response = match command::read(&upload_request.method, upload_request.headers) {
        Ok(command) => run_command(&mut upload_request, command).await,
        Err(rejection) => rejection.into_response(),
    };
    if response.status() == StatusCode::PRECONDITION_FAILED {
        add_extensions(response.headers_mut(), upload_request.claims);
    }
    response.headers_mut().insert(RESUMABLE, VERSION);
    response
}

/// The capabilities of the server, for clients before they begin.
pub(super) fn add_extensions(headers: &mut HeaderMap, claims: &UploadClaims) {
    headers.insert(RESUMABLE, VERSION);
    headers.insert(HeaderName::from_static("tus-version"), VERSION);
    headers.insert(HeaderName::from_static("tus-extension"), EXTENSIONS);
    headers.insert(HeaderName::from_static("tus-checksum-algorithm"), ALGORITHMS);
    if let Some(max) = claims.size_max {
        headers.insert(HeaderName::from_static("tus-max-size"), max.into());
    }
}

async fn run_command(upload_request: &mut UploadRequest<'_>, command: Command) -> Response {
    let outcome = match command {
        Command::Create { file_len, first_chunk: None } => upload_request
            .create(file_len)
            .await
            .and_then(require_open)
            .map(|progress| created_response(upload_request, &progress)),
        Command::Create { first_chunk: Some(chunk), .. } => {
            upload_request.receive(chunk).await.map(|standing| created_response(upload_request, &standing))
        }
        Command::Status => {
            upload_request.status().await.and_then(require_open).map(|standing| status_response(&standing))
        }
        Command::Append(piece) => append(upload_request, piece).await,
        Command::Cancel => {
            return match upload_request.cancel().await {
                Ok(()) => empty_response(StatusCode::NO_CONTENT),
                Err(IntakeError::Complete(upload)) => ApiError::upload_not_cancelled(&upload).into_response(),
                Err(error) => error_response(error),
            };
        }
    };
    outcome.unwrap_or_else(error_response)
}

async fn append(upload_request: &mut UploadRequest<'_>, chunk: Chunk) -> Result<Response, IntakeError> {
    let (start, body_len) = (chunk.start, chunk.body_len);
    let append_response = |offset: u64, expires: Option<HeaderValue>| {
        let mut response = empty_response(StatusCode::NO_CONTENT);
        response.headers_mut().insert(OFFSET, offset.into());
        if let Some(expires) = expires {
            response.headers_mut().insert(EXPIRES, expires);
        }
        response
    };
    match upload_request.receive(chunk).await {
        Ok(progress) => Ok(append_response(progress.offset, progress.expires_at().map(http_date))),
        // An empty append at the end of a complete upload succeeds; at another offset the client gets the
        // right one.
        Err(IntakeError::Complete(upload)) if start == upload.offset() && body_len == Some(0) => {
            Ok(append_response(start, None))
        }
        Err(IntakeError::Complete(upload)) if start != upload.offset() => {
            Err(IntakeError::WrongOffset { offset: upload.offset(), length: upload.length })
        }
        Err(error) => Err(error),
    }
}

fn created_response(upload_request: &UploadRequest<'_>, progress: &UploadProgress) -> Response {
    let mut response = empty_response(StatusCode::CREATED);
    let headers = response.headers_mut();
    let location =
        HeaderValue::from_str(&upload_request.location).expect("made of a checked base and base64url");
    headers.insert(header::LOCATION, location);
    headers.insert(OFFSET, progress.offset.into());
    add_expiry(headers, progress);
    response
}

fn status_response(progress: &UploadProgress) -> Response {
    let mut response = empty_response(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(OFFSET, progress.offset.into());
    match progress.upload.length {
        Some(length) => headers.insert(LENGTH, length.into()),
        None => headers.insert(DEFER_LENGTH, HeaderValue::from_static("1")),
    };
    add_expiry(headers, progress);
    response
}

fn add_expiry(headers: &mut HeaderMap, progress: &UploadProgress) {
    if let Some(expires_at) = progress.expires_at() {
        headers.insert(EXPIRES, http_date(expires_at));
    }
}

fn error_response(error: IntakeError) -> Response {
    match error {
        IntakeError::Busy => error::locked().into_response(),
        IntakeError::WrongOffset { offset, .. } => {
            let mut response = error::wrong_offset(offset).into_response();
            response.headers_mut().insert(OFFSET, offset.into());
            response
        }
        other => error::from_intake(other).into_response(),
    }
}
