//! The body of a request, which is mostly the file.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, BodyDataStream};
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};

/// Bytes that are discarded after a response: two chunks of the web uploader (C-152), which cost some
/// milliseconds.
const LINGER_BYTES_MAX: u64 = 32 << 20;
/// How long they may take, as for any small body.
const LINGER_MAX: Duration = Duration::from_secs(30);

/// The body of a request, as a stream.
pub(super) struct RequestBody {
    /// `None` once it has ended or failed.
    rest: Option<BodyDataStream>,
    /// The client waits for 100 (Continue), which the first read sends.
    is_waiting: bool,
}

impl RequestBody {
    pub(super) fn new(headers: &HeaderMap, body: Body) -> Self {
        let rest = (!hyper::body::Body::is_end_stream(&body)).then(|| body.into_data_stream());
        Self { rest, is_waiting: headers.contains_key(header::EXPECT) }
    }

    /// Discards the unread rest of the body within limits, concurrently with the response.
    ///
    /// A connection that is closed while its client still sends is reset, and the client may lose the error
    /// response.
    pub(super) fn linger(self) {
        let Some(mut rest) = self.rest.filter(|_| !self.is_waiting) else { return };
        tokio::spawn(tokio::time::timeout(LINGER_MAX, async move {
            let mut discarded_len = 0;
            while let Some(Ok(bytes)) = rest.next().await {
                discarded_len += bytes.len() as u64;
                if discarded_len > LINGER_BYTES_MAX {
                    break;
                }
            }
        }));
    }
}

impl Stream for RequestBody {
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
