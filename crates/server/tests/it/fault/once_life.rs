//! A client that names its requests, whose server stops at the n-th write, or cannot make it, for every n: it
//! asks until it is answered, and each thing is made once.

use serde_json::{Value, json};

use super::each_write::{self, nothing};
use super::events;
use super::life::Life;
use crate::support::{Answer, TestApp, text};

/// Four requests are four writes, and each is two points; far fewer would mean that they are not counted.
const WRITES_MIN: u64 = 8;

#[tokio::test]
async fn a_crash_at_any_write_neither_loses_nor_doubles_a_named_request() {
    each_write::crash_at_each(module_path!(), WRITES_MIN, nothing, live).await;
}

#[tokio::test]
async fn a_write_that_fails_is_made_up_for_once() {
    each_write::fail_at_each(module_path!(), WRITES_MIN, nothing, live).await;
}

async fn live(life: &mut Life, (): ()) {
    // There is nothing: the media fails at once, for this is about what is asked and answered.
    let url = format!("http://{}/nothing.mp4", life.app.sources.address());
    let body = json!({"inputs": [{"type": "video", "url": url}]});
    let media = insist(life, "/v1/on-demand", &body).await.data();
    let playback = format!("/v1/on-demand/{}/playback-ids", text(&media["id"]));
    insist(life, &playback, &json!({"accessPolicy": "public"})).await;
    insist(life, "/v1/on-demand/upload", &json!({"corsOrigin": "*"})).await;
    insist(life, "/v1/iam/signing-keys", &json!({})).await;
    life.settle().await;

    assert_eq!(life.accepted().await, [text(&media["id"])]);
    let read = life.app.get(text(&media["id"])).await.data();
    assert_eq!(
        read["playbackIds"].as_array().map(Vec::len),
        Some(2),
        "its own, and the one that was asked for"
    );
    for path in ["/v1/on-demand/uploads", "/v1/iam/signing-keys"] {
        let list = life.app.call("GET", path).send().await.json();
        assert_eq!(list["pagination"]["totalRecords"], 1, "{path}");
        assert_eq!(list["data"].as_array().map(Vec::len), Some(1), "{path}");
    }
    let told = events::by_media(&life.app.receiver);
    let of_media = &told[text(&media["id"])];
    assert_eq!(of_media.iter().filter(|event| *event == "video.media.created").count(), 1, "{of_media:?}");
}

/// Asks until it is answered, and once more: it is the same answer.
async fn insist(life: &mut Life, path: &str, body: &Value) -> Answer {
    let ask = async |life: &mut Life| life.insist(path, async |app| answered(app, path, body).await).await;
    let first = ask(life).await;
    let second = ask(life).await;
    assert_eq!((first.status, second.status, second.text()), (201, 201, first.text()), "{path}");
    assert_eq!(second.header("idempotent-replayed"), Some("true"), "{path}");
    first
}

/// `None` when there is no answer, or something of the server's own is in the way.
async fn answered(app: &TestApp, path: &str, body: &Value) -> Option<Answer> {
    let request = app.call("POST", path).header("Idempotency-Key", path).json(body);
    // 409: the line broke, and the request goes on.
    request.try_send().await.ok().filter(|answer| answer.status < 500 && answer.status != 409)
}
