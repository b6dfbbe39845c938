//! The deprecated path accepts 500 MB, the current one any size (C-145).

use kinora_domain::Upload as Registered;
use kinora_testkit::fixture;
use serde_json::json;

use super::{Transcript, Upload, still};
use crate::support::TestApp;

const DEPRECATED: &str = "/v1/on-demand/uploads";

#[tokio::test]
async fn size_above_deprecated_limit_is_413_before_the_body() {
    let app = still().await;
    let (upload, file) = (Upload::through(&app, DEPRECATED, json!({})).await, fixture::two_seconds());
    let (max, over) = (Registered::DEPRECATED_SIZE_MAX, (Registered::DEPRECATED_SIZE_MAX + 1).to_string());
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    let chunk = format!("bytes 0-9/{over}");
    let chunk = upload.request(&app, "PUT").header("Content-Range", &chunk).body(file.slice(..10));
    transcript.send("a chunk of a longer file", chunk).await;
    // The client waits for `100 Continue`, and gets an error instead.
    let full_upload = || {
        let request = upload.request(&app, "PUT").header("Expect", "100-continue");
        request.header("Content-Length", &over)
    };
    let answer = full_upload().body(file.clone()).begin(0).await.answer().await;
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
async fn current_path_accepts_sizes_above_the_deprecated_limit() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let chunk = format!("bytes 0-4999/{}", Registered::DEPRECATED_SIZE_MAX + 1);
    let chunk = upload.request(&app, "PUT").header("Content-Range", &chunk).body(file.slice(..5000));
    let stored = chunk.send().await;
    assert_eq!((stored.status, stored.header("range")), (308, Some("bytes=0-4999")), "{stored:?}");
}

#[tokio::test]
async fn status_413_reaches_a_client_that_keeps_sending() {
    let app = TestApp::start().await;
    let upload = Upload::through(&app, DEPRECATED, json!({})).await;
    // Like a browser, it sends everything before it reads: more than socket buffers hold, so the server must
    // read it.
    let body = vec![7; 16 << 20];
    let range = format!("bytes 0-{}/{}", body.len() - 1, Registered::DEPRECATED_SIZE_MAX + 1);
    let mut sending =
        upload.request(&app, "PUT").header("Content-Range", &range).body(body.clone()).begin(0).await;
    sending.send(body.len()).await;
    assert_eq!(sending.answer().await.refusal(), (413, "payload too large".to_owned()));
}
