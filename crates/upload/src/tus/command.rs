//! Parses a request of tus from its headers.

use axum::http::{HeaderMap, Method};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kinora_intake::Checksum;
use kinora_web::error::ApiError;

use super::super::request_headers::RequestHeaders;
use super::super::upload_request::{Chunk, HeaderResult};
use crate::error;

const METHODS: &str = "OPTIONS, HEAD, POST, PATCH, DELETE";
const BODY_TYPE: &str = "application/offset+octet-stream";

/// The operation that a request wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// The creation request of the protocol. The API has created the upload before, so a repeat changes
    /// nothing.
    Create {
        /// Bytes of the file; `None` when they follow later.
        file_len: Option<u64>,
        /// The bytes in the body of the request.
        first_chunk: Option<Chunk>,
    },
    /// Returns the offset: a status request.
    Status,
    /// Appends bytes.
    Append(Chunk),
    /// Cancels the upload.
    Cancel,
}

pub(super) fn read(method: &Method, headers: &HeaderMap) -> HeaderResult<Command> {
    let request_headers = RequestHeaders(headers);
    if request_headers.single("tus-resumable")? != Some("1.0.0") {
        return Err(error::unsupported_tus_version());
    }
    // Some environments support neither PATCH nor DELETE; the header then has the method.
    let method = request_headers.single("x-http-method-override")?.unwrap_or(method.as_str());
    match method {
        "POST" => create(request_headers),
        "HEAD" => Ok(Command::Status),
        "PATCH" => append(request_headers).map(Command::Append),
        "DELETE" => Ok(Command::Cancel),
        _ => Err(error::method_not_in_protocol("tus", METHODS)),
    }
}

fn create(headers: RequestHeaders<'_>) -> HeaderResult<Command> {
    headers.reject_encoded()?;
    // Each part would be taken for the whole file, because all are sent to this address.
    if headers.has("upload-concat") {
        return Err(ApiError::bad_request(
            "the tus extension concatenation is not supported; send the file as one upload",
        ));
    }
    let file_len = match (headers.byte_count("upload-length")?, headers.single("upload-defer-length")?) {
        (Some(0), None) => return Err(error::empty_file()),
        (Some(length), None) => Some(length),
        (None, Some("1")) => None,
        _ => {
            return Err(ApiError::bad_request(
                "send either Upload-Length with the length of the file, or Upload-Defer-Length: 1 to send it later",
            ));
        }
    };
    let body_len = headers.body_len()?;
    if body_len == Some(0) {
        return Ok(Command::Create { file_len, first_chunk: None });
    }
    if headers.body_type()?.as_deref() != Some(BODY_TYPE) {
        return Err(wrong_body_type());
    }
    let checksum = checksum(headers)?;
    // Bytes that are skipped are not checked against a checksum.
    let may_overlap = checksum.is_none();
    let chunk = Chunk { start: 0, may_overlap, file_len, is_last: false, body_len, checksum };
    check_end(&chunk)?;
    Ok(Command::Create { file_len, first_chunk: Some(chunk) })
}

fn append(headers: RequestHeaders<'_>) -> HeaderResult<Chunk> {
    headers.reject_encoded()?;
    if headers.body_type()?.as_deref() != Some(BODY_TYPE) {
        return Err(wrong_body_type());
    }
    let start = headers.byte_count("upload-offset")?;
    let start = start.ok_or_else(|| {
        ApiError::bad_request("the header Upload-Offset must have the position of the first byte of the body")
    })?;
    let file_len = headers.byte_count("upload-length")?;
    if file_len == Some(0) {
        return Err(error::empty_file());
    }
    let (body_len, checksum) = (headers.body_len()?, checksum(headers)?);
    let chunk = Chunk { start, may_overlap: false, file_len, is_last: false, body_len, checksum };
    check_end(&chunk)?;
    Ok(chunk)
}

/// 400 when the bytes go beyond the end that the same request names.
fn check_end(chunk: &Chunk) -> HeaderResult<()> {
    let end = chunk.body_len.map(|len| chunk.start.saturating_add(len));
    match chunk.file_len.zip(end) {
        Some((length, end)) if end > length => Err(ApiError::bad_request(format!(
            "the body ends at byte {end}, beyond the Upload-Length of {length}"
        ))),
        _ => Ok(()),
    }
}

fn wrong_body_type() -> ApiError {
    error::unsupported_body_type("the header Content-Type must be application/offset+octet-stream")
}

/// `sha1 BASE64` (checksum extension); 400 for anything else, including unknown algorithms.
fn checksum(headers: RequestHeaders<'_>) -> HeaderResult<Option<Checksum>> {
    let Some(text) = headers.single("upload-checksum")? else { return Ok(None) };
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
    use super::super::super::request_headers::headers;
    use super::*;

    const TUS: (&str, &str) = ("tus-resumable", "1.0.0");
    const TYPE: (&str, &str) = ("content-type", BODY_TYPE);
    /// SHA-1 of empty input.
    const NOTHING: &str = "sha1 2jmj7l5rSw0yVb/vlWAYkK/YBwk=";

    fn read_command(method: &str, pairs: &[(&str, &str)]) -> HeaderResult<Command> {
        read(&Method::from_bytes(method.as_bytes()).unwrap(), &headers(&[&[TUS][..], pairs].concat()))
    }

    fn chunk(start: u64, file_len: Option<u64>, len: Option<u64>) -> Chunk {
        Chunk { start, may_overlap: false, file_len, is_last: false, body_len: len, checksum: None }
    }

    #[test]
    fn client_requests_parse() {
        let check = |method: &str, pairs: &[(&str, &str)], expected: Command| {
            assert_eq!(read_command(method, pairs).unwrap(), expected, "{method} {pairs:?}");
        };
        let metadata = ("upload-metadata", "filename d29ybGQ=,is_confidential");
        check(
            "POST",
            &[("upload-length", "100"), metadata],
            Command::Create { file_len: Some(100), first_chunk: None },
        );
        check("POST", &[("upload-defer-length", "1")], Command::Create { file_len: None, first_chunk: None });
        let with = Chunk { may_overlap: true, ..chunk(0, Some(100), Some(10)) };
        let body = [("upload-length", "100"), TYPE, ("content-length", "10")];
        check("POST", &body, Command::Create { file_len: Some(100), first_chunk: Some(with) });
        check("HEAD", &[], Command::Status);
        check("DELETE", &[], Command::Cancel);
        let offset = ("upload-offset", "5");
        check("PATCH", &[TYPE, offset, ("content-length", "7")], Command::Append(chunk(5, None, Some(7))));
        let typed = ("content-type", "Application/Offset+Octet-Stream; x=y");
        let chunked = [typed, offset, ("transfer-encoding", "chunked"), ("upload-length", "9")];
        check("PATCH", &chunked, Command::Append(chunk(5, Some(9), None)));
        check("POST", &[("x-http-method-override", "DELETE")], Command::Cancel);
        let Ok(Command::Append(checked)) =
            read_command("PATCH", &[TYPE, offset, ("upload-checksum", NOTHING)])
        else {
            panic!("it is right")
        };
        assert!(matches!(checked.checksum, Some(Checksum::Sha1([0xda, 0x39, 0xa3, ..]))));
    }

    #[test]
    fn chunk_with_checksum_may_not_overlap() {
        let pairs = [("upload-length", "100"), TYPE, ("content-length", "10"), ("upload-checksum", NOTHING)];
        let Ok(Command::Create { first_chunk: Some(chunk), .. }) = read_command("POST", &pairs) else {
            panic!("it is right")
        };
        assert!(chunk.checksum.is_some() && !chunk.may_overlap);
    }

    #[test]
    fn missing_duplicate_or_invalid_headers_are_rejected() {
        let check = |method: &str, pairs: &[(&str, &str)], status: u16| {
            let rejection = read_command(method, pairs).unwrap_err();
            assert_eq!(rejection.status().as_u16(), status, "{method} {pairs:?}: {rejection:?}");
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
        assert_eq!(read_command("HEAD", &[TUS]).unwrap_err().status().as_u16(), 400, "twice");
    }
}
