//! Resumable Uploads for HTTP, in the versions that clients use.

use bytes::Bytes;
use kinora_testkit::fixture;
use serde_json::json;

use super::{Transcript, Upload, still};
use crate::support::{Request, TestApp};

/// A request of this interop version; `None` for the final standard, which has no version.
fn draft(app: &TestApp, upload: &Upload, version: Option<u8>, method: &str) -> Request {
    let request = upload.request(app, method);
    match version {
        Some(version) => request.header("Upload-Draft-Interop-Version", &version.to_string()),
        None => request,
    }
}

fn append(
    app: &TestApp,
    upload: &Upload,
    version: Option<u8>,
    offset: usize,
    complete: &str,
    bytes: Bytes,
) -> Request {
    let request = draft(app, upload, version, "PATCH");
    // The content type was introduced after version 5.
    let request = if version == Some(5) {
        request
    } else {
        request.header("Content-Type", "application/partial-upload")
    };
    request.header("Upload-Offset", &offset.to_string()).header("Upload-Complete", complete).body(bytes)
}

#[tokio::test]
async fn draft_upload_resumes_in_every_version() {
    let file = fixture::two_seconds();
    for version in [Some(5), Some(6), Some(8), None] {
        let app = still().await;
        let upload = Upload::new(&app).await;
        let mut transcript = Transcript::new(upload.golden(&app, &file));
        let create = draft(&app, &upload, version, "POST").header("Upload-Complete", "?0");
        let create = create.header("Upload-Length", &file.len().to_string());
        let created = transcript.send("creation", create).await;
        assert_eq!(
            created.header("location"),
            Some(app.url(&upload.path).as_str()),
            "it is the address itself"
        );
        transcript.send("nothing yet", draft(&app, &upload, version, "HEAD")).await;
        transcript.send("bytes", append(&app, &upload, version, 0, "?0", file.slice(..5000))).await;
        transcript.send("where it stands", draft(&app, &upload, version, "HEAD")).await;
        transcript.send("a gap", append(&app, &upload, version, 6000, "?0", file.slice(6000..7000))).await;
        transcript.send("the rest", append(&app, &upload, version, 5000, "?1", file.slice(5000..))).await;
        transcript.send("it is complete", draft(&app, &upload, version, "HEAD")).await;
        transcript
            .send("the end again", append(&app, &upload, version, file.len(), "?1", Bytes::new()))
            .await;
        transcript
            .send("the rest again", append(&app, &upload, version, 5000, "?1", file.slice(5000..)))
            .await;
        transcript.send("cancelling the complete one", draft(&app, &upload, version, "DELETE")).await;
        let name = version.map_or("standard".to_owned(), |version| format!("version_{version}"));
        insta::assert_snapshot!(name, transcript.text);
        upload.ready(&app).await;
    }
}

#[tokio::test]
async fn creation_may_carry_the_whole_file() {
    let app = still().await;
    let file = fixture::two_seconds();
    for method in ["POST", "PUT"] {
        let upload = Upload::new(&app).await;
        let mut transcript = Transcript::new(upload.golden(&app, &file));
        let full_upload =
            || draft(&app, &upload, Some(8), method).header("Upload-Complete", "?1").body(file.clone());
        transcript.send("the whole file", full_upload()).await;
        transcript.send("again", full_upload()).await;
        insta::assert_snapshot!(format!("whole_{method}"), transcript.text);
        upload.ready(&app).await;
    }
}

#[tokio::test]
async fn length_may_be_unknown_until_upload_complete() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let create = draft(&app, &upload, Some(8), "POST").header("Upload-Complete", "?0").body(file.clone());
    let created = create.send().await;
    assert_eq!((created.status, created.header("upload-complete")), (201, Some("?0")), "{created:?}");
    assert_eq!(upload.offset(&app).await, (file.len() as u64, false));
    let end = append(&app, &upload, Some(8), file.len(), "?1", Bytes::new()).send().await;
    assert_eq!((end.status, end.header("upload-complete")), (204, Some("?1")), "{end:?}");
    upload.ready(&app).await;
}

#[tokio::test]
async fn invalid_draft_request_is_problem_json() {
    let app = still().await;
    let (upload, file) =
        (Upload::through(&app, "/v1/on-demand/uploads", json!({})).await, fixture::two_seconds());
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    let post = || draft(&app, &upload, Some(8), "POST");
    let more = |length: &str| post().header("Upload-Complete", "?0").header("Upload-Length", length);
    transcript
        .send("another version", draft(&app, &upload, Some(3), "POST").header("Upload-Complete", "?0"))
        .await;
    transcript.send("no completeness", post().body(file.slice(..10))).await;
    transcript
        .send("two of it", post().header("Upload-Complete", "?0").header("Upload-Complete", "?1"))
        .await;
    transcript.send("an empty file", post().header("Upload-Complete", "?1")).await;
    transcript.send("too large a file", more("500000001")).await;
    transcript.send("a length that is none", more("-1")).await;
    transcript.send("a length and another body", more("9").body(file.slice(..10))).await;
    let plain =
        draft(&app, &upload, Some(8), "PATCH").header("Upload-Offset", "0").header("Upload-Complete", "?0");
    transcript.send("another type", plain.body(file.slice(..10))).await;
    transcript
        .send("two protocols", more("10").header("Content-Range", "bytes 0-9/10").body(file.slice(..10)))
        .await;
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "waiting", "nothing was written");
    transcript.send("a length", more("100")).await;
    transcript.send("another length", more("101")).await;
    transcript
        .send("an end before the announced one", append(&app, &upload, Some(8), 0, "?1", file.slice(..10)))
        .await;
    transcript
        .send("more bytes than announced", append(&app, &upload, Some(8), 0, "?0", file.slice(..101)))
        .await;
    transcript.send("cancelled", draft(&app, &upload, Some(8), "DELETE")).await;
    transcript.send("asked after that", draft(&app, &upload, Some(8), "HEAD")).await;
    transcript.send("sent after that", append(&app, &upload, Some(8), 0, "?0", file.slice(..10))).await;
    insta::assert_snapshot!(transcript.text);
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "cancelled");
}
