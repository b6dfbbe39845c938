//! A media that its client changes, with a crash or a failure at the n-th write, for every n.
//!
//! Every change emitted an event, and every event reports a change.

use std::collections::BTreeMap;

use kinora_testkit::{ReceivedPost, fixture};
use serde_json::{Value, json};

use super::crash_scenario::CrashScenario;
use super::each_write;
use crate::support::{TestApp, text};

/// Four changes and their events; fewer would mean that they are not counted.
const WRITES_MIN: u64 = 8;

#[tokio::test]
async fn crash_at_any_write_keeps_update_and_event_atomic() {
    each_write::crash_at_each(module_path!(), WRITES_MIN, ready_media, run_scenario).await;
}

#[tokio::test]
async fn failed_write_is_retried() {
    each_write::fail_at_each(module_path!(), WRITES_MIN, ready_media, run_scenario).await;
}

async fn ready_media(app: &TestApp) -> Value {
    app.ready("/source.mp4", fixture::two_seconds()).await
}

async fn run_scenario(scenario: &mut CrashScenario, media: Value) {
    let (id, first) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    let saves_before = saved_version(&scenario.app, id).await;

    let (media, all) = (format!("/v1/on-demand/{id}"), format!("/v1/on-demand/{id}/playback-ids"));
    scenario.ask("PATCH", &media, &json!({"title": "A title"}), &[200]).await;
    let open = json!({"sourceAccess": true});
    scenario.ask("PATCH", &format!("{media}/source-access"), &open, &[200]).await;
    // A client that lost the response requests the current state.
    let files = json!({"mp4Support": "capped_4k"});
    scenario.ask("PATCH", &format!("{media}/update-mp4Support"), &files, &[200, 400]).await;
    let public = json!({"accessPolicy": "public"});
    let made = scenario.ask("POST", &all, &public, &[201]).await.data();
    let made = text(&made["id"]);
    let rule = json!({"defaultPolicy": "deny", "allow": ["example.com"], "deny": []});
    scenario.ask("PATCH", &format!("{all}/{made}/domains"), &rule, &[200]).await;
    let open_id = scenario.ask("POST", &all, &public, &[201]).await.data();
    let open_id = text(&open_id["id"]);
    // A client that lost the response deletes again, and gets 404.
    scenario.ask("DELETE", &format!("{all}?playbackId={first}"), &Value::Null, &[200, 404]).await;
    scenario.settle().await;

    let read = scenario.app.get(id).await.data();
    assert_eq!(read["title"], "A title");
    let playback = read["playbackIds"].as_array().expect("a list");
    assert!(playback.iter().all(|handle| handle["id"] != *first), "{playback:?}");
    let own = playback.iter().find(|handle| handle["id"] == *made).expect("the one that was answered");
    assert_eq!(own["accessRestrictions"]["domains"], rule);
    assert_eq!(scenario.app.fetch(&format!("/{made}.m3u8")).await.status, 403);
    assert_eq!(scenario.app.fetch(&format!("/{first}.m3u8")).await.status, 404);

    for file in ["source", "capped-4k.mp4"] {
        assert_eq!(scenario.app.fetch(&format!("/{open_id}/{file}")).await.status, 200, "{file}");
    }

    // Every save is a change, and every change emitted an event: title, original, files, each existing
    // playback ID, its rule, and the deleted one. A client that lost the response may have created two.
    let counts = event_counts(&scenario.app);
    let changes = 3 + playback.len() + 1 + 1;
    for once in ["video.media.source.ready", "video.media.mp4Support.ready"] {
        assert_eq!(counts.get(&(id.to_owned(), once.to_owned())), Some(&1), "{once}");
    }
    assert_eq!(counts.get(&(id.to_owned(), "video.media.updated".to_owned())), Some(&changes));
    assert_eq!(saved_version(&scenario.app, id).await - saves_before, i64::try_from(changes).unwrap());
    assert_eq!(counts.get(&(id.to_owned(), "video.media.ready".to_owned())), Some(&1));
}

/// How many times the row of the media was saved.
async fn saved_version(app: &TestApp, id: &str) -> i64 {
    let id = id.parse().expect("an id from the API");
    app.store.media_by_id(id).await.expect("the database is there").expect("the media is there").version
}

/// The number of events by object and type, each event id counted once.
fn event_counts(app: &TestApp) -> BTreeMap<(String, String), usize> {
    let mut events: BTreeMap<String, ReceivedPost> = BTreeMap::new();
    for post in app.receiver.posted() {
        events.insert(post.event_id(), post);
    }
    let mut counts = BTreeMap::new();
    for post in events.values() {
        let object = text(&post.json()["object"]["id"]).to_owned();
        *counts.entry((object, post.event_type())).or_default() += 1;
    }
    counts
}
