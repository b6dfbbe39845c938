//! Webhook posts.

use std::time::Duration;

use bytes::Bytes;
use kinora_fetch::{
    Guard, HeaderMap, HeaderName, HeaderValue, Network, PostError, PostLimits, PostResponse, Unreachable,
    UrlProblem, WebhookClient,
};
use tokio::net::TcpListener;
use url::Url;

use crate::clock::{HOUR, jumping_after};
use crate::server::{Answer, Server, answer, cut, drip, hang, reset, with_length};

/// Without a timeout that a busy machine could reach.
fn poster() -> WebhookClient {
    let guard = Guard::new(vec!["127.0.0.1/32".parse().unwrap()]);
    let limits = PostLimits {
        connect_timeout: HOUR,
        total_timeout: HOUR,
        idle_timeout: HOUR,
        ..PostLimits::default()
    };
    WebhookClient::new(&Network::new(guard), limits).unwrap()
}

fn signed() -> HeaderMap {
    let fields = [("webhook-id", "e1"), ("content-type", "application/json")];
    fields
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
        .into_iter()
        .collect()
}

async fn post(url: &Url) -> Result<PostResponse, PostError> {
    poster().post(url, signed(), Bytes::from_static(br#"{"type":"a"}"#)).await
}

async fn answered(script: impl Fn() -> Answer + Send + Sync + 'static) -> Result<PostResponse, PostError> {
    let server = Server::start(move |_, _| script()).await;
    poster().post(&server.url("/"), HeaderMap::new(), Bytes::new()).await
}

/// The same, with the timeout as soon as the bytes before a pause have been read.
async fn answered_until_total(
    script: impl Fn() -> Answer + Send + Sync + 'static,
) -> Result<PostResponse, PostError> {
    let server = Server::start(move |_, _| script()).await;
    let (poster, url) = (poster(), server.url("/"));
    jumping_after(server.first_answer_is_read(), poster.post(&url, HeaderMap::new(), Bytes::new())).await
}

#[tokio::test]
async fn webhook_post_sends_headers_and_body() {
    let fields = "content-type: text/plain\r\nserver: s\r\nset-cookie: a=b\r\nx-secret: y\r\n\
                  webhook-delivery: disable\r\nretry-after: 7\r\ncache-control: no-store\r\ndate: today\r\n";
    let server = Server::always(with_length("202 Accepted", fields, "thanks")).await;
    let response = post(&server.url("/hook?a=b")).await.unwrap();
    assert_eq!(response.status, 202);
    assert_eq!(
        response.headers,
        [
            ("content-type", "text/plain".to_owned()),
            ("server", "s".into()),
            ("date", "today".into()),
            ("cache-control", "no-store".into()),
            ("retry-after", "7".into()),
            ("webhook-delivery", "disable".into()),
        ]
    );
    assert_eq!(response.header("webhook-delivery"), Some("disable"));
    assert_eq!(response.retry_after(), Some(Duration::from_secs(7)));
    assert_eq!(response.body, "thanks");
    assert_eq!(
        server.requests(),
        [format!(
            "POST /hook?a=b HTTP/1.1\r\naccept: */*\r\ncontent-length: 12\r\ncontent-type: application/json\r\n\
             host: HOST\r\nuser-agent: Kinora/{}\r\nwebhook-id: e1\r\n\r\n{{\"type\":\"a\"}}",
            env!("CARGO_PKG_VERSION")
        )]
    );
}

#[tokio::test]
async fn posts_to_one_receiver_share_a_connection() {
    let server = Server::always(with_length("200 OK", "", &"x".repeat(60_000))).await;
    let poster = poster();
    for _ in 0..5 {
        poster.post(&server.url("/"), signed(), Bytes::new()).await.unwrap();
    }
    assert_eq!((server.requests().len(), server.connections()), (5, 1));
}

/// A server that responds normally to the first request of each connection, and with `second` to the next.
async fn closing_when_used_again(second: fn() -> Answer) -> Server {
    Server::start(move |number, _| if number == 1 { second() } else { answer(with_length("200 OK", "", "")) })
        .await
}

#[tokio::test]
async fn closed_keep_alive_connection_is_replaced_within_the_post() {
    for second in [|| cut(""), || reset(""), || cut("HTTP/1.1 2")] {
        let server = closing_when_used_again(second).await;
        let poster = poster();
        for body in ["first", "second"] {
            let response = poster.post(&server.url("/"), signed(), Bytes::from(body)).await.unwrap();
            assert_eq!(response.status, 200);
        }
        let requests = server.requests();
        let bodies: Vec<_> = requests.iter().map(|text| text.rsplit("\r\n").next().unwrap()).collect();
        assert_eq!(bodies, ["first", "second", "second"], "sent again as it was");
        assert_eq!(requests[1], requests[2]);
        assert_eq!(server.connections(), 2);
    }
}

#[tokio::test]
async fn closed_new_connection_is_not_replaced() {
    for first in [|| cut(""), || reset("")] {
        let server = Server::start(move |_, _| first()).await;
        let error = poster().post(&server.url("/"), signed(), Bytes::new()).await.unwrap_err();
        assert!(matches!(error, PostError::Unreachable { why: Unreachable::Broken, .. }), "{error:?}");
        assert_eq!((server.requests().len(), server.connections()), (1, 1));
    }
}

#[tokio::test]
async fn replaced_connection_is_not_replaced_again() {
    let answers = |number| if number == 0 { answer(with_length("200 OK", "", "")) } else { reset("") };
    let server = Server::start(move |number, _| answers(number)).await;
    let poster = poster();
    poster.post(&server.url("/"), signed(), Bytes::new()).await.unwrap();
    let error = poster.post(&server.url("/"), signed(), Bytes::new()).await.unwrap_err();
    assert!(matches!(error, PostError::Unreachable { why: Unreachable::Broken, .. }), "{error:?}");
    assert_eq!((server.requests().len(), server.connections()), (3, 2));
}

#[tokio::test]
async fn non_http_response_is_not_retried() {
    let server = closing_when_used_again(|| cut("hello\r\n\r\n")).await;
    let poster = poster();
    poster.post(&server.url("/"), signed(), Bytes::new()).await.unwrap();
    let error = poster.post(&server.url("/"), signed(), Bytes::new()).await.unwrap_err();
    assert!(matches!(error, PostError::Unreachable { why: Unreachable::Broken, .. }), "{error:?}");
    assert_eq!((server.requests().len(), server.connections()), (2, 1));
}

#[tokio::test]
async fn every_status_is_a_response_and_redirects_are_not_followed() {
    let target = Server::always(with_length("200 OK", "", "")).await;
    for status in [200, 204, 301, 302, 307, 308, 400, 404, 410, 429, 500, 503] {
        let location = target.url("/");
        let bytes = with_length(&format!("{status} X"), &format!("location: {location}\r\n"), "");
        let server = Server::always(bytes).await;
        let response = post(&server.url("/")).await.unwrap();
        assert_eq!((response.status, server.requests().len()), (status, 1));
    }
    assert_eq!(target.connections(), 0);
}

#[tokio::test]
async fn long_bodies_and_headers_are_cut() {
    let body = format!("{}ä{}", "x".repeat(1023), "y".repeat(10 << 20));
    let fields = format!("server: {}\r\n", "s".repeat(300));
    let server = Server::always(with_length("200 OK", &fields, &body)).await;
    let poster = poster();
    let response = poster.post(&server.url("/"), signed(), Bytes::new()).await.unwrap();
    assert_eq!(response.body, format!("{}\u{fffd}", "x".repeat(1023)));
    assert_eq!(response.headers, [("server", "s".repeat(256))]);
    // A connection with most of a body unread is not reused.
    poster.post(&server.url("/"), signed(), Bytes::new()).await.unwrap();
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn binary_response_body_is_stored_lossy() {
    let response =
        answered(|| answer(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\na\xff\0b\xfe".as_slice())).await;
    assert_eq!(response.unwrap().body, "a\u{fffd}\0b\u{fffd}");
}

#[tokio::test]
async fn headers_that_never_end_time_out() {
    for script in [|| hang(""), || hang("HTTP/1.1 200 OK\r\n"), || drip("HTTP/1.1 200 OK\r\nx: ", "y")] {
        let error = answered_until_total(script).await.unwrap_err();
        assert!(matches!(error, PostError::Timeout), "{error:?}");
    }
}

#[tokio::test]
async fn status_counts_despite_broken_body() {
    let broken = answered(|| cut("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc")).await.unwrap();
    assert_eq!((broken.status, broken.body.as_str()), (200, "abc"));

    let stopped =
        answered_until_total(|| hang("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc")).await.unwrap();
    assert_eq!((stopped.status, stopped.body.as_str()), (200, "abc"));
    let dripping =
        answered_until_total(|| drip("HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n", "x")).await.unwrap();
    assert_eq!(dripping.status, 200);
}

#[tokio::test]
async fn invalid_http_response_is_unreachable() {
    for bytes in ["", "hello\r\n\r\n", "HTTP/1.1 OK\r\n\r\n"] {
        let error = answered(move || cut(bytes)).await.unwrap_err();
        assert!(
            matches!(error, PostError::Unreachable { why: Unreachable::Broken, .. }),
            "{bytes}: {error:?}"
        );
    }
    let large = with_length("200 OK", &format!("x: {}\r\n", "y".repeat(1 << 20)), "");
    let error = answered(move || cut(large.clone())).await.unwrap_err();
    assert!(matches!(error, PostError::Unreachable { why: Unreachable::Broken, .. }), "{error:?}");
}

#[tokio::test]
async fn refused_connection_is_unreachable() {
    let port = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let error =
        post(&Url::parse(&format!("http://127.0.0.1:{port}/?token=secret")).unwrap()).await.unwrap_err();
    assert!(matches!(error, PostError::Unreachable { why: Unreachable::Connect, .. }), "{error:?}");
    assert_eq!(error.to_string(), "the receiver does not accept connections");
    // Causes are logged, and the URL may contain a secret.
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
}

#[tokio::test]
async fn forbidden_webhook_address_gets_no_connection() {
    let (_, private) = Server::pair(with_length("200 OK", "", "")).await;
    let error = post(&private.url("/")).await.unwrap_err();
    assert!(matches!(error, PostError::ForbiddenAddress(_)), "{error:?}");
    assert_eq!(error.to_string(), "the webhook URL is not on the public internet");
    assert_eq!(private.connections(), 0);

    let error = post(&Url::parse("ftp://example.com/").unwrap()).await.unwrap_err();
    assert!(matches!(error, PostError::Url(UrlProblem::Scheme)), "{error:?}");
}
