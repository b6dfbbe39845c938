//! tus 1.0.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use kinora_testkit::fixture;
use serde_json::json;

use super::{Transcript, Upload, still};
use crate::support::{Request, TestApp};

const TYPE: &str = "application/offset+octet-stream";

fn tus(app: &TestApp, upload: &Upload, method: &str) -> Request {
    upload.request(app, method).header("Tus-Resumable", "1.0.0")
}

fn patch(app: &TestApp, upload: &Upload, offset: usize, bytes: Bytes) -> Request {
    let request = tus(app, upload, "PATCH").header("Content-Type", TYPE);
    request.header("Upload-Offset", &offset.to_string()).body(bytes)
}

#[tokio::test]
async fn tus_upload_resumes() {
    let app = still().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let total = file.len().to_string();
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    transcript.send("what can be asked", upload.request(&app, "OPTIONS")).await;
    let create = || {
        tus(&app, &upload, "POST")
            .header("Upload-Length", &total)
            .header("Upload-Metadata", "filename YS5tcDQ=")
    };
    let created = transcript.send("creation", create()).await;
    assert_eq!(created.header("location"), Some(app.url(&upload.path).as_str()), "it is the address itself");
    transcript.send("creation again", create()).await;
    transcript.send("nothing yet", tus(&app, &upload, "HEAD")).await;
    transcript.send("bytes", patch(&app, &upload, 0, file.slice(..5000))).await;
    transcript.send("where it stands", tus(&app, &upload, "HEAD")).await;
    transcript.send("the same bytes", patch(&app, &upload, 0, file.slice(..5000))).await;
    transcript.send("a gap", patch(&app, &upload, 6000, file.slice(6000..7000))).await;
    let method = upload
        .request(&app, "POST")
        .header("X-HTTP-Method-Override", "PATCH")
        .header("Tus-Resumable", "1.0.0");
    let method =
        method.header("Content-Type", TYPE).header("Upload-Offset", "5000").body(file.slice(5000..6000));
    transcript.send("a method in a header", method).await;
    transcript.send("the rest", patch(&app, &upload, 6000, file.slice(6000..))).await;
    transcript.send("it is complete", tus(&app, &upload, "HEAD")).await;
    transcript.send("the rest again", patch(&app, &upload, 6000, file.slice(6000..))).await;
    transcript.send("nothing at the end", patch(&app, &upload, file.len(), Bytes::new())).await;
    transcript.send("creation of the complete one", create()).await;
    transcript.send("cancelling the complete one", tus(&app, &upload, "DELETE")).await;
    insta::assert_snapshot!(transcript.text);
    upload.ready(&app).await;
}

#[tokio::test]
async fn creation_may_defer_length_and_carry_bytes() {
    let app = still().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    let create = tus(&app, &upload, "POST").header("Upload-Defer-Length", "1");
    let create = create.header("Content-Type", TYPE).body(file.slice(..5000));
    transcript.send("creation with bytes", create).await;
    transcript.send("no length yet", tus(&app, &upload, "HEAD")).await;
    let rest = patch(&app, &upload, 5000, file.slice(5000..7000));
    transcript.send("bytes and the length", rest.header("Upload-Length", &file.len().to_string())).await;
    let other = patch(&app, &upload, 7000, file.slice(7000..8000)).header("Upload-Length", "9000");
    transcript.send("another length", other).await;
    transcript.send("the rest", patch(&app, &upload, 7000, file.slice(7000..))).await;
    insta::assert_snapshot!(transcript.text);
    upload.ready(&app).await;
}

#[tokio::test]
async fn tus_checksum_mismatch_is_460() {
    let app = still().await;
    let (upload, file) = (Upload::new(&app).await, fixture::two_seconds());
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    transcript
        .send("creation", tus(&app, &upload, "POST").header("Upload-Length", &file.len().to_string()))
        .await;
    // SHA-1 of "abc" (FIPS 180-4).
    let abc = "sha1 qZk+NkcGgWq6PiVxeFDCbJzQ2J0=";
    let patch_with =
        |checksum: &str| patch(&app, &upload, 0, file.slice(..5000)).header("Upload-Checksum", checksum);
    transcript.send("another checksum", patch_with(abc)).await;
    transcript.send("nothing of it is kept", tus(&app, &upload, "HEAD")).await;
    transcript.send("another algorithm", patch_with("md5 kAFQmDzST7DWlj99KOF/cg==")).await;
    transcript.send("no checksum", patch_with("sha1 abc")).await;
    for (at, algorithm) in [(0, "sha1"), (5000, "sha256")] {
        let bytes = file.slice(at..at + 5000);
        let checksum = format!("{algorithm} {}", STANDARD.encode(digest(algorithm, &bytes)));
        let right = patch(&app, &upload, at, bytes).header("Upload-Checksum", &checksum);
        transcript.send("the right checksum", right).await;
    }
    insta::assert_snapshot!(transcript.text);
    let rest = patch(&app, &upload, 10_000, file.slice(10_000..)).send().await;
    assert_eq!(rest.status, 204, "{rest:?}");
    upload.ready(&app).await;
}

fn digest(algorithm: &str, bytes: &[u8]) -> Vec<u8> {
    use sha2::Digest as _;
    match algorithm {
        "sha1" => sha1::Sha1::digest(bytes).to_vec(),
        _ => sha2::Sha256::digest(bytes).to_vec(),
    }
}

#[tokio::test]
async fn invalid_request_is_protocol_error() {
    let app = still().await;
    let (upload, file) =
        (Upload::through(&app, "/v1/on-demand/uploads", json!({})).await, fixture::two_seconds());
    let mut transcript = Transcript::new(upload.golden(&app, &file));
    transcript.send("another version", upload.request(&app, "HEAD").header("Tus-Resumable", "0.2.2")).await;
    transcript.send("another method", tus(&app, &upload, "PUT").body(file.clone())).await;
    transcript.send("no length", tus(&app, &upload, "POST")).await;
    transcript.send("an empty file", tus(&app, &upload, "POST").header("Upload-Length", "0")).await;
    transcript
        .send("too large a file", tus(&app, &upload, "POST").header("Upload-Length", "500000001"))
        .await;
    let other_type = tus(&app, &upload, "PATCH").header("Upload-Offset", "0").body(file.slice(..10));
    transcript.send("another type", other_type).await;
    let doubled = patch(&app, &upload, 0, file.slice(..10)).header("Upload-Offset", "0");
    transcript.send("two offsets", doubled).await;
    let beyond = patch(&app, &upload, 0, file.slice(..10)).header("Upload-Length", "9");
    transcript.send("more bytes than announced", beyond).await;
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "waiting", "nothing was written");
    transcript.send("a length", tus(&app, &upload, "POST").header("Upload-Length", "9")).await;
    transcript.send("more bytes than announced before", patch(&app, &upload, 0, file.slice(..10))).await;
    transcript.send("another length", tus(&app, &upload, "POST").header("Upload-Length", "10")).await;
    transcript.send("cancelled", tus(&app, &upload, "DELETE")).await;
    transcript.send("cancelled again", tus(&app, &upload, "DELETE")).await;
    transcript.send("asked after that", tus(&app, &upload, "HEAD")).await;
    transcript.send("sent after that", patch(&app, &upload, 0, file.slice(..9))).await;
    transcript.send("created after that", tus(&app, &upload, "POST").header("Upload-Length", "9")).await;
    insta::assert_snapshot!(transcript.text);
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "cancelled");
}
