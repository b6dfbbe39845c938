//! A client that names its requests, whose server stops at the n-th write, or cannot make it, for every n: it asks until it is answered, and
//! each thing is made once.

use std::future::ready;
use std::sync::atomic::Ordering;

use futures_util::{StreamExt as _, stream};
use kinora_testkit::CrashPlan;
use serde_json::{Value, json};

use super::clock::TestClock;
use super::events;
use super::failing::{FailAt, SPEED};
use super::life::{Life, say};
use crate::support::{Answer, Faults, TestApp, text};

/// Lives at once: they wait more than they work.
const AT_ONCE: usize = 4;
/// Four requests are four writes, and each is two points; far fewer would mean that they are not counted.
const WRITES_MIN: usize = 8;

#[tokio::test]
async fn a_crash_at_any_write_neither_loses_nor_doubles_a_named_request() {
    let crashed =
        stream::iter(0..).map(live_and_crash_at).buffered(AT_ONCE).take_while(|crashed| ready(*crashed));
    let points = crashed.count().await;
    assert!(points >= WRITES_MIN, "only {points} writes were crash points");
}

#[tokio::test]
async fn a_write_that_fails_is_made_up_for_once() {
    let failed =
        stream::iter(0..).map(live_and_fail_at).buffered(AT_ONCE).take_while(|failed| ready(*failed));
    let points = failed.count().await;
    assert!(points >= WRITES_MIN, "only {points} writes could fail");
}

async fn live_and_crash_at(n: u64) -> bool {
    let plan = CrashPlan::at_write(n);
    let mut life = Life::begin(TestClock::standing(), plan.clone(), Faults::of_plan(&plan)).await;
    say(&format!("crash at write {n}"));
    live(&mut life).await;
    plan.has_crashed()
}

async fn live_and_fail_at(n: u64) -> bool {
    let failing = FailAt::write(n);
    let mut life = Life::begin(TestClock::running(SPEED), CrashPlan::never(), failing.faults()).await;
    say(&format!("failure at write {n}"));
    live(&mut life).await;
    failing.count.load(Ordering::SeqCst) > n
}

async fn live(life: &mut Life) {
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
