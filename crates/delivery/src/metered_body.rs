//! Counts delivered traffic for the workspace of the media: bytes as they are sent, and with them their
//! playing time (D-0088).

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use kinora_domain::WorkspaceId;
use kinora_store::UsageCounts;

use crate::DeliveryState;

/// Most bytes that are passed to the connection at once. Bytes that a leaving viewer never receives were
/// counted already, so they must be few.
const PIECE_BYTES_MAX: usize = 256 << 10;
/// Bytes of a body after which usage is reported while it is sent.
const REPORT_BYTES: u64 = 256 << 10;

/// The workspace that a response counts for.
#[derive(Clone)]
pub(super) struct UsageMeter {
    app: DeliveryState,
    workspace: WorkspaceId,
}

impl UsageMeter {
    pub(super) fn new(app: &DeliveryState, workspace: WorkspaceId) -> Self {
        Self { app: app.clone(), workspace }
    }

    /// A body that counts its bytes. All `len` bytes of the whole play for `duration_us` microseconds.
    pub(super) fn count(self, body: Body, len: u64, duration_us: u64) -> Body {
        let report = move |used| self.app.store.count_usage(self.workspace, self.app.clock.now(), used);
        Body::new(MeteredBody {
            body,
            rest: Bytes::new(),
            report,
            rate: PlayRate { len, duration_us },
            sent: 0,
            reported: 0,
        })
    }
}

/// The playing time of the whole, to be shared among its bytes.
#[derive(Debug, Clone, Copy)]
struct PlayRate {
    len: u64,
    duration_us: u64,
}

impl PlayRate {
    /// The playing time of these bytes, in microseconds.
    fn playing_time_us(self, bytes: u64) -> u64 {
        let us = u128::from(bytes) * u128::from(self.duration_us) / u128::from(self.len.max(1));
        u64::try_from(us).unwrap_or(u64::MAX)
    }
}

/// A body that reports the bytes sent, from time to time and at its end, also when it is aborted.
struct MeteredBody<T: FnMut(UsageCounts)> {
    body: Body,
    /// The rest of a piece that was too long.
    rest: Bytes,
    report: T,
    rate: PlayRate,
    sent: u64,
    reported: u64,
}

impl<T: FnMut(UsageCounts)> MeteredBody<T> {
    /// The next bytes to pass on.
    fn next_chunk(&mut self) -> Bytes {
        let chunk = self.rest.split_to(self.rest.len().min(PIECE_BYTES_MAX));
        self.sent += chunk.len() as u64;
        if self.sent - self.reported >= REPORT_BYTES {
            self.report_usage();
        }
        chunk
    }

    fn report_usage(&mut self) {
        if self.reported < self.sent {
            // Differences of the totals, so that rounding loses nothing.
            let delivered_us =
                self.rate.playing_time_us(self.sent) - self.rate.playing_time_us(self.reported);
            let delivered_bytes = self.sent - self.reported;
            self.reported = self.sent;
            (self.report)(UsageCounts { delivered_us, delivered_bytes, encoded_us: 0 });
        }
    }
}

impl<T: FnMut(UsageCounts) + Unpin> HttpBody for MeteredBody<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if !self.rest.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(self.next_chunk()))));
        }
        let frame = match ready!(Pin::new(&mut self.body).poll_frame(context)) {
            Some(Ok(frame)) => frame,
            other => return Poll::Ready(other),
        };
        Poll::Ready(Some(Ok(match frame.into_data() {
            Ok(bytes) => {
                self.rest = bytes;
                Frame::data(self.next_chunk())
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

impl<T: FnMut(UsageCounts)> Drop for MeteredBody<T> {
    fn drop(&mut self) {
        self.report_usage();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures_util::stream;
    use http_body_util::BodyExt as _;

    use super::*;

    const HALF_MIB: usize = 512 << 10;

    type Reports = Arc<Mutex<Vec<UsageCounts>>>;

    /// A body of pieces with this playing time, and the usage that it reports.
    fn counted(chunks: &[usize], rate: PlayRate) -> (MeteredBody<impl FnMut(UsageCounts) + Unpin>, Reports) {
        let reports = Arc::new(Mutex::new(Vec::new()));
        let report = {
            let reports = Arc::clone(&reports);
            move |used| reports.lock().unwrap().push(used)
        };
        let pieces: Vec<_> =
            chunks.iter().map(|len| Ok::<_, axum::Error>(Bytes::from(vec![7; *len]))).collect();
        let body = Body::from_stream(stream::iter(pieces));
        (MeteredBody { body, rest: Bytes::new(), report, rate, sent: 0, reported: 0 }, reports)
    }

    fn used(delivered_bytes: u64, delivered_us: u64) -> UsageCounts {
        UsageCounts { delivered_bytes, delivered_us, encoded_us: 0 }
    }

    #[tokio::test]
    async fn complete_body_is_metered_once() {
        let rate = PlayRate { len: 30, duration_us: 100 };
        let (body, reports) = counted(&[10, 0, 13, 7], rate);
        assert_eq!(body.collect().await.unwrap().to_bytes().len(), 30);
        assert_eq!(*reports.lock().unwrap(), [used(30, 100)]);
    }

    #[tokio::test]
    async fn dropped_body_meters_only_sent_bytes() {
        let rate = PlayRate { len: 30, duration_us: 100 };
        let (mut body, reports) = counted(&[10, 13, 7], rate);
        body.frame().await.unwrap().unwrap();
        body.frame().await.unwrap().unwrap();
        drop(body);
        assert_eq!(*reports.lock().unwrap(), [used(23, 76)]);
        let (body, reports) = counted(&[10], rate);
        drop(body);
        assert_eq!(*reports.lock().unwrap(), []);
    }

    #[tokio::test]
    async fn long_body_is_metered_while_sending() {
        let len = 3 * HALF_MIB as u64 + 1;
        let rate = PlayRate { len, duration_us: 1_000_003 };
        let (mut body, reports) = counted(&[1, 3 * HALF_MIB], rate);
        let mut chunks = Vec::new();
        while let Some(frame) = body.frame().await {
            chunks.push(frame.unwrap().into_data().unwrap().len());
            let sum: u64 = reports.lock().unwrap().iter().map(|used| used.delivered_bytes).sum();
            let sent = chunks.iter().sum::<usize>() as u64;
            assert!(sent - sum < REPORT_BYTES, "{sent} bytes were sent and {sum} reported");
        }
        assert_eq!(chunks, [&[1][..], &[PIECE_BYTES_MAX; 6]].concat());
        drop(body);
        let reports = reports.lock().unwrap();
        let mut sum = UsageCounts::default();
        reports.iter().for_each(|used| sum.add(*used));
        assert_eq!(sum, used(len, 1_000_003));
    }

    #[tokio::test]
    async fn size_hint_and_end_stream_are_exact() {
        let rate = PlayRate { len: 0, duration_us: 0 };
        let (mut body, _) = counted(&[], rate);
        body.body = Body::from(vec![7; PIECE_BYTES_MAX + 1]);
        assert_eq!(body.size_hint().exact(), Some(PIECE_BYTES_MAX as u64 + 1));
        body.frame().await.unwrap().unwrap();
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(1), false));
        body.frame().await.unwrap().unwrap();
        assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(0), true));
    }
}
