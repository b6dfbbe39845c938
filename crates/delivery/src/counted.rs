//! What is sent, counted for the workspace whose media it is: bytes as they go, and of what plays its length
//! with them (D-0088).

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use kinora_domain::WorkspaceId;
use kinora_store::Used;

use crate::DeliveryState;

/// Bytes that are handed to the connection at once: what its viewer leaves behind was counted, so that is to
/// be little.
const PIECE_BYTES_MAX: usize = 256 << 10;
/// Bytes of a body that are counted at once while it goes on.
const TOLD_BYTES: u64 = 256 << 10;

/// For whom an answer counts.
#[derive(Clone)]
pub(super) struct Account {
    app: DeliveryState,
    workspace: WorkspaceId,
}

impl Account {
    pub(super) fn new(app: &DeliveryState, workspace: WorkspaceId) -> Self {
        Self { app: app.clone(), workspace }
    }

    /// A body that counts. All `len` bytes of what it is a part of play for `plays_us`.
    pub(super) fn count(self, body: Body, len: u64, plays_us: u64) -> Body {
        let tell = move |used| self.app.store.count_usage(self.workspace, self.app.clock.now(), used);
        Body::new(Counted {
            body,
            rest: Bytes::new(),
            tell,
            share: Share { len, plays_us },
            sent: 0,
            told: 0,
        })
    }
}

/// How long what is sent plays.
#[derive(Debug, Clone, Copy)]
struct Share {
    len: u64,
    plays_us: u64,
}

impl Share {
    /// Of so many bytes.
    fn plays_us(self, bytes: u64) -> u64 {
        let us = u128::from(bytes) * u128::from(self.plays_us) / u128::from(self.len.max(1));
        u64::try_from(us).unwrap_or(u64::MAX)
    }
}

/// A body of which is told what went, now and then and at its end, however it ends.
struct Counted<T: FnMut(Used)> {
    body: Body,
    /// Of a piece that was too long.
    rest: Bytes,
    tell: T,
    share: Share,
    sent: u64,
    told: u64,
}

impl<T: FnMut(Used)> Counted<T> {
    /// The next bytes to hand on of what has come.
    fn piece(&mut self) -> Bytes {
        let piece = self.rest.split_to(self.rest.len().min(PIECE_BYTES_MAX));
        self.sent += piece.len() as u64;
        if self.sent - self.told >= TOLD_BYTES {
            self.tell();
        }
        piece
    }

    fn tell(&mut self) {
        if self.told < self.sent {
            // Differences of what was sent in all, so that nothing is lost by rounding.
            let delivered_us = self.share.plays_us(self.sent) - self.share.plays_us(self.told);
            let delivered_bytes = self.sent - self.told;
            self.told = self.sent;
            (self.tell)(Used { delivered_us, delivered_bytes, encoded_us: 0 });
        }
    }
}

impl<T: FnMut(Used) + Unpin> HttpBody for Counted<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(self.piece()))));
        }
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            other => return Poll::Ready(other),
        };
        Poll::Ready(Some(Ok(match frame.into_data() {
            Ok(bytes) => {
                self.rest = bytes;
                Frame::data(self.piece())
            }
            Err(other) => other,
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (of_body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(of_body.lower().saturating_add(rest));
        if let Some(upper) = of_body.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

impl<T: FnMut(Used)> Drop for Counted<T> {
    fn drop(&mut self) {
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_util::stream;
    use http_body_util::BodyExt as _;

    use super::*;

    const HALF_MIB: usize = 512 << 10;

    type Told = Arc<Mutex<Vec<Used>>>;

    /// A body of pieces that plays for so long, and what is told of it.
    fn counted(pieces: &[usize], share: Share) -> (Counted<impl FnMut(Used) + Unpin>, Told) {
        let told = Arc::new(Mutex::new(Vec::new()));
        let tell = {
            let told = Arc::clone(&told);
            move |used| told.lock().unwrap().push(used)
        };
        let pieces: Vec<_> =
            pieces.iter().map(|len| Ok::<_, axum::Error>(Bytes::from(vec![7; *len]))).collect();
        let body = Body::from_stream(stream::iter(pieces));
        (Counted { body, rest: Bytes::new(), tell, share, sent: 0, told: 0 }, told)
    }

    fn used(delivered_bytes: u64, delivered_us: u64) -> Used {
        Used { delivered_bytes, delivered_us, encoded_us: 0 }
    }

    #[tokio::test]
    async fn a_body_that_is_read_to_its_end_counts_whole_and_once() {
        let share = Share { len: 30, plays_us: 100 };
        let (body, told) = counted(&[10, 0, 13, 7], share);
        assert_eq!(body.collect().await.unwrap().to_bytes().len(), 30);
        assert_eq!(*told.lock().unwrap(), [used(30, 100)]);
    }

    #[tokio::test]
    async fn a_body_that_is_left_counts_what_went_and_one_that_nobody_reads_nothing() {
        let share = Share { len: 30, plays_us: 100 };
        let (mut body, told) = counted(&[10, 13, 7], share);
        body.frame().await.unwrap().unwrap();
        body.frame().await.unwrap().unwrap();
        drop(body);
        assert_eq!(*told.lock().unwrap(), [used(23, 76)]);
        let (body, told) = counted(&[10], share);
        drop(body);
        assert_eq!(*told.lock().unwrap(), []);
    }

    #[tokio::test]
    async fn a_long_body_is_told_of_as_it_goes_and_large_pieces_are_cut() {
        let len = 3 * HALF_MIB as u64 + 1;
        let share = Share { len, plays_us: 1_000_003 };
        let (mut body, told) = counted(&[1, 3 * HALF_MIB], share);
        let mut pieces = Vec::new();
        while let Some(frame) = body.frame().await {
            pieces.push(frame.unwrap().into_data().unwrap().len());
            let sum: u64 = told.lock().unwrap().iter().map(|used| used.delivered_bytes).sum();
            let sent = pieces.iter().sum::<usize>() as u64;
            assert!(sent - sum < TOLD_BYTES, "{sent} went and {sum} was told");
        }
        assert_eq!(pieces, [&[1][..], &[PIECE_BYTES_MAX; 6]].concat());
        drop(body);
        let told = told.lock().unwrap();
        let mut sum = Used::default();
        told.iter().for_each(|used| sum.add(*used));
        assert_eq!(sum, used(len, 1_000_003));
    }

    #[tokio::test]
    async fn the_length_is_known_before_a_byte_is_read_and_the_end_as_soon_as_it_is_there() {
        let share = Share { len: 0, plays_us: 0 };
        let (mut body, _) = counted(&[], share);
        body.body = Body::from(vec![7; PIECE_BYTES_MAX + 1]);
        assert_eq!(body.size_hint().exact(), Some(PIECE_BYTES_MAX as u64 + 1));
        body.frame().await.unwrap().unwrap();
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(1), false));
        body.frame().await.unwrap().unwrap();
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
    }
}
