//! One `PUT` with the whole file.

use kinora_testkit::fixture;

use super::{Transcript, Upload, still};
use crate::support::{Request, TestApp};

#[tokio::test]
async fn repeated_put_is_idempotent() {
    let app = still().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    transcript.send("the whole file", upload.request(&app, "PUT").body(file.clone())).await;
    upload.ready(&app).await;
    let media = app.get(&upload.id).await.data();
    assert_eq!(media["id"], upload.id.as_str());
    let again = transcript.send("the same again", upload.request(&app, "PUT").body(file.clone())).await;
    assert_eq!(again.status, 200);
    let other = upload.request(&app, "PUT").body(file.slice(1..));
    transcript.send("a file of another length", other).await;
    insta::assert_snapshot!(transcript.text);
    assert_eq!(app.get(&upload.id).await.data(), media);
    assert_eq!(app.call("GET", "/v1/on-demand").send().await.json()["pagination"]["totalRecords"], 1);
}

#[tokio::test]
async fn chunked_body_without_content_length_is_accepted() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let answer = chunked(upload.request(&app, "PUT"), &file).send().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    upload.ready(&app).await;
}

#[tokio::test]
async fn chunked_body_beyond_upload_length_is_400() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let create = upload.request(&app, "POST").header("Upload-Complete", "?0").header("Upload-Length", "1");
    assert_eq!(create.send().await.status, 201);
    let answer = chunked(upload.request(&app, "PUT"), &file).send().await;
    assert_eq!(answer.refusal(), (400, "bad request".to_owned()));
    assert_eq!(upload.offset(&app).await, (0, false));
    assert_eq!(upload.listed(&app).await.expect("no file came of it")["status"], "waiting");
    assert_eq!(app.get(&upload.id).await.status, 404, "there is no media");
}

/// Sends these bytes as a chunked body, without a length.
pub(super) fn chunked(request: Request, bytes: &[u8]) -> Request {
    let mut body = Vec::new();
    for chunk in bytes.chunks(10_000) {
        body.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        body.extend_from_slice(chunk);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"0\r\n\r\n");
    request.header("Transfer-Encoding", "chunked").body(body)
}

#[tokio::test]
async fn ios_17_put_headers_are_accepted() {
    let app = TestApp::start().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let put = upload.request(&app, "PUT").header("Upload-Draft-Interop-Version", "3");
    let answer = put.header("Upload-Incomplete", "?0").body(file).send().await;
    assert_eq!((answer.status, answer.header("upload-draft-interop-version")), (200, None), "{answer:?}");
    upload.ready(&app).await;
}

#[tokio::test]
async fn empty_gzipped_and_non_media_files_are_rejected() {
    let app = still().await;
    let (file, html) = (fixture::two_seconds(), fixture::not_media::html());
    let (empty, packed, foreign) =
        (Upload::new(&app).await, Upload::new(&app).await, Upload::new(&app).await);
    let mut transcript = Transcript::new(foreign.golden(&app, &html));
    transcript.send("no byte", empty.request(&app, "PUT")).await;
    let gzip = packed.request(&app, "PUT").header("Content-Encoding", "gzip").body(file.clone());
    transcript.send("packed", gzip).await;
    for upload in [&empty, &packed] {
        assert_eq!(
            upload.listed(&app).await.expect("it is there")["status"],
            "waiting",
            "nothing was written"
        );
    }
    transcript.send("a page", foreign.request(&app, "PUT").body(html.clone())).await;
    transcript.send("a page again", foreign.request(&app, "PUT").body(html)).await;
    insta::assert_snapshot!(transcript.text);

    let failed = foreign.listed(&app).await.expect("no file came of it");
    assert_eq!((&failed["status"], &failed["error"]["code"]), (&"failed".into(), &"not_media".into()));
    assert_eq!(app.wait_settled(&foreign.id).await["error"], failed["error"], "the media says the same");
}

/// A form as `curl -F file=@talk.mp4` sends it.
fn form(file: &[u8]) -> Vec<u8> {
    let head = b"--xyz\r\nContent-Disposition: form-data; name=\"file\"; filename=\"talk.mp4\"\r\n\r\n";
    [head.as_slice(), file, b"\r\n--xyz--\r\n"].concat()
}

#[tokio::test]
async fn form_is_415_and_the_upload_stays_usable() {
    let app = TestApp::start().await;
    let file = fixture::two_seconds();
    let chunk = format!("bytes 0-{}/*", form(&file).len() - 1);
    let headers: [(&str, &str, &str, &str); 5] = [
        ("PUT", "multipart/form-data; boundary=xyz", "", ""),
        ("PUT", "video/mp4; boundary=xyz", "", ""),
        ("PUT", "multipart/form-data; boundary=xyz", "Content-Range", &chunk),
        ("PUT", "multipart/form-data; boundary=xyz", "Upload-Complete", "?1"),
        ("POST", "multipart/related; boundary=xyz", "Upload-Complete", "?1"),
    ];
    let upload = Upload::new(&app).await;
    for (method, content_type, name, value) in headers {
        let request = upload.request(&app, method).header("Content-Type", content_type).body(form(&file));
        let request = if name.is_empty() { request } else { request.header(name, value) };
        let answer = request.send().await;
        assert_eq!(answer.status, 415, "{method} {content_type} {name}: {answer:?}");
        assert!(answer.text().contains("curl -T FILE URL"), "{answer:?}");
    }
    assert_eq!(upload.offset(&app).await, (0, false), "nothing is stored");
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "waiting");
    assert_eq!(app.get(&upload.id).await.status, 404, "there is no media");

    // `curl -T` sends no content type.
    assert_eq!(upload.request(&app, "PUT").body(file).send().await.status, 200);
    upload.ready(&app).await;
}

#[tokio::test]
async fn content_type_of_the_request_is_ignored() {
    let app = TestApp::start().await;
    // `curl -X PUT --data-binary @talk.mp4`, HTTP clients with one content type for all requests, browsers,
    // shells.
    for content_type in [
        "application/x-www-form-urlencoded",
        "application/json",
        "application/octet-stream",
        "text/plain;charset=UTF-8",
        "video/quicktime",
        "",
    ] {
        let upload = Upload::new(&app).await;
        let put = upload.request(&app, "PUT").header("Content-Type", content_type);
        let answer = put.body(fixture::two_seconds()).send().await;
        assert_eq!(answer.status, 200, "{content_type}: {answer:?}");
        upload.ready(&app).await;
    }
}
