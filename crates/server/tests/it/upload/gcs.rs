//! The resumable protocol of the web uploader (C-146, C-147, C-148, C-150).

use kinora_testkit::fixture;

use super::plain_put::chunked;
use super::{Transcript, Upload, still};
use crate::support::{Request, TestApp};

fn start(request: Request) -> Request {
    request.header("x-goog-resumable", "start").header("Content-Type", "video/mp4")
}

fn ask(app: &TestApp, upload: &Upload, total: &str) -> Request {
    start(upload.request(app, "PUT")).header("Content-Range", &format!("bytes */{total}"))
}

#[tokio::test]
async fn chunks_may_be_repeated_or_overlap() {
    let app = still().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let total = file.len().to_string();
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    let session = transcript.send("a session", start(upload.request(&app, "POST"))).await;
    assert_eq!(session.header("location"), Some(app.url(&upload.path).as_str()), "it is the address itself");
    transcript.send("nothing yet", ask(&app, &upload, &total)).await;
    transcript.send("a chunk", upload.chunk(&app, &file, 0..5000)).await;
    transcript.send("the same chunk", upload.chunk(&app, &file, 0..5000)).await;
    transcript.send("a session again", start(upload.request(&app, "POST"))).await;
    transcript.send("where it stands", ask(&app, &upload, &total)).await;
    transcript.send("where it stands, without a total", ask(&app, &upload, "*")).await;
    transcript.send("a gap", upload.chunk(&app, &file, 6000..7000)).await;
    transcript.send("an overlap", upload.chunk(&app, &file, 4000..8000)).await;
    transcript.send("the last one", upload.chunk(&app, &file, 8000..file.len())).await;
    upload.ready(&app).await;
    transcript.send("the last one again", upload.chunk(&app, &file, 8000..file.len())).await;
    transcript.send("it is complete", ask(&app, &upload, &total)).await;
    insta::assert_snapshot!(transcript.text);
}

#[tokio::test]
async fn gcs_total_may_follow_with_last_chunk_and_is_fixed() {
    let app = still().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    let range = |range: &str| upload.request(&app, "PUT").header("Content-Range", range);
    transcript.send("no total", range("bytes 0-4999/*").body(file.slice(..5000))).await;
    transcript.send("a total below it", range("bytes 0-4/5").body(file.slice(..5))).await;
    transcript.send("a total", upload.chunk(&app, &file, 5000..6000)).await;
    transcript.send("another total", range("bytes 6000-6999/10000").body(file.slice(6000..7000))).await;
    transcript.send("asked with another total", ask(&app, &upload, "10000")).await;
    transcript.send("no total again", range("bytes 6000-6999/*").body(file.slice(6000..7000))).await;
    let end = format!("bytes 7000-{}/*", file.len() - 1);
    transcript.send("the end, without a total", range(&end).body(file.slice(7000..))).await;
    transcript.send("asked with another total at the end", ask(&app, &upload, "10000")).await;
    insta::assert_snapshot!(transcript.text);
    upload.ready(&app).await;
}

#[tokio::test]
async fn unknown_total_completes_with_an_empty_put() {
    let app = still().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    let range = |range: &str| upload.request(&app, "PUT").header("Content-Range", range);
    let (end, total) = (format!("bytes 5000-{}/*", file.len() - 1), file.len().to_string());
    transcript.send("a chunk", range("bytes 0-4999/*").body(file.slice(..5000))).await;
    transcript.send("a question with a total beyond it", ask(&app, &upload, &total)).await;
    transcript.send("the last chunk", range(&end).body(file.slice(5000..))).await;
    transcript.send("a total below it", ask(&app, &upload, "10")).await;
    transcript.send("the total", range(&format!("bytes */{total}"))).await;
    transcript.send("the total again", ask(&app, &upload, &total)).await;
    transcript.send("another total", ask(&app, &upload, "10")).await;
    insta::assert_snapshot!(transcript.text);
    upload.ready(&app).await;
}

#[tokio::test]
async fn range_without_a_last_byte_ends_with_the_body() {
    let app = TestApp::start().await;
    let file = fixture::two_seconds();
    let total = file.len().to_string();
    let full_upload = |upload: &Upload, range: &str| {
        let request = upload.request(&app, "PUT").header("Content-Range", range);
        chunked(request.header("Content-Type", "video/mp4"), &file)
    };
    for range in ["bytes 0-*/*", &format!("bytes 0-*/{total}")] {
        let upload = Upload::new(&app).await;
        assert_eq!(full_upload(&upload, range).send().await.status, 200, "{range}");
        upload.ready(&app).await;
        assert_eq!(full_upload(&upload, range).send().await.status, 200, "{range} again");
        assert_eq!(ask(&app, &upload, &total).send().await.status, 200, "{range}");
    }

    // A broken stream continues after the stored bytes, and may have no bytes left.
    let upload = Upload::new(&app).await;
    let put = |range: &str| upload.request(&app, "PUT").header("Content-Range", range);
    assert_eq!(put("bytes 0-4999/*").body(file.slice(..5000)).send().await.status, 308);
    let gap = put("bytes 5001-*/*").body(file.slice(5001..)).send().await;
    assert_eq!((gap.status, gap.header("range")), (308, Some("bytes=0-4999")));
    let part = put(&format!("bytes 5000-*/{total}")).body(file.slice(5000..6000)).send().await;
    assert_eq!((part.status, part.header("range")), (308, Some("bytes=0-5999")));
    assert_eq!(put("bytes 6000-*/*").body(file.slice(6000..)).send().await.status, 200);
    upload.ready(&app).await;

    let upload = Upload::new(&app).await;
    let put = |range: &str| upload.request(&app, "PUT").header("Content-Range", range);
    let end = format!("bytes 0-{}/*", file.len() - 1);
    assert_eq!(put(&end).body(file.clone()).send().await.status, 308);
    assert_eq!(put(&format!("bytes {total}-*/*")).send().await.status, 200);
    upload.ready(&app).await;

    let upload = Upload::new(&app).await;
    let empty = chunked(upload.request(&app, "PUT").header("Content-Range", "bytes 0-*/*"), b"");
    assert_eq!(empty.send().await.status, 422, "no byte");
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "waiting");
}

#[tokio::test]
async fn invalid_request_is_protocol_error() {
    let app = still().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    let put = |range: &str| upload.request(&app, "PUT").header("Content-Range", range);
    transcript.send("more bytes than announced", put("bytes 0-9/10").body(file.slice(..11))).await;
    transcript.send("a range that is none", put("bytes 9-0/10").body(file.slice(..10))).await;
    transcript
        .send("two ranges", put("bytes 0-9/*").header("Content-Range", "bytes 0-8/*").body(file.slice(..10)))
        .await;
    transcript.send("an empty file", put("bytes */0")).await;
    transcript.send("another word", upload.request(&app, "POST").header("x-goog-resumable", "begin")).await;
    transcript.send("its DELETE", upload.request(&app, "DELETE").header("x-goog-resumable", "start")).await;
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "waiting", "nothing was written");
    assert_eq!(upload.cancel(&app).await.status, 200);
    transcript.send("a session of a cancelled one", start(upload.request(&app, "POST"))).await;
    transcript.send("a question about it", ask(&app, &upload, "*")).await;
    transcript.send("a chunk of it", upload.chunk(&app, &file, 0..10)).await;
    insta::assert_snapshot!(transcript.text);
}
