//! An upload that starts with one protocol and ends with another, and a killed server that continues with
//! the stored bytes.

use kinora_testkit::fixture;

use super::{Upload, long};
use crate::support::{Request, TestApp};

fn tus(app: &TestApp, upload: &Upload, method: &str) -> Request {
    upload.request(app, method).header("Tus-Resumable", "1.0.0")
}

#[tokio::test]
async fn upload_resumes_across_four_protocols() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let stored = upload.chunk(&app, &file, 0..3000).send().await;
    assert_eq!((stored.status, stored.header("range")), (308, Some("bytes=0-2999")), "{stored:?}");

    let head = tus(&app, &upload, "HEAD").send().await;
    let found = (head.header("upload-offset"), head.header("upload-length").map(str::to_owned));
    assert_eq!(found, (Some("3000"), Some(file.len().to_string())));
    let patch = tus(&app, &upload, "PATCH").header("Content-Type", "application/offset+octet-stream");
    let patched = patch.header("Upload-Offset", "3000").body(file.slice(3000..6000)).send().await;
    assert_eq!((patched.status, patched.header("upload-offset")), (204, Some("6000")), "{patched:?}");

    assert_eq!(upload.offset(&app).await, (6000, false));
    let append = upload.request(&app, "PATCH").header("Content-Type", "application/partial-upload");
    let append = append.header("Upload-Offset", "6000").header("Upload-Complete", "?0");
    let appended = append.body(file.slice(6000..9000)).send().await;
    assert_eq!((appended.status, appended.header("upload-offset")), (204, Some("9000")), "{appended:?}");

    let full = upload.request(&app, "PUT").body(file.clone()).send().await;
    assert_eq!(full.status, 200, "stored bytes are skipped: {full:?}");
    assert_eq!(upload.ready(&app).await["duration"], app.ready("/a.mp4", file).await["duration"]);
}

#[tokio::test]
async fn acknowledged_bytes_survive_kill() {
    let mut app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, long());
    let half = file.len() / 2;
    let stored = upload.chunk(&app, &file, 0..half).send().await;
    assert_eq!(stored.status, 308, "{stored:?}");
    app.restart().await;
    assert_eq!(upload.offset(&app).await, (half as u64, false));
    let rest = tus(&app, &upload, "PATCH").header("Content-Type", "application/offset+octet-stream");
    let rest = rest.header("Upload-Offset", &half.to_string()).body(file.slice(half..)).send().await;
    assert_eq!(rest.status, 204, "{rest:?}");
    upload.ready(&app).await;
    app.restart().await;
    assert_eq!(upload.offset(&app).await, (file.len() as u64, true), "it is still complete");
}
