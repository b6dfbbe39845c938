//! Downloads of whole sources, with interruptions, changes and busy servers.

use kinora_fetch::{DownloadError, Downloaded, FetchError, Limits};

use crate::recorder::{Full, Recorder, SOURCE, cut_after, download, download_fails, download_with, limits};
use crate::server::{Server, answer, cut, with_length};

#[tokio::test]
async fn whole_source_is_read_over_one_connection() {
    let server =
        Server::always(with_length("200 OK", "content-type: video/mp4\r\netag: \"v1\"\r\n", SOURCE)).await;
    let mut sink = Recorder::default();
    let done = download(&server, &mut sink).await.unwrap();
    assert_eq!((done.bytes, done.content_type.as_deref()), (36, Some("video/mp4")));
    assert_eq!(done.validator.unwrap().as_str(), "\"v1\"");
    assert_eq!((sink.stored.as_str(), sink.restarts, sink.totals), (SOURCE, 0, vec![Some(36)]));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn empty_source_is_valid() {
    let mut sink = Recorder::default();
    let done = download(&Server::always(with_length("200 OK", "", "")).await, &mut sink).await.unwrap();
    assert_eq!(done, Downloaded { bytes: 0, content_type: None, validator: None });
    assert_eq!((sink.stored.as_str(), sink.restarts), ("", 0));
}

#[tokio::test]
async fn cut_download_resumes_with_range_and_if_range() {
    let server = Server::start(|number, request| cut_after(if number == 0 { 10 } else { 99 }, request)).await;
    let mut sink = Recorder::default();
    let done = download(&server, &mut sink).await.unwrap();
    assert_eq!((done.bytes, sink.stored.as_str(), sink.restarts), (36, SOURCE, 0));
    assert_eq!(sink.totals, [Some(36), Some(36)]);
    assert_eq!(server.fields("range"), [None, Some("bytes=10-".into())]);
    assert_eq!(server.fields("if-range"), [None, Some("\"v1\"".into())]);
}

#[tokio::test]
async fn chunked_body_cut_is_resumed() {
    let chunk = "HTTP/1.1 200 OK\r\netag: \"v1\"\r\ntransfer-encoding: chunked\r\n\r\n5\r\nmedia\r\n";
    let server = Server::start(move |number, _| match number {
        0 => cut(chunk),
        _ => answer(with_length("416 Range Not Satisfiable", "content-range: bytes */5\r\n", "")),
    })
    .await;
    let mut sink = Recorder::default();
    let done = download(&server, &mut sink).await.unwrap();
    assert_eq!((done.bytes, sink.stored.as_str(), sink.restarts), (5, "media", 0));
    assert_eq!(done.validator.unwrap().as_str(), "\"v1\"");
}

#[tokio::test]
async fn strong_last_modified_resumes_with_if_range() {
    let dates = "date: Sun, 06 Nov 1994 08:49:37 GMT\r\nlast-modified: Sun, 06 Nov 1994 07:00:00 GMT\r\n";
    let first = format!("HTTP/1.1 200 OK\r\n{dates}content-length: 10\r\n\r\n12345");
    let rest =
        with_length("206 Partial Content", &format!("{dates}content-range: bytes 5-9/10\r\n"), "67890");
    let server =
        Server::start(move |number, _| if number == 0 { cut(first.clone()) } else { answer(rest.clone()) })
            .await;
    let mut sink = Recorder::default();
    download(&server, &mut sink).await.unwrap();
    assert_eq!((sink.stored.as_str(), sink.restarts), ("1234567890", 0));
    assert_eq!(server.fields("if-range"), [None, Some("Sun, 06 Nov 1994 07:00:00 GMT".into())]);
}

#[tokio::test]
async fn changed_etag_restarts_the_download() {
    let server = Server::start(|number, request| match number {
        0 => cut_after(10, request),
        _ => answer(with_length("200 OK", "etag: \"v2\"\r\ncontent-type: video/webm\r\n", "another source")),
    })
    .await;
    let mut sink = Recorder::default();
    let done = download(&server, &mut sink).await.unwrap();
    assert_eq!((done.bytes, done.content_type.as_deref()), (14, Some("video/webm")));
    assert_eq!(done.validator.unwrap().as_str(), "\"v2\"");
    assert_eq!((sink.stored.as_str(), sink.restarts), ("another source", 1));
}

#[tokio::test]
async fn weak_or_missing_validator_restarts_without_range() {
    for fields in ["etag: W/\"v1\"\r\n", ""] {
        let server = Server::start(move |number, _| match number {
            0 => cut(format!("HTTP/1.1 200 OK\r\n{fields}content-length: 36\r\n\r\n01234")),
            _ => answer(with_length("200 OK", fields, SOURCE)),
        })
        .await;
        let mut sink = Recorder::default();
        download(&server, &mut sink).await.unwrap();
        assert_eq!((sink.stored.as_str(), sink.restarts), (SOURCE, 1));
        assert_eq!(server.fields("range"), [None, None]);
    }
}

#[tokio::test]
async fn wrong_range_response_restarts_download() {
    for fields in
        ["content-range: bytes 9-35/36\r\n", "content-range: bytes 10-35/36\r\netag: \"v2\"\r\n", ""]
    {
        let server = Server::start(move |number, request| match number {
            0 => cut_after(10, request),
            1 => answer(with_length("206 Partial Content", fields, &SOURCE[10..])),
            _ => answer(with_length("200 OK", "", SOURCE)),
        })
        .await;
        let mut sink = Recorder::default();
        download(&server, &mut sink).await.unwrap();
        assert_eq!((sink.stored.as_str(), sink.restarts), (SOURCE, 1), "{fields}");
        assert_eq!(server.fields("range"), [None, Some("bytes=10-".into()), None], "{fields}");
    }
}

#[tokio::test]
async fn resume_with_404_is_not_found() {
    let server = Server::start(|number, request| match number {
        0 => cut_after(10, request),
        _ => answer(with_length("404 Gone", "", "")),
    })
    .await;
    let (error, sink) = download_fails(&server).await;
    assert!(matches!(error, FetchError::NotFound { status: 404 }), "{error:?}");
    assert_eq!((server.requests().len(), sink.stored.as_str()), (2, &SOURCE[..10]));
}

#[tokio::test]
async fn sink_error_ends_download() {
    let server = Server::always(with_length("200 OK", "", SOURCE)).await;
    let mut sink = Recorder { bytes_max: Some(10), ..Recorder::default() };
    let result = download(&server, &mut sink).await;
    assert!(matches!(result, Err(DownloadError::Sink(Full))), "{result:?}");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn source_above_size_limit_is_rejected_without_retry() {
    let claimed = Server::always(with_length("200 OK", "", SOURCE)).await;
    let chunked = Server::always(format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n24\r\n{SOURCE}\r\n0\r\n\r\n"
    ))
    .await;
    for server in [claimed, chunked] {
        let mut sink = Recorder::default();
        let result = download_with(&server, &mut sink, Limits { bytes_max: 35, ..limits() }).await;
        let Err(DownloadError::Fetch(error)) = result else { panic!("{result:?}") };
        assert_eq!(error.code().as_str(), "source_too_large");
        assert_eq!((server.requests().len(), sink.stored.as_str()), (1, ""));
    }
}

#[tokio::test]
async fn download_future_is_send() {
    let server = Server::always(with_length("200 OK", "", SOURCE)).await;
    let download =
        tokio::spawn(async move { download(&server, &mut Recorder::default()).await.map(|done| done.bytes) });
    assert_eq!(download.await.unwrap().unwrap(), 36);
}
