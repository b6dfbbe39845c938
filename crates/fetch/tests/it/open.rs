//! Single responses: the request, accepted and rejected responses.

use kinora_fetch::{BodyStart, FetchError, Limits, StrongValidator, TimeoutPhase, Unreachable};
use tokio::net::TcpListener;
use url::Url;

use crate::clock::{StillClock, jumping, jumping_after};
use crate::server::{DRIP, Server, answer, cut, drip, hang, with_length};
use crate::sources::{check_refused, fetcher, fetcher_with, is_broken, is_cut, open, read, unhurried_limits};

#[tokio::test]
async fn request_has_user_agent_and_identity_encoding() {
    let server =
        Server::always(with_length("200 OK", "content-type: video/mp4\r\netag: \"v1\"\r\n", "media")).await;
    let mut response = open(&server).await.unwrap();

    assert_eq!(response.start, BodyStart::Beginning);
    assert_eq!(response.total, Some(5));
    assert_eq!(response.content_type.as_deref(), Some("video/mp4"));
    assert_eq!(response.validator.as_ref().map(StrongValidator::as_str), Some("\"v1\""));
    assert!(matches!(read(&mut response).await, (text, None) if text == "media"));
    let agent = concat!("Kinora/", env!("CARGO_PKG_VERSION"));
    assert_eq!(
        server.requests(),
        [format!(
            "GET /a.mp4?b=c HTTP/1.1\r\naccept-encoding: identity\r\naccept: */*\r\nhost: HOST\r\nuser-agent: {agent}\r\n\r\n"
        )]
    );
}

#[tokio::test]
async fn every_attempt_opens_a_new_connection() {
    let server = Server::always(with_length("200 OK", "", "media")).await;
    let fetcher = fetcher();
    for connections in [1, 2] {
        let mut response = fetcher.open(&server.url("/"), 0, None).await.unwrap();
        assert!(matches!(read(&mut response).await, (text, None) if text == "media"));
        assert_eq!(server.connections(), connections);
    }
}

#[tokio::test]
async fn body_without_content_length_is_read_to_its_end() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nmedia\r\n0\r\n\r\n";
    let mut response = open(&Server::always(chunked).await).await.unwrap();
    assert_eq!(response.total, None);
    assert!(matches!(read(&mut response).await, (text, None) if text == "media"));

    let mut response = open(&Server::start(|_, _| cut("HTTP/1.0 200 OK\r\n\r\nmedia")).await).await.unwrap();
    assert_eq!(response.total, None);
    assert!(matches!(read(&mut response).await, (text, None) if text == "media"));
}

#[tokio::test]
async fn body_shorter_than_announced_is_cut_and_retryable() {
    for bytes in [
        "HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nmedia",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nmedia\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nmedia",
    ] {
        let mut response = open(&Server::start(move |_, _| cut(bytes)).await).await.unwrap();
        let (text, error) = read(&mut response).await;
        assert_eq!(text, "media", "{bytes}");
        let error = error.unwrap();
        assert!(is_cut(&error) && !error.is_final(), "{bytes} gave {error:?}");
    }
}

#[tokio::test]
async fn body_is_cut_at_content_length() {
    let server = Server::always("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nmedia").await;
    assert!(matches!(read(&mut open(&server).await.unwrap()).await, (text, None) if text == "med"));
}

#[tokio::test]
async fn status_decides_whether_to_retry() {
    for status in [401, 403, 404, 410] {
        let is_it =
            |error: &FetchError| matches!(error, FetchError::NotFound { status: found } if *found == status);
        check_refused(with_length(&format!("{status} X"), "", ""), is_it, true).await;
    }
    for status in [204, 300, 304, 400, 405, 408, 416, 429, 451, 500, 502, 503, 504, 599] {
        let is_it = |error: &FetchError| matches!(error, FetchError::UnexpectedStatus { status: found, retry_after: None } if *found == status);
        check_refused(with_length(&format!("{status} X"), "", ""), is_it, false).await;
    }
}

#[tokio::test]
async fn retry_after_is_read_as_seconds_and_as_a_date() {
    for fields in [
        "retry-after: 120\r\n",
        "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nretry-after: Sun, 06 Nov 1994 08:51:37 GMT\r\n",
    ] {
        let is_it = |error: &FetchError| matches!(error, FetchError::UnexpectedStatus { status: 503, retry_after: Some(wait) } if wait.as_secs() == 120);
        check_refused(with_length("503 Busy", fields, ""), is_it, false).await;
    }
}

#[tokio::test]
async fn content_encoding_is_rejected() {
    let is_it = |error: &FetchError| matches!(error, FetchError::Encoded);
    for coding in ["gzip", "br", "deflate", "zstd", "identity, gzip", "GZIP"] {
        check_refused(with_length("200 OK", &format!("content-encoding: {coding}\r\n"), "x"), is_it, true)
            .await;
    }
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n";
    check_refused(chunked, is_it, true).await;

    let plain = Server::always(with_length("200 OK", "content-encoding: Identity\r\n", "media")).await;
    assert!(matches!(read(&mut open(&plain).await.unwrap()).await, (text, None) if text == "media"));
}

#[tokio::test]
async fn invalid_http_or_oversized_response_head_is_rejected() {
    check_refused("", is_broken, false).await;
    check_refused("SSH-2.0-OpenSSH_9.2\r\n", is_broken, false).await;
    check_refused("HTTP/1.1 200 OK\r\ncontent-length: five\r\n\r\nmedia", is_broken, false).await;
    check_refused("HTTP/1.1 206 Partial\r\ncontent-range: bytes 0-4/5\r\n\r\nmedia", is_broken, false).await;
    check_refused(with_length("200 OK", &"x: y\r\n".repeat(101), ""), is_broken, false).await;
    check_refused(with_length("200 OK", &format!("x: {}\r\n", "y".repeat(1 << 20)), ""), is_broken, false)
        .await;
}

#[tokio::test]
async fn content_length_above_limit_is_rejected_before_the_body() {
    let is_it =
        |error: &FetchError| matches!(error, FetchError::TooLarge { bytes_max } if *bytes_max == 1 << 40);
    check_refused(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", (1u64 << 40) + 1), is_it, true)
        .await;
    check_refused(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", u64::MAX - 2), is_it, true).await;

    let tebibyte = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", 1u64 << 40);
    let response = open(&Server::start(move |_, _| hang(tebibyte.clone())).await).await.unwrap();
    assert_eq!(response.total, Some(1 << 40));
}

#[tokio::test]
async fn chunked_source_is_too_large_at_the_limit() {
    let fetcher = fetcher_with(Limits { bytes_max: 7, ..unhurried_limits() });
    let server = Server::always(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n7\r\n1234567\r\n1\r\n8\r\n0\r\n\r\n",
    )
    .await;
    let mut response = fetcher.open(&server.url("/"), 0, None).await.unwrap();
    let error = read(&mut response).await.1.unwrap();
    assert!(matches!(error, FetchError::TooLarge { bytes_max: 7 }), "{error:?}");
}

#[tokio::test]
async fn headers_that_never_end_time_out() {
    for answer in [|| hang(""), || hang("HTTP/1.1 200 OK\r\n"), || drip("HTTP/1.1 200 OK\r\nx: ", "y")] {
        let server = Server::start(move |_, _| answer()).await;
        let error = jumping_after(server.answered(1), open(&server)).await.unwrap_err();
        assert!(
            matches!(error, FetchError::Timeout(TimeoutPhase::Headers)) && !error.is_final(),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn dripping_body_times_out_as_stalled() {
    let slow = Server::start(|_, _| drip("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n", "x")).await;
    let mut response = open(&slow).await.unwrap();
    let error = jumping(read(&mut response)).await.1.unwrap();
    assert!(matches!(error, FetchError::Timeout(TimeoutPhase::Stalled)) && !error.is_final(), "{error:?}");
}

#[tokio::test]
async fn body_just_fast_enough_never_stalls() {
    // Two pieces are enough for a window in which ten arrive; the body lasts for three windows.
    let limits = Limits { stall_window: 10 * DRIP, stall_bytes: 100, ..unhurried_limits() };
    let body = 3 * 10 * 50;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {body}\r\n\r\n");
    let server = Server::start(move |_, _| drip(head.as_str(), "x".repeat(50))).await;
    let url = server.url("/");
    let mut response = fetcher_with(limits).open(&url, 0, None).await.unwrap();
    let clock = StillClock::stop();
    let mut received = 0;
    loop {
        // The clock advances during the wait for the body: only such time counts.
        let (chunk, ()) = tokio::join!(response.chunk(), clock.advance(DRIP));
        let Some(bytes) = chunk.unwrap() else { break };
        received += bytes.len();
    }
    assert_eq!(received, body);
}

#[tokio::test]
async fn body_that_stops_in_the_middle_times_out_as_stalled() {
    let server = Server::start(|_, _| hang("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nmedia")).await;
    let mut response = open(&server).await.unwrap();
    let mut received = Vec::new();
    while received.len() < 5 {
        received.extend_from_slice(&response.chunk().await.unwrap().unwrap());
    }
    assert_eq!(received, b"media");
    let error = jumping(response.chunk()).await.unwrap_err();
    assert!(matches!(error, FetchError::Timeout(TimeoutPhase::Stalled)), "{error:?}");
}

#[tokio::test]
async fn refused_connection_and_tls_error_differ() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let url = Url::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
    let error = fetcher().open(&url, 0, None).await.unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { why: Unreachable::Connect, .. }), "{error:?}");

    let server = Server::start(|_, _| answer("")).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://{}/", listener.local_addr().unwrap())).unwrap();
    drop(server);
    let plain = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::io::AsyncWriteExt::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        stream
    });
    let error = fetcher().open(&url, 0, None).await.unwrap_err();
    assert!(matches!(error, FetchError::Unreachable { why: Unreachable::Tls, .. }), "{error:?}");
    drop(plain.await.unwrap());
}
