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

use crate::client::{self, TransportError};
use crate::error::{ClientBuildError, Unreachable};
use crate::guard::{Forbidden, Guard, UrlRejected};
use crate::limits::PostLimits;
use crate::resolve::Network;
use crate::retry_after;
use crate::url_rules::UrlProblem;

/// Bytes of a response body that are stored, for finding the reason of a failure.
const BODY_STORED_MAX: usize = 1 << 10;

/// Bytes of a response body that are read. Reading to the end keeps the connection reusable; a larger body
/// is not worth it.
const BODY_READ_MAX: usize = 64 << 10;

/// Bytes of a header value that are stored.
const HEADER_VALUE_STORED_MAX: usize = 256;

/// The response headers that control further attempts, or help to identify the responding server.
const HEADERS_STORED: [&str; 7] = [
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
    /// Whether the request of this task needed a new connection.
    static CONNECTED: Cell<bool>;
}

/// Posts webhooks. Cheap to clone; created once, so that connections are reused.
#[derive(Debug, Clone)]
pub struct WebhookClient {
    /// Reuses connections.
    client: Client,
    /// Opens a connection for each request.
    unpooled: Client,
    guard: Guard,
    limits: PostLimits,
}

/// The response of a receiver, with any status: redirects are returned, not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostResponse {
    /// The status.
    pub status: u16,
    /// Those of content-type, transfer-encoding, server, date, cache-control, retry-after and
    /// webhook-delivery that were sent, in this order, names in lower case. A value longer than 256 bytes is
    /// truncated.
    pub headers: Vec<(&'static str, String)>,
    /// The first 1 KiB of the body; bytes that are not valid UTF-8 become replacement characters.
    pub body: String,
}

/// Why there is no response. The texts contain no IP address and no URL.
#[derive(Debug, thiserror::Error)]
pub enum PostError {
    /// The URL has a form that is not allowed.
    #[error("the webhook URL {0}")]
    Url(UrlProblem),
    /// The receiver is in a forbidden network. No request was sent there.
    #[error("the webhook URL is not on the public internet")]
    ForbiddenAddress(#[source] Forbidden),
    /// No response within the timeout of the whole post.
    #[error("the receiver did not respond in time")]
    Timeout,
    /// No response at all.
    #[error("{}", unreachable_text(*.why))]
    Unreachable {
        /// The kind of failure.
        why: Unreachable,
        /// For the log.
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
}

impl WebhookClient {
    /// A client that connects through `network`.
    pub fn new(network: &Network, limits: PostLimits) -> Result<Self, ClientBuildError> {
        let client = client::build(network, limits.connect_timeout, |builder| {
            let builder = builder.pool_max_idle_per_host(limits.idle_per_host);
            builder
                .pool_idle_timeout(limits.idle_timeout)
                .connector_layer(MapRequestLayer::new(record_new_connection))
        })?;
        let unpooled =
            client::build(network, limits.connect_timeout, |builder| builder.pool_max_idle_per_host(0))?;
        Ok(Self { client, unpooled, guard: network.guard.clone(), limits })
    }

    /// Posts `body` with `headers` to `url` once. Adds a `user-agent` if `headers` has none.
    ///
    /// The IP address is checked for every new connection, so a name that has moved into a private network
    /// is rejected. The timeout applies until the status. If the body is slower than that, the response is
    /// valid, and `body` has the bytes received in time.
    ///
    /// A receiver may close an idle connection at the time of its reuse. Such a request is sent again once
    /// on a new connection, so it may arrive twice. RFC 9110, 9.2.2 allows this if the client knows that it
    /// is harmless: receivers deduplicate by event id.
    pub async fn post(&self, url: &Url, headers: HeaderMap, body: Bytes) -> Result<PostResponse, PostError> {
        self.guard.check_url(url)?;
        let deadline = Instant::now() + self.limits.total_timeout;
        let answer = timeout_at(deadline, self.send(url, headers, body)).await;
        let mut response = answer.map_err(|_| PostError::Timeout)?.map_err(client::transport_error)?;
        let mut received = Vec::new();
        // Neither the timeout nor a broken body invalidates the status.
        let _ = timeout_at(deadline, read_body(&mut response, &mut received)).await;
        Ok(PostResponse {
            status: response.status().as_u16(),
            headers: stored_headers(response.headers()),
            body: String::from_utf8_lossy(&received).into_owned(),
        })
    }
}

impl WebhookClient {
    /// Sends the request, on a new connection if the reused one is closed.
    async fn send(&self, url: &Url, headers: HeaderMap, body: Bytes) -> Result<Response, reqwest::Error> {
        let request = |client: &Client| client.post(url.clone()).headers(headers.clone()).body(body.clone());
        let sending = async { (request(&self.client).send().await, CONNECTED.with(Cell::get)) };
        match CONNECTED.scope(Cell::new(false), sending).await {
            (Err(error), false) if client::is_closed(&error) => request(&self.unpooled).send().await,
            (answer, _) => answer,
        }
    }
}

/// Records that the request of this task waits for a new connection. The client polls its connector in the
/// task of the request.
fn record_new_connection<T>(target: T) -> T {
    let _ = CONNECTED.try_with(|connected| connected.set(true));
    target
}

impl PostResponse {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header_name, _)| *header_name == name).map(|(_, value)| value.as_str())
    }

    /// The delay that the receiver requested before the next attempt, as sent: callers cap it.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after::parse(self.header(RETRY_AFTER.as_str())?, self.header(DATE.as_str()))
    }
}

async fn read_body(response: &mut Response, stored: &mut Vec<u8>) {
    let mut read = 0usize;
    while read < BODY_READ_MAX {
        let Ok(Some(bytes)) = response.chunk().await else { return };
        read = read.saturating_add(bytes.len());
        let remaining = BODY_STORED_MAX - stored.len();
        stored.extend_from_slice(&bytes[..bytes.len().min(remaining)]);
    }
}

fn stored_headers(headers: &HeaderMap) -> Vec<(&'static str, String)> {
    let stored_value = |name: &'static str| {
        let value = headers.get(HeaderName::from_static(name))?.as_bytes();
        let value = &value[..value.len().min(HEADER_VALUE_STORED_MAX)];
        Some((name, String::from_utf8_lossy(value).into_owned()))
    };
    HEADERS_STORED.into_iter().filter_map(stored_value).collect()
}

fn unreachable_text(why: Unreachable) -> &'static str {
    match why {
        Unreachable::Name => "the host name of the receiver does not resolve",
        Unreachable::Connect => "the receiver does not accept connections",
        Unreachable::Tls => "the secure connection (TLS) to the receiver failed",
        Unreachable::Broken | Unreachable::Cut => "the receiver does not send valid HTTP",
    }
}

impl From<UrlRejected> for PostError {
    fn from(rejected: UrlRejected) -> Self {
        match rejected {
            UrlRejected::Url(problem) => Self::Url(problem),
            UrlRejected::Address(forbidden) => Self::ForbiddenAddress(forbidden),
        }
    }
}

impl From<TransportError> for PostError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::Forbidden(forbidden) => Self::ForbiddenAddress(forbidden),
            TransportError::ConnectTimeout => Self::Timeout,
            TransportError::Unreachable { why, cause } => Self::Unreachable { why, cause },
        }
    }
}
