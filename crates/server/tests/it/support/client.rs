//! An HTTP client without hidden behaviour: one connection per request, headers and bodies unchanged.
//!
//! It writes to the socket itself, so that a test can send requests that no library would send.

use std::fmt;
use std::io::Read as _;
use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::wait::DEADLINE;
use super::{Token, openapi_check};

/// A request before it is sent.
pub(crate) struct Request {
    to: SocketAddr,
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Bytes,
}

impl Request {
    pub(crate) fn new(to: SocketAddr, method: &str, target: &str) -> Self {
        let (method, target) = (method.to_owned(), target.to_owned());
        Self { to, method, target, headers: Vec::new(), body: Bytes::new() }
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds the credentials of this token.
    pub(crate) fn token(self, token: &Token) -> Self {
        self.basic(&token.id, &token.secret)
    }

    /// Adds these credentials (HTTP Basic).
    pub(crate) fn basic(self, user: &str, password: &str) -> Self {
        self.header("Authorization", &format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
    }

    /// Sets the body; its type is the one in the headers.
    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets a JSON body.
    pub(crate) fn json(self, body: &Value) -> Self {
        self.header("Content-Type", "application/json").body(body.to_string())
    }

    /// Sends it on its own connection and reads the whole response. Panics when there is none.
    pub(crate) async fn send(self) -> Answer {
        let line = format!("{} {}", self.method, self.target);
        let sent = tokio::time::timeout(DEADLINE, self.exchange()).await;
        sent.unwrap_or_else(|_| panic!("{line}: no whole answer after {DEADLINE:?}"))
            .unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// The same, but returns an error when no server listens or the connection breaks.
    pub(crate) async fn try_send(self) -> std::io::Result<Answer> {
        tokio::time::timeout(DEADLINE, self.exchange()).await?
    }

    /// Sends the head and the first `first` bytes of the body; the test sends the rest.
    pub(crate) async fn begin(self, first: usize) -> Sending {
        Sending::begin(self, first).await
    }

    /// The head and the empty line after it.
    ///
    /// Adds `Content-Length` unless the test sets a length header.
    fn head(&self) -> String {
        let mut head =
            format!("{} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", self.method, self.target, self.to);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let is_framing_header = |(name, _): &(String, String)| {
            name.eq_ignore_ascii_case("content-length") || name.eq_ignore_ascii_case("transfer-encoding")
        };
        let has_body = !self.body.is_empty() || matches!(self.method.as_str(), "POST" | "PUT" | "PATCH");
        if has_body && !self.headers.iter().any(is_framing_header) {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        head + "\r\n"
    }

    async fn exchange(self) -> std::io::Result<Answer> {
        let head = self.head();
        let socket = TcpStream::connect(self.to).await?;
        socket.set_nodelay(true)?;
        let (mut reading, mut writing) = socket.into_split();
        let body = self.body.clone();
        let write = async move {
            // A server may respond before it has read everything, and close.
            let _ = writing.write_all(head.as_bytes()).await;
            let _ = writing.write_all(&body).await;
            writing
        };
        let mut bytes = Vec::new();
        let (_writing, read) = tokio::join!(write, reading.read_to_end(&mut bytes));
        // Bytes received before a reset count.
        if bytes.is_empty() {
            read?;
        }
        let answer = Answer::parse(&bytes, &self.method).ok_or_else(|| {
            std::io::Error::other(format!("not a whole answer: {:?}", String::from_utf8_lossy(&bytes)))
        })?;
        openapi_check::check_response(&self.method, &self.target, &answer);
        Ok(answer)
    }
}

/// A request whose body is sent in part. Dropping it breaks the connection.
pub(crate) struct Sending {
    method: String,
    target: String,
    socket: TcpStream,
    rest: Bytes,
}

impl Sending {
    async fn begin(mut request: Request, first: usize) -> Self {
        let mut socket = TcpStream::connect(request.to).await.expect("the server listens");
        socket.set_nodelay(true).expect("it is connected");
        // Head and first bytes are one write: a server that measures the upload rate receives them together.
        let mut bytes = request.head().into_bytes();
        bytes.extend_from_slice(&request.body.split_to(first));
        // A closed connection is no error here: the response states the reason.
        let _ = socket.write_all(&bytes).await;
        Self { method: request.method, target: request.target, socket, rest: request.body }
    }

    /// Sends the next `count` bytes.
    pub(crate) async fn send(&mut self, count: usize) {
        let bytes = self.rest.split_to(count);
        let _ = self.socket.write_all(&bytes).await;
    }

    /// Sends the rest of the body.
    pub(crate) async fn send_rest(&mut self) {
        self.send(self.rest.len()).await;
    }

    /// The response to the bytes sent so far. Panics when there is none.
    pub(crate) async fn answer(mut self) -> Answer {
        let mut bytes = Vec::new();
        let read = tokio::time::timeout(DEADLINE, self.read_answer(&mut bytes)).await;
        read.unwrap_or_else(|_| {
            panic!("no whole answer after {DEADLINE:?}: {:?}", String::from_utf8_lossy(&bytes))
        })
    }

    /// Does not wait for the end of the connection: it stays open while the server waits for the rest.
    async fn read_answer(&mut self, bytes: &mut Vec<u8>) -> Answer {
        loop {
            if let Some(answer) = Answer::parse(bytes, &self.method) {
                openapi_check::check_response(&self.method, &self.target, &answer);
                return answer;
            }
            let read = self.socket.read_buf(bytes).await;
            assert!(
                read.is_ok_and(|count| count > 0),
                "no whole answer: {:?}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}

/// A whole response.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Bytes,
}

impl Answer {
    /// `None` unless the bytes are one whole response, with a body of the announced length.
    fn parse(bytes: &[u8], method: &str) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
        let head = std::str::from_utf8(&bytes[..end]).ok()?;
        let body = &bytes[end + 4..];
        let mut lines = head.split("\r\n");
        let status: u16 = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers = lines
            .map(|line| {
                line.split_once(':').map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            })
            .collect::<Option<Vec<_>>>()?;
        let mut answer = Self { status, headers, body: Bytes::new() };
        let is_bodiless = method == "HEAD" || matches!(status, 204 | 304);
        answer.body = match (is_bodiless, answer.header("content-length"), answer.header("transfer-encoding"))
        {
            (true, _, _) => body.is_empty().then(Bytes::new)?,
            (_, Some(length), None) => {
                (length.parse() == Ok(body.len())).then(|| Bytes::copy_from_slice(body))?
            }
            (_, None, Some("chunked")) => unchunk(body)?,
            _ => return None,
        };
        Some(answer)
    }

    /// The value of a header; panics when there are several.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values =
            self.headers.iter().filter(|(field_name, _)| field_name == name).map(|(_, value)| value.as_str());
        let value = values.next();
        assert_eq!(values.next(), None, "{name} came twice");
        value
    }

    /// All headers in the order received, names in lower case.
    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// The same response, with its body decompressed; panics for a `Content-Encoding` other than gzip.
    pub(crate) fn unpacked(&self) -> Self {
        let Some(coding) = self.header("content-encoding") else { return self.clone() };
        assert_eq!(coding, "gzip", "{self:?}");
        let mut body = Vec::new();
        flate2::read::GzDecoder::new(&self.body[..]).read_to_end(&mut body).expect("it is gzip");
        Self { body: body.into(), ..self.clone() }
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.to_vec()).expect("a text body is UTF-8")
    }

    /// The body as JSON; panics unless the content type is `application/json`.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), Some("application/json"), "{self:?}");
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// `data` of the envelope; panics when the response is an error.
    pub(crate) fn data(&self) -> Value {
        let mut body = self.json();
        assert_eq!(body["success"], true, "{self:?}");
        body["data"].take()
    }

    /// Status and message of an error; panics unless the response has the shape of C-109.
    pub(crate) fn refusal(&self) -> (u16, String) {
        let body = self.json();
        assert_eq!(body["success"], false, "{self:?}");
        assert_eq!(body["error"]["code"], self.status, "{self:?}");
        let message = body["error"]["message"].as_str().unwrap_or_else(|| panic!("no message: {self:?}"));
        let has_details = body["error"]["description"].is_string() != body["error"]["fields"].is_array();
        assert!(has_details, "either a description or fields: {self:?}");
        (self.status, message.to_owned())
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.status)?;
        for (name, value) in &self.headers {
            writeln!(f, "{name}: {value}")?;
        }
        match std::str::from_utf8(&self.body) {
            Ok(text) => write!(f, "\n{text}"),
            Err(_) => write!(f, "\n({} bytes)", self.body.len()),
        }
    }
}

fn unchunk(mut body: &[u8]) -> Option<Bytes> {
    let mut decoded = Vec::new();
    loop {
        let end = body.windows(2).position(|window| window == b"\r\n")?;
        let len = usize::from_str_radix(std::str::from_utf8(&body[..end]).ok()?, 16).ok()?;
        let chunk = body.get(end + 2..end + 2 + len)?;
        if len == 0 {
            return Some(decoded.into());
        }
        decoded.extend_from_slice(chunk);
        body = body.get(end + 2 + len + 2..)?;
    }
}
