//! The HTTP client of both directions: its configuration, and the mapping of its errors.

use std::error::Error;
use std::io;
use std::iter;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};

use crate::error::{ClientBuildError, FetchError, TimeoutPhase, Unreachable};
use crate::guard::Forbidden;
use crate::resolve::{LookupError, Network};

/// Most header fields of a response. Together they may have some 400 KiB, the limit of the HTTP library's
/// read buffer (hyper, `http1_max_buf_size`). Exceeding either is [`Unreachable::Broken`].
const HEADERS_MAX: usize = 100;

/// A client that resolves through `network`, follows no redirects, and ignores the environment. HTTP/1.1
/// only.
pub(crate) fn build(
    network: &Network,
    connect: Duration,
    configure: impl FnOnce(ClientBuilder) -> ClientBuilder,
) -> Result<Client, ClientBuildError> {
    let builder = Client::builder()
        .dns_resolver(network.clone())
        .no_proxy()
        .redirect(Policy::none())
        .referer(false)
        .user_agent(crate::USER_AGENT)
        .http1_only()
        .http1_max_headers(HEADERS_MAX)
        .connect_timeout(connect);
    configure(builder).build().map_err(|error| ClientBuildError(error.into()))
}

/// An error before the response, or while it was read.
#[derive(Debug)]
pub(crate) enum TransportError {
    Forbidden(Forbidden),
    ConnectTimeout,
    Unreachable { why: Unreachable, cause: Box<dyn Error + Send + Sync> },
}

/// Classifies an error of a request without a response.
pub(crate) fn transport_error(error: reqwest::Error) -> TransportError {
    if let Some(LookupError::Forbidden(forbidden)) = find_cause::<LookupError>(&error) {
        return TransportError::Forbidden(*forbidden);
    }
    if error.is_connect() && error.is_timeout() {
        return TransportError::ConnectTimeout;
    }
    let why = if find_cause::<LookupError>(&error).is_some() {
        Unreachable::Name
    } else if !error.is_connect() {
        Unreachable::Broken
    } else if is_tls(&error) {
        Unreachable::Tls
    } else {
        Unreachable::Connect
    };
    // The URL may be signed, and causes are logged.
    TransportError::Unreachable { why, cause: error.without_url().into() }
}

/// Whether the connection was closed or reset before the response.
pub(crate) fn is_closed(error: &reqwest::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};

    let is_end = |kind| {
        matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof)
    };
    !error.is_connect()
        && (find_cause::<hyper::Error>(error)
            .is_some_and(|error| error.is_incomplete_message() || error.is_closed())
            || find_cause::<io::Error>(error).is_some_and(|error| is_end(error.kind())))
}

/// The error for a connection that broke while a body was read.
pub(crate) fn cut_error(error: reqwest::Error) -> FetchError {
    FetchError::Unreachable { why: Unreachable::Cut, cause: Some(error.without_url().into()) }
}

impl From<TransportError> for FetchError {
    fn from(error: TransportError) -> Self {
        match error {
            TransportError::Forbidden(forbidden) => Self::ForbiddenAddress(forbidden),
            TransportError::ConnectTimeout => Self::Timeout(TimeoutPhase::Connect),
            TransportError::Unreachable { why, cause } => Self::Unreachable { why, cause: Some(cause) },
        }
    }
}

/// The TLS library reports all its errors, a bad certificate among them, as invalid data.
fn is_tls(error: &reqwest::Error) -> bool {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|cause| cause.kind() == io::ErrorKind::InvalidData)
}

fn find_cause<T: Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    causes(error).find_map(|cause| cause.downcast_ref())
}

/// The chain of causes of this error. An I/O error hides the error it was made from; its `source` is one
/// level deeper.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    iter::successors(error.source(), |&cause| {
        let inner = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.map(|inner| inner as &(dyn Error + 'static)).or_else(|| cause.source())
    })
}
