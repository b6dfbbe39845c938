//! Parses a request of the draft from its headers.

use axum::http::{HeaderMap, Method, StatusCode};
use kinora_web::error::ApiError;

use super::super::request_headers::RequestHeaders;
use super::super::upload_request::{Chunk, HeaderResult};
use super::field::{boolean, integer};
use crate::error;
use crate::problem::Problem;

const METHODS: &str = "OPTIONS, HEAD, POST, PUT, PATCH, DELETE";
const BODY_TYPE: &str = "application/partial-upload";

/// The interop version of the client; `None` when it sends none, as clients of the standard will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version(pub(super) Option<u64>);

/// The operation that a request wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// The creation request of the protocol. The API has created the upload before, so a repeat changes
    /// nothing.
    Create {
        /// Bytes of the file; `None` when they are not known yet.
        file_len: Option<u64>,
        /// The bytes in the body of the request.
        first_chunk: Option<Chunk>,
    },
    /// Returns the offset: a status request.
    Status,
    /// Appends bytes, ends the file, or both.
    Append(Chunk),
    /// Cancels the upload.
    Cancel,
}

/// An error, and its problem type of the draft.
type Rejection = (ApiError, Problem);

impl Version {
    /// Supported versions. Drafts before version 5 (draft 03) use Upload-Incomplete; 9 is the newest that
    /// clients send.
    const SUPPORTED: std::ops::RangeInclusive<u64> = 5..=9;

    pub(super) fn read(headers: &HeaderMap) -> HeaderResult<Self> {
        let version = integer(RequestHeaders(headers), "upload-draft-interop-version")?;
        if version.is_some_and(|version| !Self::SUPPORTED.contains(&version)) {
            let (first, last) = (Self::SUPPORTED.start(), Self::SUPPORTED.end());
            return Err(ApiError::bad_request(format!(
                "Upload-Draft-Interop-Version must be one of {first} to {last}"
            )));
        }
        Ok(Self(version))
    }

    /// Whether the client sent a version of at most `last`.
    fn is_at_most(self, last: u64) -> bool {
        self.0.is_some_and(|version| version <= last)
    }

    /// The status after an append: 201 in drafts 03 to 05, later any 2xx.
    pub(super) fn append_status(self) -> StatusCode {
        if self.is_at_most(6) { StatusCode::CREATED } else { StatusCode::NO_CONTENT }
    }
}

pub(super) fn read(method: &Method, headers: &HeaderMap, version: Version) -> Result<Command, Rejection> {
    let request_headers = RequestHeaders(headers);
    match *method {
        Method::POST | Method::PUT => create(request_headers),
        Method::PATCH => append(request_headers, version).map(Command::Append),
        Method::HEAD => reject_state_headers(request_headers, version).map(|()| Command::Status),
        Method::DELETE => reject_state_headers(request_headers, version).map(|()| Command::Cancel),
        _ => Err(plain_problem(error::method_not_in_protocol("Resumable Uploads for HTTP", METHODS))),
    }
}

fn create(headers: RequestHeaders<'_>) -> Result<Command, Rejection> {
    headers.reject_encoded().map_err(plain_problem)?;
    if headers.has("upload-offset") {
        return Err(malformed("the header Upload-Offset must be left out when an upload is created"));
    }
    let chunk = Chunk { may_overlap: true, ..read_chunk(headers, 0)? };
    if chunk.body_len == Some(0) {
        if chunk.is_last {
            return Err(plain_problem(error::empty_file()));
        }
        return Ok(Command::Create { file_len: chunk.file_len, first_chunk: None });
    }
    Ok(Command::Create { file_len: chunk.file_len, first_chunk: Some(chunk) })
}

fn append(headers: RequestHeaders<'_>, version: Version) -> Result<Chunk, Rejection> {
    headers.reject_encoded().map_err(plain_problem)?;
    // The type came with draft 04, whose interop version is 6.
    if !version.is_at_most(5) && headers.body_type().map_err(plain_problem)?.as_deref() != Some(BODY_TYPE) {
        return Err(plain_problem(error::unsupported_body_type(
            "the header Content-Type must be application/partial-upload",
        )));
    }
    let start = integer(headers, "upload-offset").map_err(plain_problem)?;
    let start = start.ok_or_else(|| {
        malformed("the header Upload-Offset must have the position of the first byte of the body")
    })?;
    read_chunk(headers, start)
}

/// The bytes of a request that begin at `start`.
fn read_chunk(headers: RequestHeaders<'_>, start: u64) -> Result<Chunk, Rejection> {
    let is_last = boolean(headers, "upload-complete").map_err(plain_problem)?;
    let is_last = is_last.ok_or_else(|| {
        malformed("the header Upload-Complete must be ?1 if the body ends the file, and ?0 if not")
    })?;
    let declared_len = integer(headers, "upload-length").map_err(plain_problem)?;
    if declared_len == Some(0) {
        return Err(plain_problem(error::empty_file()));
    }
    let body_len = headers.body_len().map_err(plain_problem)?;
    let end = body_len.map(|len| start.saturating_add(len));
    if let Some((length, end)) = declared_len.zip(end)
        && (end > length || is_last && end != length)
    {
        let message = format!("Upload-Length is {length}, but the body ends at byte {end}");
        return Err((ApiError::bad_request(message), Problem::InconsistentLength));
    }
    let file_len = declared_len.or(end.filter(|_| is_last));
    Ok(Chunk { start, may_overlap: false, file_len, is_last, body_len, checksum: None })
}

/// Up to draft 05 a status request or cancellation must not have these headers; later they are ignored.
fn reject_state_headers(headers: RequestHeaders<'_>, version: Version) -> Result<(), Rejection> {
    let names = ["upload-offset", "upload-complete", "upload-length"];
    match names.into_iter().find(|name| version.is_at_most(6) && headers.has(name)) {
        Some(name) => Err(malformed(format!("the header {name} must be left out with this method"))),
        None => Ok(()),
    }
}

fn malformed(description: impl Into<String>) -> Rejection {
    plain_problem(ApiError::bad_request(description))
}

fn plain_problem(rejection: ApiError) -> Rejection {
    (rejection, Problem::AboutBlank)
}

#[cfg(test)]
mod tests {
    use super::super::super::request_headers::headers;
    use super::*;

    const TYPE: (&str, &str) = ("content-type", BODY_TYPE);
    const LAST: (&str, &str) = ("upload-complete", "?1");
    const MORE: (&str, &str) = ("upload-complete", "?0");
    const VERSIONS: [Version; 4] = [Version(Some(5)), Version(Some(6)), Version(Some(8)), Version(None)];

    fn chunk(start: u64, file_len: Option<u64>, is_last: bool, len: Option<u64>) -> Chunk {
        Chunk { start, may_overlap: false, file_len, is_last, body_len: len, checksum: None }
    }

    #[test]
    fn client_requests_parse_in_every_version() {
        let check = |method: Method, pairs: &[(&str, &str)], expected: Command| {
            for version in VERSIONS {
                let command = read(&method, &headers(pairs), version);
                assert_eq!(command.unwrap(), expected, "{method} {pairs:?} {version:?}");
            }
        };
        let (length, ten) = (("upload-length", "100"), ("content-length", "10"));
        for method in [Method::POST, Method::PUT] {
            check(method.clone(), &[MORE], Command::Create { file_len: None, first_chunk: None });
            check(
                method.clone(),
                &[MORE, length],
                Command::Create { file_len: Some(100), first_chunk: None },
            );
            let with = Chunk { may_overlap: true, ..chunk(0, Some(100), false, Some(10)) };
            check(
                method.clone(),
                &[MORE, length, ten],
                Command::Create { file_len: Some(100), first_chunk: Some(with) },
            );
            let with = Chunk { may_overlap: true, ..chunk(0, Some(10), true, Some(10)) };
            check(
                method.clone(),
                &[LAST, ten],
                Command::Create { file_len: Some(10), first_chunk: Some(with) },
            );
            let with = Chunk { may_overlap: true, ..chunk(0, None, true, None) };
            let chunked = [LAST, ("transfer-encoding", "chunked")];
            check(method, &chunked, Command::Create { file_len: None, first_chunk: Some(with) });
        }
        let offset = ("upload-offset", "90");
        check(Method::PATCH, &[TYPE, offset, MORE, ten], Command::Append(chunk(90, None, false, Some(10))));
        check(
            Method::PATCH,
            &[TYPE, offset, LAST, ten],
            Command::Append(chunk(90, Some(100), true, Some(10))),
        );
        check(
            Method::PATCH,
            &[TYPE, offset, LAST, length, ten],
            Command::Append(chunk(90, Some(100), true, Some(10))),
        );
        check(Method::PATCH, &[TYPE, offset, LAST], Command::Append(chunk(90, Some(90), true, Some(0))));
        check(Method::HEAD, &[], Command::Status);
        check(Method::DELETE, &[], Command::Cancel);
    }

    #[test]
    fn missing_duplicate_or_invalid_headers_are_rejected() {
        let check = |method: Method, pairs: &[(&str, &str)], status: u16, expected: Problem| {
            for version in VERSIONS {
                let (rejection, problem) = read(&method, &headers(pairs), version).unwrap_err();
                let found = (rejection.status().as_u16(), problem);
                assert_eq!(found, (status, expected), "{method} {pairs:?} {version:?}: {rejection:?}");
            }
        };
        let (length, ten, offset) =
            (("upload-length", "100"), ("content-length", "10"), ("upload-offset", "0"));
        let none = Problem::AboutBlank;
        check(Method::POST, &[], 400, none);
        check(Method::POST, &[MORE, MORE], 400, none);
        check(Method::POST, &[MORE, LAST], 400, none);
        check(Method::POST, &[MORE, offset], 400, none);
        check(Method::POST, &[LAST], 422, none);
        check(Method::POST, &[MORE, ("upload-length", "0")], 422, none);
        check(Method::POST, &[MORE, ten, ("content-encoding", "br")], 415, none);
        for wrong in ["", "1", "true", "?2", "?1;a=1"] {
            check(Method::POST, &[("upload-complete", wrong)], 400, none);
            check(Method::PATCH, &[TYPE, offset, ("upload-complete", wrong)], 400, none);
        }
        for wrong in ["", "-1", "1.0", "x", "1000000000000000"] {
            check(Method::POST, &[MORE, ("upload-length", wrong)], 400, none);
            check(Method::PATCH, &[TYPE, LAST, ("upload-offset", wrong)], 400, none);
        }
        check(Method::PATCH, &[TYPE, LAST, ten], 400, none);
        check(Method::PATCH, &[TYPE, offset, offset, LAST], 400, none);
        check(Method::PATCH, &[TYPE, offset, ten], 400, none);
        let inconsistent = Problem::InconsistentLength;
        check(Method::POST, &[LAST, length, ten], 400, inconsistent);
        check(Method::POST, &[MORE, ("upload-length", "9"), ten], 400, inconsistent);
        check(Method::PATCH, &[TYPE, ("upload-offset", "95"), MORE, length, ten], 400, inconsistent);
        check(Method::PATCH, &[TYPE, offset, LAST, length, ten], 400, inconsistent);
        check(Method::GET, &[LAST], 405, none);
    }

    #[test]
    fn required_headers_depend_on_draft_version() {
        let offset = ("upload-offset", "0");
        let append = |version: u64, pairs: &[(&str, &str)]| {
            read(&Method::PATCH, &headers(pairs), Version(Some(version))).is_ok()
        };
        assert!(append(5, &[offset, LAST]));
        assert!(!append(6, &[offset, LAST]));
        assert!(!append(8, &[offset, LAST, ("content-type", "application/octet-stream")]));
        let is_accepted = |version: Option<u64>, method: Method| {
            read(&method, &headers(&[offset]), Version(version)).is_ok()
        };
        for method in [Method::HEAD, Method::DELETE] {
            assert!(!is_accepted(Some(5), method.clone()) && !is_accepted(Some(6), method.clone()));
            assert!(is_accepted(Some(8), method.clone()) && is_accepted(None, method));
        }
    }

    #[test]
    fn unsupported_interop_versions_are_rejected() {
        let read = |text: &str| Version::read(&headers(&[("upload-draft-interop-version", text)])).ok();
        for version in 5..=9 {
            assert_eq!(read(&version.to_string()), Some(Version(Some(version))));
        }
        for text in ["", "0", "3", "4", "10", "-6", "6.0", "six"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(Version::read(&headers(&[])).unwrap(), Version(None));
    }
}
