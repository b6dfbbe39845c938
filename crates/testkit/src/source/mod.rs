//! A web server for sources, which can misbehave by a script.

mod script;

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::Instant;

pub use self::script::Source;
use self::script::{Framing, Kind};
use crate::http::{ConnectionAction, Handler, Request, Server, reason};
use crate::waitable::Waitable;

/// Largest write to a socket, in bytes.
const PIECE: u64 = 64 << 10;

/// Serves scripted sources on a free port of 127.0.0.1. Paths without a script are 404.
#[derive(Debug)]
pub struct SourceServer {
    server: Server,
    paths: Arc<Waitable<HashMap<String, Path>>>,
}

#[derive(Debug, Default)]
struct Path {
    source: Option<Source>,
    requests: Vec<Request>,
    refused: usize,
    cuts: usize,
    /// The position up to which [`SourceServer::allow`] has opened the gate.
    allowed: u64,
    /// The position at which a response waits at the gate.
    waiting_at: Option<u64>,
    bytes_sent: u64,
}

impl SourceServer {
    /// Starts the server. It stops with all its connections when dropped.
    pub async fn start() -> Self {
        let paths = Arc::new(Waitable::default());
        let server = Server::start(Arc::new(Serving(Arc::clone(&paths)))).await;
        Self { server, paths }
    }

    /// Serves `source` at `path` from now on, and returns its address. Earlier requests stay recorded.
    pub fn serve(&self, path: &str, source: Source) -> String {
        self.paths.change(|paths| {
            let path = paths.entry(path.to_owned()).or_default();
            *path = Path {
                source: Some(source),
                requests: std::mem::take(&mut path.requests),
                ..Path::default()
            };
        });
        self.url(path)
    }

    /// The address of a path, which begins with a slash.
    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// The socket address of the server.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// The requests for a path so far, in order of arrival.
    pub fn requests(&self, path: &str) -> Vec<Request> {
        self.paths.read(|paths| paths.get(path).map(|path| path.requests.clone()).unwrap_or_default())
    }

    /// The `Range` headers of the requests for a path so far; `None` for a request without one.
    pub fn ranges(&self, path: &str) -> Vec<Option<String>> {
        self.requests(path).iter().map(|request| request.header("range").map(str::to_owned)).collect()
    }

    /// Number of body bytes written to the sockets of a path so far.
    pub fn bytes_sent(&self, path: &str) -> u64 {
        self.paths.read(|paths| paths.get(path).map_or(0, |path| path.bytes_sent))
    }

    /// Opens the gate of a path up to this byte position. A gate never closes again.
    pub fn allow(&self, path: &str, position: u64) {
        self.paths.change(|paths| {
            let path = paths.entry(path.to_owned()).or_default();
            path.allowed = path.allowed.max(position);
        });
    }

    /// Opens the gate of a path permanently, and returns the time of that.
    pub fn release(&self, path: &str) -> Instant {
        let now = Instant::now();
        self.allow(path, u64::MAX);
        now
    }

    /// Waits until a response of this path stops at its gate, after all bytes before it are sent. Returns
    /// the position.
    ///
    /// Panics if the deadline passes first.
    pub async fn wait_until_held(&self, path: &str, deadline: Duration) -> u64 {
        let position = self.paths.wait_timeout(deadline, |paths| paths.get(path)?.waiting_at).await;
        position.unwrap_or_else(|| panic!("after {deadline:?} no answer of {path} waits at its gate"))
    }

    /// Waits until `count` requests for a path have arrived, and returns them.
    ///
    /// Panics if the deadline passes first.
    pub async fn wait_for_requests(&self, path: &str, count: usize, deadline: Duration) -> Vec<Request> {
        let enough = |paths: &HashMap<String, Path>| {
            paths.get(path).filter(|path| path.requests.len() >= count).map(|path| path.requests.clone())
        };
        self.paths.wait_timeout(deadline, enough).await.unwrap_or_else(|| {
            panic!(
                "after {deadline:?} {} of {count} requests for {path} have come",
                self.requests(path).len()
            )
        })
    }
}

struct Serving(Arc<Waitable<HashMap<String, Path>>>);

impl Handler for Serving {
    async fn answer(&self, request: Request, socket: &mut TcpStream) -> io::Result<ConnectionAction> {
        let name = request.path().to_owned();
        let (source, number, refusal) = self.0.change(|paths| {
            let path = paths.entry(name.clone()).or_default();
            path.requests.push(request.clone());
            let source = path.source.clone().unwrap_or_else(|| Source::refused(404));
            let refusal = source.refusals.filter(|refusals| path.refused < refusals.times);
            path.refused += usize::from(refusal.is_some());
            (source, path.requests.len(), refusal)
        });
        if let Some(refusal) = refusal {
            let retry_after = refusal.retry_after_s.map(|seconds| ("retry-after", seconds.to_string()));
            return bodiless(socket, refusal.status, retry_after).await;
        }
        match &source.kind {
            Kind::Status(status) => bodiless(socket, *status, None).await,
            Kind::Redirect(url) => bodiless(socket, 302, Some(("location", url.clone()))).await,
            Kind::Silent => std::future::pending().await,
            Kind::Bytes(bytes) => {
                let answer = Answer { source: &source, bytes, etag: source.etag(bytes, number), name: &name };
                self.send(&answer, &request, socket).await
            }
        }
    }
}

/// The response to one request for bytes.
struct Answer<'a> {
    source: &'a Source,
    bytes: &'a Bytes,
    etag: Option<String>,
    name: &'a str,
}

impl Serving {
    async fn send(
        &self,
        answer: &Answer<'_>,
        request: &Request,
        socket: &mut TcpStream,
    ) -> io::Result<ConnectionAction> {
        let len = answer.bytes.len() as u64;
        let (status, range) = match answer.range_of(request) {
            RequestedRange::Everything => (200, 0..len),
            RequestedRange::Range(range) => (206, range),
            RequestedRange::Outside => {
                return bodiless(socket, 416, Some(("content-range", format!("bytes */{len}")))).await;
            }
        };
        socket.write_all(answer.head(status, &range).as_bytes()).await?;
        if request.method == "HEAD" {
            return Ok(ConnectionAction::Keep);
        }
        let cut = answer.source.cut.filter(|cut| {
            self.0.change(|paths| {
                let path = paths.entry(answer.name.to_owned()).or_default();
                let cuts = cut.always || path.cuts == 0;
                path.cuts += usize::from(cuts);
                cuts
            })
        });
        let end = cut.map_or(range.end, |cut| range.end.min(range.start.saturating_add(cut.after)));
        self.send_bytes(answer, range.start..end, socket).await?;
        if cut.is_some() {
            return Ok(ConnectionAction::Close);
        }
        match answer.source.framing {
            Framing::Length => Ok(ConnectionAction::Keep),
            Framing::Chunked => {
                socket.write_all(b"0\r\n\r\n").await?;
                Ok(ConnectionAction::Keep)
            }
            Framing::WrongLength(_) | Framing::UntilClose => Ok(ConnectionAction::Close),
        }
    }

    async fn send_bytes(
        &self,
        answer: &Answer<'_>,
        range: Range<u64>,
        socket: &mut TcpStream,
    ) -> io::Result<()> {
        let mut position = range.start;
        while position < range.end {
            let allowed = match answer.source.gate {
                Some(gate) => self.pass_gate(answer.name, gate, position).await,
                None => u64::MAX,
            };
            let end = range.end.min(allowed).min(position + PIECE);
            let piece = &answer.bytes[index(position)..index(end)];
            if matches!(answer.source.framing, Framing::Chunked) {
                socket.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
                socket.write_all(piece).await?;
                socket.write_all(b"\r\n").await?;
            } else {
                socket.write_all(piece).await?;
            }
            self.0.change(|paths| {
                let path = paths.entry(answer.name.to_owned()).or_default();
                path.bytes_sent += end - position;
            });
            position = end;
        }
        Ok(())
    }

    /// Waits until the gate is open beyond `position`, and returns the position up to which it is open.
    async fn pass_gate(&self, name: &str, gate: u64, position: u64) -> u64 {
        let allowed = |path: &Path| gate.max(path.allowed);
        let is_open = self.0.change(|paths| {
            let path = paths.entry(name.to_owned()).or_default();
            let is_open = allowed(path) > position;
            path.waiting_at = (!is_open).then_some(position);
            is_open
        });
        let open = self
            .0
            .wait_until(|paths| paths.get(name).map(allowed).filter(|allowed| *allowed > position))
            .await;
        if !is_open {
            self.0.change(|paths| paths.entry(name.to_owned()).or_default().waiting_at = None);
        }
        open
    }
}

enum RequestedRange {
    Everything,
    Range(Range<u64>),
    Outside,
}

impl Answer<'_> {
    /// The requested range. RFC 9110, 14.2 and 13.1.5; several ranges in one request are ignored.
    fn range_of(&self, request: &Request) -> RequestedRange {
        let len = self.bytes.len() as u64;
        let Some(spec) = request.header("range").and_then(|value| value.strip_prefix("bytes=")) else {
            return RequestedRange::Everything;
        };
        // A part is useful only with a strong validator that still matches.
        let is_same = request.header("if-range").is_none_or(|if_range| {
            self.etag.as_deref().is_some_and(|etag| etag == if_range && !etag.starts_with("W/"))
        });
        if !self.source.ranges || !is_same {
            return RequestedRange::Everything;
        }
        let Some((first, last)) = spec.split_once('-') else { return RequestedRange::Everything };
        let range = match (first.parse::<u64>(), last.parse::<u64>()) {
            (Ok(first), Ok(last)) if first <= last => first..len.min(last.saturating_add(1)),
            (Ok(first), Err(_)) if last.is_empty() => first..len,
            (Err(_), Ok(suffix)) if first.is_empty() => len.saturating_sub(suffix)..len,
            _ => return RequestedRange::Everything,
        };
        if range.start < range.end { RequestedRange::Range(range) } else { RequestedRange::Outside }
    }

    fn head(&self, status: u16, range: &Range<u64>) -> String {
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        let mut header = |name: &str, value: &str| head += &format!("{name}: {value}\r\n");
        if self.source.ranges {
            header("accept-ranges", "bytes");
        }
        if let Some(etag) = &self.etag {
            header("etag", etag);
        }
        if let Some(value) = &self.source.content_type {
            header("content-type", value);
        }
        let len = self.bytes.len() as u64;
        let claimed = match self.source.framing {
            Framing::WrongLength(claimed) => claimed,
            _ => len,
        };
        if status == 206 {
            header("content-range", &format!("bytes {}-{}/{claimed}", range.start, range.end - 1));
        }
        match self.source.framing {
            Framing::Length => header("content-length", &(range.end - range.start).to_string()),
            Framing::WrongLength(claimed) => {
                header("content-length", &claimed.saturating_sub(range.start).to_string());
            }
            Framing::Chunked => header("transfer-encoding", "chunked"),
            Framing::UntilClose => header("connection", "close"),
        }
        head + "\r\n"
    }
}

async fn bodiless(
    socket: &mut TcpStream,
    status: u16,
    header: Option<(&str, String)>,
) -> io::Result<ConnectionAction> {
    let header = header.map(|(name, value)| format!("{name}: {value}\r\n")).unwrap_or_default();
    let answer = format!("HTTP/1.1 {status} {}\r\n{header}content-length: 0\r\n\r\n", reason(status));
    socket.write_all(answer.as_bytes()).await?;
    Ok(ConnectionAction::Keep)
}

fn index(position: u64) -> usize {
    usize::try_from(position).expect("a position in bytes that are in memory")
}

#[cfg(test)]
mod tests;
