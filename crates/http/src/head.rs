//! How much memory the heads of requests may take.
//!
//! hyper reads heads and bodies into one buffer. A large one takes a fast upload in few calls; but everybody may send a head, and thousands of
//! connections that each fill such a buffer with one would fill the memory. So what comes is counted until a request has begun.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take};
use tokio::net::TcpStream;

/// Most bytes of a request's head. Browsers and proxies send some KiB.
pub(crate) const HEAD_BYTES_MAX: u64 = 64 << 10;

/// All that is answered to a larger one. It is no request yet, so nothing else can answer it (RFC 6585, 5).
const TOO_LARGE: &[u8] = b"HTTP/1.1 431 Request Header Fields Too Large\r\n\
    content-type: application/json\r\ncontent-length: 167\r\nconnection: close\r\n\r\n\
    {\"success\":false,\"error\":{\"code\":431,\"message\":\"request header fields too large\",\
    \"description\":\"the head of a request may have 64 KiB; send fewer or shorter headers\"}}";

/// How many bytes the head that is coming may still have; all that come while a request's body is read.
#[derive(Debug, Clone)]
pub(crate) struct Heads(Arc<AtomicU64>);

impl Heads {
    const UNBOUNDED: u64 = u64::MAX;

    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(HEAD_BYTES_MAX)))
    }

    /// A head was read, and is followed by this body.
    pub(crate) fn begun(&self, body: Incoming) -> BodyBehindHead {
        let is_over = body.is_end_stream();
        self.0.store(if is_over { HEAD_BYTES_MAX } else { Self::UNBOUNDED }, Ordering::Relaxed);
        BodyBehindHead { body, heads: (!is_over).then(|| self.clone()) }
    }

    fn left(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn count(&self, read: u64) {
        if self.left() != Self::UNBOUNDED {
            self.0.fetch_sub(read, Ordering::Relaxed);
        }
    }
}

/// The body of a request. Once it is dropped the next head may come.
pub(crate) struct BodyBehindHead {
    body: Incoming,
    heads: Option<Heads>,
}

impl Body for BodyBehindHead {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for BodyBehindHead {
    fn drop(&mut self) {
        if let Some(heads) = &self.heads {
            heads.0.store(HEAD_BYTES_MAX, Ordering::Relaxed);
        }
    }
}

/// A connection that ends where a head becomes too large.
#[derive(Debug)]
pub(crate) struct HeadLimited {
    stream: Take<TcpStream>,
    heads: Heads,
    has_answered: bool,
}

impl HeadLimited {
    pub(crate) fn new(stream: TcpStream, heads: Heads) -> Self {
        Self { stream: stream.take(0), heads, has_answered: false }
    }

    fn stream(self: Pin<&mut Self>) -> Pin<&mut TcpStream> {
        Pin::new(self.get_mut().stream.get_mut())
    }
}

impl AsyncRead for HeadLimited {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let left = this.heads.left();
        if left == 0 && !this.has_answered {
            this.has_answered = true;
            // Best effort, as every answer to somebody who still sends.
            let _ = this.stream.get_ref().try_write(TOO_LARGE);
        }
        this.stream.set_limit(left);
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        this.heads.count((buffer.filled().len() - before) as u64);
        polled
    }
}

impl AsyncWrite for HeadLimited {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        // Behind the beginning of another answer nothing may be put in between.
        self.has_answered = true;
        self.stream().poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.get_ref().is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.has_answered = true;
        self.stream().poll_write_vectored(context, slices)
    }
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::routing::any;
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::{ServeOptions, serve};

    /// What a server says to these bytes, the request's body told by its length.
    async fn answer_to(request: &[u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = Router::new().fallback(any(async |body: Bytes| body.len().to_string()));
        let stop = CancellationToken::new();
        let server = tokio::spawn(serve(listener, router, ServeOptions::default(), stop.clone()));
        let mut client = TcpStream::connect(address).await.unwrap();
        // Who is closed on cannot send the rest, and may be reset behind the answer.
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
    async fn a_head_of_64_kib_is_read_and_a_larger_one_is_refused() {
        let end = "Content-Length: 0\r\nConnection: close\r\n\r\n";
        let most = usize::try_from(HEAD_BYTES_MAX).unwrap() - head(0, end).len();
        let answer = answer_to(&head(most, end)).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");

        // Exactly as much as is read of it, or the rest would reset the connection.
        let whole = head(most + 1, end);
        let answer = answer_to(&whole[..whole.len() - 1]).await;
        assert_eq!(answer.as_bytes(), TOO_LARGE);
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(answer.contains(&format!("content-length: {}\r\n", body.len())));
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["error"]["code"], 431);
    }

    #[tokio::test]
    async fn bodies_are_not_counted_and_the_head_behind_one_is() {
        let body = "b".repeat(300_000);
        let first = head(10, &format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        let second = head(10, "Content-Length: 0\r\nConnection: close\r\n\r\n");
        let answer = answer_to(&[first.clone(), second].concat()).await;
        assert_eq!(answer.matches("HTTP/1.1 200 OK\r\n").count(), 2, "{answer}");
        assert!(answer.contains("\r\n\r\n300000HTTP/1.1"));

        // What came with the body is not counted, but a buffer holds no more of it.
        let endless = head(1 << 20, "");
        let answer = answer_to(&[first, endless].concat()).await;
        assert!(answer.ends_with("\r\n\r\n300000"), "the second is closed without an answer: {answer}");
    }
}
