//! A playlist that its client fills, orders and empties, whose server stops at the n-th write, or cannot make it, for every n: what was
//! answered is so, and each media is in it once.

use std::future::ready;
use std::sync::atomic::Ordering;

use futures_util::{StreamExt as _, stream};
use kinora_testkit::{CrashPlan, fixture};
use serde_json::{Value, json};

use super::clock::TestClock;
use super::failing::{FailAt, SPEED};
use super::life::{Life, answered, say};
use crate::support::{Faults, TestApp, text};

/// Lives at once: they wait more than they work.
const AT_ONCE: usize = 4;
/// Seven changes, and what the deletion of a media leaves to do; fewer would mean that they are not counted.
const WRITES_MIN: usize = 9;
const ALL: &str = "/v1/on-demand/playlists";

#[tokio::test]
async fn a_crash_at_any_write_keeps_a_change_whole_or_not_at_all() {
    let crashed =
        stream::iter(0..).map(live_and_crash_at).buffered(AT_ONCE).take_while(|crashed| ready(*crashed));
    let points = crashed.count().await;
    assert!(points >= WRITES_MIN, "only {points} writes were crash points");
}

#[tokio::test]
async fn a_write_that_fails_is_made_up_for() {
    let failed =
        stream::iter(0..).map(live_and_fail_at).buffered(AT_ONCE).take_while(|failed| ready(*failed));
    let points = failed.count().await;
    assert!(points >= WRITES_MIN, "only {points} writes could fail");
}

async fn live_and_crash_at(n: u64) -> bool {
    let plan = CrashPlan::at_write(n);
    let faults = Faults::of_plan(&plan);
    let (mut life, media) = Life::begin_after(TestClock::standing(), plan.clone(), faults, two_media).await;
    say(&format!("crash at write {n}"));
    live(&mut life, &media).await;
    plan.has_crashed()
}

async fn live_and_fail_at(n: u64) -> bool {
    let failing = FailAt::write(n);
    let (clock, never) = (TestClock::running(SPEED), CrashPlan::never());
    let (mut life, media) = Life::begin_after(clock, never, failing.faults(), two_media).await;
    say(&format!("failure at write {n}"));
    live(&mut life, &media).await;
    failing.count.load(Ordering::SeqCst) > n
}

async fn two_media(app: &TestApp) -> [String; 2] {
    let id = |media: Value| text(&media["id"]).to_owned();
    let [a, b] = ["/a.mp4", "/b.mp4"];
    [id(app.ready(a, fixture::two_seconds()).await), id(app.ready(b, fixture::two_seconds()).await)]
}

async fn live(life: &mut Life, [a, b]: &[String; 2]) {
    // A client whose answer was lost finds that its reference is taken, and the playlist by it.
    let new = json!({"name": "N", "referenceId": "r", "type": "manual"});
    insist(life, "POST", ALL, &new, &[201, 409]).await;
    let found = insist(life, "GET", ALL, &Value::Null, &[200]).await;
    assert_eq!(found["pagination"]["totalRecords"], 1, "counted once: {found}");
    assert_eq!(found["data"].as_array().map(Vec::len), Some(1));
    let playlist = format!("{ALL}/{}", text(&found["data"][0]["id"]));
    let media = format!("{playlist}/media");
    let held = |answer: &Value| {
        let list = answer["data"]["mediaList"].as_array().expect("a list").clone();
        list.iter().map(|media| text(&media["id"]).to_owned()).collect::<Vec<_>>()
    };
    let filled = insist(life, "PATCH", &media, &json!({"mediaIds": [a, b]}), &[200]).await;
    assert_eq!(held(&filled), [a.clone(), b.clone()]);
    let turned = insist(life, "PUT", &media, &json!({"mediaIds": [b, a]}), &[200]).await;
    assert_eq!(held(&turned), [b.clone(), a.clone()]);
    insist(life, "PUT", &playlist, &json!({"name": "M", "description": "D"}), &[200]).await;
    // What was taken out before the answer was lost is not in it the second time.
    insist(life, "DELETE", &media, &json!({"mediaIds": [b]}), &[200, 422]).await;
    let left = insist(life, "GET", &playlist, &Value::Null, &[200]).await;
    assert_eq!((held(&left), &left["data"]["name"]), (vec![a.clone()], &json!("M")));

    insist(life, "DELETE", &format!("/v1/on-demand/{a}"), &Value::Null, &[200, 404]).await;
    let empty = insist(life, "GET", &playlist, &Value::Null, &[200]).await;
    assert_eq!(held(&empty), [""; 0], "what is deleted left with its row");
    insist(life, "DELETE", &playlist, &Value::Null, &[200, 404]).await;
    let gone = insist(life, "GET", ALL, &Value::Null, &[200]).await;
    assert_eq!((&gone["data"], &gone["pagination"]["totalRecords"]), (&json!([]), &json!(0)));
    life.settle().await;
}

/// Asks until the answer is one of these; a body of null is none.
async fn insist(life: &mut Life, method: &str, target: &str, body: &Value, wanted: &[u16]) -> Value {
    let body = Some(body).filter(|body| !body.is_null());
    let answer = life
        .insist(&format!("{method} {target}"), async |app| {
            answered(app, method, target, body).await.filter(|answer| wanted.contains(&answer.status))
        })
        .await;
    answer.json()
}
