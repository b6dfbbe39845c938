//! Errors have one shape (C-109, C-110, C-111, C-40).

use serde_json::json;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::support::{Answer, Request, TestApp};

const ID: &str = "019a492c-41f3-7001-8203-040506070809";

/// Every error that needs no media, by its name in the snapshot.
fn refused(app: &TestApp, prefix: &str) -> Vec<(String, Request)> {
    let mut requests = Vec::new();
    let mut add = |name: &str, method: &str, path: &str, shape: &dyn Fn(Request) -> Request| {
        requests
            .push((format!("{name}: {method} {path}"), shape(app.call(method, &format!("{prefix}{path}")))));
    };
    let plain = |request: Request| request;
    let json_type = |request: Request| request.header("Content-Type", "application/json");
    let nested = json!({"inputs": [{"type": "video", "url": "https://example.com/a.mp4", "segments": "all"}],
        "metadata": {"a": {"b": 1}}, "accessRestrictions": {"domains": {"allow": [7]}}, "title": null});

    add("unknown path", "GET", "/nothing/at/all/of/this", &plain);
    add("unknown path", "POST", "/on-demands", &json_type);
    add("unknown path", "POST", "/live/streams", &json_type);
    add("unknown path", "DELETE", "/iam", &plain);
    add("unknown path", "GET", "/on-demand/", &plain);
    add("unknown path", "GET", "/nothing/here", &plain);
    add("wrong method", "PUT", "/on-demand", &plain);
    add("wrong method", "PUT", &format!("/on-demand/{ID}"), &plain);
    add("wrong method", "OPTIONS", "/on-demand", &plain);
    add("wrong method", "TRACE", "/on-demand", &plain);
    add("10 MB", "POST", "/on-demand", &|request| json_type(request).body(vec![b' '; 10_000_000]));
    add("1 MiB and a byte", "POST", "/on-demand", &|request| {
        json_type(request).body(vec![b' '; (1 << 20) + 1])
    });
    add("1 MiB", "POST", "/on-demand", &|request| {
        let mut body = vec![b' '; 1 << 20];
        body[..2].copy_from_slice(b"{}");
        json_type(request).body(body)
    });
    add("empty", "POST", "/on-demand", &json_type);
    add("malformed", "POST", "/on-demand", &|request| json_type(request).body("{\n  \"inputs\": [}"));
    add("cut off", "POST", "/on-demand", &|request| json_type(request).body(r#"{"inputs": [{"type": "vid"#));
    add("two values", "POST", "/on-demand", &|request| json_type(request).body("{} {}"));
    add("too deep", "POST", "/on-demand", &|request| json_type(request).body("[".repeat(100_000)));
    add("not UTF-8", "POST", "/on-demand", &|request| json_type(request).body(&b"{\"title\": \"\xff\"}"[..]));
    add("a lone surrogate", "POST", "/on-demand", &|request| {
        json_type(request).body(r#"{"title": "\ud800"}"#)
    });
    add("other type", "POST", "/on-demand", &|request| {
        request.header("Content-Type", "text/plain").body("{}")
    });
    add("form", "POST", "/on-demand", &|request| {
        request.header("Content-Type", "application/x-www-form-urlencoded").body("inputs=1")
    });
    add("not an object", "POST", "/on-demand", &|request| request.json(&json!([1])));
    add("without inputs", "POST", "/on-demand", &|request| request.json(&json!({})));
    add("wrong nested types", "POST", "/on-demand", &|request| request.json(&nested));
    add("not an id", "GET", "/on-demand/42", &plain);
    add("not an id", "DELETE", "/on-demand/not%20an%20id", &plain);
    add("not UTF-8", "GET", "/on-demand/%ff", &plain);
    add("out of range", "GET", "/on-demand?limit=51&offset=0&orderBy=newest", &plain);
    requests
}

#[tokio::test]
async fn error_bodies_match_the_contract_at_both_prefixes() {
    let app = TestApp::start().await;
    let mut transcript = String::new();
    let with_prefix = refused(&app, "/v1");
    for ((name, bare), (_, prefixed)) in refused(&app, "").into_iter().zip(with_prefix) {
        let (bare, prefixed) = (bare.send().await, prefixed.send().await);
        assert_eq!((allow(&bare), bare.text()), (allow(&prefixed), prefixed.text()), "{name}");
        for answer in [&bare, &prefixed] {
            answer.refusal();
            assert!(answer.header("x-request-id").is_some_and(|id| !id.is_empty()), "{name}: {answer:?}");
            assert_eq!(answer.header("cache-control"), Some("no-store"), "{name}");
        }
        transcript += &format!("{name}\n{}{}\n\n", allow(&bare), bare.text());
    }
    insta::assert_snapshot!(transcript);
    assert_eq!(app.call("GET", "/on-demand").send().await.json()["data"], json!([]), "nothing was made");
    assert!(app.receiver.posted().is_empty(), "no event was sent");
}

/// The `Allow` header of a 405.
fn allow(answer: &Answer) -> String {
    let allow = answer.header("allow").filter(|_| answer.status == 405);
    allow.map(|methods| format!("allow: {methods}\n")).unwrap_or_default()
}

#[tokio::test]
async fn valid_request_id_is_echoed_else_generated() {
    let app = TestApp::start().await;
    for (path, status) in [("/v1/on-demand", 200), ("/v1/nothing/of/that", 404), ("/healthz", 200)] {
        let call = async |request_id: Option<&str>| {
            let request = app.call("GET", path);
            let answer = match request_id {
                Some(id) => request.header("X-Request-Id", id).send().await,
                None => request.send().await,
            };
            assert_eq!(answer.status, status, "{answer:?}");
            answer.header("x-request-id").expect("every answer has one").to_owned()
        };
        let longest = "i".repeat(128);
        for usable in ["mine-1", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", &longest] {
            assert_eq!(call(Some(usable)).await, usable, "{path}");
        }
        let mut made = Vec::new();
        for unusable in [Some(""), Some("with a space"), Some("\u{fc}"), Some(&*"i".repeat(129)), None] {
            let id = call(unusable).await;
            assert!(
                id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{path} {unusable:?}: {id}"
            );
            made.push(id);
        }
        made.sort();
        made.dedup();
        assert_eq!(made.len(), 5, "each request has its own");
    }
}

#[tokio::test]
async fn head_has_get_status_and_headers_without_body() {
    let app = TestApp::start().await;
    for path in ["/v1/on-demand", "/on-demand", "/healthz", "/v1/on-demand/42"] {
        let get = app.call("GET", path).send().await;
        let head = app.call("HEAD", path).send().await;
        let headers = |answer: &Answer| {
            let compared =
                answer.headers().iter().filter(|(name, _)| !matches!(&**name, "date" | "x-request-id"));
            compared.cloned().collect::<Vec<_>>()
        };
        assert_eq!((head.status, headers(&head)), (get.status, headers(&get)), "{path}");
        assert!(head.body.is_empty(), "{path}");
    }
}

#[tokio::test]
async fn request_without_host_is_400_with_request_id() {
    let app = TestApp::options().without_webhook().start().await;
    for hosts in ["", "Host: a\r\nHost: b\r\n"] {
        let mut socket = TcpStream::connect(app.address).await.unwrap();
        let request =
            format!("GET /healthz HTTP/1.1\r\n{hosts}X-Request-Id: mine\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.contains("\r\nx-request-id: mine\r\n"), "{answer}");
        assert!(answer.contains("the request must have exactly one Host header"), "{answer}");
    }
}
