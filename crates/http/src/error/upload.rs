//! What goes wrong with direct uploads: on the API, and at their signed addresses in whichever protocol is spoken there (decision 0060).

use axum::http::StatusCode;
use kinora_domain::{CorsOrigin, FailureCode, LengthProblem, Upload, UploadState};
use kinora_intake::IntakeError;

use super::ApiError;

impl ApiError {
    /// Seconds after which a request that another one has ended may come again: that one must have gone on.
    const INTERRUPTED_RETRY_AFTER_S: u32 = 1;

    /// 400: an upload that has ended cannot be cancelled. The message is the contract's (1.4).
    pub(crate) fn upload_not_cancelled(upload: &Upload) -> Self {
        Self::upload_ended_already(upload.state.name())
    }

    /// The same of an upload in this state.
    pub(crate) fn upload_ended_already(state: &str) -> Self {
        let description = format!("the upload is {state} and cannot be cancelled any more");
        Self::described(StatusCode::BAD_REQUEST, "Bad Request", description)
    }

    /// 404: no such upload in the caller's workspace. The message is the contract's (1.4).
    pub(crate) fn upload_not_found() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "media workspace relation not found",
            "there is no upload with this id in the workspace of the access token",
        )
    }

    /// 404: the address is not one of ours, was cut or changed, or its upload is long gone. All of them are told the same.
    pub(crate) fn no_such_upload_address() -> Self {
        Self::described(
            StatusCode::NOT_FOUND,
            "not found",
            "there is no upload at this address; it must be used exactly as it was answered",
        )
    }

    /// 410: the address is worth nothing any more.
    pub(crate) fn upload_address_expired() -> Self {
        Self::described(StatusCode::GONE, "gone", "this address has expired; create another upload")
    }

    /// 403: a page of another site.
    pub(crate) fn other_origin(allowed: &CorsOrigin) -> Self {
        Self::described(
            StatusCode::FORBIDDEN,
            "forbidden",
            format!("this upload takes requests of pages of {} only, its corsOrigin", allowed.as_str()),
        )
    }

    /// 410: nothing more can come.
    pub(crate) fn upload_ended(upload: &Upload) -> Self {
        let description = match &upload.state {
            UploadState::Failed { failure, .. } => format!("the upload has failed: {}", failure.message),
            UploadState::TimedOut { .. } => {
                "nothing came in time, so the upload is over; create another one".to_owned()
            }
            state => format!("the upload is {}; create another one", state.name()),
        };
        Self::described(StatusCode::GONE, "gone", description)
    }

    /// 400: the file is whole, and the request is for one that is not.
    pub(crate) fn upload_complete() -> Self {
        Self::bad_request("the upload is complete; no byte can be added")
    }

    /// 405 to a client that speaks one of the protocols, which knows fewer methods than the address.
    pub(crate) fn method_not_in_protocol(protocol: &str, methods: &'static str) -> Self {
        let mut error = Self::described(
            StatusCode::METHOD_NOT_ALLOWED,
            "method not allowed",
            format!("{protocol} knows here: {methods}"),
        );
        error.allow = Some(methods);
        error
    }

    /// 409: the bytes do not follow those that are kept.
    pub(crate) fn wrong_offset(offset: u64) -> Self {
        Self::described(StatusCode::CONFLICT, "conflict", format!("the next byte belongs at offset {offset}"))
    }

    /// 412: a version of tus that is not known.
    pub(crate) fn other_tus_version() -> Self {
        Self::described(
            StatusCode::PRECONDITION_FAILED,
            "precondition failed",
            "the header Tus-Resumable must be 1.0.0, the version that is spoken here",
        )
    }

    /// 413: the file is larger than may come.
    pub(crate) fn file_too_large(max: u64) -> Self {
        let description = if max == Upload::DEPRECATED_SIZE_MAX {
            format!(
                "an upload made through /v1/on-demand/uploads has at most {max} bytes; \
                 POST /v1/on-demand/upload makes one without a limit"
            )
        } else {
            format!("the file may have at most {max} bytes")
        };
        Self::described(StatusCode::PAYLOAD_TOO_LARGE, "payload too large", description)
    }

    /// 415: the body is packed, or of another type than the protocol wants.
    pub(crate) fn other_body_type(description: &'static str) -> Self {
        Self::described(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported media type", description)
    }

    /// 422: of these bytes nothing can become.
    pub(crate) fn unusable_file(description: impl Into<String>) -> Self {
        Self::described(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable content", description)
    }

    /// 422: a file without a byte.
    pub(crate) fn empty_file() -> Self {
        Self::unusable_file(LengthProblem::Empty.to_string())
    }

    /// 423: another request receives the upload; tus has a status for that.
    pub(crate) fn locked() -> Self {
        let mut error = Self::described(
            StatusCode::LOCKED,
            "locked",
            "another request receives this upload; try again as Retry-After says",
        );
        error.retry_after_s = Some(Self::BUSY_RETRY_AFTER_S);
        error
    }

    /// 460: the bytes do not add up to their checksum (tus 1.0, checksum).
    pub(crate) fn checksum_mismatch() -> Self {
        let status = StatusCode::from_u16(460).expect("it has three digits");
        Self::described(
            status,
            "checksum mismatch",
            "the bytes do not add up to Upload-Checksum; none was kept",
        )
    }

    /// 503: another request has taken the upload over; for protocols whose clients give up at 409.
    pub(crate) fn taken_over() -> Self {
        let mut error = Self::described(
            StatusCode::SERVICE_UNAVAILABLE,
            "service unavailable",
            "another request has taken this upload over; ask where it stands, as Retry-After says",
        );
        error.retry_after_s = Some(Self::INTERRUPTED_RETRY_AFTER_S);
        error
    }
}

impl From<LengthProblem> for ApiError {
    fn from(problem: LengthProblem) -> Self {
        match problem {
            LengthProblem::TooLarge { max } => Self::file_too_large(max),
            LengthProblem::Empty => Self::empty_file(),
            LengthProblem::Changed { .. } | LengthProblem::BelowKept { .. } => {
                Self::bad_request(problem.to_string())
            }
        }
    }
}

impl From<IntakeError> for ApiError {
    /// What is the same in every protocol.
    fn from(error: IntakeError) -> Self {
        let description = error.to_string();
        match error {
            IntakeError::NotFound => Self::no_such_upload_address(),
            IntakeError::Ended(upload) => Self::upload_ended(&upload),
            IntakeError::Complete(_) => Self::upload_complete(),
            IntakeError::WrongOffset { offset, .. } => Self::wrong_offset(offset),
            IntakeError::Length(problem) => problem.into(),
            IntakeError::TooManyBytes { .. }
            | IntakeError::TooFewBytes { .. }
            | IntakeError::Broken { .. } => Self::bad_request(description),
            IntakeError::BadChecksum { .. } => Self::checksum_mismatch(),
            IntakeError::ChecksumTooLong { max } => {
                let description = format!("a request with a checksum has at most {max} bytes");
                Self::described(StatusCode::PAYLOAD_TOO_LARGE, "payload too large", description)
            }
            IntakeError::Hopeless(failure) if failure.code == FailureCode::SourceTooLarge => {
                Self::described(StatusCode::PAYLOAD_TOO_LARGE, "payload too large", failure.message)
            }
            // What was kept is gone: the address is of no use any more, whatever the file is.
            IntakeError::Hopeless(failure) if failure.code == FailureCode::Internal => {
                Self::described(StatusCode::GONE, "gone", failure.message)
            }
            IntakeError::Hopeless(failure) => Self::unusable_file(failure.message),
            IntakeError::Interrupted { .. } => Self::described(StatusCode::CONFLICT, "conflict", description),
            IntakeError::Slow { .. } => {
                Self::described(StatusCode::REQUEST_TIMEOUT, "request timeout", description)
            }
            IntakeError::Full { .. } => Self::upload_full(),
            IntakeError::Busy => Self::busy(),
            IntakeError::Away(cause) => Self::away(&*cause),
            IntakeError::Internal(cause) => Self::internal(&*cause),
            lost @ IntakeError::Lost => Self::internal(&lost),
        }
    }
}
