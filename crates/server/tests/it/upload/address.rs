//! Access to the signed upload URL, and its expiry.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kinora_domain::Upload as Registered;
use kinora_testkit::{MovableClock, fixture};

use super::{Transcript, Upload, still};
use crate::support::TestApp;

#[tokio::test]
async fn forged_upload_url_is_rejected() {
    let (app, other_app) = (TestApp::start().await, TestApp::start().await);
    let (upload, foreign) = (Upload::new(&app).await, Upload::new(&other_app).await);
    let signed = upload.path.strip_prefix("/upload/").unwrap();
    let bytes = URL_SAFE_NO_PAD.decode(signed).unwrap();
    let mut wrong = vec![
        signed[..signed.len() - 1].to_owned(),
        signed[1..].to_owned(),
        format!("{signed}A"),
        format!("{signed}="),
        format!("{signed}{}", "A".repeat(10_000)),
        upload.id.clone(),
        "signed".to_owned(),
        "%ff".to_owned(),
        "A".repeat(300),
    ];
    if !app.ground.is_shared() {
        // On PostgreSQL the secret keys come from the configuration, and all test servers have the same
        // keys.
        wrong.push(foreign.path.strip_prefix("/upload/").unwrap().to_owned());
    }
    let refused = app.request("PUT", "/upload/x").body("x").send().await;
    insta::assert_snapshot!(app.golden().answer(&refused));
    for signed in wrong {
        let preflight = app.request("OPTIONS", &format!("/upload/{signed}")).send().await;
        assert_eq!(preflight.status, 204, "a page may read the refusal: {signed}: {preflight:?}");
        for method in ["PUT", "HEAD", "GET"] {
            let request = app.request(method, &format!("/upload/{signed}"));
            let request = if method == "PUT" { request.body(fixture::two_seconds()) } else { request };
            let answer = request.send().await;
            assert_eq!(answer.status, 404, "{method} {signed}: {answer:?}");
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "{method} {signed}");
            if method == "PUT" {
                assert_eq!(app.golden().answer(&answer), app.golden().answer(&refused), "{signed}");
            }
        }
    }
    // Every byte is signed: form, ids, end, size, origin and signature.
    for at in 0..bytes.len() {
        let mut forged = bytes.clone();
        forged[at] ^= 1;
        let path = format!("/upload/{}", URL_SAFE_NO_PAD.encode(forged));
        assert_eq!(app.request("PUT", &path).body("x").send().await.status, 404, "byte {at}");
    }
    assert_eq!(upload.offset(&app).await, (0, false), "the right one works");
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "waiting");
}

#[tokio::test]
async fn upload_url_expires_after_seven_days() {
    let clock = MovableClock::default();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    assert_eq!(upload.request(&app, "PUT").body(file.clone()).send().await.status, 200);
    upload.ready(&app).await;
    clock.advance_seconds(i64::from(Registered::LIFE_MAX_S) - 1);
    assert_eq!(upload.request(&app, "PUT").body(file.clone()).send().await.status, 200, "the last second");
    clock.advance_seconds(1);
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    transcript.send("expired", upload.request(&app, "PUT").body(file)).await;
    insta::assert_snapshot!(transcript.text);
    assert_eq!(upload.request(&app, "OPTIONS").send().await.status, 204);
    for method in ["HEAD", "GET", "DELETE"] {
        assert_eq!(upload.request(&app, method).send().await.status, 410, "{method}");
    }
}

#[tokio::test]
async fn unknown_or_mixed_upload_protocol_is_400() {
    let app = still().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    transcript.send("POST without a word", upload.request(&app, "POST").body(file.clone())).await;
    transcript.send("TRACE", upload.request(&app, "TRACE")).await;
    let both = upload.request(&app, "PATCH").header("Tus-Resumable", "1.0.0").header("Upload-Complete", "?1");
    transcript.send("tus and the draft", both.body(file.clone())).await;
    let both = upload
        .request(&app, "PATCH")
        .header("Tus-Resumable", "1.0.0")
        .header("Content-Range", "bytes 0-9/10");
    transcript.send("tus and a range", both.body(file.slice(..10))).await;
    insta::assert_snapshot!(transcript.text);
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "waiting", "nothing was written");
}

#[tokio::test]
async fn conflicting_body_lengths_are_400_before_reading() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let lengths = upload.request(&app, "PUT").header("Content-Length", "10").header("Content-Length", "11");
    assert_eq!(lengths.body(file.slice(..10)).send().await.status, 400);
    let range =
        upload.request(&app, "PUT").header("Content-Range", "bytes 0-8/100").header("Content-Length", "10");
    assert_eq!(range.body(file.slice(..10)).send().await.refusal().0, 400);
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "waiting");
}
