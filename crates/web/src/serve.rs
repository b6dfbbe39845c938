//! Connections: limits, timeouts and shutdown. `client_address.rs` finds the client of a request,
//! `write_timeout.rs` ends connections whose client does not read.

mod client_address;
mod write_timeout;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::http::{Request, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use client_address::Peer;
use write_timeout::WriteTimeout;

pub use client_address::ClientAddress;
pub use client_address::TrustedProxies;

/// Limits of connections.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Time from the first byte of a head, or the end of the last request, to the end of the head.
    pub header_timeout: Duration,
    /// A response that makes no progress for this time is aborted, with its connection.
    pub write_timeout: Duration,
    /// Connections at once.
    ///
    /// Each uses a file descriptor and some 20 KiB. A slow sender uses up to 256 KiB. A slow reader uses as
    /// much from a folder, two windows of 4 MiB from a bucket, and all of an image that could not be stored.
    pub connections_max: usize,
    /// Connections of one address at once; of IPv6 one network of 64 bits, the size of a household. Loopback
    /// is exempt, because proxies connect from it, and so are trusted proxies.
    pub connections_per_address_max: usize,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: TrustedProxies,
    /// Time for requests in progress to finish when the server stops.
    pub grace: Duration,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(60),
            connections_max: 8192,
            // A household or a school behind one address; a browser opens at most six to a host.
            connections_per_address_max: 512,
            trusted_proxies: TrustedProxies::default(),
            grace: Duration::from_secs(10),
        }
    }
}

/// Bytes read from a connection at once. With 64 KiB a fast upload is a third slower (docs/benchmarks.md).
const READ_BYTES_MAX: usize = 256 << 10;
/// Most bytes of a request's head. Browsers and proxies send some KiB; a larger limit would let clients fill
/// the memory.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// Accepting fails mostly when no file descriptor is free; an immediate retry would only use the processor.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(50);

/// Serves requests until `stop` is cancelled, then waits for those in progress.
///
/// A connection over a limit is closed without a response, which costs nearly nothing.
pub async fn serve(listener: TcpListener, router: Router, options: ServeOptions, stop: CancellationToken) {
    let connection_counts = ConnectionCounts::default();
    let connections = TaskTracker::new();
    let force = CancellationToken::new();
    loop {
        let (stream, peer) = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(error = %error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_BACKOFF).await;
                    continue;
                }
            },
        };
        if connections.len() >= options.connections_max {
            metrics::counter!("kinora_http_connections_refused_total").increment(1);
            continue;
        }
        let peer = Peer::of(peer.ip(), &options.trusted_proxies);
        let Some(slot) =
            connection_counts.acquire(peer.counted_address(), options.connections_per_address_max)
        else {
            metrics::counter!("kinora_http_connections_refused_total").increment(1);
            continue;
        };
        let router = router.clone();
        let (options, stop, force) = (options.clone(), stop.clone(), force.clone());
        connections.spawn(async move {
            let _slot = slot;
            tokio::select! {
                () = connection(stream, peer, router, &options, stop) => {}
                () = force.cancelled() => {}
            }
        });
    }
    drop(listener);
    connections.close();
    if tokio::time::timeout(options.grace, connections.wait()).await.is_err() {
        force.cancel();
        connections.wait().await;
    }
}

async fn connection(
    stream: TcpStream,
    peer: Peer,
    router: Router,
    options: &ServeOptions,
    stop: CancellationToken,
) {
    // Without Nagle's algorithm, the head and first bytes of a response are sent at once instead of waiting
    // for more bytes.
    let _ = stream.set_nodelay(true);
    // A client that disappeared without closing acknowledges nothing.
    let unacknowledged_ms = u32::try_from(options.write_timeout.as_millis()).unwrap_or(u32::MAX);
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, unacknowledged_ms);
    let stream = WriteTimeout::new(stream, options.write_timeout);
    // Not a layer, which would wrap each route of the router again for each connection.
    let service = tower::service_fn(move |mut request: Request<Incoming>| {
        let client = peer.client(request.headers());
        request.extensions_mut().insert(client);
        if !has_host(&request) {
            request.extensions_mut().insert(NoHost);
        }
        router.clone().oneshot(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(options.header_timeout)
        .max_buf_size(READ_BYTES_MAX)
        .max_header_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(service));
    let mut connection = std::pin::pin!(connection);
    // The end of a connection is no error here: the client disconnected, or sent no HTTP.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Marks a request that does not name its host. `observe` rejects it, with an id and a log line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoHost;

/// Whether a request names its host exactly once, as HTTP/1.1 requires (RFC 9112, 3.2).
fn has_host<B>(request: &Request<B>) -> bool {
    let hosts = request.headers().get_all(header::HOST).iter().count();
    hosts == 1 || (hosts == 0 && request.version() < Version::HTTP_11)
}

/// Open connections of each address.
#[derive(Clone, Default)]
struct ConnectionCounts(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// A counted connection; the drop frees its slot.
struct ConnectionSlot {
    counts: ConnectionCounts,
    address: Option<IpAddr>,
}

impl ConnectionCounts {
    /// A slot for this address; `None` when it has `max` already. Without an address nothing is counted.
    fn acquire(&self, address: Option<IpAddr>, max: usize) -> Option<ConnectionSlot> {
        let Some(address) = address else {
            return Some(ConnectionSlot { counts: self.clone(), address: None });
        };
        let mut counts = self.0.lock().expect("nothing panics while holding it");
        let count = counts.entry(address).or_default();
        if *count >= max {
            return None;
        }
        *count += 1;
        Some(ConnectionSlot { counts: self.clone(), address: Some(address) })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let Some(address) = self.address else { return };
        let mut counts = self.counts.0.lock().expect("nothing panics while holding it");
        if let Some(count) = counts.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::Extension;
    use axum::routing::any;
    use bytes::Bytes;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// The response of a server to these bytes. Its handler returns the length of each body.
    async fn answer_to(request: &[u8]) -> String {
        let router = Router::new().fallback(any(async |body: Bytes| body.len().to_string()));
        answer_of(router, ServeOptions::default(), request).await
    }

    async fn answer_of(router: Router, options: ServeOptions, request: &[u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let server = tokio::spawn(serve(listener, router, options, stop.clone()));
        let mut client = TcpStream::connect(address).await.unwrap();
        // A client whose connection is closed cannot send the rest, and may see a reset after the response.
        let _ = client.write_all(request).await;
        let mut answer = Vec::new();
        let _ = client.read_to_end(&mut answer).await;
        stop.cancel();
        server.await.unwrap();
        String::from_utf8(answer).unwrap()
    }

    fn head(padding: usize, rest: &str) -> Vec<u8> {
        format!("PUT / HTTP/1.1\r\nHost: k\r\nPadding: {}\r\n{rest}", "a".repeat(padding)).into_bytes()
    }

    #[tokio::test]
    async fn request_head_over_64_kib_is_rejected() {
        let end = "Content-Length: 0\r\nConnection: close\r\n\r\n";
        let most = HEAD_BYTES_MAX - head(0, end).len();
        let answer = answer_to(&head(most, end)).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let answer = answer_to(&head(most + 1, end)).await;
        assert!(answer.starts_with("HTTP/1.1 431 Request Header Fields Too Large\r\n"), "{answer}");
    }

    #[tokio::test]
    async fn head_limit_does_not_apply_to_bodies() {
        let body = "b".repeat(300_000);
        let first = head(10, &format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let last = head(10, "Content-Length: 0\r\nConnection: close\r\n\r\n");
        let answer = answer_to(&[first.clone(), first.clone(), last].concat()).await;
        assert_eq!(answer.matches("HTTP/1.1 200 OK\r\n").count(), 3, "{answer}");
        assert_eq!(answer.matches("\r\n\r\n300000HTTP/1.1").count(), 2, "{answer}");
        let answer = answer_to(&[first, head(HEAD_BYTES_MAX, "")].concat()).await;
        assert!(answer.contains("300000HTTP/1.1 431 "), "{answer}");
    }

    #[tokio::test]
    async fn request_without_exactly_one_host_is_400() {
        let check = async |head: &str, has_host: bool| {
            let router = Router::new().fallback(any(
                async |no_host: Option<Extension<NoHost>>| {
                    if no_host.is_some() { "marked" } else { "not marked" }
                },
            ));
            let request = format!("{head}Content-Length: 0\r\nConnection: close\r\n\r\n");
            let answer = answer_of(router, ServeOptions::default(), request.as_bytes()).await;
            let expected = if has_host { "\r\n\r\nnot marked" } else { "\r\n\r\nmarked" };
            assert!(answer.ends_with(expected), "{head:?}: {answer}");
        };
        check("GET / HTTP/1.1\r\nHost: k\r\n", true).await;
        check("GET / HTTP/1.0\r\n", true).await;
        check("GET / HTTP/1.1\r\n", false).await;
        check("GET / HTTP/1.1\r\nHost: k\r\nHost: k\r\n", false).await;
    }

    #[tokio::test]
    async fn stalled_reader_is_disconnected() {
        const HOUR: Duration = Duration::from_secs(3600);
        let router = Router::new().fallback(any(async || vec![0; 64 << 20]));
        let write_timeout = Duration::from_millis(200);
        let options = ServeOptions { write_timeout, grace: HOUR, ..ServeOptions::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let server = tokio::spawn(serve(listener, router, options, stop.clone()));
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(b"GET / HTTP/1.1\r\nHost: k\r\n\r\n").await.unwrap();
        client.readable().await.unwrap();
        // A server that stops waits for its requests, and this one ends.
        stop.cancel();
        tokio::time::timeout(Duration::from_secs(120), server).await.expect("it is ended").unwrap();
    }

    #[tokio::test]
    async fn forwarded_client_is_read_per_request() {
        let get = |forwarded: &str, end: &str| format!("GET / HTTP/1.1\r\nHost: k\r\n{forwarded}{end}\r\n");
        let requests = [
            get("X-Forwarded-For: 203.0.113.1\r\n", ""),
            get("", ""),
            get("X-Forwarded-For: 192.0.2.9, 203.0.113.2\r\n", "Connection: close\r\n"),
        ];
        let clients_of = async |trusted: &str| {
            let router = Router::new()
                .fallback(any(async |Extension(ClientAddress(address))| format!("{address:?};")));
            let options = ServeOptions {
                trusted_proxies: vec![trusted.parse().unwrap()].into(),
                ..ServeOptions::default()
            };
            let answer = answer_of(router, options, requests.concat().as_bytes()).await;
            let clients =
                answer.split("\r\n\r\n").skip(1).map(|body| body.split(';').next().unwrap().to_owned());
            clients.collect::<Vec<_>>()
        };
        assert_eq!(clients_of("127.0.0.0/8").await, ["Some(203.0.113.1)", "None", "Some(203.0.113.2)"]);
        assert_eq!(
            clients_of("10.0.0.0/8").await,
            ["None", "None", "None"],
            "the header of an untrusted peer is ignored"
        );
    }

    #[test]
    fn connections_per_address_are_limited_and_released() {
        let addresses = ConnectionCounts::default();
        let [one, other] = [1, 2].map(|last| Some(IpAddr::from([203, 0, 113, last])));
        let first = addresses.acquire(one, 1);
        assert!(first.is_some());
        assert!(addresses.acquire(one, 1).is_none());
        assert!(addresses.acquire(other, 1).is_some());
        drop(first);
        assert!(addresses.acquire(one, 1).is_some());
        assert!(addresses.0.lock().unwrap().is_empty(), "places are given back");
        assert!(addresses.acquire(None, 0).is_some());
    }
}
