//! Helpers of the download tests: a recording sink, and a server that interrupts.

use bytes::Bytes;
use kinora_domain::Random;
use kinora_fetch::{DownloadError, Downloaded, FetchError, Limits, NextAttempt, Pause, Sink};
use tokio::sync::watch;

use crate::server::{Answer, Server, cut, field};
use crate::sources::{fetcher_with, unhurried_limits};

pub(crate) const SOURCE: &str = "0123456789abcdefghijklmnopqrstuvwxyz";

pub(crate) struct Zero;

impl Random for Zero {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

/// A sink that records its calls.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) stored: String,
    pub(crate) restarts: usize,
    pub(crate) totals: Vec<Option<u64>>,
    pub(crate) pauses: Vec<Pause>,
    /// Fails the pause after this number of pauses.
    pub(crate) pauses_max: Option<usize>,
    /// Drops its bytes in each pause.
    pub(crate) drops_bytes: bool,
    /// Fails the write that would exceed this size.
    pub(crate) bytes_max: Option<usize>,
    /// Lets a test wait while the download borrows the sink.
    pub(crate) progress: watch::Sender<Progress>,
}

/// Progress of a download. When a receiver sees a value, the download waits for the network or for its next
/// attempt.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    /// Responses whose body is being read.
    pub(crate) answers: usize,
    /// Bytes in the sink.
    pub(crate) stored: usize,
    /// Attempts that ended without success.
    pub(crate) pauses: usize,
}

impl Recorder {
    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }
}

/// Waits until the progress of a download satisfies `is_there`.
pub(crate) async fn until(progress: &mut watch::Receiver<Progress>, is_there: impl Fn(&Progress) -> bool) {
    progress.wait_for(is_there).await.unwrap();
}

#[derive(Debug, PartialEq)]
pub(crate) struct Full;

impl Sink for Recorder {
    type Error = Full;

    async fn restart(&mut self) -> Result<(), Full> {
        self.stored.clear();
        self.progress.send_modify(|progress| progress.stored = 0);
        self.restarts += 1;
        Ok(())
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), Full> {
        assert!(!bytes.is_empty());
        if self.bytes_max.is_some_and(|max| max < self.stored.len() + bytes.len()) {
            return Err(Full);
        }
        self.stored.push_str(std::str::from_utf8(&bytes).unwrap());
        self.progress.send_modify(|progress| progress.stored = self.stored.len());
        Ok(())
    }

    async fn pause(&mut self, pause: Pause) -> Result<NextAttempt, Full> {
        self.progress.send_modify(|progress| progress.pauses += 1);
        self.pauses.push(pause);
        if self.pauses_max.is_some_and(|max| self.pauses.len() > max) {
            return Err(Full);
        }
        if self.drops_bytes {
            self.stored.clear();
            return Ok(NextAttempt::FromStart);
        }
        Ok(NextAttempt::Resume)
    }

    async fn resume(&mut self) -> Result<(), Full> {
        Ok(())
    }

    fn announce(&mut self, total: Option<u64>) {
        self.progress.send_modify(|progress| progress.answers += 1);
        self.totals.push(total);
    }
}

/// The real proportions of the retry delays, ten thousand times as fast.
pub(crate) fn limits() -> Limits {
    let retry_delays = Limits::default().retry_delays.iter().map(|delay| *delay / 10_000).collect();
    Limits { retry_delays, ..unhurried_limits() }
}

pub(crate) async fn download_with(
    server: &Server,
    sink: &mut Recorder,
    limits: Limits,
) -> Result<Downloaded, DownloadError<Full>> {
    let fetcher = fetcher_with(limits);
    fetcher.download(&server.url("/a.mp4"), sink, &Zero, fetcher.full_retry_budget()).await
}

pub(crate) async fn download(
    server: &Server,
    sink: &mut Recorder,
) -> Result<Downloaded, DownloadError<Full>> {
    download_with(server, sink, limits()).await
}

pub(crate) async fn download_fails(server: &Server) -> (FetchError, Recorder) {
    let mut sink = Recorder::default();
    match download(server, &mut sink).await {
        Err(DownloadError::Fetch(error)) => (error, sink),
        other => panic!("{other:?}"),
    }
}

/// Start of the range of a request; 0 without one.
pub(crate) fn offset(request: &str) -> usize {
    let range = field(request, "range").and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-'));
    range.map_or(0, |offset| offset.parse().unwrap())
}

/// The response of a correct server, but interrupted after `bytes` bytes of body.
pub(crate) fn cut_after(bytes: usize, request: &str) -> Answer {
    let (from, end) = (offset(request), SOURCE.len());
    let body = &SOURCE[from..end.min(from + bytes)];
    let head = match from {
        0 => "200 OK\r\n".to_owned(),
        _ => format!("206 Partial Content\r\ncontent-range: bytes {from}-{}/{end}\r\n", end - 1),
    };
    cut(format!("HTTP/1.1 {head}etag: \"v1\"\r\ncontent-length: {}\r\n\r\n{body}", end - from))
}
