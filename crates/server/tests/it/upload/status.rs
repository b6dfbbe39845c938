//! A `GET` of the signed URL by browsers and scripts: the upload page, and the status of the upload.

use kinora_domain::Upload as Registered;
use kinora_testkit::{MovableClock, fixture};
use serde_json::json;

use super::{Transcript, Upload, long, still};
use crate::support::{Answer, Request, TestApp};

/// The `Accept` header of a browser that opens a URL.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

#[tokio::test]
async fn upload_url_returns_status_and_media() {
    let app = still().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let private = Upload::with(&app, json!({"pushMediaSettings": {"accessPolicy": "private"}})).await;
    let (cancelled, failed) = (Upload::new(&app).await, Upload::new(&app).await);
    let mut golden = upload.golden(&app, &file);
    for (other, name) in [(&private, "[private]"), (&cancelled, "[cancelled]"), (&failed, "[failed]")] {
        golden.name(&other.id, name);
    }
    let mut transcript = Transcript::new(golden);
    transcript.send("waiting", ask(&app, &upload)).await;

    let part = file.len() / 2;
    assert_eq!(upload.chunk(&app, &file, 0..part).send().await.status, 308);
    let begun = ask(&app, &upload).send().await.data();
    assert_eq!((&begun["status"], &begun["sizeBytes"]), (&json!("uploading"), &json!(file.len())));
    let stored_bytes = begun["keptBytes"].as_u64().expect("a number");
    assert_eq!(stored_bytes, upload.offset(&app).await.0, "the status has the stored bytes");
    assert_eq!((&begun["isReady"], begun.get("playbackId")), (&json!(false), None));

    for upload in [&upload, &private] {
        assert_eq!(upload.request(&app, "PUT").body(file.clone()).send().await.status, 200);
    }
    let media = upload.ready(&app).await;
    private.ready(&app).await;
    let ready = ask(&app, &upload).send().await.data();
    let playback = media["playbackIds"][0]["id"].as_str().expect("it has one");
    assert_eq!(ready["playbackId"], playback);
    assert_eq!(ready["playerUrl"], app.url(&format!("/embed/{playback}")));
    transcript.golden.name(playback, "[playback]");
    transcript.send("ready", ask(&app, &upload)).await;
    transcript.send("ready, for those who may", ask(&app, &private)).await;

    assert_eq!(cancelled.cancel(&app).await.status, 200);
    transcript.send("cancelled", ask(&app, &cancelled)).await;
    assert_eq!(failed.request(&app, "PUT").body(fixture::not_media::html()).send().await.status, 422);
    transcript.send("failed", ask(&app, &failed)).await;

    assert_eq!(app.call("DELETE", &format!("/v1/on-demand/{}", upload.id)).send().await.status, 200);
    transcript.send("its media was deleted", ask(&app, &upload)).await;
    insta::assert_snapshot!(transcript.text);
}

#[tokio::test]
async fn status_request_does_not_interrupt_upload() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, long());
    let mut sending =
        upload.stall_after_first_bytes(&app, upload.request(&app, "PUT").body(file.clone())).await;
    for _ in 0..3 {
        let status = ask(&app, &upload).send().await.data();
        assert_eq!(status["status"], "uploading");
        assert!(
            status["keptBytes"].as_u64() > Some(0) && status["keptBytes"].as_u64() <= Some(file.len() as u64)
        );
        assert_eq!(open(&app, &upload.path).await.status, 200);
    }
    sending.send_rest().await;
    assert_eq!(sending.answer().await.status, 200);
    upload.ready(&app).await;
}

#[tokio::test]
async fn browser_gets_a_page_that_leaks_no_referrer() {
    let app = TestApp::start().await;
    let open_to_all = Upload::new(&app).await;
    let of_a_shop = Upload::with(&app, json!({"corsOrigin": "https://shop.example"})).await;
    for (upload, frames) in [(&open_to_all, "*"), (&of_a_shop, "https://shop.example")] {
        let page = open(&app, &upload.path).await;
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
        let policy = format!(
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
             frame-src 'self' {}; base-uri 'none'; form-action 'none'; frame-ancestors 'self' {frames}",
            app.url("")
        );
        assert_eq!(page.header("content-security-policy"), Some(policy.as_str()));
    }
    let other = of_a_shop.request(&app, "GET").header("Accept", "application/json");
    let refused = other.header("Origin", "https://elsewhere.example").send().await;
    assert_eq!(refused.status, 403, "{refused:?}");
}

#[tokio::test]
async fn invalid_upload_url_is_html_or_json_by_accept() {
    let clock = MovableClock::default();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let upload = Upload::new(&app).await;
    let forged = format!("{}A", upload.path);
    clock.advance_seconds(i64::from(Registered::LIFE_MAX_S));
    for (path, status) in [(&upload.path, 410), (&forged, 404)] {
        let page = open(&app, path).await;
        assert_eq!((page.status, page.header("content-type")), (status, Some("text/html; charset=utf-8")));
        assert_eq!(page.header("cache-control"), Some("no-store"), "{path}");
        assert!(page.header("content-security-policy").is_some(), "{path}");
        let answer = app.request("GET", path).header("Accept", "application/json").send().await;
        assert_eq!((answer.status, answer.refusal().0), (status, status), "{path}");
    }
}

fn ask(app: &TestApp, upload: &Upload) -> Request {
    upload.request(app, "GET").header("Accept", "application/json")
}

async fn open(app: &TestApp, path: &str) -> Answer {
    app.request("GET", path).header("Accept", BROWSER).send().await
}
