//! `Idempotency-Key` (C-24, D-0070).

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use serde_json::{Value, json};

use super::signing_keys::GatedKeyMaker;
use crate::support::{Answer, Request, TestApp, Token, text};

const REPLAYED: &str = "idempotent-replayed";

fn keyed(request: Request, key: &str) -> Request {
    request.header("Idempotency-Key", key)
}

async fn post(app: &TestApp, token: &Token, path: &str, key: &str, body: &Value) -> Answer {
    keyed(app.request("POST", path).token(token), key).json(body).send().await
}

fn media_body(name: &str) -> Value {
    json!({"inputs": [{"type": "video", "url": format!("http://127.0.0.1/{name}.mp4")}]})
}

async fn total(app: &TestApp, path: &str) -> Value {
    app.call("GET", path).send().await.json()["pagination"]["totalRecords"].take()
}

fn field(answer: &Answer) -> Value {
    assert_eq!(answer.refusal(), (422, "payload validation failed".to_owned()), "{answer:?}");
    answer.json()["error"]["fields"][0]["field"].take()
}

#[tokio::test]
async fn idempotency_key_replays_response_of_every_post() {
    let app = TestApp::start().await;
    let media = app.create("http://127.0.0.1/a.mp4").await;
    let ids = format!("/v1/on-demand/{}/playback-ids", text(&media["id"]));
    let upload = json!({"corsOrigin": "*"});
    for (path, body) in [
        ("/v1/on-demand", media_body("b")),
        ("/v1/on-demand/upload", upload.clone()),
        ("/v1/on-demand/uploads", upload),
        (ids.as_str(), json!({"accessPolicy": "public"})),
        ("/v1/iam/signing-keys", json!({})),
    ] {
        let first = post(&app, &app.token, path, path, &body).await;
        assert_eq!((first.status, first.header(REPLAYED)), (201, None), "{path}: {first:?}");
        for again in [path, &path[3..]] {
            let second = post(&app, &app.token, again, path, &body).await;
            assert_eq!((second.status, second.header(REPLAYED)), (201, Some("true")), "{again}: {second:?}");
            assert_eq!(second.text(), first.text(), "{again}");
            for name in ["content-type", "cache-control", "deprecation", "sunset", "link"] {
                assert_eq!(second.header(name), first.header(name), "{again}: {name}");
            }
        }
        let other = post(&app, &app.token, path, &format!("{path} again"), &body).await;
        assert_eq!(
            (other.status, other.header(REPLAYED)),
            (201, None),
            "{path}: another key is another request"
        );
        assert_ne!(other.text(), first.text(), "{path}");
    }
    assert_eq!(total(&app, "/v1/on-demand").await, 3);
    assert_eq!(total(&app, "/v1/on-demand/uploads").await, 4);
    assert_eq!(total(&app, "/v1/iam/signing-keys").await, 2);
    assert_eq!(app.call("GET", &ids).send().await.data().as_array().map(Vec::len), Some(3));
    app.all_delivered().await;
    let event_count =
        |kind: &str| app.receiver.posted().iter().filter(|post| post.event_type() == kind).count();
    assert_eq!(
        (event_count("video.media.created"), event_count("video.media.upload")),
        (3, 4),
        "an operation that failed sends no event"
    );
}

#[tokio::test]
async fn idempotency_key_reused_with_other_body_is_422() {
    let app = TestApp::options().allow_loopback(false).without_webhook().start().await;
    let path = "/v1/on-demand";
    let first = post(&app, &app.token, path, "one", &media_body("a")).await;
    assert_eq!(first.status, 201);
    let colleague = app.new_token(DEVELOPMENT, Permission::ReadWrite).await;
    let upload = json!({"corsOrigin": "*"});
    let refused = post(&app, &app.token, path, "one", &media_body("b")).await;
    assert_eq!(field(&refused), "Idempotency-Key");
    insta::assert_snapshot!("another_request", app.golden().answer(&refused));
    assert_eq!(
        field(&post(&app, &app.token, "/v1/on-demand/upload", "one", &upload).await),
        "Idempotency-Key"
    );
    assert_eq!(field(&post(&app, &colleague, path, "one", &media_body("a")).await), "Idempotency-Key");

    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let of_other_workspace = post(&app, &other_token, path, "one", &media_body("b")).await;
    assert_eq!(
        (of_other_workspace.status, of_other_workspace.header(REPLAYED)),
        (201, None),
        "equal keys of others never meet"
    );
    let quoted = post(&app, &app.token, path, "\"one\"", &media_body("a")).await;
    assert_eq!(quoted.text(), first.text(), "in quotes it is the same key");
    assert_eq!(total(&app, path).await, 1);
}

#[tokio::test]
async fn error_responses_are_not_stored() {
    let app = TestApp::options().allow_loopback(false).without_webhook().start().await;
    let path = "/v1/on-demand";
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    assert_eq!(post(&app, &reader, path, "one", &media_body("a")).await.status, 403);
    let without_token = keyed(app.request("POST", path), "one").json(&media_body("a")).send().await;
    assert_eq!(without_token.status, 401);
    assert_eq!(field(&post(&app, &app.token, path, "one", &json!({})).await), "inputs");
    let broken =
        keyed(app.call("POST", path), "one").header("Content-Type", "application/json").body("{").send();
    assert_eq!(broken.await.status, 400);
    let made = post(&app, &app.token, path, "one", &media_body("a")).await;
    assert_eq!((made.status, made.header(REPLAYED)), (201, None), "the body was mended");
    assert_eq!(post(&app, &reader, path, "one", &media_body("a")).await.status, 403, "nor is it read");

    let nowhere = "/v1/on-demand/019a492c-41f3-7001-8203-040506070809/playback-ids";
    for _ in 0..2 {
        assert_eq!(post(&app, &app.token, nowhere, "two", &json!({})).await.status, 404);
    }
    assert_eq!(post(&app, &app.token, path, "two", &media_body("b")).await.status, 201);
}

#[tokio::test]
async fn invalid_idempotency_key_is_rejected_on_post_only() {
    let app = TestApp::options().allow_loopback(false).without_webhook().start().await;
    let path = "/v1/on-demand";
    let long = "a".repeat(256);
    for key in ["", "\"a", &long] {
        assert_eq!(
            field(&post(&app, &app.token, path, key, &media_body("a")).await),
            "Idempotency-Key",
            "{key}"
        );
    }
    let twice = keyed(keyed(app.call("POST", path), "a"), "a").json(&media_body("a")).send().await;
    assert_eq!(field(&twice), "Idempotency-Key");
    assert_eq!(total(&app, path).await, 0);
    assert_eq!(post(&app, &app.token, path, &long[1..], &media_body("a")).await.status, 201);

    let unauthorized = keyed(app.request("POST", path), &long).json(&media_body("a")).send().await;
    assert_eq!(unauthorized.status, 401, "the token is checked first");
    let read = keyed(app.call("GET", path), &long).send().await;
    assert_eq!(read.status, 200, "a GET changes nothing");
}

#[tokio::test]
async fn body_is_buffered_only_with_idempotency_key() {
    let app = TestApp::options().without_webhook().start().await;
    let path = "/v1/iam/signing-keys";
    let large = || app.call("POST", path).body(vec![b' '; (1 << 20) + 1]);
    let refused = keyed(large(), "one").send().await;
    assert_eq!(refused.refusal(), (413, "payload too large".to_owned()));
    assert_eq!(total(&app, path).await, 0);
    assert_eq!(large().send().await.status, 201, "it takes no body");
    let made = post(&app, &app.token, path, "one", &json!({})).await;
    assert_eq!((made.status, made.header(REPLAYED)), (201, None), "the refusal was not kept");
}

#[tokio::test]
async fn concurrent_request_with_same_idempotency_key_is_409() {
    let keys = GatedKeyMaker::default();
    let app = TestApp::options().without_webhook().key_maker(keys.clone()).start().await;
    let path = "/v1/iam/signing-keys";
    let make = async || post(&app, &app.token, path, "one", &json!({})).await;
    let meanwhile = async {
        keys.wait_for(1).await;
        let same = make().await;
        let other = post(&app, &app.token, path, "one", &json!({"other": 1})).await;
        keys.release();
        (same, other)
    };
    let (first, (same, other)) = tokio::join!(make(), meanwhile);
    insta::assert_snapshot!("under_way", app.golden().answer(&same));
    assert_eq!(same.refusal(), (409, "request under way".to_owned()));
    assert_eq!(same.header("retry-after"), Some("1"));
    assert_eq!(field(&other), "Idempotency-Key");
    let again = make().await;
    assert_eq!((first.status, again.status, again.text()), (201, 201, first.text()));
    assert_eq!((keys.begun(), total(&app, path).await), (1, json!(1)));
}

#[tokio::test]
async fn idempotency_key_works_across_processes() {
    let keys = GatedKeyMaker::default();
    let app = TestApp::options().without_webhook().key_maker(keys.clone()).start().await;
    if !app.ground.is_shared() {
        return; // a folder has one process
    }
    let other_node = TestApp::on_data_of(&app, TestApp::options().key_maker(keys.clone())).await;
    let path = "/v1/iam/signing-keys";
    let release = async {
        keys.wait_for(2).await;
        keys.release();
    };
    let body = json!({});
    let (here, there, ()) = tokio::join!(
        post(&app, &app.token, path, "one", &body),
        post(&other_node, &app.token, path, "one", &body),
        release
    );
    assert_eq!((here.status, there.status), (201, 201), "{here:?} {there:?}");
    assert_eq!(here.text(), there.text(), "the second process repeats the first response");
    assert_eq!(total(&app, path).await, 1);
}
