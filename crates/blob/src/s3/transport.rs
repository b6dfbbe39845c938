//! The way to the store: one request with its answer, tried a few times, each try bounded.
//!
//! The object library makes and signs requests; this sends them. It knows the rules of C-193 that
//! hold for every client of ours (no redirects, no proxy from the environment), reads each answer whole, so
//! that a broken body is one more failed try, and tells refusals as [`Refusal`], which says what a caller can
//! act on. Retries of the library are off.

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

/// The longest answer that is an explanation: listings of a thousand keys are 400 KB.
const TEXT_MAX: u64 = 4 << 20;

/// The longest code of an error that is shown.
const CODE_LEN_MAX: usize = 64;

/// What the store, or the way to it, answered instead of doing what was asked for.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    /// An earlier try of the same request got no clear answer: it may have been done.
    pub(super) may_be_done: bool,
}

/// Why a request was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reason {
    /// The store answered with this status, and this word of its own, if any.
    Status { status: StatusCode, code: Option<String> },
    /// Nobody answered, or not in time, or not to the end.
    NoAnswer(String),
    /// The answer is longer than what can be held in memory.
    TooLong(u64),
    /// Whoever gives out credentials did not: no access key is set, and this is no machine that has a role.
    NoCredentials(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Reason::Status { status, code: Some(code) } => {
                write!(f, "the store answered {} {code}", status.as_u16())
            }
            Reason::Status { status, code: None } => write!(f, "the store answered {status}"),
            Reason::NoAnswer(what) => f.write_str(what),
            Reason::TooLong(len) => write!(f, "the answer has {len} bytes"),
            Reason::NoCredentials(what) => write!(f, "no credentials: {what}"),
        }
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// The refusal somewhere below an error of the object library.
    pub(super) fn below<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Self> {
        let mut next = Some(error);
        while let Some(error) = next {
            if let Some(refusal) = error.downcast_ref() {
                return Some(refusal);
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

/// Makes the clients of one store.
#[derive(Debug)]
pub(super) struct Connector {
    pub(super) limits: Arc<S3Limits>,
    /// Host and port of the store. Requests to others are for credentials.
    pub(super) store: String,
    /// Whether the operator allows old machines to give out credentials without a token
    /// (`AWS_IMDSV1_FALLBACK`): the library must see that the token was refused.
    pub(super) is_token_optional: bool,
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(self.limits.connect)
            .user_agent("kinora")
            .build()
            .map_err(|source| object_store::Error::Generic { store: "S3", source: Box::new(source) })?;
        Ok(HttpClient::new(Transport {
            client,
            limits: Arc::clone(&self.limits),
            store: self.store.clone(),
            is_token_optional: self.is_token_optional,
        }))
    }
}

#[derive(Debug)]
struct Transport {
    client: reqwest::Client,
    limits: Arc<S3Limits>,
    store: String,
    is_token_optional: bool,
}

/// What one try came to.
enum Tried {
    /// An answer that another try would not change.
    Final(HttpResponse),
    /// The store did not do it now, and says so.
    Busy(Reason),
    /// Nobody knows what the store has done.
    Unclear(Reason),
    /// Another try would end the same way.
    Refused(Reason),
}

// What `#[async_trait]` would write.
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
            request.uri().authority().is_some_and(|authority| authority.as_str() == self.store);
        let limits = &self.limits;
        let mut delays = ExponentialBuilder::default()
            .with_min_delay(limits.retry_delay_min)
            .with_max_delay(limits.retry_delay_max)
            .with_max_times(limits.tries.saturating_sub(1))
            .with_jitter()
            .build();
        let mut may_be_done = false;
        let give_up = (is_for_store && is_read(&request)).then(|| Instant::now() + limits.read);
        loop {
            let tried = if is_for_store {
                self.try_once(request.clone(), give_up).await
            } else {
                self.try_for_credentials(request.clone()).await
            };
            let reason = match tried {
                Tried::Final(response) => return Ok(response),
                Tried::Refused(reason) => return Err(refused(reason, may_be_done)),
                Tried::Busy(reason) => reason,
                Tried::Unclear(reason) => {
                    may_be_done = true;
                    reason
                }
            };
            let Some(delay) = delays.next() else { return Err(refused(reason, may_be_done)) };
            if give_up.is_some_and(|give_up| Instant::now() + delay >= give_up) {
                return Err(refused(reason, may_be_done));
            }
            tokio::time::sleep(delay).await;
        }
    }

    /// `give_up`: when the first byte of a read must be there.
    async fn try_once(&self, request: HttpRequest, give_up: Option<Instant>) -> Tried {
        let sent = u64::try_from(request.body().content_length()).unwrap_or(u64::MAX);
        let is_head = request.method() == Method::HEAD;
        let is_ranged = request.headers().contains_key(RANGE);
        let is_object = request.method() == Method::GET && request.uri().query().is_none();
        let (limit, pause_max) = match give_up {
            Some(give_up) => {
                let one_try = self.limits.answer.min(self.limits.read / 2);
                (one_try.min(give_up.duration_since(Instant::now())), one_try)
            }
            None => (self.limits.time_for(sent), self.limits.answer),
        };
        let response = match timeout(limit, self.client.call(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return no_answer(&error),
            Err(_) => return Tried::Unclear(too_slow(limit)),
        };
        let status = response.status();
        let len_max = if is_object && status.is_success() { READ_MAX } else { TEXT_MAX };
        // The length in the answer to HEAD is that of the object, not of a body.
        let announced = response
            .headers()
            .get(CONTENT_LENGTH)
            .filter(|_| !is_head)
            .and_then(|len| len.to_str().ok()?.parse::<u64>().ok());
        if let Some(len) = announced.filter(|len| *len > len_max) {
            return Tried::Refused(Reason::TooLong(len));
        }
        if is_ranged && status == StatusCode::OK {
            // The whole object would come. The library refuses such an answer; its bytes are not read.
            return Tried::Final(response.map(|_| Bytes::new().into()));
        }
        let limit = self.limits.time_for(announced.unwrap_or(len_max));
        match timeout(limit, read_whole(response, announced, len_max, pause_max)).await {
            Ok(Ok((response, body))) => judge(response, body, is_object),
            Ok(Err(reason @ Reason::TooLong(_))) => Tried::Refused(reason),
            Ok(Err(reason)) => Tried::Unclear(reason),
            Err(_) => Tried::Unclear(too_slow(limit)),
        }
    }

    /// Asks for credentials. The library reads the answer when there is one.
    async fn try_for_credentials(&self, request: HttpRequest) -> Tried {
        let asks_for_token = request.method() == Method::PUT;
        let is_for_library =
            |status| self.is_token_optional && asks_for_token && status == StatusCode::FORBIDDEN;
        let answered = timeout(self.limits.answer, self.client.call(request)).await;
        match answered {
            Ok(Ok(response)) if response.status().is_server_error() => {
                Tried::Busy(Reason::NoCredentials(format!("their source answered {}", response.status())))
            }
            Ok(Ok(response)) if response.status().is_client_error() && !is_for_library(response.status()) => {
                let status = response.status();
                Tried::Refused(Reason::NoCredentials(format!(
                    "none are set, and their source answered {status}"
                )))
            }
            Ok(Ok(response)) => {
                let limit = self.limits.answer;
                match timeout(limit, read_whole(response, None, TEXT_MAX, limit)).await {
                    Ok(Ok((response, body))) => Tried::Final(response.map(|_| body.into())),
                    _ => Tried::Unclear(Reason::NoCredentials("their source broke off".to_owned())),
                }
            }
            // Where no machine gives out credentials nobody answers, and more tries would only take longer.
            Ok(Err(_)) | Err(_) => {
                Tried::Refused(Reason::NoCredentials("none are set, and their source does not answer".into()))
            }
        }
    }
}

/// Whether the request reads an object, for which somebody may wait.
fn is_read(request: &HttpRequest) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && request.uri().query().is_none()
}

/// Takes the body out of an answer and reads it to its end, which must be where it was announced.
///
/// A store that sends nothing for `pause_max` has broken off.
async fn read_whole(
    mut response: HttpResponse,
    announced: Option<u64>,
    len_max: u64,
    pause_max: Duration,
) -> Result<(HttpResponse, Bytes), Reason> {
    let cut = |got: u64| Reason::NoAnswer(format!("the answer broke off after {got} bytes"));
    let capacity = usize::try_from(announced.unwrap_or(0)).unwrap_or(0);
    let mut bytes = BytesMut::with_capacity(capacity);
    let body = std::mem::replace(response.body_mut(), Bytes::new().into());
    let mut stream = body.bytes_stream();
    loop {
        let got = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let Ok(next) = timeout(pause_max, stream.try_next()).await else { return Err(cut(got)) };
        match next {
            Ok(Some(piece)) if got + piece.len() as u64 > len_max => return Err(Reason::TooLong(len_max)),
            Ok(Some(piece)) => bytes.extend_from_slice(&piece),
            Ok(None) if announced.is_none_or(|len| len == got) => return Ok((response, bytes.freeze())),
            Ok(None) | Err(_) => return Err(cut(got)),
        }
    }
}

/// What an answer that came to its end means.
fn judge(response: HttpResponse, body: Bytes, is_object: bool) -> Tried {
    let status = response.status();
    if status.is_success() {
        // Some calls answer 200 at once and tell of their failure in the body (Amazon S3,
        // CompleteMultipartUpload).
        return match error_code(&body).filter(|_| !is_object) {
            None => Tried::Final(response.map(|_| body.into())),
            Some(code) => {
                Tried::Busy(Reason::Status { status: StatusCode::INTERNAL_SERVER_ERROR, code: Some(code) })
            }
        };
    }
    let code = error_code(&body);
    // Amazon S3, "Error responses": the codes that ask for another try.
    let is_busy = matches!(status.as_u16(), 408 | 429 | 500 | 502 | 503 | 504)
        || matches!(
            code.as_deref(),
            Some("SlowDown" | "RequestTimeout" | "ConditionalRequestConflict" | "OperationAborted")
        );
    let reason = Reason::Status { status, code };
    if is_busy { Tried::Busy(reason) } else { Tried::Refused(reason) }
}

/// The word in `<Error><Code>word</Code>`: the part of an explanation that holds no secret.
fn error_code(body: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(body).ok()?;
    let (_, error) = text.split_once("<Error>").or_else(|| text.split_once("<Error "))?;
    let (_, code) = error.split_once("<Code>")?;
    let (code, _) = code.split_once("</Code>")?;
    let is_word = code.len() <= CODE_LEN_MAX && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_word.then(|| code.to_owned())
}

fn no_answer(error: &HttpError) -> Tried {
    let was_never_sent = matches!(error.kind(), HttpErrorKind::Connect);
    // The library has taken addresses out of its errors.
    let reason = Reason::NoAnswer(error_chain(error));
    if was_never_sent { Tried::Busy(reason) } else { Tried::Unclear(reason) }
}

fn too_slow(limit: Duration) -> Reason {
    Reason::NoAnswer(format!("no answer within {} ms", limit.as_millis()))
}

fn refused(reason: Reason, may_be_done: bool) -> HttpError {
    // A kind that the library does not try again.
    HttpError::new(HttpErrorKind::Unknown, Refusal { reason, may_be_done })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// What becomes of a question for credentials that is answered like this.
    async fn asked_for_credentials(answer: &'static str, is_token_optional: bool) -> Tried {
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
        let transport = Transport { client, limits, store: "store".to_owned(), is_token_optional };
        let mut request = HttpRequest::new(Bytes::new().into());
        *request.method_mut() = Method::PUT;
        *request.uri_mut() = format!("http://{address}/latest/api/token").parse().unwrap();
        let tried = transport.try_for_credentials(request).await;
        serving.await.unwrap();
        tried
    }

    #[tokio::test]
    async fn whoever_gives_no_credentials_is_told_from_whoever_is_busy() {
        const NONE: &str = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
        const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n";
        const BUSY: &str = "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";
        const TOKEN: &str = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\ntoken";
        for (answer, is_token_optional) in [(NONE, false), (NONE, true), (FORBIDDEN, false)] {
            let tried = asked_for_credentials(answer, is_token_optional).await;
            assert!(matches!(tried, Tried::Refused(Reason::NoCredentials(_))), "{answer}");
        }
        assert!(matches!(asked_for_credentials(FORBIDDEN, true).await, Tried::Final(_)));
        assert!(matches!(asked_for_credentials(BUSY, false).await, Tried::Busy(Reason::NoCredentials(_))));
        assert!(matches!(asked_for_credentials(TOKEN, false).await, Tried::Final(_)));
    }

    #[test]
    fn the_code_of_an_error_is_found_and_nothing_else_of_it() {
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
