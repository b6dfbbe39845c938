//! The body of a request, which is mostly the file.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};

/// Bytes that are thrown away behind an answer: two chunks of the web uploader (C-152), which cost
/// some milliseconds.
const LINGER_BYTES_MAX: u64 = 32 << 20;
/// How long they are waited for, as for any small body.
const LINGER_MAX: Duration = Duration::from_secs(30);

/// The bytes a client sends, as they come.
pub(super) struct Sent {
    /// `None` once it has ended or broken off.
    rest: Option<BodyDataStream>,
    /// The client sends nothing before it is told to go on, which reading does.
    is_waiting: bool,
}

impl Sent {
    pub(super) fn new(headers: &HeaderMap, body: Body) -> Self {
        let rest = (!hyper::body::Body::is_end_stream(&body)).then(|| body.into_data_stream());
        Self { rest, is_waiting: headers.contains_key(header::EXPECT) }
    }

    /// Throws away what was not read, beside the answer and within bounds.
    ///
    /// A connection that is closed while its client still sends is reset, and the client may lose the answer
    /// that says why.
    pub(super) fn linger(self) {
        let Some(mut rest) = self.rest.filter(|_| !self.is_waiting) else { return };
        tokio::spawn(tokio::time::timeout(LINGER_MAX, async move {
            let mut thrown_away = 0;
            while let Some(Ok(bytes)) = rest.next().await {
                thrown_away += bytes.len() as u64;
                if thrown_away > LINGER_BYTES_MAX {
                    break;
                }
            }
        }));
    }
}

impl Stream for Sent {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.is_waiting = false;
        let Some(rest) = self.rest.as_mut() else { return Poll::Ready(None) };
        let next = ready!(rest.poll_next_unpin(context));
        if !matches!(next, Some(Ok(_))) {
            self.rest = None;
        }
        Poll::Ready(next)
    }
}
