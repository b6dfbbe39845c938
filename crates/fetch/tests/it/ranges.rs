//! Resuming after an interruption: which partial responses continue the bytes before.

use kinora_fetch::{BodyStart, FetchError, SourceResponse, StrongValidator};

use crate::server::{Answer, Server, answer, cut, with_length};
use crate::sources::{fetcher, is_broken, is_cut, read};

/// Reads 5 of 10 bytes, then requests the rest, with `rest` as the response.
async fn resumed(
    rest: impl Fn() -> Answer + Send + Sync + 'static,
) -> (Server, Result<SourceResponse, FetchError>) {
    let server = Server::start(move |number, _| match number {
        0 => cut("HTTP/1.1 200 OK\r\netag: \"v1\"\r\ncontent-length: 10\r\n\r\n12345"),
        _ => rest(),
    })
    .await;
    let fetcher = fetcher();
    let first = fetcher.open(&server.url("/"), 0, None).await.unwrap();
    let second = fetcher.open(&server.url("/"), 5, first.validator.as_ref()).await;
    (server, second)
}

#[tokio::test]
async fn resume_sends_if_range() {
    let rest =
        "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 5-9/10\r\ncontent-length: 5\r\n\r\n67890";
    let (server, response) = resumed(move || answer(rest)).await;
    let mut response = response.unwrap();
    assert_eq!(response.start, BodyStart::Resumed);
    assert_eq!(response.total, Some(10));
    assert_eq!(response.validator.as_ref().map(StrongValidator::as_str), Some("\"v1\""));
    assert!(matches!(read(&mut response).await, (text, None) if text == "67890"));
    assert_eq!(server.fields("range"), [None, Some("bytes=5-".into())]);
    assert_eq!(server.fields("if-range"), [None, Some("\"v1\"".into())]);
}

#[tokio::test]
async fn no_range_without_validator_or_offset() {
    let server = Server::always(with_length("200 OK", "etag: \"v1\"\r\n", "media")).await;
    let first = fetcher().open(&server.url("/"), 3, None).await.unwrap();
    let second = fetcher().open(&server.url("/"), 0, first.validator.as_ref()).await.unwrap();
    assert_eq!([first.start, second.start], [BodyStart::Beginning, BodyStart::Beginning]);
    assert_eq!(server.fields("range"), [None, None]);
    assert_eq!(server.fields("if-range"), [None, None]);
}

#[tokio::test]
async fn status_200_to_a_range_request_restarts() {
    let (_server, response) = resumed(|| answer(with_length("200 OK", "etag: \"v2\"\r\n", "other"))).await;
    let mut response = response.unwrap();
    assert_eq!(response.start, BodyStart::Beginning);
    assert_eq!(response.validator.as_ref().map(StrongValidator::as_str), Some("\"v2\""));
    assert!(matches!(read(&mut response).await, (text, None) if text == "other"));
}

#[tokio::test]
async fn partial_response_at_wrong_offset_is_rejected() {
    for (status, fields) in [
        ("206 Partial Content", ""),
        ("206 Partial Content", "content-range: bytes 4-8/10\r\n"),
        ("206 Partial Content", "content-range: bytes 6-10/11\r\n"),
        ("206 Partial Content", "content-range: bytes 0-4/10\r\n"),
        ("206 Partial Content", "content-range: bytes 5-8/10\r\n"), // four bytes, but five follow
        ("206 Partial Content", "content-range: bytes */10\r\n"),
        ("206 Partial Content", "content-range: nonsense\r\n"),
        ("206 Partial Content", "content-range: bytes 5-9/10\r\netag: \"v2\"\r\n"),
        ("206 Partial Content", "content-range: bytes 5-9/10\r\netag: W/\"v1\"\r\n"),
        ("206 Partial Content", "content-type: multipart/byteranges; boundary=x\r\n"),
        ("416 Range Not Satisfiable", ""),
        ("416 Range Not Satisfiable", "content-range: bytes */4\r\n"),
        ("416 Range Not Satisfiable", "content-range: bytes */6\r\n"),
        ("416 Range Not Satisfiable", "content-range: bytes */5\r\netag: \"v2\"\r\n"),
    ] {
        let (_server, response) = resumed(move || answer(with_length(status, fields, "67890"))).await;
        let error = response.unwrap_err();
        assert!(
            matches!(error, FetchError::Changed) && !error.is_final(),
            "{status} {fields} gave {error:?}"
        );
    }
}

#[tokio::test]
async fn partial_response_ends_at_its_content_range() {
    let part = |body: &str| {
        format!(
            "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 5-9/10\r\ntransfer-encoding: chunked\r\n\r\n\
             {:x}\r\n{body}\r\n0\r\n\r\n",
            body.len()
        )
    };
    for (body, expected) in [("6789", "cut"), ("67890", "whole"), ("678901", "broken")] {
        let bytes = part(body);
        let (_server, response) = resumed(move || answer(bytes.clone())).await;
        let found = match read(&mut response.unwrap()).await.1 {
            None => "whole",
            Some(error) if is_cut(&error) => "cut",
            Some(error) if is_broken(&error) => "broken",
            Some(error) => panic!("{body} gave {error:?}"),
        };
        assert_eq!(found, expected, "{body}");
    }
}

#[tokio::test]
async fn short_partial_response_counts_as_cut() {
    let (_server, response) =
        resumed(|| answer(with_length("206 Partial Content", "content-range: bytes 5-7/10\r\n", "678")))
            .await;
    let (text, error) = read(&mut response.unwrap()).await;
    assert_eq!(text, "678");
    assert!(is_cut(&error.unwrap()));
}

#[tokio::test]
async fn range_at_end_completes_download() {
    let (_server, response) =
        resumed(|| answer(with_length("416 Range Not Satisfiable", "content-range: bytes */5\r\n", "no")))
            .await;
    let mut response = response.unwrap();
    assert_eq!((response.start, response.total), (BodyStart::Resumed, Some(5)));
    assert!(matches!(read(&mut response).await, (text, None) if text.is_empty()));
}
