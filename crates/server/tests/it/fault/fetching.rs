//! Faulty source servers: late responses, no responses, or other bytes than before.

use std::time::Duration;

use kinora_domain::{MediaId, SourceId};
use kinora_fetch::Limits;
use kinora_testkit::{Source, fixture};
use tokio::net::TcpListener;

use super::clock::TestClock;
use super::drain::{drain, objects_of, objects_without_images, wait_settled};
use super::events;
use crate::support::{DEADLINE, TestApp, limits, text};

const PATH: &str = "/a.mp4";

/// The limit under test. Only the limit ends such an attempt.
const SHORT: Duration = Duration::from_secs(1);

/// Attempts of a download: one, and one after each retry delay of [`limits`].
const ATTEMPTS: usize = 3;

async fn app() -> (TestApp, TestClock) {
    app_with(limits()).await
}

async fn app_with(limits: Limits) -> (TestApp, TestClock) {
    let clock = TestClock::standing();
    (TestApp::options().clock(clock.clone()).limits(limits).start().await, clock)
}

/// Fetches this source, which must fail with this code after `requests` requests, and leave no object.
async fn check_fails(source: Source, code: &str, sentence: &str, requests: usize) {
    let sent = requests_until_failed(limits(), source, code, sentence).await;
    assert_eq!(sent, requests, "{code}: {sentence}");
}

/// The same for a time limit.
///
/// A busy machine may delay an attempt until it ends before its request is sent; the tests of `kinora_fetch`
/// count attempts.
async fn check_times_out(limits: Limits, source: Source, sentence: &str) {
    let sent = requests_until_failed(limits, source, "source_timeout", sentence).await;
    assert!((1..=ATTEMPTS).contains(&sent), "{sent} requests: {sentence}");
}

/// Fetches this source with these limits, and returns the number of requests the source received.
async fn requests_until_failed(limits: Limits, source: Source, code: &str, sentence: &str) -> usize {
    let (app, clock) = app_with(limits).await;
    let media = app.create(&app.serve(PATH, source)).await;
    let media = wait_settled(&app, &clock, text(&media["id"])).await;
    assert_eq!((text(&media["error"]["code"]), text(&media["error"]["message"])), (code, sentence));
    let requests = app.sources.requests(PATH).len();
    drain(&app, &clock).await;
    assert_eq!(app.objects().await, [""; 0]);
    assert_eq!(
        events::by_media(&app.receiver)[text(&media["id"])],
        ["video.media.created", "video.media.failed"]
    );
    assert_eq!(app.event("video.media.failed").await["data"]["error"], media["error"]);
    requests
}

#[tokio::test]
async fn missing_source_fails_without_retry() {
    for status in [401, 403, 404, 410] {
        let sentence = format!("the source server responded with status {status}");
        check_fails(Source::refused(status), "source_not_found", &sentence, 1).await;
    }
}

#[tokio::test]
async fn permanent_503_fails_after_all_attempts() {
    check_fails(Source::refused(503), "source_unreachable", "the source server responded with status 503", 3)
        .await;
}

#[tokio::test]
async fn silent_source_server_times_out() {
    let limits = Limits { headers_timeout: SHORT, ..limits() };
    let sentence = "the source server did not respond in time";
    check_times_out(limits, Source::silent(), sentence).await;
}

#[tokio::test]
async fn slow_source_stalls_and_times_out() {
    let limits = Limits { stall_window: SHORT, ..limits() };
    let drips = Source::of(fixture::two_seconds()).gated_at(1000);
    let sentence = "the source server sends too slowly";
    check_times_out(limits, drips, sentence).await;
}

#[tokio::test]
async fn redirect_loop_is_source_unreachable() {
    let sentence = "the source server redirects too often or from https to http; use the final URL";
    check_fails(Source::redirect(PATH), "source_unreachable", sentence, 6).await;
}

#[tokio::test]
async fn overstated_content_length_fails_after_all_attempts() {
    let bytes = fixture::two_seconds();
    let claimed = bytes.len() as u64 + 1;
    let sentence = "the connection to the source server ended early";
    let lies = Source::of(bytes).claiming_length(claimed).without_ranges();
    check_fails(lies, "source_unreachable", sentence, 3).await;
}

#[tokio::test]
async fn range_416_at_end_completes_overstated_length() {
    let (app, _) = app().await;
    let bytes = fixture::two_seconds();
    let claimed = bytes.len() as u64 + 1;
    let media = app.create(&app.serve(PATH, Source::of(bytes).claiming_length(claimed))).await;
    assert_eq!(app.wait_settled(text(&media["id"])).await["status"], "Ready");
    assert_eq!(app.sources.requests(PATH).len(), 2);
}

#[tokio::test]
async fn short_content_length_truncates_source() {
    let (app, _) = app().await;
    let bytes = fixture::thirty_seconds();
    let claimed = bytes.len() as u64 / 2;
    let media = app.create(&app.serve(PATH, Source::of(bytes).claiming_length(claimed))).await;
    let media = app.wait_settled(text(&media["id"])).await;
    assert_eq!(media["status"], "Ready");
    assert_eq!(media["playbackReport"]["source"], "truncated");
}

#[tokio::test]
async fn download_succeeds_after_server_recovers() {
    let (app, clock) = app().await;
    let source = Source::of(fixture::two_seconds()).refused_first(2, 503, Some(1));
    let media = app.create(&app.serve(PATH, source)).await;
    let id = text(&media["id"]);
    assert_eq!(wait_settled(&app, &clock, id).await["status"], "Ready");
    drain(&app, &clock).await;
    assert_eq!(app.sources.requests(PATH).len(), 3);
    assert_eq!(events::by_media(&app.receiver)[id], ["video.media.created", "video.media.ready"]);
}

/// The source id of a media that is being fetched.
async fn source_id(app: &TestApp, media: &str) -> SourceId {
    let id: MediaId = media.parse().expect("an id from the API");
    app.store.media_by_id(id).await.unwrap().unwrap().source().expect("it is being fetched")
}

/// Cuts the first response in the middle.
///
/// Returns the source ids before the cut and at the end, and the media id.
async fn cut_response(app: &TestApp, source: impl Fn(Source) -> Source) -> (SourceId, SourceId, String) {
    let bytes = fixture::two_seconds();
    let (early, middle) = (bytes.len() as u64 / 4, bytes.len() as u64 / 2);
    let url = app.serve(PATH, source(Source::of(bytes)).cut_once(middle).gated_at(early));
    let media = app.create(&url).await;
    let id = text(&media["id"]).to_owned();
    assert_eq!(app.sources.wait_until_held(PATH, DEADLINE).await, early);
    let before = source_id(app, &id).await;
    app.sources.release(PATH);
    assert_eq!(app.wait_settled(&id).await["status"], "Ready");
    assert_eq!(app.sources.requests(PATH).len(), 2);
    (before, source_id(app, &id).await, id)
}

#[tokio::test]
async fn interrupted_download_resumes_with_range() {
    let (app, clock) = app().await;
    let (before, after, id) = cut_response(&app, |source| source).await;
    assert_eq!(before, after);
    let requests = app.sources.requests(PATH);
    let half = fixture::two_seconds().len() / 2;
    assert_eq!(requests[1].header("range"), Some(format!("bytes={half}-").as_str()));
    assert!(requests[1].header("if-range").is_some_and(|etag| etag.starts_with('"')));
    assert_eq!(app.sources.bytes_sent(PATH), fixture::two_seconds().len() as u64, "no byte came twice");
    drain(&app, &clock).await;
    assert_eq!(objects_without_images(&app).await, objects_of(&app, &id).await);
}

#[tokio::test]
async fn changed_etag_restarts_download_with_new_source_id() {
    let (app, clock) = app().await;
    let (before, after, id) = cut_response(&app, Source::with_changing_etag).await;
    assert_ne!(before, after);
    drain(&app, &clock).await;
    let objects = app.objects().await;
    assert_eq!(objects, objects_of(&app, &id).await);
    assert!(objects.iter().all(|path| !path.contains(&before.to_string())), "{objects:?}");
    assert_eq!(events::by_media(&app.receiver)[&id], ["video.media.created", "video.media.ready"]);
}

#[tokio::test]
async fn redirect_to_a_private_address_is_never_connected() {
    let (app, clock) = app().await;
    // 127.0.0.0/8 is allowed here; these are other addresses of this machine and of its host.
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = canary.local_addr().unwrap().port();
    for host in ["0.0.0.0", "[::1]", "[::]", "10.0.0.1", "169.254.169.254", "[fe80::1]"] {
        let source = Source::redirect(&format!("http://{host}:{port}/secret"));
        let media = app.create(&app.serve(PATH, source)).await;
        let media = app.wait_settled(text(&media["id"])).await;
        assert_eq!(media["error"]["code"], "source_forbidden_address", "{host}");
        let sentence = "the source URL, or one it redirects to, is not on the public internet";
        assert_eq!(media["error"]["message"], sentence);
    }
    drain(&app, &clock).await;
    let connection = tokio::select! {
        biased;
        connection = canary.accept() => Some(connection),
        () = std::future::ready(()) => None,
    };
    assert!(connection.is_none(), "{connection:?}");
    assert_eq!(app.objects().await, [""; 0]);
}

#[tokio::test]
async fn loopback_is_forbidden_unless_it_is_allowed() {
    let app = TestApp::options().allow_loopback(false).without_webhook().start().await;
    let url = app.serve(PATH, Source::of(fixture::two_seconds()));
    let media = app.create(&url).await;
    let media = app.wait_settled(text(&media["id"])).await;
    assert_eq!(media["error"]["code"], "source_forbidden_address");
    assert_eq!(app.sources.requests(PATH).len(), 0);
}
