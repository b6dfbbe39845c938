//! Retries of a download: number, times, and the final failure.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kinora_fetch::{
    DownloadError, FetchError, Fetcher, Guard, Limits, Network, Resolve, ResolveFuture, RetryBudget,
    TimeoutPhase, Unreachable,
};
use tokio::time::Instant;
use url::Url;

use crate::clock::{HOUR, StillClock, jumping_after};
use crate::recorder::{
    Full, Progress, Recorder, SOURCE, Zero, cut_after, download, download_fails, download_with, limits, until,
};
use crate::server::{Answer, Server, answer, cut, drip, hang, with_length};
use crate::sources::unhurried_limits;

/// A resolver that never finds a name, with the times of its lookups.
#[derive(Clone)]
struct NoSuchName {
    began: Instant,
    lookup_times: Arc<Mutex<Vec<Duration>>>,
}

impl Resolve for NoSuchName {
    fn resolve(&self, _host: &str) -> ResolveFuture {
        self.lookup_times.lock().unwrap().push(self.began.elapsed());
        Box::pin(async { Err(io::Error::other("no such name")) })
    }
}

/// No socket is used, so the clock jumps from wait to wait.
#[tokio::test(start_paused = true)]
async fn attempts_are_spread_over_minutes() {
    let names = NoSuchName { began: Instant::now(), lookup_times: Arc::default() };
    let network = Network::with_resolver(Guard::default(), names.clone());
    let fetcher = Fetcher::new(&network, Limits::default()).unwrap();
    let url = Url::parse("https://media.example/a.mp4").unwrap();
    let result = fetcher.download(&url, &mut Recorder::default(), &Zero, fetcher.full_retry_budget()).await;
    assert!(matches!(
        result,
        Err(DownloadError::Fetch(FetchError::Unreachable { why: Unreachable::Name, .. }))
    ));

    // The lowest jitter: 80 % of the five minutes. A timer fires up to a millisecond late.
    let lookup_times: Vec<u128> =
        names.lookup_times.lock().unwrap().iter().map(|at| at.as_millis() / 100).collect();
    assert_eq!(lookup_times, [0, 8, 80, 320, 960, 2400]);
}

/// A later download continues with the retry budget of one that ended in a pause.
#[tokio::test(start_paused = true)]
async fn paused_download_resumes_with_remaining_retries() {
    let names = NoSuchName { began: Instant::now(), lookup_times: Arc::default() };
    let network = Network::with_resolver(Guard::default(), names.clone());
    let limits = Limits::default();
    let (retries, total) = (limits.retry_delays.len(), limits.total_timeout);
    let fetcher = Fetcher::new(&network, limits).unwrap();
    let url = Url::parse("https://media.example/a.mp4").unwrap();
    let (mut tries, mut ended) = (fetcher.full_retry_budget(), Vec::new());
    for _ in 0..retries {
        let mut sink = Recorder { pauses_max: Some(0), ..Recorder::default() };
        let result = fetcher.download(&url, &mut sink, &Zero, tries).await;
        assert!(matches!(result, Err(DownloadError::Sink(Full))));
        let [pause] = sink.pauses[..] else { panic!("one pause: {:?}", sink.pauses) };
        assert!(!pause.is_resumable);
        assert!(pause.retry_budget.time_left <= tries.time_left - pause.wait);
        tries = pause.retry_budget;
        ended.push((pause.wait.as_millis(), tries.failed_attempts));
    }
    assert_eq!(ended, [(800, 1), (7_200, 2), (24_000, 3), (64_000, 4), (144_000, 5)]);
    assert_eq!(total.abs_diff(tries.time_left).as_secs(), 240);
    let result = fetcher.download(&url, &mut Recorder::default(), &Zero, tries).await;
    assert!(matches!(result, Err(DownloadError::Fetch(_))));
    assert_eq!(names.lookup_times.lock().unwrap().len(), retries + 1);

    let spent = RetryBudget { time_left: Duration::ZERO, ..fetcher.full_retry_budget() };
    let result = fetcher.download(&url, &mut Recorder::default(), &Zero, spent).await;
    assert!(matches!(result, Err(DownloadError::Fetch(FetchError::Timeout(TimeoutPhase::Total)))));
}

#[tokio::test(start_paused = true)]
async fn retry_begins_at_byte_zero_when_sink_dropped_bytes() {
    let server = Server::start(|number, request| match number {
        0 => cut_after(10, request),
        _ => cut_after(SOURCE.len(), request),
    })
    .await;
    let mut sink = Recorder { drops_bytes: true, ..Recorder::default() };
    let downloaded = download(&server, &mut sink).await.unwrap();
    assert!(sink.pauses[0].is_resumable);
    assert_eq!(downloaded.bytes, SOURCE.len() as u64);
    assert_eq!((sink.stored.as_str(), sink.restarts), (SOURCE, 0));
}

#[tokio::test]
async fn retry_after_delays_next_attempt() {
    let server = Server::start(|number, _| match number {
        0 => answer(with_length("503 Busy", "retry-after: 3600\r\n", "")),
        1 => answer(with_length("429 Too Many", "retry-after: 0\r\n", "")),
        _ => answer(with_length("200 OK", "", SOURCE)),
    })
    .await;
    let (mut sink, limits) = (Recorder::default(), unhurried_limits());
    let mut progress = sink.progress();
    let clock = StillClock::stop();
    let waiting = async {
        // The hour is shortened to the limit, but not to the ordinary delay, which is far below it.
        until(&mut progress, |progress| progress.pauses == 1).await;
        clock.advance(limits.retry_after_max - Duration::from_secs(1)).await;
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.connections(), 1);
        clock.advance(Duration::from_secs(1)).await;
        // A `Retry-After` of zero does not shorten the ordinary delay.
        until(&mut progress, |progress| progress.pauses == 2).await;
        assert_eq!(server.connections(), 2);
        clock.advance(limits.retry_delays[1]).await;
    };
    let (downloaded, ()) = tokio::join!(download_with(&server, &mut sink, limits.clone()), waiting);
    downloaded.unwrap();
    assert_eq!((sink.stored.as_str(), sink.restarts), (SOURCE, 0));
}

#[tokio::test]
async fn permanent_server_error_gets_six_requests() {
    let busy = Server::always(with_length("500 Broken", "", "")).await;
    let (error, _) = download_fails(&busy).await;
    assert!(matches!(error, FetchError::UnexpectedStatus { status: 500, retry_after: None }), "{error:?}");
    assert_eq!(error.failure().code.as_str(), "source_unreachable");
    assert_eq!(error.failure().message, "the source server responded with status 500");
    assert_eq!(busy.requests().len(), 6);

    let silent = Server::start(|_, _| cut("")).await;
    let (error, _) = download_fails(&silent).await;
    assert!(matches!(error, FetchError::Unreachable { why: Unreachable::Broken, .. }), "{error:?}");
    assert_eq!(silent.requests().len(), 6);
}

#[tokio::test]
async fn final_error_is_not_retried() {
    for status in [401, 403, 404, 410] {
        let server = Server::always(with_length(&format!("{status} No"), "", "")).await;
        let (error, sink) = download_fails(&server).await;
        assert_eq!(error.code().as_str(), "source_not_found");
        assert_eq!((server.requests().len(), sink.restarts), (1, 0));
    }
}

#[tokio::test]
async fn progress_resets_retry_count() {
    let server = Server::start(|_, request| cut_after(3, request)).await;
    let mut sink = Recorder::default();
    let done = download_with(&server, &mut sink, Limits { stall_bytes: 3, ..limits() }).await.unwrap();
    assert_eq!((done.bytes, sink.stored.as_str(), sink.restarts), (36, SOURCE, 0));
    assert_eq!(server.requests().len(), 12);
}

#[tokio::test]
async fn small_or_discarded_progress_keeps_retry_count() {
    let crumbs = Server::start(|_, request| cut_after(3, request)).await;
    let mut sink = Recorder::default();
    let result = download_with(&crumbs, &mut sink, Limits { stall_bytes: 4, ..limits() }).await;
    assert!(matches!(
        result,
        Err(DownloadError::Fetch(FetchError::Unreachable { why: Unreachable::Cut, .. }))
    ));
    assert_eq!((crumbs.requests().len(), sink.stored.as_str()), (6, &SOURCE[..18]));

    // Without a validator no bytes are reused, whether an attempt receives more than the last one or not.
    for growth in [0, 3] {
        let vain = Server::start(move |number, _| {
            let body = &SOURCE[..3 + growth * number];
            cut(format!("HTTP/1.1 200 OK\r\ncontent-length: 36\r\n\r\n{body}"))
        })
        .await;
        let mut sink = Recorder::default();
        let result = download_with(&vain, &mut sink, Limits { stall_bytes: 3, ..limits() }).await;
        assert!(matches!(
            result,
            Err(DownloadError::Fetch(FetchError::Unreachable { why: Unreachable::Cut, .. }))
        ));
        assert_eq!((vain.requests().len(), sink.restarts), (6, 5));
    }
}

#[tokio::test]
async fn stalled_attempt_is_cut_and_resumed() {
    let server = Server::start(|number, request| match number {
        0 => hang("HTTP/1.1 200 OK\r\netag: \"v1\"\r\ncontent-length: 36\r\n\r\n"),
        1 => hang(format!("HTTP/1.1 200 OK\r\netag: \"v1\"\r\ncontent-length: 36\r\n\r\n{}", &SOURCE[..10])),
        _ => cut_after(99, request),
    })
    .await;
    let (mut sink, limits) = (Recorder::default(), unhurried_limits());
    let mut progress = sink.progress();
    let clock = StillClock::stop();
    let stalling = async {
        for (attempt, stored) in [(1, 0), (2, 10)] {
            until(&mut progress, |progress| (progress.answers, progress.stored) == (attempt, stored)).await;
            clock.advance(limits.stall_window).await;
            until(&mut progress, |progress| progress.pauses == attempt).await;
            clock.advance(limits.retry_delays[attempt - 1]).await;
        }
    };
    let (downloaded, ()) = tokio::join!(download_with(&server, &mut sink, limits.clone()), stalling);
    downloaded.unwrap();
    assert_eq!((sink.stored.as_str(), sink.restarts), (SOURCE, 0));
    assert_eq!(server.fields("range"), [None, None, Some("bytes=10-".into())]);
}

/// A download ends at its total limit although its current wait may take a day longer.
async fn check_total_limit(
    answer: impl Fn() -> Answer + Send + Sync + 'static,
    is_waiting: impl Fn(&Progress) -> bool,
) {
    let server = Server::start(move |_, _| answer()).await;
    let day = 24 * HOUR;
    let limits = Limits {
        total_timeout: HOUR,
        headers_timeout: day,
        stall_window: day,
        retry_after_max: day,
        ..limits()
    };
    let mut sink = Recorder::default();
    let mut progress = sink.progress();
    let is_waiting = async {
        server.answered(1).await;
        until(&mut progress, is_waiting).await;
    };
    let result = jumping_after(is_waiting, download_with(&server, &mut sink, limits)).await;
    let Err(DownloadError::Fetch(error)) = result else { panic!("{result:?}") };
    assert!(matches!(error, FetchError::Timeout(TimeoutPhase::Total)) && error.is_final(), "{error:?}");
    assert_eq!(error.code().as_str(), "source_timeout");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn total_limit_ends_a_body() {
    let body = || drip("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", "x");
    check_total_limit(body, |progress| progress.answers == 1).await;
}

#[tokio::test]
async fn total_limit_ends_connecting() {
    check_total_limit(|| hang(""), |_| true).await;
}

#[tokio::test]
async fn total_limit_ends_a_wait_for_the_next_attempt() {
    let busy = || answer(with_length("503 Busy", "retry-after: 86400\r\n", ""));
    check_total_limit(busy, |progress| progress.pauses == 1).await;
}
