//! Errors at the signed address of an upload, in any protocol (D-0060); [`ApiError`] has the errors that
//! several crates share.

use axum::http::StatusCode;
use kinora_domain::{CorsOrigin, FailureCode, LengthRejected, Upload, UploadState};
use kinora_intake::IntakeError;
use kinora_web::error::ApiError;

/// Seconds until a request that another one has interrupted may retry: the other one needs time to proceed.
const INTERRUPTED_RETRY_AFTER_S: u32 = 1;

/// 404: the address was not signed here, was cut or changed, or its upload was deleted long ago. The
/// response is the same for all of them.
pub(crate) fn upload_url_not_found() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "not found",
        "there is no upload at this URL; use the URL exactly as it was returned",
    )
}

/// 410: the address has expired.
pub(crate) fn upload_url_expired() -> ApiError {
    ApiError::described(StatusCode::GONE, "gone", "this upload URL has expired; create another upload")
}

/// 403: a page of another origin.
pub(crate) fn origin_forbidden(allowed: &CorsOrigin) -> ApiError {
    ApiError::described(
        StatusCode::FORBIDDEN,
        "forbidden",
        format!("this upload accepts requests only from pages of its corsOrigin, {}", allowed.as_str()),
    )
}

/// 410: the upload has ended and takes no more bytes.
pub(crate) fn upload_ended(upload: &Upload) -> ApiError {
    let description = match &upload.state {
        UploadState::Failed { failure, .. } => format!("the upload has failed: {}", failure.message),
        UploadState::TimedOut { .. } => "the upload timed out; create another one".to_owned(),
        state => format!("the upload is {}; create another one", state.name()),
    };
    ApiError::described(StatusCode::GONE, "gone", description)
}

/// 400: the file is complete, and the request is for an incomplete one.
pub(crate) fn upload_complete() -> ApiError {
    ApiError::bad_request("the upload is complete and accepts no more bytes")
}

/// 405 in one of the protocols, which has fewer methods than the address.
pub(crate) fn method_not_in_protocol(protocol: &str, methods: &'static str) -> ApiError {
    let error = ApiError::described(
        StatusCode::METHOD_NOT_ALLOWED,
        "method not allowed",
        format!("{protocol} supports only these methods here: {methods}"),
    );
    error.with_allow(methods)
}

/// 409: the bytes do not follow the stored ones.
pub(crate) fn wrong_offset(offset: u64) -> ApiError {
    ApiError::described(StatusCode::CONFLICT, "conflict", format!("the next byte must be at offset {offset}"))
}

/// 412: an unsupported version of tus.
pub(crate) fn unsupported_tus_version() -> ApiError {
    ApiError::described(
        StatusCode::PRECONDITION_FAILED,
        "precondition failed",
        "the header Tus-Resumable must be 1.0.0, the only supported version",
    )
}

/// 413: the file is larger than the limit.
pub(crate) fn file_too_large(max: u64) -> ApiError {
    let description = if max == Upload::DEPRECATED_SIZE_MAX {
        format!(
            "an upload created by POST /v1/on-demand/uploads has at most {max} bytes; use POST \
                /v1/on-demand/upload, which has no limit"
        )
    } else {
        format!("the file must have at most {max} bytes")
    };
    ApiError::described(StatusCode::PAYLOAD_TOO_LARGE, "payload too large", description)
}

/// 415: the body is compressed, or its type does not match the protocol.
pub(crate) fn unsupported_body_type(description: &'static str) -> ApiError {
    ApiError::described(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported media type", description)
}

/// 422: no media can be made of this file.
pub(crate) fn unusable_file(description: impl Into<String>) -> ApiError {
    ApiError::described(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable content", description)
}

/// 422: an empty file.
pub(crate) fn empty_file() -> ApiError {
    unusable_file(LengthRejected::Empty.to_string())
}

/// 423: another request receives the upload; tus defines this status.
pub(crate) fn locked() -> ApiError {
    let error = ApiError::described(
        StatusCode::LOCKED,
        "locked",
        "another request is sending this upload; wait Retry-After seconds, then retry",
    );
    error.with_retry_after(ApiError::BUSY_RETRY_AFTER_S)
}

/// 460: the bytes do not match their checksum (tus 1.0, checksum).
pub(crate) fn checksum_mismatch() -> ApiError {
    let status = StatusCode::from_u16(460).expect("it has three digits");
    ApiError::described(
        status,
        "checksum mismatch",
        "the body does not match Upload-Checksum, and none of it was stored; send it again",
    )
}

/// 503: another request has taken the upload over; for protocols whose clients give up at 409.
pub(crate) fn taken_over() -> ApiError {
    let error = ApiError::described(
        StatusCode::SERVICE_UNAVAILABLE,
        "service unavailable",
        "another request has taken over this upload; wait Retry-After seconds, then read its offset",
    );
    error.with_retry_after(INTERRUPTED_RETRY_AFTER_S)
}

/// Converts an invalid length.
fn from_length(problem: LengthRejected) -> ApiError {
    match problem {
        LengthRejected::TooLarge { max } => file_too_large(max),
        LengthRejected::Empty => empty_file(),
        LengthRejected::Changed { .. } | LengthRejected::BelowOffset { .. } => {
            ApiError::bad_request(problem.to_string())
        }
    }
}

/// Converts an error of the intake, as most protocols return it.
pub(crate) fn from_intake(error: IntakeError) -> ApiError {
    let description = error.to_string();
    match error {
        IntakeError::NotFound => upload_url_not_found(),
        IntakeError::Ended(upload) => upload_ended(&upload),
        IntakeError::Complete(_) => upload_complete(),
        IntakeError::WrongOffset { offset, .. } => wrong_offset(offset),
        IntakeError::Length(problem) => from_length(problem),
        IntakeError::TooManyBytes { .. }
        | IntakeError::TooFewBytes { .. }
        | IntakeError::Incomplete { .. } => ApiError::bad_request(description),
        IntakeError::BadChecksum { .. } => checksum_mismatch(),
        IntakeError::ChecksumTooLong { max } => {
            let description = format!("a request with a checksum must have at most {max} bytes");
            ApiError::described(StatusCode::PAYLOAD_TOO_LARGE, "payload too large", description)
        }
        IntakeError::Rejected(failure) if failure.code == FailureCode::SourceTooLarge => {
            ApiError::described(StatusCode::PAYLOAD_TOO_LARGE, "payload too large", failure.message)
        }
        // The stored bytes are lost, so the address is of no use any more, for any file.
        IntakeError::Rejected(failure) if failure.code == FailureCode::Internal => {
            ApiError::described(StatusCode::GONE, "gone", failure.message)
        }
        IntakeError::Rejected(failure) => unusable_file(failure.message),
        IntakeError::Interrupted { .. } => ApiError::described(StatusCode::CONFLICT, "conflict", description),
        IntakeError::Stalled { .. } => {
            ApiError::described(StatusCode::REQUEST_TIMEOUT, "request timeout", description)
        }
        IntakeError::DiskFull { .. } => ApiError::upload_disk_full(),
        IntakeError::Busy => ApiError::busy(),
        IntakeError::Unavailable(cause) => ApiError::unavailable(&*cause),
        IntakeError::Internal(cause) => ApiError::internal(&*cause),
        lost @ IntakeError::BytesLost => ApiError::internal(&lost),
    }
}
