//! Maps responses of the store to errors: those that a caller can act on, and remedies for a person.

use std::io;

use object_store::Error as LibraryError;

use super::transport::{Reason, RequestFailure};
use crate::Error;

/// The signs of a full store: HTTP's own status (RFC 4918, 11.5), MinIO's code, quotas of Ceph and others.
///
/// SeaweedFS returns 500 InternalError when no volume has space left (seen with 4.48). That looks like any
/// other failure: its writes are retried, and its log has the cause.
const FULL_STATUS: u16 = 507;
const FULL_CODES: [&str; 3] = ["XMinioStorageFull", "QuotaExceeded", "InsufficientStorage"];

/// Maps an error of the object library for `action`, a verb with its object.
pub(super) fn classify(action: &'static str, error: LibraryError) -> Error {
    let Some(failure) = RequestFailure::find_in(&error) else {
        return Error::Internal { action, source: io::Error::other(error) };
    };
    if is_full(failure) {
        return Error::Full;
    }
    match (&failure.reason, remedy(failure)) {
        (Reason::TooLong(len), _) => Error::TooLong { len: *len },
        (_, Some(remedy)) => Error::Rejected { action, remedy, source: error_text(failure) },
        (_, None) => Error::Unavailable { action, source: error_text(failure) },
    }
}

/// The error without the library's own layers, which repeat URLs and counts.
fn error_text(failure: &RequestFailure) -> io::Error {
    io::Error::other(failure.to_string())
}

fn is_full(failure: &RequestFailure) -> bool {
    failure.status().is_some_and(|status| status.as_u16() == FULL_STATUS)
        || failure.code().is_some_and(|code| FULL_CODES.contains(&code))
}

/// The remedy for a person; `None` where a later retry helps.
fn remedy(failure: &RequestFailure) -> Option<&'static str> {
    let status = match &failure.reason {
        Reason::Status { status, .. } => status.as_u16(),
        Reason::NoAnswer(_) => return None,
        Reason::TooLong(_) => return Some("the object is too long to be read at once"),
        Reason::NoCredentials(_) => {
            return Some(
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment of the server, or give its machine a role",
            );
        }
    };
    // Amazon S3, "Error responses".
    Some(match (status, failure.code()) {
        (_, Some("NoSuchBucket")) => "create the bucket, or correct its name in the storage URL",
        (_, Some("InvalidBucketName")) => "correct the name of the bucket in the storage URL",
        (_, Some("InvalidAccessKeyId")) => "the store rejects the access key: correct AWS_ACCESS_KEY_ID",
        (_, Some("SignatureDoesNotMatch")) => {
            "the secret does not match the access key: correct AWS_SECRET_ACCESS_KEY"
        }
        (_, Some("ExpiredToken" | "InvalidToken" | "TokenRefreshRequired")) => {
            "the session token is no longer valid: renew AWS_SESSION_TOKEN and the keys that belong to it"
        }
        (_, Some("RequestTimeTooSkewed")) => "the clocks of server and store differ: set the clock right",
        (_, Some("AuthorizationHeaderMalformed" | "IllegalLocationConstraintException")) | (300..=399, _) => {
            "the store redirects requests: set region= and endpoint= of the storage URL to those of the bucket"
        }
        (501, _) | (_, Some("NotImplemented")) => {
            "the store does not support a required call: use one that does, or a newer version of this one"
        }
        (401 | 403, _) => {
            "allow the access key to get, put, delete and list objects and to abort uploads in this bucket and prefix"
        }
        (408 | 409 | 429 | 500.., _) => return None,
        _ => "set endpoint= of the storage URL to an S3 store",
    })
}

/// Whether the store reported that the object, or the upload, does not exist.
pub(super) fn is_absent(error: &LibraryError) -> bool {
    let Some(failure) = RequestFailure::find_in(error) else {
        return matches!(error, LibraryError::NotFound { .. });
    };
    failure.status().is_some_and(|status| status.as_u16() == 404) && failure.code() != Some("NoSuchBucket")
}

/// Whether the store reported that the parts of an upload differ from the requested ones. Amazon S3,
/// CompleteMultipartUpload.
pub(super) fn has_other_parts(error: &LibraryError) -> bool {
    let code = RequestFailure::find_in(error).and_then(RequestFailure::code);
    matches!(code, Some("InvalidPart" | "InvalidPartOrder" | "EntityTooSmall"))
}

/// The conflict, if the store reported that the key exists: whether a try of ours may have created it.
pub(super) fn key_conflict(error: &LibraryError) -> Option<MayBeOwnRetry> {
    let failure = RequestFailure::find_in(error)?;
    (failure.status()?.as_u16() == 412).then_some(MayBeOwnRetry(failure.may_be_done))
}

/// Whether an earlier try of the same put got no clear response, so that it may have written the object.
#[derive(Debug, Clone, Copy)]
pub(super) struct MayBeOwnRetry(pub(super) bool);

/// Whether the store reported that the object is shorter than the requested range.
pub(super) fn is_out_of_range(error: &LibraryError) -> bool {
    RequestFailure::find_in(error)
        .and_then(RequestFailure::status)
        .is_some_and(|status| status.as_u16() == 416)
}

#[cfg(test)]
mod tests {
    use object_store::client::{HttpError, HttpErrorKind};
    use reqwest::StatusCode;

    use super::*;

    fn classified(reason: Reason) -> Error {
        let failure = RequestFailure { reason, may_be_done: false };
        let source = Box::new(HttpError::new(HttpErrorKind::Unknown, failure));
        classify("try", LibraryError::Generic { store: "S3", source })
    }

    fn status(status: u16, code: &str) -> Reason {
        let code = (!code.is_empty()).then(|| code.to_owned());
        Reason::Status { status: StatusCode::from_u16(status).unwrap(), code }
    }

    #[test]
    fn s3_errors_separate_transient_from_permanent() {
        let check = |reason: Reason, expected: &str| {
            let error = classified(reason.clone());
            let found = match &error {
                Error::Full => "full",
                Error::Unavailable { .. } => "wait",
                Error::TooLong { .. } => "long",
                Error::Rejected { remedy, .. } => remedy,
                other => panic!("{other:?}"),
            };
            assert!(found.contains(expected), "{reason:?}: {found}");
        };
        check(Reason::NoAnswer("nobody".to_owned()), "wait");
        check(Reason::NoCredentials("none".to_owned()), "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
        check(Reason::TooLong(7), "long");
        for busy in [408, 409, 429, 500, 502, 503, 504] {
            check(status(busy, ""), "wait");
        }
        check(status(507, ""), "full");
        check(status(503, "QuotaExceeded"), "full");
        check(status(301, "PermanentRedirect"), "region=");
        check(status(401, ""), "allow the access key");
        check(status(403, ""), "allow the access key");
        check(status(501, ""), "does not support a required call");
        check(status(404, "NoSuchBucket"), "create the bucket");
        check(status(405, ""), "to an S3 store");
    }

    #[test]
    fn library_error_text_is_preserved() {
        let error = classify("try", LibraryError::NotSupported { source: "no such call".into() });
        assert!(
            matches!(&error, Error::Internal { action: "try", source } if source.to_string().contains("no such call"))
        );
    }
}
