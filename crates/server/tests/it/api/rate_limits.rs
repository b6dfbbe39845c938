//! The rate limit of an access token (C-23, D-0077).

use kinora_domain::{DEVELOPMENT, Permission};
use kinora_testkit::{MovableClock, fixture};
use serde_json::json;

use crate::support::{Answer, Request, TestApp, text};

const LIST: &str = "/v1/on-demand";
const POLICY: &str = "ratelimit-policy";
const REMAINING: &str = "ratelimit";

/// A server with this limit, and its clock.
async fn limited(limit: &str) -> (TestApp, MovableClock) {
    let clock = MovableClock::default();
    let options = TestApp::options().without_webhook().rate_limit(limit).clock(clock.clone());
    (options.start().await, clock)
}

/// Status, remaining requests, and `Retry-After`.
fn rate_limit_of(answer: &Answer) -> (u16, Option<&str>, Option<&str>) {
    (answer.status, answer.header(REMAINING), answer.header("retry-after"))
}

#[track_caller]
fn not_counted(answer: &Answer) {
    assert_eq!((answer.header(REMAINING), answer.header(POLICY)), (None, None), "{answer:?}");
    assert_ne!(answer.status, 429, "{answer:?}");
}

#[tokio::test]
async fn rate_limit_is_429_with_retry_after() {
    let (app, clock) = limited("3/60").await;
    let list = async || app.call("GET", LIST).send().await;
    let first = list().await;
    insta::assert_snapshot!("within", app.golden().answer(&first));
    assert_eq!(rate_limit_of(&first), (200, Some("\"token\";r=2;t=20"), None));
    // Errors count too, and both prefixes share one limit.
    let missing = app.call("GET", "/on-demand/019a492c-41f3-7001-8203-040506070809").send().await;
    assert_eq!(rate_limit_of(&missing), (404, Some("\"token\";r=1;t=20"), None));
    let wrong = app.call("POST", LIST).json(&json!({})).send().await;
    assert_eq!(rate_limit_of(&wrong), (422, Some("\"token\";r=0;t=20"), None));
    let over = list().await;
    insta::assert_snapshot!("over", app.golden().answer(&over));
    assert_eq!(rate_limit_of(&over), (429, Some("\"token\";r=0;t=20"), Some("20")));
    assert_eq!(over.header(POLICY), Some("\"token\";q=3;w=60"));

    clock.advance_seconds(19);
    assert_eq!(rate_limit_of(&list().await), (429, Some("\"token\";r=0;t=1"), Some("1")));
    clock.advance_seconds(1);
    assert_eq!(rate_limit_of(&list().await), (200, Some("\"token\";r=0;t=20"), None));
    assert_eq!(list().await.refusal(), (429, "too many requests".to_owned()));
    clock.advance_seconds(60);
    assert_eq!(rate_limit_of(&list().await), (200, Some("\"token\";r=2;t=20"), None));
}

#[tokio::test]
async fn rate_limit_is_per_token() {
    let (app, _) = limited("2/60").await;
    let other = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    for _ in 0..5 {
        let wrong_token = app.request("GET", LIST).basic(&app.token.id, "wrong").send().await;
        assert_eq!(wrong_token.refusal(), (401, "unauthorized".to_owned()));
        not_counted(&wrong_token);
        let without_token = app.request("GET", LIST).send().await;
        assert_eq!((without_token.status, without_token.header("www-authenticate").is_some()), (401, true));
        not_counted(&without_token);
    }
    for left in ["\"token\";r=1;t=30", "\"token\";r=0;t=30"] {
        assert_eq!(rate_limit_of(&app.call("GET", LIST).send().await), (200, Some(left), None));
    }
    assert_eq!(app.call("GET", LIST).send().await.status, 429);
    // Forbidden requests count too.
    let forbidden = app.request("POST", LIST).token(&other).json(&json!({})).send().await;
    assert_eq!(rate_limit_of(&forbidden), (403, Some("\"token\";r=1;t=30"), None));
    assert_eq!(app.request("GET", LIST).token(&other).send().await.status, 200);
    assert_eq!(app.request("GET", LIST).token(&other).send().await.status, 429);
}

#[tokio::test]
async fn rate_limit_rejects_before_reading_body() {
    let (app, _) = limited("1/60").await;
    let spend = app.call("GET", LIST).send().await;
    assert_eq!(spend.status, 200);
    let body = json!({"inputs": [{"type": "video", "url": "http://127.0.0.1/a.mp4"}]}).to_string();
    let json = |request: Request| request.header("Content-Type", "application/json");
    let post = |path| json(app.call("POST", path)).body(body.clone());
    // The body never arrives; neither its type nor the idempotency key is checked.
    let unread = post(LIST).begin(0).await.answer().await;
    assert_eq!(unread.refusal(), (429, "too many requests".to_owned()));
    let unread = post(LIST).header("Idempotency-Key", "one").begin(0).await.answer().await;
    assert_eq!(unread.refusal().0, 429);
    let other = app.call("POST", LIST).header("Content-Type", "text/plain").body("a").send().await;
    assert_eq!(other.refusal().0, 429);
    let nameless = post(LIST).header("Idempotency-Key", "").send().await;
    assert_eq!(nameless.refusal().0, 429);
    let deprecated = post("/v1/on-demand/uploads").send().await;
    assert_eq!((deprecated.refusal().0, deprecated.header("deprecation").is_some()), (429, true));

    let looker = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let listed = app.request("GET", LIST).token(&looker).send().await;
    assert_eq!(listed.json()["pagination"]["totalRecords"], 0, "nothing was made");
}

#[tokio::test]
async fn replayed_response_counts_against_rate_limit() {
    let (app, clock) = limited("2/60").await;
    let post = async || {
        let body = json!({"corsOrigin": "*"});
        app.call("POST", "/v1/on-demand/upload").header("Idempotency-Key", "one").json(&body).send().await
    };
    let first = post().await;
    assert_eq!(rate_limit_of(&first), (201, Some("\"token\";r=1;t=30"), None));
    let again = post().await;
    assert_eq!(rate_limit_of(&again), (201, Some("\"token\";r=0;t=30"), None));
    assert_eq!((again.header("idempotent-replayed"), again.text()), (Some("true"), first.text()));
    assert_eq!(rate_limit_of(&post().await), (429, Some("\"token\";r=0;t=30"), Some("30")));
    clock.advance_seconds(30);
    let once_more = post().await;
    assert_eq!((once_more.status, once_more.text()), (201, first.text()), "a 429 is not kept");
}

#[tokio::test]
async fn requests_without_token_are_not_rate_limited() {
    let (app, clock) = limited("1/60").await;
    let upload = app.call("POST", "/v1/on-demand/upload").json(&json!({"corsOrigin": "*"})).send().await;
    let address = text(&upload.data()["url"]).replace(&app.url(""), "");
    clock.advance_seconds(60);
    let media =
        app.call("POST", LIST).json(&json!({"inputs": [{"type": "video", "url": "http://127.0.0.1/a.mp4"}]}));
    let playback = text(&media.send().await.data()["playbackIds"][0]["id"]).to_owned();
    assert_eq!(app.call("GET", LIST).send().await.status, 429);

    let paths = ["/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/v1/nowhere", "/v1"];
    let played =
        [format!("/{playback}.m3u8"), format!("/{playback}/thumbnail.jpg"), format!("/embed/{playback}")];
    for path in paths.into_iter().chain(played.iter().map(String::as_str)).chain([address.as_str()]) {
        not_counted(&app.call("GET", path).send().await);
    }
    let sent = app.request("PUT", &address).token(&app.token).body(fixture::two_seconds()).send().await;
    assert_eq!(sent.status, 200, "{sent:?}");
    not_counted(&sent);
}

#[tokio::test]
async fn rate_limit_headers_are_absent_without_a_limit() {
    let app = TestApp::options().without_webhook().start().await;
    not_counted(&app.call("GET", LIST).send().await);
}

#[tokio::test]
async fn each_process_counts_separately() {
    let (app, clock) = limited("1/60").await;
    if !app.ground.is_shared() {
        return; // a folder has one process
    }
    let other_node = TestApp::on_data_of(&app, TestApp::options().rate_limit("1/60").clock(clock)).await;
    for app in [&app, &other_node] {
        assert_eq!(app.call("GET", LIST).send().await.status, 200);
        assert_eq!(app.call("GET", LIST).send().await.status, 429);
    }
}
