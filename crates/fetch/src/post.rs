//! Posting webhooks.

use std::cell::Cell;
use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};
use reqwest::{Client, Response};
use tokio::time::{Instant, timeout_at};
use tower::util::MapRequestLayer;
use url::Url;

use crate::client::{self, Trouble};
use crate::error::{StartError, Unreachable};
use crate::guard::{Forbidden, Guard, Refused};
use crate::limits::PostLimits;
use crate::resolve::Network;
use crate::retry_after;
use crate::url_rules::UrlProblem;

/// What is kept of an answer's body, in bytes. It is shown to people who look for the reason of a failure.
const BODY_KEPT: usize = 1 << 10;

/// What is read of an answer's body, in bytes. Reading to the end keeps the connection; a larger body is not
/// worth it.
const BODY_READ_MAX: usize = 64 << 10;

/// What is kept of one header value, in bytes.
const HEADER_VALUE_KEPT: usize = 256;

/// The headers of an answer that say how to go on, or help to find out who answered.
const HEADERS_KEPT: [&str; 7] = [
    "content-type",
    "transfer-encoding",
    "server",
    "date",
    "cache-control",
    "retry-after",
    // C-9: `disable` and `abort-message`.
    "webhook-delivery",
];

tokio::task_local! {
    /// Whether the request that this task sends had to make a connection.
    static CONNECTED: Cell<bool>;
}

/// Posts webhooks. Cheap to clone; made once, so that connections are used again.
#[derive(Debug, Clone)]
pub struct Poster {
    /// Uses connections again.
    client: Client,
    /// Makes a connection for each request.
    fresh: Client,
    guard: Guard,
    limits: PostLimits,
}

/// What a receiver answered, whatever its status: redirects are handed back like any other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostResponse {
    /// The status.
    pub status: u16,
    /// Those of content-type, transfer-encoding, server, date, cache-control, retry-after and
    /// webhook-delivery that were sent, in this order, names in lower case. A value longer than 256 bytes is
    /// cut.
    pub headers: Vec<(&'static str, String)>,
    /// The first 1 KiB of the body; bytes that are no UTF-8 become replacement characters.
    pub body: String,
}

/// Why there is no answer. The texts name no address and no URL.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The URL is of a form we do not request.
    #[error("the webhook's URL {0}")]
    Url(UrlProblem),
    /// The receiver lies in a network that must not be reached. Nothing was sent there.
    #[error("the webhook's address is not on the public internet")]
    ForbiddenAddress(#[source] Forbidden),
    /// No answer within the time for the whole post.
    #[error("the receiver did not answer in time")]
    Timeout,
    /// No answer at all.
    #[error("{}", unreachable_text(*.why))]
    Unreachable {
        /// What happened.
        why: Unreachable,
        /// For the log.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
}

impl Poster {
    /// A poster that sees the outside through `network`.
    pub fn new(network: &Network, limits: PostLimits) -> Result<Self, StartError> {
        let client = client::build(network, limits.connect, |builder| {
            let builder = builder.pool_max_idle_per_host(limits.idle_per_host);
            builder.pool_idle_timeout(limits.idle).connector_layer(MapRequestLayer::new(note_connection))
        })?;
        let fresh = client::build(network, limits.connect, |builder| builder.pool_max_idle_per_host(0))?;
        Ok(Self { client, fresh, guard: network.guard.clone(), limits })
    }

    /// Posts `body` with `headers` to `url` once. A `user-agent` is added where `headers` has none.
    ///
    /// The address is checked whenever a connection is made, so a name that has moved into a private network
    /// is refused. The limit holds for everything until the status; a receiver that has answered and then
    /// lets its body drip has answered, and `body` is what came in time.
    ///
    /// A receiver may close a kept-alive connection at the moment it is used again. Such a request is sent
    /// again on a new connection, once, so it may arrive twice (RFC 9110, 9.2.2 leaves it to the client to
    /// know that this is harmless; receivers know an event by its id).
    pub async fn post(&self, url: &Url, headers: HeaderMap, body: Bytes) -> Result<PostResponse, PostError> {
        self.guard.check_url(url)?;
        let deadline = Instant::now() + self.limits.total;
        let answer = timeout_at(deadline, self.send(url, headers, body)).await;
        let mut response = answer.map_err(|_| PostError::Timeout)?.map_err(client::trouble)?;
        let mut kept = Vec::new();
        // Neither the end of the time nor a broken body takes back the status that was given.
        let _ = timeout_at(deadline, read_body(&mut response, &mut kept)).await;
        Ok(PostResponse {
            status: response.status().as_u16(),
            headers: keep_headers(response.headers()),
            body: String::from_utf8_lossy(&kept).into_owned(),
        })
    }
}

impl Poster {
    /// Sends the request, on a new connection where the one that was used again is found closed.
    async fn send(&self, url: &Url, headers: HeaderMap, body: Bytes) -> Result<Response, reqwest::Error> {
        let request = |client: &Client| client.post(url.clone()).headers(headers.clone()).body(body.clone());
        let sending = async { (request(&self.client).send().await, CONNECTED.with(Cell::get)) };
        match CONNECTED.scope(Cell::new(false), sending).await {
            (Err(error), false) if client::is_closed(&error) => request(&self.fresh).send().await,
            (answer, _) => answer,
        }
    }
}

/// Notes that the request of this task waits for a new connection. The client polls its connector in the task
/// of the request.
fn note_connection<T>(target: T) -> T {
    let _ = CONNECTED.try_with(|connected| connected.set(true));
    target
}

impl PostResponse {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(kept, _)| *kept == name).map(|(_, value)| value.as_str())
    }

    /// How long the receiver asked to wait before the next attempt, as sent: callers cap it.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after::parse(self.header(RETRY_AFTER.as_str())?, self.header(DATE.as_str()))
    }
}

async fn read_body(response: &mut Response, kept: &mut Vec<u8>) {
    let mut read = 0usize;
    while read < BODY_READ_MAX {
        let Ok(Some(bytes)) = response.chunk().await else { return };
        read = read.saturating_add(bytes.len());
        let room = BODY_KEPT - kept.len();
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

fn keep_headers(headers: &HeaderMap) -> Vec<(&'static str, String)> {
    let keep = |name: &'static str| {
        let value = headers.get(HeaderName::from_static(name))?.as_bytes();
        let value = &value[..value.len().min(HEADER_VALUE_KEPT)];
        Some((name, String::from_utf8_lossy(value).into_owned()))
    };
    HEADERS_KEPT.into_iter().filter_map(keep).collect()
}

fn unreachable_text(why: Unreachable) -> &'static str {
    match why {
        Unreachable::Name => "the receiver's name does not resolve",
        Unreachable::Connect => "the receiver does not accept connections",
        Unreachable::Tls => "no secure connection to the receiver could be made",
        Unreachable::Broken | Unreachable::Cut => "the receiver does not answer with correct HTTP",
    }
}

impl From<Refused> for PostError {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Url(problem) => Self::Url(problem),
            Refused::Address(forbidden) => Self::ForbiddenAddress(forbidden),
        }
    }
}

impl From<Trouble> for PostError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Forbidden(forbidden) => Self::ForbiddenAddress(forbidden),
            Trouble::ConnectTimeout => Self::Timeout,
            Trouble::Unreachable { why, cause } => Self::Unreachable { why, cause },
        }
    }
}
