//! Errors at the signed address of an upload, in any protocol (D-0060); [`ApiError`] has those of
//! several crates.

use axum::http::StatusCode;
use kinora_domain::{CorsOrigin, FailureCode, LengthProblem, Upload, UploadState};
use kinora_intake::IntakeError;
use kinora_web::error::ApiError;

/// Seconds after which a request that another one has ended may come again: that one must have gone on.
const INTERRUPTED_RETRY_AFTER_S: u32 = 1;

/// 404: the address is not one of ours, was cut or changed, or its upload is long gone. All of them are told
/// the same.
pub(crate) fn no_such_upload_address() -> ApiError {
    ApiError::described(
        StatusCode::NOT_FOUND,
        "not found",
        "there is no upload at this address; it must be used exactly as it was answered",
    )
}

/// 410: the address is worth nothing any more.
pub(crate) fn upload_address_expired() -> ApiError {
    ApiError::described(StatusCode::GONE, "gone", "this address has expired; create another upload")
}

/// 403: a page of another site.
pub(crate) fn other_origin(allowed: &CorsOrigin) -> ApiError {
    ApiError::described(
        StatusCode::FORBIDDEN,
        "forbidden",
        format!("this upload takes requests of pages of {} only, its corsOrigin", allowed.as_str()),
    )
}

/// 410: nothing more can come.
pub(crate) fn upload_ended(upload: &Upload) -> ApiError {
    let description = match &upload.state {
        UploadState::Failed { failure, .. } => format!("the upload has failed: {}", failure.message),
        UploadState::TimedOut { .. } => {
            "nothing came in time, so the upload is over; create another one".to_owned()
        }
        state => format!("the upload is {}; create another one", state.name()),
    };
    ApiError::described(StatusCode::GONE, "gone", description)
}

/// 400: the file is whole, and the request is for one that is not.
pub(crate) fn upload_complete() -> ApiError {
    ApiError::bad_request("the upload is complete; no byte can be added")
}

/// 405 to a client that speaks one of the protocols, which knows fewer methods than the address.
pub(crate) fn method_not_in_protocol(protocol: &str, methods: &'static str) -> ApiError {
    let error = ApiError::described(
        StatusCode::METHOD_NOT_ALLOWED,
        "method not allowed",
        format!("{protocol} knows here: {methods}"),
    );
    error.allowing(methods)
}

/// 409: the bytes do not follow those that are kept.
pub(crate) fn wrong_offset(offset: u64) -> ApiError {
    ApiError::described(StatusCode::CONFLICT, "conflict", format!("the next byte belongs at offset {offset}"))
}

/// 412: a version of tus that is not known.
pub(crate) fn other_tus_version() -> ApiError {
    ApiError::described(
        StatusCode::PRECONDITION_FAILED,
        "precondition failed",
        "the header Tus-Resumable must be 1.0.0, the version that is spoken here",
    )
}

/// 413: the file is larger than may come.
pub(crate) fn file_too_large(max: u64) -> ApiError {
    let description = if max == Upload::DEPRECATED_SIZE_MAX {
        format!(
            "an upload made through /v1/on-demand/uploads has at most {max} bytes; \
             POST /v1/on-demand/upload makes one without a limit"
        )
    } else {
        format!("the file may have at most {max} bytes")
    };
    ApiError::described(StatusCode::PAYLOAD_TOO_LARGE, "payload too large", description)
}

/// 415: the body is packed, or of another type than the protocol wants.
pub(crate) fn other_body_type(description: &'static str) -> ApiError {
    ApiError::described(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported media type", description)
}

/// 422: of these bytes nothing can become.
pub(crate) fn unusable_file(description: impl Into<String>) -> ApiError {
    ApiError::described(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable content", description)
}

/// 422: a file without a byte.
pub(crate) fn empty_file() -> ApiError {
    unusable_file(LengthProblem::Empty.to_string())
}

/// 423: another request receives the upload; tus has a status for that.
pub(crate) fn locked() -> ApiError {
    let error = ApiError::described(
        StatusCode::LOCKED,
        "locked",
        "another request receives this upload; try again as Retry-After says",
    );
    error.retry_after(ApiError::BUSY_RETRY_AFTER_S)
}

/// 460: the bytes do not add up to their checksum (tus 1.0, checksum).
pub(crate) fn checksum_mismatch() -> ApiError {
    let status = StatusCode::from_u16(460).expect("it has three digits");
    ApiError::described(
        status,
        "checksum mismatch",
        "the bytes do not add up to Upload-Checksum; none was kept",
    )
}

/// 503: another request has taken the upload over; for protocols whose clients give up at 409.
pub(crate) fn taken_over() -> ApiError {
    let error = ApiError::described(
        StatusCode::SERVICE_UNAVAILABLE,
        "service unavailable",
        "another request has taken this upload over; ask where it stands, as Retry-After says",
    );
    error.retry_after(INTERRUPTED_RETRY_AFTER_S)
}

/// Converts an invalid length.
fn from_length(problem: LengthProblem) -> ApiError {
    match problem {
        LengthProblem::TooLarge { max } => file_too_large(max),
        LengthProblem::Empty => empty_file(),
        LengthProblem::Changed { .. } | LengthProblem::BelowKept { .. } => {
            ApiError::bad_request(problem.to_string())
        }
    }
}

/// Converts an error of the intake, as most protocols answer it.
pub(crate) fn from_intake(error: IntakeError) -> ApiError {
    let description = error.to_string();
    match error {
        IntakeError::NotFound => no_such_upload_address(),
        IntakeError::Ended(upload) => upload_ended(&upload),
        IntakeError::Complete(_) => upload_complete(),
        IntakeError::WrongOffset { offset, .. } => wrong_offset(offset),
        IntakeError::Length(problem) => from_length(problem),
        IntakeError::TooManyBytes { .. } | IntakeError::TooFewBytes { .. } | IntakeError::Broken { .. } => {
            ApiError::bad_request(description)
        }
        IntakeError::BadChecksum { .. } => checksum_mismatch(),
        IntakeError::ChecksumTooLong { max } => {
            let description = format!("a request with a checksum has at most {max} bytes");
            ApiError::described(StatusCode::PAYLOAD_TOO_LARGE, "payload too large", description)
        }
        IntakeError::Hopeless(failure) if failure.code == FailureCode::SourceTooLarge => {
            ApiError::described(StatusCode::PAYLOAD_TOO_LARGE, "payload too large", failure.message)
        }
        // What was kept is gone: the address is of no use any more, whatever the file is.
        IntakeError::Hopeless(failure) if failure.code == FailureCode::Internal => {
            ApiError::described(StatusCode::GONE, "gone", failure.message)
        }
        IntakeError::Hopeless(failure) => unusable_file(failure.message),
        IntakeError::Interrupted { .. } => ApiError::described(StatusCode::CONFLICT, "conflict", description),
        IntakeError::Slow { .. } => {
            ApiError::described(StatusCode::REQUEST_TIMEOUT, "request timeout", description)
        }
        IntakeError::Full { .. } => ApiError::upload_full(),
        IntakeError::Busy => ApiError::busy(),
        IntakeError::Away(cause) => ApiError::away(&*cause),
        IntakeError::Internal(cause) => ApiError::internal(&*cause),
        lost @ IntakeError::Lost => ApiError::internal(&lost),
    }
}
