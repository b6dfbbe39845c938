//! Resumable uploads of Google Cloud Storage, as the web uploader speaks them (C-146, C-147, C-148, C-150).

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use kinora_intake::{IntakeError, UploadProgress};
use kinora_web::error::ApiError;

use super::request_headers::{RequestHeaders, decimal};
use super::single_put;
use super::upload_request::{
    Chunk, HeaderResult, UploadRequest, complete_response, empty_response, require_open,
};
use crate::error;

const METHODS: &str = "POST, PUT";

/// The operation that a request wants.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Command {
    /// Starts a session. Its address is the upload address, and repeating this changes nothing.
    Start,
    /// Returns the offset: a status request. `file_len` is the length of the whole file, if it is known.
    Status { file_len: Option<u64> },
    /// Stores bytes of the file, or all of them.
    Append(Chunk),
}

pub(super) async fn answer(mut upload_request: UploadRequest<'_>) -> Response {
    let command = match read(&upload_request.method, upload_request.headers) {
        Ok(ask) => ask,
        Err(rejection) => return rejection.into_response(),
    };
    let outcome = match command {
        Command::Start => upload_request
            .status()
            .await
            .and_then(require_open)
            .map(|_| started_response(&upload_request.location)),
        Command::Status { file_len } => {
            status(&mut upload_request, file_len).await.map(|progress| status_response(&progress))
        }
        Command::Append(chunk) => {
            upload_request.receive(chunk).await.map(|standing| status_response(&standing))
        }
    };
    outcome.unwrap_or_else(error_response)
}

/// Returns the offset of the upload. A client that sent its chunks with an unknown total sends the total
/// here: all bytes are stored, so the upload completes.
async fn status(
    upload_request: &mut UploadRequest<'_>,
    file_len: Option<u64>,
) -> Result<UploadProgress, IntakeError> {
    let progress = upload_request.status().await.and_then(require_open)?;
    let Some(length) = file_len else { return Ok(progress) };
    progress.upload.check_length(length, progress.offset)?;
    if progress.is_complete() || progress.offset != length {
        return Ok(progress);
    }
    upload_request.receive(Chunk::end_at(length)).await
}

fn read(method: &Method, headers: &HeaderMap) -> HeaderResult<Command> {
    let request_headers = RequestHeaders(headers);
    if request_headers.single("x-goog-resumable")?.is_some_and(|word| word != "start") {
        return Err(ApiError::bad_request("the header x-goog-resumable must be start"));
    }
    let range = request_headers.single(header::CONTENT_RANGE.as_str())?;
    match (method, range) {
        (&Method::POST, None) => Ok(Command::Start),
        (&Method::POST, Some(_)) => {
            Err(ApiError::bad_request("start a session without Content-Range; send the bytes with PUT"))
        }
        (&Method::PUT, None) => single_put::read(headers).map(Command::Append),
        (&Method::PUT, Some(range)) => {
            request_headers.reject_encoded()?;
            append(range, request_headers.body_len()?)
        }
        _ => Err(error::method_not_in_protocol("the resumable protocol", METHODS)),
    }
}

/// The operation of a `PUT` with this `Content-Range` and a body of `body_len` bytes.
fn append(range: &str, body_len: Option<u64>) -> HeaderResult<Command> {
    let Some(ContentRange { span, file_len }) = parse(range) else {
        return Err(ApiError::bad_request(
            "the header Content-Range must be bytes FIRST-LAST/TOTAL, bytes FIRST-*/TOTAL or bytes */TOTAL, where TOTAL may be *",
        ));
    };
    if file_len == Some(0) {
        return Err(error::empty_file());
    }
    let Some((first, last)) = span else {
        return match body_len {
            Some(0) => Ok(Command::Status { file_len }),
            _ => Err(ApiError::bad_request(
                "a status request, Content-Range: bytes */TOTAL, must have no body",
            )),
        };
    };
    let Some(last) = last else { return open_ended(first, file_len, body_len).map(Command::Append) };
    let in_range = last - first + 1;
    if body_len.is_some_and(|len| len != in_range) {
        return Err(ApiError::bad_request(format!(
            "Content-Range has {in_range} bytes, but Content-Length differs"
        )));
    }
    let is_last = file_len == Some(last + 1);
    Ok(Command::Append(Chunk {
        start: first,
        may_overlap: true,
        file_len,
        is_last,
        body_len: Some(in_range),
        checksum: None,
    }))
}

/// The bytes of `FIRST-*`: the body ends where the file ends. Clients of Google send it when they stream.
fn open_ended(start: u64, file_len: Option<u64>, body_len: Option<u64>) -> HeaderResult<Chunk> {
    let end = body_len.map(|len| start.saturating_add(len));
    if end == Some(0) {
        return Err(error::empty_file());
    }
    if let Some((length, end)) = file_len.zip(end).filter(|(length, end)| end > length) {
        return Err(ApiError::bad_request(format!(
            "the body ends at byte {end}, but Content-Range at {length}"
        )));
    }
    // With a known total the body may end early: the rest comes in another request.
    let is_last = file_len.is_none();
    Ok(Chunk { start, may_overlap: true, file_len, is_last, body_len, checksum: None })
}

/// A value of `Content-Range` (RFC 9110, 14.4), or `FIRST-*` instead of `FIRST-LAST`.
struct ContentRange {
    /// First and last byte; without a last one up to the end of the file. `None` for a status request.
    span: Option<(u64, Option<u64>)>,
    /// Length of the whole file, if it is known.
    file_len: Option<u64>,
}

fn parse(range: &str) -> Option<ContentRange> {
    let (unit, rest) = range.split_once(' ')?;
    let (span, file_len) = rest.split_once('/')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let length = if file_len == "*" { None } else { Some(decimal(file_len)?) };
    if span == "*" {
        return Some(ContentRange { span: None, file_len: length });
    }
    let (first, last) = span.split_once('-')?;
    let first = decimal(first)?;
    let last = if last == "*" { None } else { Some(decimal(last)?) };
    let is_inside = match last {
        Some(last) => first <= last && length.is_none_or(|length| last < length),
        // A stream that ended with the chunk before has no byte left.
        None => length.is_none_or(|length| first <= length),
    };
    is_inside.then_some(ContentRange { span: Some((first, last)), file_len: length })
}

fn started_response(location: &str) -> Response {
    let mut response = empty_response(StatusCode::CREATED);
    let location = HeaderValue::from_str(location).expect("made of a checked base and base64url");
    response.headers_mut().insert(header::LOCATION, location);
    response
}

/// 200 when the file is complete, else 308 with the range of stored bytes. Never with a `Location`: browsers
/// would follow it (C-148).
fn status_response(progress: &UploadProgress) -> Response {
    if progress.is_complete() { complete_response(progress) } else { resume_incomplete(progress.offset) }
}

fn resume_incomplete(offset: u64) -> Response {
    let mut response = empty_response(StatusCode::PERMANENT_REDIRECT);
    if let Some(last) = offset.checked_sub(1) {
        let range = HeaderValue::from_str(&format!("bytes=0-{last}")).expect("made of digits");
        response.headers_mut().insert(header::RANGE, range);
    }
    response
}

/// Clients of this protocol retry after a 503 and give up after a 409 (C-149).
fn error_response(error: IntakeError) -> Response {
    match error {
        IntakeError::WrongOffset { offset, .. } => resume_incomplete(offset),
        IntakeError::Interrupted { .. } => error::taken_over().into_response(),
        other => error::from_intake(other).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::request_headers::headers;
    use super::*;

    fn read_command(method: Method, pairs: &[(&str, &str)]) -> HeaderResult<Command> {
        read(&method, &headers(pairs))
    }

    fn chunk(start: u64, len: u64, file_len: Option<u64>) -> Command {
        let is_last = file_len == Some(start + len);
        Command::Append(Chunk {
            start,
            may_overlap: true,
            file_len,
            is_last,
            body_len: Some(len),
            checksum: None,
        })
    }

    #[test]
    fn web_uploader_requests_parse() {
        let start = ("x-goog-resumable", "start");
        let check = |method: Method, pairs: &[(&str, &str)], expected: Command| {
            assert_eq!(read_command(method, pairs).unwrap(), expected, "{pairs:?}");
        };
        check(Method::POST, &[start, ("content-type", "")], Command::Start);
        check(Method::POST, &[start, ("content-length", "0")], Command::Start);
        let range =
            |range: &'static str, len: &'static str| [("content-range", range), ("content-length", len)];
        check(Method::PUT, &range("bytes 0-9/100", "10"), chunk(0, 10, Some(100)));
        check(Method::PUT, &range("bytes 90-99/100", "10"), chunk(90, 10, Some(100)));
        check(Method::PUT, &range("bytes 0-9/*", "10"), chunk(0, 10, None));
        check(Method::PUT, &range("Bytes 5-5/*", "1"), chunk(5, 1, None));
        check(Method::PUT, &range("bytes */100", "0"), Command::Status { file_len: Some(100) });
        check(Method::PUT, &range("bytes */*", "0"), Command::Status { file_len: None });
        check(
            Method::PUT,
            &[start, ("content-range", "bytes */100")],
            Command::Status { file_len: Some(100) },
        );
        let chunked = [("content-range", "bytes 0-9/100"), ("transfer-encoding", "chunked")];
        check(Method::PUT, &chunked, chunk(0, 10, Some(100)));
        let rest = |start, file_len: Option<u64>, len| {
            let is_last = file_len.is_none();
            Command::Append(Chunk {
                start,
                may_overlap: true,
                file_len,
                is_last,
                body_len: len,
                checksum: None,
            })
        };
        let stream = [("content-range", "bytes 0-*/*"), ("transfer-encoding", "chunked")];
        check(Method::PUT, &stream, rest(0, None, None));
        check(Method::PUT, &range("bytes 0-*/*", "10"), rest(0, None, Some(10)));
        check(Method::PUT, &range("bytes 5-*/*", "0"), rest(5, None, Some(0)));
        check(Method::PUT, &range("bytes 5-*/100", "95"), rest(5, Some(100), Some(95)));
        let single_chunk = Chunk {
            start: 0,
            may_overlap: true,
            file_len: Some(7),
            is_last: true,
            body_len: Some(7),
            checksum: None,
        };
        check(Method::PUT, &[start, ("content-length", "7")], Command::Append(single_chunk));
    }

    #[test]
    fn invalid_content_range_is_rejected() {
        let check = |method: Method, pairs: &[(&str, &str)], status: u16| {
            let rejection = read_command(method, pairs).unwrap_err();
            assert_eq!(rejection.status().as_u16(), status, "{pairs:?}: {rejection:?}");
        };
        let ranges = [
            "",
            "bytes",
            "bytes 0-9",
            "bytes 0-9/",
            "bytes 9-0/100",
            "bytes 0-100/100",
            "bytes 0-9/9",
            "bytes -9/100",
            "bytes 0-/100",
            "bytes 0-9/-1",
            "bytes=0-9/100",
            "items 0-9/100",
            "bytes  0-9/100",
            "bytes 0 - 9/100",
            "bytes 0-9/1000000000000000",
            "bytes 0-18446744073709551615/*",
            "bytes 0-9/100/100",
            "bytes a-b/c",
            "bytes */",
            "bytes */-",
            "bytes *-*/*",
            "bytes *-9/*",
            "bytes 11-*/10",
            "bytes 1-*/10",
        ];
        for range in ranges {
            check(Method::PUT, &[("content-range", range), ("content-length", "10")], 400);
        }
        let range = ("content-range", "bytes 0-9/100");
        check(Method::PUT, &[range, ("content-length", "11")], 400);
        check(Method::PUT, &[range, ("content-length", "0")], 400);
        check(Method::PUT, &[range], 400);
        check(Method::PUT, &[range, range, ("content-length", "10")], 400);
        check(Method::PUT, &[range, ("content-length", "10"), ("content-encoding", "gzip")], 415);
        check(Method::PUT, &[("content-range", "bytes */100"), ("content-length", "1")], 400);
        check(Method::PUT, &[("content-range", "bytes */100"), ("transfer-encoding", "chunked")], 400);
        check(Method::PUT, &[("content-range", "bytes */0")], 422);
        check(Method::PUT, &[("content-range", "bytes 0-*/*")], 422);
        check(Method::PUT, &[("x-goog-resumable", "stop"), range, ("content-length", "10")], 400);
        check(Method::POST, &[("x-goog-resumable", "Start")], 400);
        check(Method::POST, &[("x-goog-resumable", "start"), range], 400);
        check(Method::POST, &[range], 400);
        for method in [Method::DELETE, Method::HEAD, Method::GET, Method::PATCH] {
            check(method, &[("x-goog-resumable", "start")], 405);
        }
    }

    #[test]
    fn resume_incomplete_has_range_and_no_location() {
        for (offset, range) in [(0, None), (1, Some("bytes=0-0")), (100, Some("bytes=0-99"))] {
            let response = resume_incomplete(offset);
            assert_eq!(response.status(), 308);
            assert_eq!(response.headers().get("range").map(|value| value.to_str().unwrap()), range);
            assert!(!response.headers().contains_key("location"));
        }
    }
}
