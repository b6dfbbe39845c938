//! Going on after a cut: which parts belong to the bytes before.

use kinora_fetch::{FetchError, SourceResponse, Start, StrongValidator};

use crate::server::{Answer, Server, answer, cut, with_length};
use crate::sources::{fetcher, is_broken, is_cut, read};

/// Reads 5 of 10 bytes, then asks for the rest, which is answered by `rest`.
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
async fn the_rest_is_asked_for_only_if_the_source_is_the_same() {
    let rest =
        "HTTP/1.1 206 Partial Content\r\ncontent-range: bytes 5-9/10\r\ncontent-length: 5\r\n\r\n67890";
    let (server, response) = resumed(move || answer(rest)).await;
    let mut response = response.unwrap();
    assert_eq!(response.start, Start::Resumed);
    assert_eq!(response.total, Some(10));
    assert_eq!(response.validator.as_ref().map(StrongValidator::as_str), Some("\"v1\""));
    assert!(matches!(read(&mut response).await, (text, None) if text == "67890"));
    assert_eq!(server.fields("range"), [None, Some("bytes=5-".into())]);
    assert_eq!(server.fields("if-range"), [None, Some("\"v1\"".into())]);
}

#[tokio::test]
async fn without_a_validator_or_an_offset_the_whole_source_is_asked_for() {
    let server = Server::always(with_length("200 OK", "etag: \"v1\"\r\n", "media")).await;
    let first = fetcher().open(&server.url("/"), 3, None).await.unwrap();
    let second = fetcher().open(&server.url("/"), 0, first.validator.as_ref()).await.unwrap();
    assert_eq!([first.start, second.start], [Start::Beginning, Start::Beginning]);
    assert_eq!(server.fields("range"), [None, None]);
    assert_eq!(server.fields("if-range"), [None, None]);
}

#[tokio::test]
async fn a_whole_source_in_answer_to_a_range_begins_again() {
    let (_server, response) = resumed(|| answer(with_length("200 OK", "etag: \"v2\"\r\n", "other"))).await;
    let mut response = response.unwrap();
    assert_eq!(response.start, Start::Beginning);
    assert_eq!(response.validator.as_ref().map(StrongValidator::as_str), Some("\"v2\""));
    assert!(matches!(read(&mut response).await, (text, None) if text == "other"));
}

#[tokio::test]
async fn a_part_that_does_not_fit_is_refused() {
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
async fn a_part_without_a_length_must_have_the_bytes_it_announces() {
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
async fn a_shorter_part_than_asked_for_is_taken_and_then_a_cut() {
    let (_server, response) =
        resumed(|| answer(with_length("206 Partial Content", "content-range: bytes 5-7/10\r\n", "678")))
            .await;
    let (text, error) = read(&mut response.unwrap()).await;
    assert_eq!(text, "678");
    assert!(is_cut(&error.unwrap()));
}

#[tokio::test]
async fn a_source_that_ends_where_it_was_cut_is_whole() {
    let (_server, response) =
        resumed(|| answer(with_length("416 Range Not Satisfiable", "content-range: bytes */5\r\n", "no")))
            .await;
    let mut response = response.unwrap();
    assert_eq!((response.start, response.total), (Start::Resumed, Some(5)));
    assert!(matches!(read(&mut response).await, (text, None) if text.is_empty()));
}
