//! The deprecated path takes 500 MB, the current one what comes (C-145).

use kinora_domain::Upload as Registered;
use kinora_testkit::fixture;
use serde_json::json;

use super::{Transcript, Upload, still};
use crate::support::TestApp;

const DEPRECATED: &str = "/v1/on-demand/uploads";

#[tokio::test]
async fn more_than_the_deprecated_path_takes_is_refused_before_it_comes() {
    let app = still().await;
    let (upload, file) = (Upload::through(&app, DEPRECATED, json!({})).await, fixture::two_seconds());
    let (max, over) = (Registered::DEPRECATED_SIZE_MAX, (Registered::DEPRECATED_SIZE_MAX + 1).to_string());
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    let chunk = format!("bytes 0-9/{over}");
    let chunk = upload.request(&app, "PUT").header("Content-Range", &chunk).body(file.slice(..10));
    transcript.send("a chunk of a longer file", chunk).await;
    // The client waits to be told to go on, and is told no.
    let whole = || {
        let request = upload.request(&app, "PUT").header("Expect", "100-continue");
        request.header("Content-Length", &over)
    };
    let answer = whole().body(file.clone()).begin(0).await.answer().await;
    assert_eq!(answer.refusal(), (413, "payload too large".to_owned()));
    let beyond = format!("bytes {max}-{max}/*");
    let beyond = upload.request(&app, "PUT").header("Content-Range", &beyond).body(file.slice(..1));
    assert_eq!(beyond.send().await.status, 413);
    insta::assert_snapshot!(transcript.text);
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "waiting", "nothing was written");
    assert_eq!(upload.request(&app, "PUT").body(file).send().await.status, 200, "a smaller one may come");
    upload.ready(&app).await;
}

#[tokio::test]
async fn the_current_path_takes_what_the_deprecated_one_does_not() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let chunk = format!("bytes 0-4999/{}", Registered::DEPRECATED_SIZE_MAX + 1);
    let chunk = upload.request(&app, "PUT").header("Content-Range", &chunk).body(file.slice(..5000));
    let kept = chunk.send().await;
    assert_eq!((kept.status, kept.header("range")), (308, Some("bytes=0-4999")), "{kept:?}");
}

#[tokio::test]
async fn a_refusal_reaches_a_client_that_goes_on_sending() {
    let app = TestApp::start().await;
    let upload = Upload::through(&app, DEPRECATED, json!({})).await;
    // As browsers do, it sends all before it reads: more than sockets hold, so somebody must take it.
    let body = vec![7; 16 << 20];
    let range = format!("bytes 0-{}/{}", body.len() - 1, Registered::DEPRECATED_SIZE_MAX + 1);
    let mut sending =
        upload.request(&app, "PUT").header("Content-Range", &range).body(body.clone()).begin(0).await;
    sending.send(body.len()).await;
    assert_eq!(sending.answer().await.refusal(), (413, "payload too large".to_owned()));
}
