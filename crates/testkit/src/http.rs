//! A minimal HTTP/1.1 server on a raw socket: tests must be able to break every rule that a server library
//! enforces.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;

/// Longest line or body of a test's request, in bytes: above every limit that a test probes.
const REQUEST_MAX: u64 = 64 << 20;

/// One received request.
#[derive(Debug, Clone)]
pub struct Request {
    /// `GET`, `POST`, ...
    pub method: String,
    /// The path with its query, as sent.
    pub target: String,
    /// The body, without its framing.
    pub body: Bytes,
    /// When it was completely received.
    pub at: Instant,
    headers: Vec<(String, String)>,
}

impl Request {
    /// The path without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// The value of the first header with this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().find(|(header_name, _)| header_name.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All headers, in their original order and spelling.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

/// The fate of a connection after a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectionAction {
    Keep,
    Close,
}

/// Handles requests by writing any bytes to the socket.
pub(crate) trait Handler: Send + Sync + 'static {
    fn answer(
        &self,
        request: Request,
        socket: &mut TcpStream,
    ) -> impl Future<Output = io::Result<ConnectionAction>> + Send;
}

/// A server on a free port of 127.0.0.1. It stops with all its connections when dropped.
#[derive(Debug)]
pub(crate) struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    pub(crate) async fn start(handler: Arc<impl Handler>) -> Self {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("loopback has a free port for a test");
        let address = listener.local_addr().expect("a bound socket has an address");
        Self { address, task: tokio::spawn(accept(listener, handler)) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self, path: &str) -> String {
        assert!(path.starts_with('/'), "a path begins with a slash: {path}");
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, handler: Arc<impl Handler>) {
    let mut connections = JoinSet::new(); // aborts all of them when the task is aborted
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((socket, _)) = accepted else { return };
                let handler = Arc::clone(&handler);
                // A client may disconnect at any time; many tests are about that.
                connections.spawn(async move { drop(connection(socket, handler).await) });
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(socket: TcpStream, handler: Arc<impl Handler>) -> io::Result<()> {
    // A small write must not be delayed until an earlier one is acknowledged: tests measure times.
    socket.set_nodelay(true)?;
    let mut socket = BufReader::new(socket);
    while let Some(request) = read_request(&mut socket).await? {
        if handler.answer(request, socket.get_mut()).await? == ConnectionAction::Close {
            return Ok(());
        }
    }
    Ok(())
}

/// Reads one request; `None` if the client has closed the connection instead.
async fn read_request(socket: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let Some(line) = read_line(socket).await? else { return Ok(None) };
    let mut words = line.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Err(malformed(&line)) };
    let (method, target) = (method.to_owned(), target.to_owned());

    let mut headers = Vec::new();
    loop {
        let line = read_line(socket).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| malformed(&line))?;
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut request = Request { method, target, body: Bytes::new(), at: Instant::now(), headers };
    if request.header("expect").is_some() {
        socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
    }
    request.body = read_body(socket, &request).await?;
    request.at = Instant::now();
    Ok(Some(request))
}

async fn read_body(socket: &mut BufReader<TcpStream>, request: &Request) -> io::Result<Bytes> {
    let mut body = Vec::new();
    if request.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        loop {
            let line = read_line(socket).await?.ok_or(io::ErrorKind::UnexpectedEof)?;
            let len = u64::from_str_radix(&line, 16).map_err(|_| malformed(&line))?;
            read_exactly(socket, len, &mut body).await?;
            let _line_end = read_line(socket).await?;
            if len == 0 {
                return Ok(body.into());
            }
        }
    }
    if let Some(len) = request.header("content-length") {
        let len = len.parse().map_err(|_| malformed(len))?;
        read_exactly(socket, len, &mut body).await?;
    }
    Ok(body.into())
}

async fn read_exactly(socket: &mut BufReader<TcpStream>, len: u64, to: &mut Vec<u8>) -> io::Result<()> {
    if len > REQUEST_MAX {
        return Err(io::Error::other("a body longer than any test sends"));
    }
    let got = socket.take(len).read_to_end(to).await?;
    if got as u64 == len { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

/// Reads a line without its line end; `None` at the end of the stream.
async fn read_line(socket: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut line = String::new();
    if socket.take(REQUEST_MAX).read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\r', '\n']).to_owned()))
}

fn malformed(what: &str) -> io::Error {
    io::Error::other(format!("not a line of HTTP: {what}"))
}

/// The reason phrase of a status; `Status` for those without a common one. No client reads it.
pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        302 => "Found",
        404 => "Not Found",
        416 => "Range Not Satisfiable",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "Status",
    }
}

#[cfg(test)]
pub(crate) mod testing {
    use super::*;

    /// Sends text on a new connection and reads until the other side closes it.
    pub(crate) async fn exchange(url: &str, request: &str) -> String {
        let address = url.trim_start_matches("http://").split('/').next().unwrap();
        let mut socket = TcpStream::connect(address).await.unwrap();
        socket.write_all(request.as_bytes()).await.unwrap();
        // The server keeps connections open; it closes after the response if the sending side is closed.
        socket.shutdown().await.unwrap();
        let mut answer = Vec::new();
        // A connection reset is one way in which a scripted server ends.
        let _ = socket.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }
}
