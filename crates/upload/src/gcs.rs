//! Resumable uploads of Google Cloud Storage, as the web uploader speaks them (C-146, C-147, C-148, C-150).

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use kinora_intake::{IntakeError, Standing};
use kinora_web::error::ApiError;

use super::call::{Call, Piece, Read, alive, empty, received};
use super::given::{Given, decimal};
use super::plain;
use crate::error;

const METHODS: &str = "POST, PUT";

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Ask {
    /// A session. It is the address itself, however often somebody asks.
    Start,
    /// How far it has come. `length` is of the whole file, if it is known.
    Stand { length: Option<u64> },
    /// Bytes to be kept, or all of them.
    Take(Piece),
}

pub(super) async fn answer(mut call: Call<'_>) -> Response {
    let ask = match read(&call.method, call.headers) {
        Ok(ask) => ask,
        Err(refusal) => return refusal.into_response(),
    };
    let outcome = match ask {
        Ask::Start => call.stand().await.and_then(alive).map(|_| started(&call.location)),
        Ask::Stand { length } => stand(&mut call, length).await.map(|standing| stands(&standing)),
        Ask::Take(piece) => call.receive(piece).await.map(|standing| stands(&standing)),
    };
    outcome.unwrap_or_else(refused)
}

/// Where the upload stands. A client that sent its chunks with an unknown total says it here: all bytes are
/// stored, so the upload completes.
async fn stand(call: &mut Call<'_>, length: Option<u64>) -> Result<Standing, IntakeError> {
    let standing = call.stand().await.and_then(alive)?;
    let Some(length) = length else { return Ok(standing) };
    standing.upload.check_length(length, standing.offset)?;
    if standing.is_complete() || standing.offset != length {
        return Ok(standing);
    }
    call.receive(Piece::end_at(length)).await
}

fn read(method: &Method, headers: &HeaderMap) -> Read<Ask> {
    let given = Given(headers);
    if given.once("x-goog-resumable")?.is_some_and(|word| word != "start") {
        return Err(ApiError::bad_request("the header x-goog-resumable must be start"));
    }
    let range = given.once(header::CONTENT_RANGE.as_str())?;
    match (method, range) {
        (&Method::POST, None) => Ok(Ask::Start),
        (&Method::POST, Some(_)) => {
            Err(ApiError::bad_request("a session is started without Content-Range; bytes come with PUT"))
        }
        (&Method::PUT, None) => plain::read(headers).map(Ask::Take),
        (&Method::PUT, Some(range)) => {
            given.refuse_wrapped()?;
            take(range, given.body_len()?)
        }
        _ => Err(error::method_not_in_protocol("the resumable protocol", METHODS)),
    }
}

/// What a `PUT` with `Content-Range` asks for, and a body of so many bytes.
fn take(range: &str, len: Option<u64>) -> Read<Ask> {
    let Some(ContentRange { span, length }) = parse(range) else {
        return Err(ApiError::bad_request(
            "the header Content-Range must be bytes FIRST-LAST/TOTAL, bytes FIRST-*/TOTAL or bytes */TOTAL, where TOTAL may be *",
        ));
    };
    if length == Some(0) {
        return Err(error::empty_file());
    }
    let Some((first, last)) = span else {
        return match len {
            Some(0) => Ok(Ask::Stand { length }),
            _ => Err(ApiError::bad_request(
                "a question about an upload, Content-Range: bytes */TOTAL, has no body",
            )),
        };
    };
    let Some(last) = last else { return to_the_end(first, length, len).map(Ask::Take) };
    let in_range = last - first + 1;
    if len.is_some_and(|len| len != in_range) {
        return Err(ApiError::bad_request(format!(
            "Content-Range has {in_range} bytes, and Content-Length says otherwise"
        )));
    }
    let is_last = length == Some(last + 1);
    Ok(Ask::Take(Piece {
        start: first,
        may_overlap: true,
        length,
        is_last,
        len: Some(in_range),
        checksum: None,
    }))
}

/// The bytes of `FIRST-*`: the body ends where the file ends. Clients of Google send it when they stream.
fn to_the_end(start: u64, length: Option<u64>, len: Option<u64>) -> Read<Piece> {
    let end = len.map(|len| start.saturating_add(len));
    if end == Some(0) {
        return Err(error::empty_file());
    }
    if let Some((length, end)) = length.zip(end).filter(|(length, end)| end > length) {
        return Err(ApiError::bad_request(format!("the body ends at byte {end}, Content-Range at {length}")));
    }
    // With a known total a body may end before it: the rest comes in another request.
    let is_last = length.is_none();
    Ok(Piece { start, may_overlap: true, length, is_last, len, checksum: None })
}

/// A value of `Content-Range` (RFC 9110, 14.4), or `FIRST-*` in place of `FIRST-LAST`.
struct ContentRange {
    /// First and last byte, without a last one up to the end of the file; `None` for a question.
    span: Option<(u64, Option<u64>)>,
    /// Of the whole file, if it is known.
    length: Option<u64>,
}

fn parse(range: &str) -> Option<ContentRange> {
    let (unit, rest) = range.split_once(' ')?;
    let (span, length) = rest.split_once('/')?;
    if !unit.eq_ignore_ascii_case("bytes") {
        return None;
    }
    let length = if length == "*" { None } else { Some(decimal(length)?) };
    if span == "*" {
        return Some(ContentRange { span: None, length });
    }
    let (first, last) = span.split_once('-')?;
    let first = decimal(first)?;
    let last = if last == "*" { None } else { Some(decimal(last)?) };
    let is_inside = match last {
        Some(last) => first <= last && length.is_none_or(|length| last < length),
        // A stream that ended with the chunk before has no byte left.
        None => length.is_none_or(|length| first <= length),
    };
    is_inside.then_some(ContentRange { span: Some((first, last)), length })
}

fn started(location: &str) -> Response {
    let mut response = empty(StatusCode::CREATED);
    let location = HeaderValue::from_str(location).expect("made of a checked base and base64url");
    response.headers_mut().insert(header::LOCATION, location);
    response
}

/// 200 when the file is whole, else 308 with what is kept. Never with a `Location`: browsers would follow it
/// (C-148).
fn stands(standing: &Standing) -> Response {
    if standing.is_complete() { received(standing) } else { kept(standing.offset) }
}

fn kept(offset: u64) -> Response {
    let mut response = empty(StatusCode::PERMANENT_REDIRECT);
    if let Some(last) = offset.checked_sub(1) {
        let range = HeaderValue::from_str(&format!("bytes=0-{last}")).expect("made of digits");
        response.headers_mut().insert(header::RANGE, range);
    }
    response
}

/// Clients of this protocol try again after a 503 and give up after a 409 (C-149).
fn refused(error: IntakeError) -> Response {
    match error {
        IntakeError::WrongOffset { offset, .. } => kept(offset),
        IntakeError::Interrupted { .. } => error::taken_over().into_response(),
        other => error::from_intake(other).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::given::headers;
    use super::*;

    fn ask(method: Method, given: &[(&str, &str)]) -> Read<Ask> {
        read(&method, &headers(given))
    }

    fn chunk(start: u64, len: u64, length: Option<u64>) -> Ask {
        let is_last = length == Some(start + len);
        Ask::Take(Piece { start, may_overlap: true, length, is_last, len: Some(len), checksum: None })
    }

    #[test]
    fn requests_of_the_web_uploader_are_understood() {
        let start = ("x-goog-resumable", "start");
        let check = |method: Method, given: &[(&str, &str)], expected: Ask| {
            assert_eq!(ask(method, given).unwrap(), expected, "{given:?}");
        };
        check(Method::POST, &[start, ("content-type", "")], Ask::Start);
        check(Method::POST, &[start, ("content-length", "0")], Ask::Start);
        let range =
            |range: &'static str, len: &'static str| [("content-range", range), ("content-length", len)];
        check(Method::PUT, &range("bytes 0-9/100", "10"), chunk(0, 10, Some(100)));
        check(Method::PUT, &range("bytes 90-99/100", "10"), chunk(90, 10, Some(100)));
        check(Method::PUT, &range("bytes 0-9/*", "10"), chunk(0, 10, None));
        check(Method::PUT, &range("Bytes 5-5/*", "1"), chunk(5, 1, None));
        check(Method::PUT, &range("bytes */100", "0"), Ask::Stand { length: Some(100) });
        check(Method::PUT, &range("bytes */*", "0"), Ask::Stand { length: None });
        check(Method::PUT, &[start, ("content-range", "bytes */100")], Ask::Stand { length: Some(100) });
        let chunked = [("content-range", "bytes 0-9/100"), ("transfer-encoding", "chunked")];
        check(Method::PUT, &chunked, chunk(0, 10, Some(100)));
        let rest = |start, length: Option<u64>, len| {
            let is_last = length.is_none();
            Ask::Take(Piece { start, may_overlap: true, length, is_last, len, checksum: None })
        };
        let stream = [("content-range", "bytes 0-*/*"), ("transfer-encoding", "chunked")];
        check(Method::PUT, &stream, rest(0, None, None));
        check(Method::PUT, &range("bytes 0-*/*", "10"), rest(0, None, Some(10)));
        check(Method::PUT, &range("bytes 5-*/*", "0"), rest(5, None, Some(0)));
        check(Method::PUT, &range("bytes 5-*/100", "95"), rest(5, Some(100), Some(95)));
        let whole = Piece {
            start: 0,
            may_overlap: true,
            length: Some(7),
            is_last: true,
            len: Some(7),
            checksum: None,
        };
        check(Method::PUT, &[start, ("content-length", "7")], Ask::Take(whole));
    }

    #[test]
    fn what_contradicts_itself_or_cannot_be_read_is_refused_by_its_headers() {
        let check = |method: Method, given: &[(&str, &str)], status: u16| {
            let refusal = ask(method, given).unwrap_err();
            assert_eq!(refusal.status().as_u16(), status, "{given:?}: {refusal:?}");
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
    fn what_is_kept_is_told_without_a_location() {
        for (offset, range) in [(0, None), (1, Some("bytes=0-0")), (100, Some("bytes=0-99"))] {
            let response = kept(offset);
            assert_eq!(response.status(), 308);
            assert_eq!(response.headers().get("range").map(|value| value.to_str().unwrap()), range);
            assert!(!response.headers().contains_key("location"));
        }
    }
}
