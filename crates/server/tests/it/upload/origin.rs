//! CORS at the signed URL (C-140, C-153).

use kinora_testkit::fixture;
use serde_json::json;

use super::{Transcript, Upload, still};
use crate::support::{Request, TestApp};

const SHOP: &str = "https://shop.example";

fn preflight(app: &TestApp, upload: &Upload, origin: &str) -> Request {
    let request = upload.request(app, "OPTIONS").header("Origin", origin);
    let request = request.header("Access-Control-Request-Method", "PUT");
    request.header("Access-Control-Request-Headers", "content-range,content-type,x-goog-resumable")
}

#[tokio::test]
async fn cors_origin_may_send_and_read_every_response() {
    let app = still().await;
    let (upload, file) = (Upload::with(&app, json!({"corsOrigin": SHOP})).await, fixture::two_seconds());
    let mut transcript = Transcript::with_cors(upload.golden(&app, &file));
    transcript.send("a preflight", preflight(&app, &upload, SHOP)).await;
    transcript.send("a chunk", upload.chunk(&app, &file, 0..5000).header("Origin", SHOP)).await;
    let wrong = upload.request(&app, "PUT").header("Content-Range", "x").header("Origin", SHOP);
    transcript.send("a refusal", wrong).await;
    insta::assert_snapshot!(transcript.text);
    let without = upload.chunk(&app, &file, 5000..6000).send().await;
    assert_eq!(without.status, 308, "a client without Origin is accepted: {without:?}");
}

#[tokio::test]
async fn other_origins_may_neither_send_nor_read() {
    let app = still().await;
    let (upload, file) = (Upload::with(&app, json!({"corsOrigin": SHOP})).await, fixture::two_seconds());
    let mut transcript = Transcript::with_cors(upload.golden(&app, &file));
    transcript.send("a preflight", preflight(&app, &upload, "https://evil.example")).await;
    for origin in [
        "https://evil.example",
        "http://shop.example",
        "https://shop.example:8443",
        "https://a.shop.example",
        "null",
        "",
    ] {
        let sent = upload.chunk(&app, &file, 0..5000).header("Origin", origin).send().await;
        assert_eq!(sent.refusal(), (403, "forbidden".to_owned()), "{origin}");
        assert_eq!(sent.header("access-control-allow-origin"), Some(SHOP), "{origin}");
        assert_eq!(sent.header("vary"), Some("Origin"), "{origin}");
    }
    let both =
        upload.chunk(&app, &file, 0..5000).header("Origin", SHOP).header("Origin", "https://evil.example");
    assert_eq!(both.send().await.status, 403);
    insta::assert_snapshot!(transcript.text);
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "waiting", "nothing came");
}

#[tokio::test]
async fn cors_origin_star_allows_any_origin() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    for origin in ["https://a.example", "null", "capacitor://localhost"] {
        let preflighted = preflight(&app, &upload, origin).send().await;
        assert_eq!(
            (preflighted.status, preflighted.header("access-control-allow-origin")),
            (204, Some("*")),
            "{origin}"
        );
        let sent = upload.chunk(&app, &file, 0..5000).header("Origin", origin).send().await;
        assert_eq!((sent.status, sent.header("access-control-allow-origin")), (308, Some("*")), "{origin}");
    }
}

#[tokio::test]
async fn upload_page_of_the_server_may_send_despite_cors_origin() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::with(&app, json!({"corsOrigin": SHOP})).await, fixture::two_seconds());
    let sent = upload.chunk(&app, &file, 0..5000).header("Origin", &app.url("")).send().await;
    assert_eq!(sent.status, 308, "{sent:?}");
}

#[tokio::test]
async fn preflight_echoes_requested_headers() {
    let app = TestApp::start().await;
    let upload = Upload::new(&app).await;
    for path in [upload.path.as_str(), "/upload/forged"] {
        let request = app.request("OPTIONS", path).header("Origin", SHOP);
        let request = request.header("Access-Control-Request-Method", "PUT");
        let request_headers = "authorization,content-type,sentry-trace,traceparent,x-custom";
        let answer = request.header("Access-Control-Request-Headers", request_headers).send().await;
        let allowed =
            answer.header("access-control-allow-headers").expect("the header is present").to_lowercase();
        let allowed: Vec<_> = allowed.split(", ").collect();
        assert_eq!(answer.status, 204, "{path}");
        assert!(request_headers.split(',').all(|name| allowed.contains(&name)), "{path}: {allowed:?}");
    }
    // The values of these headers are ignored.
    let put = upload.request(&app, "PUT").header("Origin", SHOP).header("Authorization", "Bearer x");
    let answer = put.header("traceparent", "00-1-1-00").body(fixture::two_seconds()).send().await;
    assert_eq!(answer.status, 200, "{answer:?}");
}
