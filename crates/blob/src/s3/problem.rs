//! Sorts what the store answered: what a caller can act on, and in words what a person can do.

use std::io;

use object_store::Error as LibraryError;

use super::transport::{Reason, Refusal};
use crate::Error;

/// The words for a full store: HTTP's own status (RFC 4918, 11.5), MinIO's code, quotas of Ceph and others.
///
/// SeaweedFS answers 500 InternalError when no volume has room left (seen with 4.48), which nobody can tell
/// from other trouble: its writes are tried again, and its log has the cause.
const FULL_STATUS: u16 = 507;
const FULL_CODES: [&str; 3] = ["XMinioStorageFull", "QuotaExceeded", "InsufficientStorage"];

/// What an error of the object library means for `action`, a verb with its object.
pub(super) fn sort(action: &'static str, error: LibraryError) -> Error {
    let Some(refusal) = Refusal::below(&error) else {
        return Error::Internal { action, source: io::Error::other(error) };
    };
    if is_full(refusal) {
        return Error::Full;
    }
    match (&refusal.reason, remedy(refusal)) {
        (Reason::TooLong(len), _) => Error::TooLong { len: *len },
        (_, Some(remedy)) => Error::Refused { action, remedy, source: told(refusal) },
        (_, None) => Error::Unavailable { action, source: told(refusal) },
    }
}

/// Without the library's own layers, which repeat addresses and counts.
fn told(refusal: &Refusal) -> io::Error {
    io::Error::other(refusal.to_string())
}

fn is_full(refusal: &Refusal) -> bool {
    refusal.status().is_some_and(|status| status.as_u16() == FULL_STATUS)
        || refusal.code().is_some_and(|code| FULL_CODES.contains(&code))
}

/// What a person can do; `None` where waiting helps.
fn remedy(refusal: &Refusal) -> Option<&'static str> {
    let status = match &refusal.reason {
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
    Some(match (status, refusal.code()) {
        (_, Some("NoSuchBucket")) => "create the bucket, or correct its name in the storage URL",
        (_, Some("InvalidBucketName")) => "correct the name of the bucket in the storage URL",
        (_, Some("InvalidAccessKeyId")) => {
            "the store does not know the access key: correct AWS_ACCESS_KEY_ID"
        }
        (_, Some("SignatureDoesNotMatch")) => {
            "the secret does not belong to the access key: correct AWS_SECRET_ACCESS_KEY"
        }
        (_, Some("ExpiredToken" | "InvalidToken" | "TokenRefreshRequired")) => {
            "the session token is no longer valid: renew AWS_SESSION_TOKEN and the keys that belong to it"
        }
        (_, Some("RequestTimeTooSkewed")) => "the clocks of server and store differ: set the clock right",
        (_, Some("AuthorizationHeaderMalformed" | "IllegalLocationConstraintException")) | (300..=399, _) => {
            "the store sends requests elsewhere: set region= and endpoint= of the storage URL to those of the bucket"
        }
        (501, _) | (_, Some("NotImplemented")) => {
            "the store does not know a call that is needed: use one that does, or a newer version of this one"
        }
        (401 | 403, _) => {
            "allow the access key to get, put, delete and list objects and to abort uploads in this bucket and prefix"
        }
        (408 | 409 | 429 | 500.., _) => return None,
        _ => "see that the endpoint of the storage URL is that of an S3 store",
    })
}

/// Whether the store said that there is no such object, or no such upload any more.
pub(super) fn is_absent(error: &LibraryError) -> bool {
    let Some(refusal) = Refusal::below(error) else { return matches!(error, LibraryError::NotFound { .. }) };
    refusal.status().is_some_and(|status| status.as_u16() == 404) && refusal.code() != Some("NoSuchBucket")
}

/// Whether the store said that the parts of an upload are not those that it should be made of. Amazon S3,
/// CompleteMultipartUpload.
pub(super) fn has_other_parts(error: &LibraryError) -> bool {
    let code = Refusal::below(error).and_then(Refusal::code);
    matches!(code, Some("InvalidPart" | "InvalidPartOrder" | "EntityTooSmall"))
}

/// Whether the store said that the key is taken, and if so, whether a try of ours may have taken it.
pub(super) fn is_taken(error: &LibraryError) -> Option<MayBeOurs> {
    let refusal = Refusal::below(error)?;
    (refusal.status()?.as_u16() == 412).then_some(MayBeOurs(refusal.may_be_done))
}

/// An earlier try of the same put got no clear answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct MayBeOurs(pub(super) bool);

/// Whether the store said that the object is shorter than what was asked for.
pub(super) fn is_out_of_range(error: &LibraryError) -> bool {
    Refusal::below(error).and_then(Refusal::status).is_some_and(|status| status.as_u16() == 416)
}

#[cfg(test)]
mod tests {
    use object_store::client::{HttpError, HttpErrorKind};
    use reqwest::StatusCode;

    use super::*;

    fn sorted(reason: Reason) -> Error {
        let refusal = Refusal { reason, may_be_done: false };
        let source = Box::new(HttpError::new(HttpErrorKind::Unknown, refusal));
        sort("try", LibraryError::Generic { store: "S3", source })
    }

    fn status(status: u16, code: &str) -> Reason {
        let code = (!code.is_empty()).then(|| code.to_owned());
        Reason::Status { status: StatusCode::from_u16(status).unwrap(), code }
    }

    #[test]
    fn whoever_waits_is_told_from_whoever_must_act() {
        let check = |reason: Reason, expected: &str| {
            let error = sorted(reason.clone());
            let found = match &error {
                Error::Full => "full",
                Error::Unavailable { .. } => "wait",
                Error::TooLong { .. } => "long",
                Error::Refused { remedy, .. } => remedy,
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
        check(status(501, ""), "does not know a call");
        check(status(404, "NoSuchBucket"), "create the bucket");
        check(status(405, ""), "that of an S3 store");
    }

    #[test]
    fn what_the_library_says_by_itself_is_kept() {
        let error = sort("try", LibraryError::NotSupported { source: "no such call".into() });
        assert!(
            matches!(&error, Error::Internal { action: "try", source } if source.to_string().contains("no such call"))
        );
    }
}
