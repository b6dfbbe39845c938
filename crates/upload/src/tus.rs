//! tus 1.0 (<https://tus.io/protocols/resumable-upload>), with the extensions creation, creation-with-upload,
//! creation-defer-length, expiration, checksum and termination.

mod ask;

use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use kinora_domain::UploadTicket;
use kinora_intake::{IntakeError, Standing};
use kinora_web::error::ApiError;

use super::call::{Call, Piece, alive, empty};
use super::date::http_date;
use crate::error;
use ask::Ask;

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

pub(super) async fn answer(mut call: Call<'_>) -> Response {
    let mut response = match ask::read(&call.method, call.headers) {
        Ok(ask) => answer_ask(&mut call, ask).await,
        Err(refusal) => refusal.into_response(),
    };
    if response.status() == StatusCode::PRECONDITION_FAILED {
        add_abilities(response.headers_mut(), call.ticket);
    }
    response.headers_mut().insert(RESUMABLE, VERSION);
    response
}

/// What clients may ask for before they begin.
pub(super) fn add_abilities(headers: &mut HeaderMap, ticket: &UploadTicket) {
    headers.insert(RESUMABLE, VERSION);
    headers.insert(HeaderName::from_static("tus-version"), VERSION);
    headers.insert(HeaderName::from_static("tus-extension"), EXTENSIONS);
    headers.insert(HeaderName::from_static("tus-checksum-algorithm"), ALGORITHMS);
    if let Some(max) = ticket.size_max {
        headers.insert(HeaderName::from_static("tus-max-size"), max.into());
    }
}

async fn answer_ask(call: &mut Call<'_>, ask: Ask) -> Response {
    let outcome = match ask {
        Ask::Create { length, with: None } => {
            call.create(length).await.and_then(alive).map(|standing| created(call, &standing))
        }
        Ask::Create { with: Some(piece), .. } => {
            call.receive(piece).await.map(|standing| created(call, &standing))
        }
        Ask::Stand => call.stand().await.and_then(alive).map(|standing| stands(&standing)),
        Ask::Append(piece) => append(call, piece).await,
        Ask::Cancel => {
            return match call.cancel().await {
                Ok(()) => empty(StatusCode::NO_CONTENT),
                Err(IntakeError::Complete(upload)) => ApiError::upload_not_cancelled(&upload).into_response(),
                Err(error) => refused(error),
            };
        }
    };
    outcome.unwrap_or_else(refused)
}

async fn append(call: &mut Call<'_>, piece: Piece) -> Result<Response, IntakeError> {
    let (start, len) = (piece.start, piece.len);
    let appended = |offset: u64, expires: Option<HeaderValue>| {
        let mut response = empty(StatusCode::NO_CONTENT);
        response.headers_mut().insert(OFFSET, offset.into());
        if let Some(expires) = expires {
            response.headers_mut().insert(EXPIRES, expires);
        }
        response
    };
    match call.receive(piece).await {
        Ok(standing) => Ok(appended(standing.offset, standing.expires_at().map(http_date))),
        // Where a complete upload stands nothing is nothing new; elsewhere the client is told where that is.
        Err(IntakeError::Complete(upload)) if start == upload.kept() && len == Some(0) => {
            Ok(appended(start, None))
        }
        Err(IntakeError::Complete(upload)) if start != upload.kept() => {
            Err(IntakeError::WrongOffset { offset: upload.kept(), length: upload.length })
        }
        Err(error) => Err(error),
    }
}

fn created(call: &Call<'_>, standing: &Standing) -> Response {
    let mut response = empty(StatusCode::CREATED);
    let headers = response.headers_mut();
    let location = HeaderValue::from_str(&call.location).expect("made of a checked base and base64url");
    headers.insert(header::LOCATION, location);
    headers.insert(OFFSET, standing.offset.into());
    add_expiry(headers, standing);
    response
}

fn stands(standing: &Standing) -> Response {
    let mut response = empty(StatusCode::OK);
    let headers = response.headers_mut();
    headers.insert(OFFSET, standing.offset.into());
    match standing.upload.length {
        Some(length) => headers.insert(LENGTH, length.into()),
        None => headers.insert(DEFER_LENGTH, HeaderValue::from_static("1")),
    };
    add_expiry(headers, standing);
    response
}

fn add_expiry(headers: &mut HeaderMap, standing: &Standing) {
    if let Some(expires_at) = standing.expires_at() {
        headers.insert(EXPIRES, http_date(expires_at));
    }
}

fn refused(error: IntakeError) -> Response {
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
