use std::time::Duration;

use super::*;
use crate::http::testing::exchange;

const DEADLINE: Duration = Duration::from_secs(60);
const ETAG: &str = "\"bef57ec7f53a6d40\""; // the first 8 bytes of the SHA-256 of "abcdef"

/// The response to a GET of `/x` with these additional header lines.
async fn get(server: &SourceServer, headers: &str) -> String {
    exchange(&server.url("/"), &format!("GET /x HTTP/1.1\r\n{headers}\r\n")).await
}

async fn served(source: Source) -> SourceServer {
    let server = SourceServer::start().await;
    server.serve("/x", source);
    server
}

#[tokio::test]
async fn default_source_serves_ranges() {
    let server = served(Source::of("abcdef").content_type("video/mp4")).await;
    let check = async |headers: &str, status: &str, more: &str, body: &str| {
        let expected = format!(
            "HTTP/1.1 {status}\r\naccept-ranges: bytes\r\netag: {ETAG}\r\ncontent-type: video/mp4\r\n{more}content-length: {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(get(&server, headers).await, expected, "{headers}");
    };
    check("", "200 OK", "", "abcdef").await;
    check("Range: bytes=0-0\r\n", "206 Partial Content", "content-range: bytes 0-0/6\r\n", "a").await;
    check("Range: bytes=2-\r\n", "206 Partial Content", "content-range: bytes 2-5/6\r\n", "cdef").await;
    check("Range: bytes=4-99\r\n", "206 Partial Content", "content-range: bytes 4-5/6\r\n", "ef").await;
    check("Range: bytes=-2\r\n", "206 Partial Content", "content-range: bytes 4-5/6\r\n", "ef").await;
    let same = format!("Range: bytes=2-\r\nIf-Range: {ETAG}\r\n");
    check(&same, "206 Partial Content", "content-range: bytes 2-5/6\r\n", "cdef").await;
    check("Range: bytes=2-\r\nIf-Range: \"other\"\r\n", "200 OK", "", "abcdef").await;
    check("Range: bytes=0-1,3-4\r\n", "200 OK", "", "abcdef").await;

    let outside =
        "HTTP/1.1 416 Range Not Satisfiable\r\ncontent-range: bytes */6\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(get(&server, "Range: bytes=6-\r\n").await, outside);
    assert_eq!(server.ranges("/x")[..2], [None, Some("bytes=0-0".to_owned())]);
    assert_eq!(server.requests("/x").len(), 9);
    assert_eq!(server.requests("/other").len(), 0);
}

#[tokio::test]
async fn scripted_responses_are_served() {
    let check = async |source: Source, headers: &str, expected: &str| {
        let server = served(source.clone()).await;
        assert_eq!(get(&server, headers).await, expected, "{source:?}");
    };
    let plain = Source::of("abcdef").without_etag().without_ranges();
    check(plain.clone(), "Range: bytes=2-\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabcdef").await;
    check(
        plain.clone().chunked(),
        "",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nabcdef\r\n0\r\n\r\n",
    )
    .await;
    check(plain.clone().until_close(), "", "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabcdef").await;
    check(plain.clone().claiming_length(9), "", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabcdef").await;
    check(plain.clone().cut_always(2), "", "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nab").await;
    check(
        plain.chunked().cut_once(2),
        "",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n",
    )
    .await;
    check(Source::refused(404), "", "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
    check(
        Source::redirect("http://10.0.0.1/"),
        "",
        "HTTP/1.1 302 Found\r\nlocation: http://10.0.0.1/\r\ncontent-length: 0\r\n\r\n",
    )
    .await;
}

#[tokio::test]
async fn scripted_errors_and_cuts_occur_the_given_times() {
    let server = served(Source::of("abcdef").refused_first(2, 503, Some(7)).cut_once(3)).await;
    let refusal = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(get(&server, "").await, refusal);
    assert_eq!(get(&server, "").await, refusal);
    assert!(get(&server, "").await.ends_with("\r\n\r\nabc"));
    assert!(get(&server, "Range: bytes=3-\r\n").await.ends_with("\r\n\r\ndef"));
    assert!(get(&server, "").await.ends_with("\r\n\r\nabcdef"));

    // Every response makes progress, so that a client that retries gets all bytes.
    let server = served(Source::of("abcdef").cut_always(4)).await;
    assert!(get(&server, "").await.ends_with("\r\n\r\nabcd"));
    assert!(get(&server, "Range: bytes=4-\r\n").await.ends_with("\r\n\r\nef"));
}

#[tokio::test]
async fn changed_or_weak_etag_in_if_range_sends_whole() {
    let server = served(Source::of("abcdef").with_changing_etag()).await;
    let first = get(&server, "").await;
    let etag = first.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    let second = get(&server, &format!("Range: bytes=2-\r\nIf-Range: {etag}\r\n")).await;
    assert!(second.starts_with("HTTP/1.1 200 OK\r\n"));

    let server = served(Source::of("abcdef").with_weak_etag()).await;
    let second = get(&server, &format!("Range: bytes=2-\r\nIf-Range: W/{ETAG}\r\n")).await;
    assert!(second.starts_with("HTTP/1.1 200 OK\r\n"));
}

#[tokio::test]
async fn gated_bytes_are_sent_only_when_allowed() {
    let server = served(Source::of("abcdef").gated_at(2)).await;
    let url = server.url("/");
    let client = tokio::spawn(async move { exchange(&url, "GET /x HTTP/1.1\r\n\r\n").await });
    assert_eq!(server.wait_until_held("/x", DEADLINE).await, 2);
    assert_eq!(server.bytes_sent("/x"), 2);
    for position in 3..6 {
        server.allow("/x", position);
        server.paths.wait_until(|paths| (paths["/x"].waiting_at == Some(position)).then_some(())).await;
        assert_eq!(server.bytes_sent("/x"), position);
    }
    assert!(!client.is_finished());
    server.release("/x");
    assert!(client.await.unwrap().ends_with("\r\n\r\nabcdef"));
}

#[tokio::test]
async fn hold_last_byte_waits_for_release() {
    let server = served(Source::of("abcdef").gate_last_byte()).await;
    let url = server.url("/");
    let client = tokio::spawn(async move { exchange(&url, "GET /x HTTP/1.1\r\n\r\n").await });
    assert_eq!(server.wait_until_held("/x", DEADLINE).await, 5);
    server.release("/x");
    assert!(client.await.unwrap().ends_with("\r\n\r\nabcdef"));
}

#[tokio::test]
async fn silent_source_records_the_request() {
    let server = served(Source::silent()).await;
    let url = server.url("/");
    let client = tokio::spawn(async move { exchange(&url, "GET /x HTTP/1.1\r\n\r\n").await });
    assert_eq!(server.wait_for_requests("/x", 1, DEADLINE).await.len(), 1);
    assert!(!client.is_finished());
    drop(server);
    assert_eq!(client.await.unwrap(), "");
}
