//! A media that its client changes, whose server stops at the n-th write, or cannot make it, for every n: what changed was told, and
//! what was told changed.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::atomic::Ordering;

use futures_util::{StreamExt as _, stream};
use kinora_testkit::{CrashPlan, Posted, fixture};
use serde_json::{Value, json};

use super::clock::TestClock;
use super::failing::{FailAt, SPEED};
use super::life::{Life, answered, say};
use crate::support::{Faults, TestApp, text};

/// Lives at once: they wait more than they work.
const AT_ONCE: usize = 4;
/// Four changes, and what tells of each; fewer would mean that they are not counted.
const WRITES_MIN: usize = 8;

#[tokio::test]
async fn a_crash_at_any_write_keeps_each_change_with_its_event_or_neither() {
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
    let (mut life, media) = Life::begin_after(TestClock::standing(), plan.clone(), faults, ready_media).await;
    say(&format!("crash at write {n}"));
    live(&mut life, &media).await;
    plan.has_crashed()
}

async fn live_and_fail_at(n: u64) -> bool {
    let failing = FailAt::write(n);
    let (clock, never) = (TestClock::running(SPEED), CrashPlan::never());
    let (mut life, media) = Life::begin_after(clock, never, failing.faults(), ready_media).await;
    say(&format!("failure at write {n}"));
    live(&mut life, &media).await;
    failing.count.load(Ordering::SeqCst) > n
}

async fn ready_media(app: &TestApp) -> Value {
    app.ready("/source.mp4", fixture::two_seconds()).await
}

async fn live(life: &mut Life, media: &Value) {
    let (id, first) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    let saves_before = saves(&life.app, id).await;

    let (media, all) = (format!("/v1/on-demand/{id}"), format!("/v1/on-demand/{id}/playback-ids"));
    insist(life, "PATCH", &media, &json!({"title": "A title"}), &[200]).await;
    let open = json!({"sourceAccess": true});
    insist(life, "PATCH", &format!("{media}/source-access"), &open, &[200]).await;
    // A client whose answer was lost asks for what is so by then.
    let files = json!({"mp4Support": "capped_4k"});
    insist(life, "PATCH", &format!("{media}/update-mp4Support"), &files, &[200, 400]).await;
    let made = insist(life, "POST", &all, &json!({"accessPolicy": "public"}), &[201]).await;
    let made = text(&made["id"]);
    let rule = json!({"defaultPolicy": "deny", "allow": ["example.com"], "deny": []});
    insist(life, "PATCH", &format!("{all}/{made}/domains"), &rule, &[200]).await;
    let open_id = insist(life, "POST", &all, &json!({"accessPolicy": "public"}), &[201]).await;
    let open_id = text(&open_id["id"]);
    // A client whose answer was lost asks again for what is gone by then.
    insist(life, "DELETE", &format!("{all}?playbackId={first}"), &json!({}), &[200, 404]).await;
    life.settle().await;

    let read = life.app.get(id).await.data();
    assert_eq!(read["title"], "A title");
    let playback = read["playbackIds"].as_array().expect("a list");
    assert!(playback.iter().all(|handle| handle["id"] != *first), "{playback:?}");
    let ours = playback.iter().find(|handle| handle["id"] == *made).expect("the one that was answered");
    assert_eq!(ours["accessRestrictions"]["domains"], rule);
    assert_eq!(life.app.fetch(&format!("/{made}.m3u8")).await.status, 403);
    assert_eq!(life.app.fetch(&format!("/{first}.m3u8")).await.status, 404);

    for file in ["source", "capped-4k.mp4"] {
        assert_eq!(life.app.fetch(&format!("/{open_id}/{file}")).await.status, 200, "{file}");
    }

    // Every save was a change, and every change was told: the title, the original, the files, each playback ID that there is, its rule, and
    // the one that is gone.
    // A client whose answer was lost may have made two.
    let told = told(&life.app);
    let changes = 3 + playback.len() + 1 + 1;
    for once in ["video.media.source.ready", "video.media.mp4Support.ready"] {
        assert_eq!(told.get(&(id.to_owned(), once.to_owned())), Some(&1), "{once}");
    }
    assert_eq!(told.get(&(id.to_owned(), "video.media.updated".to_owned())), Some(&changes));
    assert_eq!(saves(&life.app, id).await - saves_before, i64::try_from(changes).unwrap());
    assert_eq!(told.get(&(id.to_owned(), "video.media.ready".to_owned())), Some(&1));
}

/// Asks until the answer is one of these.
async fn insist(life: &mut Life, method: &str, target: &str, body: &Value, wanted: &[u16]) -> Value {
    let answer = life
        .insist(&format!("{method} {target}"), async |app| {
            answered(app, method, target, Some(body)).await.filter(|answer| wanted.contains(&answer.status))
        })
        .await;
    if answer.status == 404 { Value::Null } else { answer.json()["data"].take() }
}

/// How often the row of the media was saved.
async fn saves(app: &TestApp, id: &str) -> i64 {
    let id = id.parse().expect("an id from the API");
    app.store.media_by_id(id).await.expect("the database is there").expect("the media is there").version
}

/// Events by their object and type, each id once.
fn told(app: &TestApp) -> BTreeMap<(String, String), usize> {
    let mut events: BTreeMap<String, Posted> = BTreeMap::new();
    for post in app.receiver.posted() {
        events.insert(post.event_id(), post);
    }
    let mut told = BTreeMap::new();
    for post in events.values() {
        let object = text(&post.json()["object"]["id"]).to_owned();
        *told.entry((object, post.event_type())).or_default() += 1;
    }
    told
}
