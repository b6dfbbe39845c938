//! What a request of tus asks for, read from its headers.

use axum::http::{HeaderMap, Method};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kinora_intake::Checksum;
use kinora_web::error::ApiError;

use super::super::call::{Piece, Read};
use super::super::given::Given;
use crate::error;

const METHODS: &str = "OPTIONS, HEAD, POST, PATCH, DELETE";
const BODY_TYPE: &str = "application/offset+octet-stream";

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ask {
    /// An upload. It is there already, and stays the same however often somebody asks.
    Create {
        /// Bytes of the file; `None` when they will be told later.
        length: Option<u64>,
        /// The bytes that come with it.
        with: Option<Piece>,
    },
    /// How far it has come.
    Stand,
    /// Bytes to be kept.
    Append(Piece),
    /// The end of it.
    Cancel,
}

pub(super) fn read(method: &Method, headers: &HeaderMap) -> Read<Ask> {
    let given = Given(headers);
    if given.once("tus-resumable")? != Some("1.0.0") {
        return Err(error::other_tus_version());
    }
    // Some environments know neither PATCH nor DELETE; the header then is the method.
    let method = given.once("x-http-method-override")?.unwrap_or(method.as_str());
    match method {
        "POST" => create(given),
        "HEAD" => Ok(Ask::Stand),
        "PATCH" => append(given).map(Ask::Append),
        "DELETE" => Ok(Ask::Cancel),
        _ => Err(error::method_not_in_protocol("tus", METHODS)),
    }
}

fn create(given: Given<'_>) -> Read<Ask> {
    given.refuse_wrapped()?;
    // Each part would be taken for the whole file, for all are sent to this address.
    if given.has("upload-concat") {
        return Err(ApiError::bad_request(
            "the extension concatenation is not known here, so a file is not sent in parallel parts; send it as one upload",
        ));
    }
    let length = match (given.bytes("upload-length")?, given.once("upload-defer-length")?) {
        (Some(0), None) => return Err(error::empty_file()),
        (Some(length), None) => Some(length),
        (None, Some("1")) => None,
        _ => {
            return Err(ApiError::bad_request(
                "either the header Upload-Length says how long the file is, or Upload-Defer-Length: 1 that it will be told later",
            ));
        }
    };
    let len = given.body_len()?;
    if len == Some(0) {
        return Ok(Ask::Create { length, with: None });
    }
    if given.body_type()?.as_deref() != Some(BODY_TYPE) {
        return Err(other_type());
    }
    let checksum = checksum(given)?;
    // What is passed over is held against no checksum.
    let may_overlap = checksum.is_none();
    let piece = Piece { start: 0, may_overlap, length, is_last: false, len, checksum };
    check_end(&piece)?;
    Ok(Ask::Create { length, with: Some(piece) })
}

fn append(given: Given<'_>) -> Read<Piece> {
    given.refuse_wrapped()?;
    if given.body_type()?.as_deref() != Some(BODY_TYPE) {
        return Err(other_type());
    }
    let start = given.bytes("upload-offset")?;
    let start = start
        .ok_or_else(|| ApiError::bad_request("the header Upload-Offset must say where the bytes belong"))?;
    let length = given.bytes("upload-length")?;
    if length == Some(0) {
        return Err(error::empty_file());
    }
    let (len, checksum) = (given.body_len()?, checksum(given)?);
    let piece = Piece { start, may_overlap: false, length, is_last: false, len, checksum };
    check_end(&piece)?;
    Ok(piece)
}

/// 400 when the bytes would go beyond the end that the same request names.
fn check_end(piece: &Piece) -> Read<()> {
    let end = piece.len.map(|len| piece.start.saturating_add(len));
    match piece.length.zip(end) {
        Some((length, end)) if end > length => Err(ApiError::bad_request(format!(
            "the body would end at byte {end}, behind the Upload-Length of {length}"
        ))),
        _ => Ok(()),
    }
}

fn other_type() -> ApiError {
    error::other_body_type("bytes come with the header Content-Type: application/offset+octet-stream")
}

/// `sha1 BASE64` (checksum extension); 400 for anything else, an algorithm that is not known too.
fn checksum(given: Given<'_>) -> Read<Option<Checksum>> {
    let Some(text) = given.once("upload-checksum")? else { return Ok(None) };
    let wrong = || {
        ApiError::bad_request(
            "the header Upload-Checksum must be sha1 or sha256, a space, and the checksum in Base64",
        )
    };
    let (algorithm, encoded) = text.split_once(' ').ok_or_else(wrong)?;
    let bytes = STANDARD.decode(encoded).map_err(|_| wrong())?;
    let checksum = match algorithm {
        "sha1" => bytes.try_into().map(Checksum::Sha1),
        "sha256" => bytes.try_into().map(Checksum::Sha256),
        _ => return Err(wrong()),
    };
    checksum.map(Some).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::super::super::given::headers;
    use super::*;

    const TUS: (&str, &str) = ("tus-resumable", "1.0.0");
    const TYPE: (&str, &str) = ("content-type", BODY_TYPE);
    /// SHA-1 of nothing.
    const NOTHING: &str = "sha1 2jmj7l5rSw0yVb/vlWAYkK/YBwk=";

    fn ask(method: &str, given: &[(&str, &str)]) -> Read<Ask> {
        read(&Method::from_bytes(method.as_bytes()).unwrap(), &headers(&[&[TUS][..], given].concat()))
    }

    fn piece(start: u64, length: Option<u64>, len: Option<u64>) -> Piece {
        Piece { start, may_overlap: false, length, is_last: false, len, checksum: None }
    }

    #[test]
    fn what_clients_send_is_understood() {
        let check = |method: &str, given: &[(&str, &str)], expected: Ask| {
            assert_eq!(ask(method, given).unwrap(), expected, "{method} {given:?}");
        };
        let metadata = ("upload-metadata", "filename d29ybGQ=,is_confidential");
        check("POST", &[("upload-length", "100"), metadata], Ask::Create { length: Some(100), with: None });
        check("POST", &[("upload-defer-length", "1")], Ask::Create { length: None, with: None });
        let with = Piece { may_overlap: true, ..piece(0, Some(100), Some(10)) };
        let body = [("upload-length", "100"), TYPE, ("content-length", "10")];
        check("POST", &body, Ask::Create { length: Some(100), with: Some(with) });
        check("HEAD", &[], Ask::Stand);
        check("DELETE", &[], Ask::Cancel);
        let offset = ("upload-offset", "5");
        check("PATCH", &[TYPE, offset, ("content-length", "7")], Ask::Append(piece(5, None, Some(7))));
        let typed = ("content-type", "Application/Offset+Octet-Stream; x=y");
        let chunked = [typed, offset, ("transfer-encoding", "chunked"), ("upload-length", "9")];
        check("PATCH", &chunked, Ask::Append(piece(5, Some(9), None)));
        check("POST", &[("x-http-method-override", "DELETE")], Ask::Cancel);
        let Ok(Ask::Append(checked)) = ask("PATCH", &[TYPE, offset, ("upload-checksum", NOTHING)]) else {
            panic!("it is right")
        };
        assert!(matches!(checked.checksum, Some(Checksum::Sha1([0xda, 0x39, 0xa3, ..]))));
    }

    #[test]
    fn bytes_that_may_be_passed_over_have_no_checksum() {
        let given = [("upload-length", "100"), TYPE, ("content-length", "10"), ("upload-checksum", NOTHING)];
        let Ok(Ask::Create { with: Some(piece), .. }) = ask("POST", &given) else { panic!("it is right") };
        assert!(piece.checksum.is_some() && !piece.may_overlap);
    }

    #[test]
    fn what_is_missing_doubled_or_wrong_is_refused_by_its_headers() {
        let check = |method: &str, given: &[(&str, &str)], status: u16| {
            let refusal = ask(method, given).unwrap_err();
            assert_eq!(refusal.status().as_u16(), status, "{method} {given:?}: {refusal:?}");
        };
        let (length, offset) = (("upload-length", "100"), ("upload-offset", "0"));
        check("POST", &[], 400);
        check("POST", &[length, length], 400);
        check("POST", &[length, ("upload-defer-length", "1")], 400);
        check("POST", &[("upload-defer-length", "0")], 400);
        check("POST", &[("upload-defer-length", "2")], 400);
        for wrong in ["", "-1", "1.5", "x", "1000000000000000"] {
            check("POST", &[("upload-length", wrong)], 400);
            check("PATCH", &[TYPE, ("upload-offset", wrong)], 400);
            check("PATCH", &[TYPE, offset, ("upload-length", wrong)], 400);
        }
        check("POST", &[("upload-length", "0")], 422);
        check("POST", &[length, ("upload-concat", "partial")], 400);
        check("POST", &[("upload-concat", "final;/upload/a /upload/b")], 400);
        check("POST", &[length, ("content-length", "10")], 415);
        check("POST", &[length, TYPE, ("content-length", "101")], 400);
        check("PATCH", &[offset], 415);
        check("PATCH", &[offset, ("content-type", "application/octet-stream")], 415);
        check("PATCH", &[TYPE], 400);
        check("PATCH", &[TYPE, offset, offset], 400);
        check("PATCH", &[TYPE, offset, ("content-encoding", "gzip")], 415);
        check("PATCH", &[TYPE, ("upload-offset", "95"), length, ("content-length", "6")], 400);
        check(
            "PATCH",
            &[TYPE, ("upload-offset", "999999999999999"), length, ("content-length", "999999999999999")],
            400,
        );
        for wrong in [
            "",
            "sha1",
            "md5 1B2M2Y8AsgTpgAmY7PhCfg==",
            "sha1 AAAA",
            "sha1  AAAA",
            "sha1 !",
            "SHA1 2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
            "sha256 2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
        ] {
            check("PATCH", &[TYPE, offset, ("upload-checksum", wrong)], 400);
        }
        check("PATCH", &[TYPE, offset, ("upload-checksum", NOTHING), ("upload-checksum", NOTHING)], 400);
        check("PUT", &[], 405);
        check("GET", &[], 405);
        check("POST", &[("x-http-method-override", "PUT")], 405);
        for version in ["0.2.2", "1.0", "1.0.0, 1.0.0", ""] {
            let refusal = read(&Method::HEAD, &headers(&[("tus-resumable", version)])).unwrap_err();
            assert_eq!(refusal.status().as_u16(), 412, "{version}");
        }
        assert_eq!(ask("HEAD", &[TUS]).unwrap_err().status().as_u16(), 400, "twice");
    }
}
