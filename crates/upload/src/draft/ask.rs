//! What a request of the draft asks for, read from its headers.

use axum::http::{HeaderMap, Method, StatusCode};
use kinora_web::error::ApiError;

use super::super::call::{Piece, Read};
use super::super::given::Given;
use super::field::{boolean, integer};
use crate::error;
use crate::problem::Problem;

const METHODS: &str = "OPTIONS, HEAD, POST, PUT, PATCH, DELETE";
const BODY_TYPE: &str = "application/partial-upload";

/// The interop version that the client speaks; `None` when it says none, as clients of the standard will.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version(pub(super) Option<u64>);

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    /// An upload. It is there already, and stays the same however often somebody asks.
    Create {
        /// Bytes of the file; `None` when they are not known yet.
        length: Option<u64>,
        /// The bytes that come with it.
        with: Option<Piece>,
    },
    /// How far it has come.
    Stand,
    /// Bytes to be kept, the end of the file, or both.
    Append(Piece),
    /// The end of it.
    Cancel,
}

/// A refusal, and which problem of the draft it is.
type Refused = (ApiError, Problem);

impl Version {
    /// Those that can be spoken. Before 5 there was Upload-Incomplete (draft 03); 9 is the newest that
    /// clients name.
    const KNOWN: std::ops::RangeInclusive<u64> = 5..=9;

    pub(super) fn read(headers: &HeaderMap) -> Read<Self> {
        let version = integer(Given(headers), "upload-draft-interop-version")?;
        if version.is_some_and(|version| !Self::KNOWN.contains(&version)) {
            let (first, last) = (Self::KNOWN.start(), Self::KNOWN.end());
            return Err(ApiError::bad_request(format!(
                "Upload-Draft-Interop-Version must be one of {first} to {last}"
            )));
        }
        Ok(Self(version))
    }

    /// Whether it is of the drafts up to this one.
    fn is_until(self, last: u64) -> bool {
        self.0.is_some_and(|version| version <= last)
    }

    /// What answers an append that was kept: 201 in drafts 03 to 05, later any 2xx.
    pub(super) fn appended(self) -> StatusCode {
        if self.is_until(6) { StatusCode::CREATED } else { StatusCode::NO_CONTENT }
    }
}

pub(super) fn read(method: &Method, headers: &HeaderMap, version: Version) -> Result<Ask, Refused> {
    let given = Given(headers);
    match *method {
        Method::POST | Method::PUT => create(given),
        Method::PATCH => append(given, version).map(Ask::Append),
        Method::HEAD => without_state(given, version).map(|()| Ask::Stand),
        Method::DELETE => without_state(given, version).map(|()| Ask::Cancel),
        _ => Err(unnamed(error::method_not_in_protocol("Resumable Uploads for HTTP", METHODS))),
    }
}

fn create(given: Given<'_>) -> Result<Ask, Refused> {
    given.refuse_wrapped().map_err(unnamed)?;
    if given.has("upload-offset") {
        return Err(malformed("an upload begins at its first byte, without the header Upload-Offset"));
    }
    let piece = Piece { may_overlap: true, ..piece(given, 0)? };
    if piece.len == Some(0) {
        if piece.is_last {
            return Err(unnamed(error::empty_file()));
        }
        return Ok(Ask::Create { length: piece.length, with: None });
    }
    Ok(Ask::Create { length: piece.length, with: Some(piece) })
}

fn append(given: Given<'_>, version: Version) -> Result<Piece, Refused> {
    given.refuse_wrapped().map_err(unnamed)?;
    // The type came with draft 04, whose interop version is 6.
    if !version.is_until(5) && given.body_type().map_err(unnamed)?.as_deref() != Some(BODY_TYPE) {
        return Err(unnamed(error::other_body_type(
            "bytes are appended with the header Content-Type: application/partial-upload",
        )));
    }
    let start = integer(given, "upload-offset").map_err(unnamed)?;
    let start = start.ok_or_else(|| malformed("the header Upload-Offset must say where the bytes belong"))?;
    piece(given, start)
}

/// The bytes of a request that begin at `start`.
fn piece(given: Given<'_>, start: u64) -> Result<Piece, Refused> {
    let is_last = boolean(given, "upload-complete").map_err(unnamed)?;
    let is_last = is_last.ok_or_else(|| {
        malformed("the header Upload-Complete must say whether the file ends with the body: ?1, or ?0")
    })?;
    let length = integer(given, "upload-length").map_err(unnamed)?;
    if length == Some(0) {
        return Err(unnamed(error::empty_file()));
    }
    let len = given.body_len().map_err(unnamed)?;
    let end = len.map(|len| start.saturating_add(len));
    if let Some((length, end)) = length.zip(end)
        && (end > length || is_last && end != length)
    {
        let said = format!("Upload-Length is {length}, and the body would end at byte {end}");
        return Err((ApiError::bad_request(said), Problem::InconsistentLength));
    }
    let length = length.or(end.filter(|_| is_last));
    Ok(Piece { start, may_overlap: false, length, is_last, len, checksum: None })
}

/// Up to draft 05 who asks or cancels must not say how far it has come; later nobody looks at it.
fn without_state(given: Given<'_>, version: Version) -> Result<(), Refused> {
    let names = ["upload-offset", "upload-complete", "upload-length"];
    match names.into_iter().find(|name| version.is_until(6) && given.has(name)) {
        Some(name) => Err(malformed(format!("this method comes without the header {name}"))),
        None => Ok(()),
    }
}

fn malformed(description: impl Into<String>) -> Refused {
    unnamed(ApiError::bad_request(description))
}

fn unnamed(refusal: ApiError) -> Refused {
    (refusal, Problem::Unnamed)
}

#[cfg(test)]
mod tests {
    use super::super::super::given::headers;
    use super::*;

    const TYPE: (&str, &str) = ("content-type", BODY_TYPE);
    const LAST: (&str, &str) = ("upload-complete", "?1");
    const MORE: (&str, &str) = ("upload-complete", "?0");
    const VERSIONS: [Version; 4] = [Version(Some(5)), Version(Some(6)), Version(Some(8)), Version(None)];

    fn piece(start: u64, length: Option<u64>, is_last: bool, len: Option<u64>) -> Piece {
        Piece { start, may_overlap: false, length, is_last, len, checksum: None }
    }

    #[test]
    fn what_clients_send_is_understood_in_every_version() {
        let check = |method: Method, given: &[(&str, &str)], expected: Ask| {
            for version in VERSIONS {
                let ask = read(&method, &headers(given), version);
                assert_eq!(ask.unwrap(), expected, "{method} {given:?} {version:?}");
            }
        };
        let (length, ten) = (("upload-length", "100"), ("content-length", "10"));
        for method in [Method::POST, Method::PUT] {
            check(method.clone(), &[MORE], Ask::Create { length: None, with: None });
            check(method.clone(), &[MORE, length], Ask::Create { length: Some(100), with: None });
            let with = Piece { may_overlap: true, ..piece(0, Some(100), false, Some(10)) };
            check(method.clone(), &[MORE, length, ten], Ask::Create { length: Some(100), with: Some(with) });
            let with = Piece { may_overlap: true, ..piece(0, Some(10), true, Some(10)) };
            check(method.clone(), &[LAST, ten], Ask::Create { length: Some(10), with: Some(with) });
            let with = Piece { may_overlap: true, ..piece(0, None, true, None) };
            let chunked = [LAST, ("transfer-encoding", "chunked")];
            check(method, &chunked, Ask::Create { length: None, with: Some(with) });
        }
        let offset = ("upload-offset", "90");
        check(Method::PATCH, &[TYPE, offset, MORE, ten], Ask::Append(piece(90, None, false, Some(10))));
        check(Method::PATCH, &[TYPE, offset, LAST, ten], Ask::Append(piece(90, Some(100), true, Some(10))));
        check(
            Method::PATCH,
            &[TYPE, offset, LAST, length, ten],
            Ask::Append(piece(90, Some(100), true, Some(10))),
        );
        check(Method::PATCH, &[TYPE, offset, LAST], Ask::Append(piece(90, Some(90), true, Some(0))));
        check(Method::HEAD, &[], Ask::Stand);
        check(Method::DELETE, &[], Ask::Cancel);
    }

    #[test]
    fn what_is_missing_doubled_or_wrong_is_refused_by_its_headers() {
        let check = |method: Method, given: &[(&str, &str)], status: u16, expected: Problem| {
            for version in VERSIONS {
                let (refusal, problem) = read(&method, &headers(given), version).unwrap_err();
                let found = (refusal.status().as_u16(), problem);
                assert_eq!(found, (status, expected), "{method} {given:?} {version:?}: {refusal:?}");
            }
        };
        let (length, ten, offset) =
            (("upload-length", "100"), ("content-length", "10"), ("upload-offset", "0"));
        let none = Problem::Unnamed;
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
    fn versions_differ_in_what_an_append_and_a_question_must_bring() {
        let offset = ("upload-offset", "0");
        let append = |version: u64, given: &[(&str, &str)]| {
            read(&Method::PATCH, &headers(given), Version(Some(version))).is_ok()
        };
        assert!(append(5, &[offset, LAST]));
        assert!(!append(6, &[offset, LAST]));
        assert!(!append(8, &[offset, LAST, ("content-type", "application/octet-stream")]));
        let ask = |version: Option<u64>, method: Method| {
            read(&method, &headers(&[offset]), Version(version)).is_ok()
        };
        for method in [Method::HEAD, Method::DELETE] {
            assert!(!ask(Some(5), method.clone()) && !ask(Some(6), method.clone()));
            assert!(ask(Some(8), method.clone()) && ask(None, method));
        }
    }

    #[test]
    fn versions_that_cannot_be_spoken_are_refused() {
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
