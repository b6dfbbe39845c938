//! One response with a source: the checks of its headers, and its body with a stall timeout.

use bytes::Bytes;
use reqwest::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, TRANSFER_ENCODING,
};
use reqwest::{Response, StatusCode};

use super::content_range::ContentRange;
use super::stall::StallWatch;
use super::{Resume, StrongValidator, header_text, status_error};
use crate::client;
use crate::error::{FetchError, Unreachable};
use crate::limits::Limits;

/// Longest stored content type in bytes. RFC 6838, 4.2 allows 127 for each of its two names; the rest is for
/// parameters.
const CONTENT_TYPE_BYTES_MAX: usize = 512;

/// The start of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyStart {
    /// The first byte of the source, even if a later one was requested: earlier bytes are void.
    Beginning,
    /// The requested offset, of the same source as before.
    Resumed,
}

/// A source that is being received.
#[derive(Debug)]
pub struct SourceResponse {
    /// The start of the body.
    pub start: BodyStart,
    /// Size of the whole source in bytes, if the server announced it.
    pub total: Option<u64>,
    /// `Content-Type`, as sent. Only a hint: the scanner determines the format.
    pub content_type: Option<String>,
    /// The validator for requesting the rest after an interruption.
    pub validator: Option<StrongValidator>,
    /// `None` if no bytes were left.
    body: Option<Response>,
    /// Offset in the source of the next byte.
    position: u64,
    /// Offset in the source at which this body should end, if known.
    end: Option<u64>,
    bytes_max: u64,
    watch: StallWatch,
}

impl SourceResponse {
    /// Checks the headers of a response to a request for `resume`, or for the whole source.
    pub(super) fn accept(
        response: Response,
        resume: Option<Resume<'_>>,
        limits: &Limits,
    ) -> Result<Self, FetchError> {
        let headers = response.headers();
        let opened = match (response.status(), resume) {
            (StatusCode::OK, _) => {
                check_codings(headers)?;
                let total = content_length(headers);
                Self::new(response, BodyStart::Beginning, Span { start: 0, end: total, total }, limits)
            }
            (StatusCode::PARTIAL_CONTENT, Some(resume)) => {
                check_codings(headers)?;
                let span = partial_span(headers, resume)?;
                let mut opened = Self::new(response, BodyStart::Resumed, span, limits);
                opened.validator = Some(resume.validator.clone());
                opened
            }
            (StatusCode::RANGE_NOT_SATISFIABLE, Some(resume)) => {
                let span = range_at_end(headers, resume)?;
                let mut opened = Self::new(response, BodyStart::Resumed, span, limits);
                opened.validator = Some(resume.validator.clone());
                opened.body = None;
                opened
            }
            // The request had no range.
            (StatusCode::PARTIAL_CONTENT, None) => return Err(FetchError::unreachable(Unreachable::Broken)),
            (status, _) => return Err(status_error(status, headers)),
        };
        if opened.total.is_some_and(|total| limits.bytes_max < total) {
            return Err(FetchError::TooLarge { bytes_max: limits.bytes_max });
        }
        Ok(opened)
    }

    fn new(response: Response, start: BodyStart, span: Span, limits: &Limits) -> Self {
        let headers = response.headers();
        Self {
            start,
            total: span.total,
            content_type: header_text(headers, &CONTENT_TYPE)
                .filter(|text| text.len() <= CONTENT_TYPE_BYTES_MAX),
            validator: StrongValidator::of(headers),
            body: Some(response),
            position: span.start,
            end: span.end,
            bytes_max: limits.bytes_max,
            watch: StallWatch::new(limits),
        }
    }

    /// The next bytes, or `None` at the end of the source.
    ///
    /// An end before the announced length is [`Unreachable::Cut`], as is the end of a response with only a
    /// part of the requested range. After an error no more bytes can be read.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, FetchError> {
        let next = match &mut self.body {
            Some(response) => {
                self.watch.wait(async { response.chunk().await.map_err(client::cut_error) }).await?
            }
            None => None,
        };
        let Some(bytes) = next else {
            self.body = None;
            return self.check_end().map(|()| None);
        };
        let length = u64::try_from(bytes.len()).expect("a length in memory fits in 64 bits");
        self.position = self.position.saturating_add(length);
        if self.bytes_max < self.position {
            return Err(FetchError::TooLarge { bytes_max: self.bytes_max });
        }
        // More bytes than a partial response announced; the HTTP library truncates other responses to their
        // length.
        if self.end.is_some_and(|end| end < self.position) {
            return Err(FetchError::unreachable(Unreachable::Broken));
        }
        Ok(Some(bytes))
    }

    fn check_end(&self) -> Result<(), FetchError> {
        let is_complete = self.total.or(self.end).is_none_or(|end| end == self.position);
        if is_complete { Ok(()) } else { Err(FetchError::unreachable(Unreachable::Cut)) }
    }
}

/// The bytes of the source in a response: from `start` to before `end`, out of `total`.
struct Span {
    start: u64,
    end: Option<u64>,
    total: Option<u64>,
}

/// The bytes of a 206, which must begin at the requested offset and belong to the same source.
fn partial_span(headers: &HeaderMap, resume: Resume<'_>) -> Result<Span, FetchError> {
    let range = header_text(headers, &CONTENT_RANGE).and_then(|text| ContentRange::parse(&text));
    let Some(ContentRange::Bytes { start, end, total }) = range else { return Err(FetchError::Changed) };
    let length_fits = content_length(headers).is_none_or(|length| length == end - start);
    if start != resume.offset || !length_fits || resume.validator.is_contradicted_by(headers) {
        return Err(FetchError::Changed);
    }
    Ok(Span { start, end: Some(end), total })
}

/// A 416 for a source that ends exactly at the requested offset: the interruption came after the last byte.
fn range_at_end(headers: &HeaderMap, resume: Resume<'_>) -> Result<Span, FetchError> {
    let range = header_text(headers, &CONTENT_RANGE).and_then(|text| ContentRange::parse(&text));
    let same = range == Some(ContentRange::Unsatisfied { total: resume.offset })
        && !resume.validator.is_contradicted_by(headers);
    if !same {
        return Err(FetchError::Changed);
    }
    Ok(Span { start: resume.offset, end: Some(resume.offset), total: Some(resume.offset) })
}

/// `Content-Length`, ignored with chunked encoding, as in the HTTP library, which rejects a malformed one.
fn content_length(headers: &HeaderMap) -> Option<u64> {
    if headers.contains_key(TRANSFER_ENCODING) {
        return None;
    }
    header_text(headers, &CONTENT_LENGTH)?.trim().parse().ok()
}

/// Rejects encoded bytes. The request accepts `identity` only, and offers no transfer coding.
fn check_codings(headers: &HeaderMap) -> Result<(), FetchError> {
    let is_plain = |value: &reqwest::header::HeaderValue, plain: &str| {
        let value = String::from_utf8_lossy(value.as_bytes());
        value.split(',').map(str::trim).all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case(plain))
    };
    let content = headers.get_all(CONTENT_ENCODING).iter().all(|value| is_plain(value, "identity"));
    let transfer = headers.get_all(TRANSFER_ENCODING).iter().all(|value| is_plain(value, "chunked"));
    if content && transfer { Ok(()) } else { Err(FetchError::Encoded) }
}
