//! Servers of sources on bad days: they answer late, not at all, or something else than before.

use std::time::Duration;

use kinora_domain::{MediaId, SourceId};
use kinora_fetch::Limits;
use kinora_testkit::{Source, fixture};
use tokio::net::TcpListener;

use super::clock::TestClock;
use super::drain::{drain, objects_but_pictures, objects_of, wait_settled};
use super::events;
use crate::support::{DEADLINE, TestApp, limits, text};

const PATH: &str = "/a.mp4";

/// The limit under test. Nothing but the limit ends such an attempt.
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

/// Fetches this source, which must fail with this code after so many requests, and leave nothing.
async fn check_fails(source: Source, code: &str, sentence: &str, requests: usize) {
    let sent = requests_until_failed(limits(), source, code, sentence).await;
    assert_eq!(sent, requests, "{code}: {sentence}");
}

/// The same of a limit of time. A busy machine may delay an attempt until it ends before its request is sent;
/// the tests of `kinora_fetch` count attempts.
async fn check_times_out(limits: Limits, source: Source, sentence: &str) {
    let sent = requests_until_failed(limits, source, "source_timeout", sentence).await;
    assert!((1..=ATTEMPTS).contains(&sent), "{sent} requests: {sentence}");
}

/// Fetches this source with these limits, and returns how many requests it was sent.
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
async fn a_source_that_is_not_there_fails_at_once() {
    for status in [401, 403, 404, 410] {
        let sentence = format!("the server of the source answered {status}");
        check_fails(Source::refused(status), "source_not_found", &sentence, 1).await;
    }
}

#[tokio::test]
async fn a_server_that_stays_broken_fails_after_all_attempts() {
    check_fails(Source::refused(503), "source_unreachable", "the server of the source answered 503", 3).await;
}

#[tokio::test]
async fn an_address_that_never_answers_times_out() {
    let limits = Limits { headers: SHORT, ..limits() };
    let sentence = "the server of the source did not answer in time";
    check_times_out(limits, Source::silent(), sentence).await;
}

#[tokio::test]
async fn a_server_that_drips_times_out() {
    let limits = Limits { stall: SHORT, ..limits() };
    let drips = Source::of(fixture::two_seconds()).gated_at(1000);
    let sentence = "the server of the source sends too slowly";
    check_times_out(limits, drips, sentence).await;
}

#[tokio::test]
async fn a_server_that_redirects_in_circles_is_left_alone() {
    let sentence = "the server of the source redirects too often or from https to http";
    check_fails(Source::redirect(PATH), "source_unreachable", sentence, 6).await;
}

#[tokio::test]
async fn a_server_that_announces_more_than_it_has_fails_after_all_attempts() {
    let bytes = fixture::two_seconds();
    let claimed = bytes.len() as u64 + 1;
    let sentence = "the connection to the server of the source ended too early";
    let lies = Source::of(bytes).claiming_length(claimed).without_ranges();
    check_fails(lies, "source_unreachable", sentence, 3).await;
}

#[tokio::test]
async fn a_server_that_announced_too_much_and_then_says_that_there_is_no_more_is_believed() {
    let (app, _) = app().await;
    let bytes = fixture::two_seconds();
    let claimed = bytes.len() as u64 + 1;
    let media = app.create(&app.serve(PATH, Source::of(bytes).claiming_length(claimed))).await;
    assert_eq!(app.wait_settled(text(&media["id"])).await["status"], "Ready");
    assert_eq!(app.sources.requests(PATH).len(), 2);
}

#[tokio::test]
async fn a_server_that_announces_less_than_it_has_gives_a_truncated_source() {
    let (app, _) = app().await;
    let bytes = fixture::thirty_seconds();
    let claimed = bytes.len() as u64 / 2;
    let media = app.create(&app.serve(PATH, Source::of(bytes).claiming_length(claimed))).await;
    let media = app.wait_settled(text(&media["id"])).await;
    assert_eq!(media["status"], "Ready");
    assert_eq!(media["playbackReport"]["source"], "truncated");
}

#[tokio::test]
async fn a_server_that_recovers_is_forgiven() {
    let (app, clock) = app().await;
    let source = Source::of(fixture::two_seconds()).refused_first(2, 503, Some(1));
    let media = app.create(&app.serve(PATH, source)).await;
    let id = text(&media["id"]);
    assert_eq!(wait_settled(&app, &clock, id).await["status"], "Ready");
    drain(&app, &clock).await;
    assert_eq!(app.sources.requests(PATH).len(), 3);
    assert_eq!(events::by_media(&app.receiver)[id], ["video.media.created", "video.media.ready"]);
}

/// The id under which the bytes of a media arrive.
async fn source_id(app: &TestApp, media: &str) -> SourceId {
    let id: MediaId = media.parse().expect("an id from the API");
    app.store.media_by_id(id).await.unwrap().unwrap().source().expect("it is being fetched")
}

/// Cuts the first answer in the middle, and answers the ids of the source before the cut and in the end, and
/// that of the media.
async fn cut(app: &TestApp, source: impl Fn(Source) -> Source) -> (SourceId, SourceId, String) {
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
async fn a_cut_is_resumed_where_it_was_and_the_source_keeps_its_id() {
    let (app, clock) = app().await;
    let (before, after, id) = cut(&app, |source| source).await;
    assert_eq!(before, after);
    let requests = app.sources.requests(PATH);
    let half = fixture::two_seconds().len() / 2;
    assert_eq!(requests[1].header("range"), Some(format!("bytes={half}-").as_str()));
    assert!(requests[1].header("if-range").is_some_and(|etag| etag.starts_with('"')));
    assert_eq!(app.sources.bytes_sent(PATH), fixture::two_seconds().len() as u64, "no byte came twice");
    drain(&app, &clock).await;
    assert_eq!(objects_but_pictures(&app).await, objects_of(&app, &id).await);
}

#[tokio::test]
async fn a_source_that_changed_meanwhile_begins_again_under_a_new_id_and_leaves_nothing_of_the_old() {
    let (app, clock) = app().await;
    let (before, after, id) = cut(&app, Source::with_changing_etag).await;
    assert_ne!(before, after);
    drain(&app, &clock).await;
    let objects = app.objects().await;
    assert_eq!(objects, objects_of(&app, &id).await);
    assert!(objects.iter().all(|path| !path.contains(&before.to_string())), "{objects:?}");
    assert_eq!(events::by_media(&app.receiver)[&id], ["video.media.created", "video.media.ready"]);
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused_and_nobody_connects_there() {
    let (app, clock) = app().await;
    // 127.0.0.0/8 is allowed here; these are other ways to the same machine, and to the one that hosts it.
    let canary = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = canary.local_addr().unwrap().port();
    for host in ["0.0.0.0", "[::1]", "[::]", "10.0.0.1", "169.254.169.254", "[fe80::1]"] {
        let source = Source::redirect(&format!("http://{host}:{port}/secret"));
        let media = app.create(&app.serve(PATH, source)).await;
        let media = app.wait_settled(text(&media["id"])).await;
        assert_eq!(media["error"]["code"], "source_forbidden_address", "{host}");
        let sentence = "the source, or an address it redirects to, is not on the public internet";
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
