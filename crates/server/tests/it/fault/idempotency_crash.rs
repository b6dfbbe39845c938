//! A client with idempotency keys, with a crash or a failure at the n-th write, for every n.
//!
//! The client retries until it gets a response, and each resource is created once.

use serde_json::{Value, json};

use super::crash_scenario::CrashScenario;
use super::each_write::{self, nothing};
use super::events;
use crate::support::{Answer, TestApp, text};

/// Four requests are four writes, and each is two points; far fewer would mean that they are not counted.
const WRITES_MIN: u64 = 8;

#[tokio::test]
async fn idempotent_request_survives_crash_at_any_write() {
    each_write::crash_at_each(module_path!(), WRITES_MIN, nothing, run_scenario).await;
}

#[tokio::test]
async fn idempotent_request_retries_failed_write() {
    each_write::fail_at_each(module_path!(), WRITES_MIN, nothing, run_scenario).await;
}

async fn run_scenario(scenario: &mut CrashScenario, (): ()) {
    // The source does not exist, so the media fails at once: this test needs only requests and responses.
    let url = format!("http://{}/nothing.mp4", scenario.app.sources.address());
    let body = json!({"inputs": [{"type": "video", "url": url}]});
    let media = retry_and_replay(scenario, "/v1/on-demand", &body).await.data();
    let playback = format!("/v1/on-demand/{}/playback-ids", text(&media["id"]));
    retry_and_replay(scenario, &playback, &json!({"accessPolicy": "public"})).await;
    retry_and_replay(scenario, "/v1/on-demand/upload", &json!({"corsOrigin": "*"})).await;
    retry_and_replay(scenario, "/v1/iam/signing-keys", &json!({})).await;
    scenario.settle().await;

    assert_eq!(scenario.accepted().await, [text(&media["id"])]);
    let read = scenario.app.get(text(&media["id"])).await.data();
    assert_eq!(
        read["playbackIds"].as_array().map(Vec::len),
        Some(2),
        "its own, and the one that was asked for"
    );
    for path in ["/v1/on-demand/uploads", "/v1/iam/signing-keys"] {
        let list = scenario.app.call("GET", path).send().await.json();
        assert_eq!(list["pagination"]["totalRecords"], 1, "{path}");
        assert_eq!(list["data"].as_array().map(Vec::len), Some(1), "{path}");
    }
    let events_by_media = events::by_media(&scenario.app.receiver);
    let of_media = &events_by_media[text(&media["id"])];
    assert_eq!(of_media.iter().filter(|event| *event == "video.media.created").count(), 1, "{of_media:?}");
}

/// Retries until there is a response, then sends it again: both responses are equal.
async fn retry_and_replay(scenario: &mut CrashScenario, path: &str, body: &Value) -> Answer {
    let ask = async |life: &mut CrashScenario| {
        life.retry_until(path, async |app| answered(app, path, body).await).await
    };
    let first = ask(scenario).await;
    let second = ask(scenario).await;
    assert_eq!((first.status, second.status, second.text()), (201, 201, first.text()), "{path}");
    assert_eq!(second.header("idempotent-replayed"), Some("true"), "{path}");
    first
}

/// `None` when there is no response, or the server reports a fault of its own.
async fn answered(app: &TestApp, path: &str, body: &Value) -> Option<Answer> {
    let request = app.call("POST", path).header("Idempotency-Key", path).json(body);
    // 409: the connection broke, and the request is still in progress.
    request.try_send().await.ok().filter(|answer| answer.status < 500 && answer.status != 409)
}
