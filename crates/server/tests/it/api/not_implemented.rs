//! Operations of the contract that are not implemented (C-37).

use kinora_domain::{DEVELOPMENT, Permission};
use serde_json::json;

use crate::support::{TestApp, text};

const ID: &str = "019a492c-41f3-7001-8203-040506070809";
/// All of them, as `docs/unsupported.md` lists them.
const OPERATIONS: [(&str, &str); 18] = [
    ("PATCH", "/on-demand/{id}/named-entities"),
    ("POST", "/on-demand/{id}/tracks/019a492c-41f3-7001-8203-040506070809/generate-subtitles"),
    ("GET", "/on-demand/{id}/summary"),
    ("PATCH", "/on-demand/{id}/summary"),
    ("PATCH", "/on-demand/{id}/chapters"),
    ("PATCH", "/on-demand/{id}/moderation"),
    ("GET", "/data/viewlist?timespan[]=24:hours&limit=5"),
    ("GET", "/data/viewlist/a-view"),
    ("GET", "/data/viewlist/top-content"),
    ("GET", "/data/viewlist/current-views/getTimeseriesViews"),
    ("GET", "/data/viewlist/current-views/filter"),
    ("GET", "/data/dimensions"),
    ("GET", "/data/dimensions/browser_name"),
    ("GET", "/data/metrics/views/breakdown"),
    ("GET", "/data/metrics/views/overall"),
    ("GET", "/data/metrics/views/timeseries"),
    ("GET", "/data/metrics/comparison"),
    ("GET", "/data/errors"),
];

#[tokio::test]
async fn not_implemented_is_501_and_changes_nothing() {
    // Sources are rejected at once: this test needs only rows.
    let app = TestApp::options().allow_loopback(false).without_webhook().start().await;
    let id = text(&app.create("http://127.0.0.1/a.mp4").await["id"]).to_owned();
    let media = app.wait_settled(&id).await;

    let mut transcript = String::new();
    for (method, operation) in OPERATIONS {
        let path = operation.replace("{id}", &id);
        let call = |prefix: &str| {
            let request = app.call(method, &format!("{prefix}{path}"));
            if method == "GET" { request } else { request.json(&json!({"generate": true})) }
        };
        let (bare, prefixed) = (call("").send().await, call("/v1").send().await);
        assert_eq!((bare.status, bare.text()), (prefixed.status, prefixed.text()), "{path}");
        assert_eq!(bare.refusal(), (404, "not supported by this server".to_owned()), "{path}");
        transcript += &format!("{method} {operation}\n{}\n\n", bare.text());
    }
    insta::assert_snapshot!(transcript);
    assert_eq!(app.get(&id).await.data(), media, "nothing was changed");
}

#[tokio::test]
async fn not_implemented_checks_authentication_first() {
    let app = TestApp::options().without_webhook().start().await;
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    for (method, operation) in OPERATIONS {
        let path = format!("/v1{}", operation.replace("{id}", ID));
        let unauthorized = app.request(method, &path).send().await;
        assert_eq!(unauthorized.refusal(), (401, "unauthorized".to_owned()), "{method} {path}");
        let status = app.request(method, &path).token(&reader).send().await.status;
        assert_eq!(status, if method == "GET" { 404 } else { 403 }, "{method} {path}");
    }
}

#[tokio::test]
async fn not_implemented_ignores_id_and_body() {
    let app = TestApp::options().without_webhook().start().await;
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let (method, operation) = OPERATIONS[1];
    assert_eq!(method, "POST", "{operation}");
    for prefix in ["", "/v1"] {
        let path = format!("{prefix}{}", operation.replace("{id}", ID));
        for key in ["one", "", "\"not closed", &"a".repeat(256)] {
            for body in [b"{}".to_vec(), b"{\"a\": 1}".to_vec(), b"{".to_vec(), vec![b' '; (1 << 20) + 1]] {
                let call = || app.request(method, &path).header("Idempotency-Key", key).body(body.clone());
                let answer = call().token(&app.token).send().await;
                assert_eq!(
                    answer.refusal(),
                    (404, "not supported by this server".to_owned()),
                    "{path} {key}"
                );
                assert_eq!(call().token(&reader).send().await.status, 403, "{path} {key}");
                assert_eq!(call().send().await.status, 401, "{path} {key}");
            }
        }
    }
    // The idempotency key is still unused.
    let first = app.call("POST", "/v1/iam/signing-keys").header("Idempotency-Key", "one").send().await;
    assert_eq!((first.status, first.header("idempotent-replayed")), (201, None));
}

#[tokio::test]
async fn other_methods_are_405_and_other_paths_404() {
    let app = TestApp::options().without_webhook().start().await;
    for (method, path, allow) in [
        ("POST", format!("/v1/on-demand/{ID}/summary"), Some("GET,HEAD,PATCH")),
        ("GET", format!("/on-demand/{ID}/chapters"), Some("PATCH")),
        ("DELETE", "/data/errors".to_owned(), Some("GET,HEAD")),
        ("GET", "/data".to_owned(), None),
        ("GET", "/data/nothing".to_owned(), None),
        ("GET", "/v1/data/metrics/views".to_owned(), None),
        ("PATCH", format!("/v1/on-demand/{ID}/summaries"), None),
    ] {
        let answer = app.call(method, &path).send().await;
        let expected = if allow.is_some() { (405, "method not allowed") } else { (404, "not found") };
        assert_eq!(answer.refusal(), (expected.0, expected.1.to_owned()), "{method} {path}");
        let mut methods: Vec<_> = answer.header("allow").unwrap_or_default().split(',').collect();
        methods.sort_unstable();
        assert_eq!(methods.join(","), allow.unwrap_or_default(), "{method} {path}");
    }
}

/// The table in the documentation names all of these operations.
#[test]
fn unsupported_md_lists_every_501_operation() {
    let table = include_str!("../../../../../docs/unsupported.md");
    for (_, operation) in OPERATIONS {
        let path = operation.split('?').next().unwrap();
        let path = path.replace("{id}", "{mediaId}").replace(ID, "{trackId}");
        let path = path.replace("a-view", "{viewId}").replace("browser_name", "{dimensionsId}");
        let path = path.replace("metrics/views", "metrics/{metricId}");
        assert!(table.contains(&path), "{path}");
    }
}
