//! The HTTP transport to the store: one request with its response, retried a few times, each try limited.
//!
//! The object library builds and signs requests; this sends them. It applies the rules of C-193 for all our
//! clients (no redirects, no proxy from the environment). It reads each response whole, so that a broken
//! body is one more failed try. It returns failures as [`RequestFailure`], which says how a caller can act.
//! Retries of the library are off.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt;
use kinora_domain::error_chain;
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use reqwest::header::{CONTENT_LENGTH, RANGE};
use reqwest::{Method, StatusCode};
use tokio::time::{Instant, timeout};

use super::limits::S3Limits;
use crate::READ_MAX;

/// The longest response other than an object: listings of a thousand keys are 400 KB.
const TEXT_MAX: u64 = 4 << 20;

/// The longest error code that is shown.
const CODE_LEN_MAX: usize = 64;

/// A failure of the store, or of the connection to it.
#[derive(Debug)]
pub(super) struct RequestFailure {
    pub(super) reason: Reason,
    /// Whether an earlier try of the same request got no clear response: it may have been done.
    pub(super) may_be_done: bool,
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reason {
    /// The store responded with this status, and its own error code, if any.
    Status { status: StatusCode, code: Option<String> },
    /// No response, or not in time, or not to the end.
    NoAnswer(String),
    /// The response is longer than the memory limit.
    TooLong(u64),
    /// No credentials: no access key is set, and this machine has no role.
    NoCredentials(String),
}

impl fmt::Display for RequestFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Status { status, code: Some(code) } => {
                write!(f, "the store responded with {} {code}", status.as_u16())
            }
            Reason::Status { status, code: None } => write!(f, "the store responded with {status}"),
            Reason::NoAnswer(what) => f.write_str(what),
            Reason::TooLong(len) => write!(f, "the response has {len} bytes"),
            Reason::NoCredentials(what) => write!(f, "no credentials: {what}"),
        }
    }
}

impl std::error::Error for RequestFailure {}

impl RequestFailure {
    /// The failure inside an error of the object library.
    pub(super) fn find_in<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(failure) = error.downcast_ref() {
                return Some(failure);
            }
            next = error.source();
        }
        None
    }

    pub(super) fn status(&self) -> Option<StatusCode> {
        match &self.reason {
            Reason::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    pub(super) fn code(&self) -> Option<&str> {
        match &self.reason {
            Reason::Status { code, .. } => code.as_deref(),
            _ => None,
        }
    }
}

/// Builds the clients of one store.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) limits: Arc<S3Limits>,
    /// Host and port of the store. Requests to other hosts are for credentials.
    pub(super) store_authority: String,
    /// Whether the operator allows IMDSv1, by which old machines issue credentials without a token
    /// (`AWS_IMDSV1_FALLBACK`): the library must see that the token was rejected.
    pub(super) allows_imds_v1: bool,
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(self.limits.connect_timeout)
            .user_agent("kinora")
            .build()
            .map_err(|source| object_store::Error::Generic { store: "S3", source: Box::new(source) })?;
        Ok(HttpClient::new(Transport {
            client,
            limits: Arc::clone(&self.limits),
            store_authority: self.store_authority.clone(),
            allows_imds_v1: self.allows_imds_v1,
        }))
    }
}

#[derive(Debug)]
struct Transport {
    client: reqwest::Client,
    limits: Arc<S3Limits>,
    store_authority: String,
    allows_imds_v1: bool,
}

/// The result of one try.
enum AttemptOutcome {
    /// A response that a retry would not change.
    Final(HttpResponse),
    /// The store reported that it did not execute the request now.
    Busy(Reason),
    /// The store may have executed the request or not.
    Unclear(Reason),
    /// A failure that a retry would repeat.
    Permanent(Reason),
}

// The expansion of `#[async_trait]`.
impl HttpService for Transport {
    fn call<'a, 'b>(
        &'a self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(self.send(request))
    }
}

impl Transport {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let is_for_store =
            request.uri().authority().is_some_and(|authority| authority.as_str() == self.store_authority);
        let limits = &self.limits;
        let mut delays = ExponentialBuilder::default()
            .with_min_delay(limits.retry_delay_min)
            .with_max_delay(limits.retry_delay_max)
            .with_max_times(limits.attempts_max.saturating_sub(1))
            .with_jitter()
            .build();
        let mut may_be_done = false;
        let read_deadline = (is_for_store && is_read(&request)).then(|| Instant::now() + limits.read_timeout);
        loop {
            let outcome = if is_for_store {
                self.try_once(request.clone(), read_deadline).await
            } else {
                self.try_for_credentials(request.clone()).await
            };
            let reason = match outcome {
                AttemptOutcome::Final(response) => return Ok(response),
                AttemptOutcome::Permanent(reason) => return Err(request_failure(reason, may_be_done)),
                AttemptOutcome::Busy(reason) => reason,
                AttemptOutcome::Unclear(reason) => {
                    may_be_done = true;
                    reason
                }
            };
            let Some(delay) = delays.next() else { return Err(request_failure(reason, may_be_done)) };
            if read_deadline.is_some_and(|deadline| Instant::now() + delay >= deadline) {
                return Err(request_failure(reason, may_be_done));
            }
            tokio::time::sleep(delay).await;
        }
    }

    /// Tries once. `read_deadline` is the deadline for the first byte of a read.
    async fn try_once(&self, request: HttpRequest, read_deadline: Option<Instant>) -> AttemptOutcome {
        let sent = u64::try_from(request.body().content_length()).unwrap_or(u64::MAX);
        let is_head = request.method() == Method::HEAD;
        let is_ranged = request.headers().contains_key(RANGE);
        let is_object = request.method() == Method::GET && request.uri().query().is_none();
        let (limit, pause_max) = match read_deadline {
            Some(deadline) => {
                let one_try = self.limits.response_timeout.min(self.limits.read_timeout / 2);
                (one_try.min(deadline.duration_since(Instant::now())), one_try)
            }
            None => (self.limits.timeout_for(sent), self.limits.response_timeout),
        };
        let response = match timeout(limit, self.client.call(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return no_answer(&error),
            Err(_) => return AttemptOutcome::Unclear(too_slow(limit)),
        };
        let status = response.status();
        let len_max = if is_object && status.is_success() { READ_MAX } else { TEXT_MAX };
        // The length in the response to HEAD is that of the object, not of a body.
        let content_length = response
            .headers()
            .get(CONTENT_LENGTH)
            .filter(|_| !is_head)
            .and_then(|len| len.to_str().ok()?.parse::<u64>().ok());
        if let Some(len) = content_length.filter(|len| *len > len_max) {
            return AttemptOutcome::Permanent(Reason::TooLong(len));
        }
        if is_ranged && status == StatusCode::OK {
            // The store would send the whole object. The library rejects such a response; its bytes are not
            // read.
            return AttemptOutcome::Final(response.map(|_| Bytes::new().into()));
        }
        let limit = self.limits.timeout_for(content_length.unwrap_or(len_max));
        match timeout(limit, read_body(response, content_length, len_max, pause_max)).await {
            Ok(Ok((response, body))) => classify_response(response, body, is_object),
            Ok(Err(reason @ Reason::TooLong(_))) => AttemptOutcome::Permanent(reason),
            Ok(Err(reason)) => AttemptOutcome::Unclear(reason),
            Err(_) => AttemptOutcome::Unclear(too_slow(limit)),
        }
    }

    /// Requests credentials. The library reads the response if there is one.
    async fn try_for_credentials(&self, request: HttpRequest) -> AttemptOutcome {
        let asks_for_token = request.method() == Method::PUT;
        let is_for_library =
            |status| self.allows_imds_v1 && asks_for_token && status == StatusCode::FORBIDDEN;
        let answered = timeout(self.limits.response_timeout, self.client.call(request)).await;
        match answered {
            Ok(Ok(response)) if response.status().is_server_error() => AttemptOutcome::Busy(
                Reason::NoCredentials(format!("their source responded with {}", response.status())),
            ),
            Ok(Ok(response)) if response.status().is_client_error() && !is_for_library(response.status()) => {
                let status = response.status();
                AttemptOutcome::Permanent(Reason::NoCredentials(format!(
                    "none are set, and their source responded with {status}"
                )))
            }
            Ok(Ok(response)) => {
                let limit = self.limits.response_timeout;
                match timeout(limit, read_body(response, None, TEXT_MAX, limit)).await {
                    Ok(Ok((response, body))) => AttemptOutcome::Final(response.map(|_| body.into())),
                    _ => AttemptOutcome::Unclear(Reason::NoCredentials(
                        "their source closed the connection early".to_owned(),
                    )),
                }
            }
            // A machine without a credential source never responds, and retries would only take longer.
            Ok(Err(_)) | Err(_) => AttemptOutcome::Permanent(Reason::NoCredentials(
                "none are set, and their source does not respond".into(),
            )),
        }
    }
}

/// Whether the request reads an object, for which a viewer may wait.
fn is_read(request: &HttpRequest) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && request.uri().query().is_none()
}

/// Reads the body of a response to its end, which must be at the length in its header.
///
/// A store that sends nothing for `pause_max` has aborted.
async fn read_body(
    mut response: HttpResponse,
    content_length: Option<u64>,
    len_max: u64,
    pause_max: Duration,
) -> Result<(HttpResponse, Bytes), Reason> {
    let ended_early = |got: u64| Reason::NoAnswer(format!("the response ended early after {got} bytes"));
    let capacity = usize::try_from(content_length.unwrap_or(0)).unwrap_or(0);
    let mut bytes = BytesMut::with_capacity(capacity);
    let body = std::mem::replace(response.body_mut(), Bytes::new().into());
    let mut stream = body.bytes_stream();
    loop {
        let got = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let Ok(next) = timeout(pause_max, stream.try_next()).await else { return Err(ended_early(got)) };
        match next {
            Ok(Some(chunk)) if got + chunk.len() as u64 > len_max => return Err(Reason::TooLong(len_max)),
            Ok(Some(piece)) => bytes.extend_from_slice(&piece),
            Ok(None) if content_length.is_none_or(|len| len == got) => return Ok((response, bytes.freeze())),
            Ok(None) | Err(_) => return Err(ended_early(got)),
        }
    }
}

/// Classifies a complete response.
fn classify_response(response: HttpResponse, body: Bytes, is_object: bool) -> AttemptOutcome {
    let status = response.status();
    if status.is_success() {
        // Some calls return 200 at once and report their failure in the body (Amazon S3,
        // CompleteMultipartUpload).
        return match error_code(&body).filter(|_| !is_object) {
            None => AttemptOutcome::Final(response.map(|_| body.into())),
            Some(code) => AttemptOutcome::Busy(Reason::Status {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                code: Some(code),
            }),
        };
    }
    let code = error_code(&body);
    // Amazon S3, "Error responses": the codes that require a retry.
    let is_busy = matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
        || matches!(
            code.as_deref(),
            Some("SlowDown" | "RequestTimeout" | "ConditionalRequestConflict" | "OperationAborted")
        );
    let reason = Reason::Status { status, code };
    if is_busy { AttemptOutcome::Busy(reason) } else { AttemptOutcome::Permanent(reason) }
}

/// The word in `<Error><Code>word</Code>`: the part of an error response without secrets.
fn error_code(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let (_, error) = text.split_once("<Error>").or_else(|| text.split_once("<Error "))?;
    let (_, code) = error.split_once("<Code>")?;
    let (code, _) = code.split_once("</Code>")?;
    let is_word = code.len() <= CODE_LEN_MAX && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then(|| code.to_owned())
}

fn no_answer(error: &HttpError) -> AttemptOutcome {
    let was_never_sent = matches!(error.kind(), HttpErrorKind::Connect);
    // The library has removed URLs from its errors.
    let reason = Reason::NoAnswer(error_chain(error));
    if was_never_sent { AttemptOutcome::Busy(reason) } else { AttemptOutcome::Unclear(reason) }
}

fn too_slow(limit: Duration) -> Reason {
    Reason::NoAnswer(format!("no response within {} ms", limit.as_millis()))
}

fn request_failure(reason: Reason, may_be_done: bool) -> HttpError {
    // A kind that the library does not retry.
    HttpError::new(HttpErrorKind::Unknown, RequestFailure { reason, may_be_done })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// The result of a credentials request with this response.
    async fn credentials_outcome(answer: &'static str, allows_imds_v1: bool) -> AttemptOutcome {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                socket.read_buf(&mut head).await.unwrap();
            }
            socket.write_all(answer.as_bytes()).await.unwrap();
        });
        let limits = Arc::new(S3Limits::default());
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let transport = Transport { client, limits, store_authority: "store".to_owned(), allows_imds_v1 };
        let mut request = HttpRequest::new(Bytes::new().into());
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = format!("http://{address}/latest/api/token").parse().unwrap();
        let outcome = transport.try_for_credentials(request).await;
        serving.await.unwrap();
        outcome
    }

    #[tokio::test]
    async fn missing_credentials_differ_from_busy_store() {
        const NONE: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
        const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";
        const BUSY: &str = "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
        const TOKEN: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\ntoken";
        for (answer, allows_imds_v1) in [(NONE, false), (NONE, true), (FORBIDDEN, false)] {
            let outcome = credentials_outcome(answer, allows_imds_v1).await;
            assert!(matches!(outcome, AttemptOutcome::Permanent(Reason::NoCredentials(_))), "{answer}");
        }
        assert!(matches!(credentials_outcome(FORBIDDEN, true).await, AttemptOutcome::Final(_)));
        assert!(matches!(
            credentials_outcome(BUSY, false).await,
            AttemptOutcome::Busy(Reason::NoCredentials(_))
        ));
        assert!(matches!(credentials_outcome(TOKEN, false).await, AttemptOutcome::Final(_)));
    }

    #[test]
    fn only_error_code_is_extracted() {
        let check = |body: &str, expected: Option<&str>| {
            assert_eq!(error_code(body.as_bytes()).as_deref(), expected, "{body}");
        };
        check("", None);
        check("<html>502</html>", None);
        check("<Code>Alone</Code>", None);
        check(
            "<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code><Message>m</Message></Error>",
            Some("NoSuchKey"),
        );
        check("<Error xmlns=\"http://x\"><Code>SlowDown</Code></Error>", Some("SlowDown"));
        check("<Error><Code>two words</Code></Error>", None);
        check(&format!("<Error><Code>{}</Code></Error>", "x".repeat(65)), None);
        check("<Error><Code>Open", None);
    }
}
