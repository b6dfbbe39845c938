//! A media that its client changes, whose server stops at the n-th write, or cannot make it, for every n:
//! what changed was told, and what was told changed.

use std::collections::BTreeMap;

use kinora_testkit::{Posted, fixture};
use serde_json::{Value, json};

use super::each_write;
use super::life::Life;
use crate::support::{TestApp, text};

/// Four changes, and what tells of each; fewer would mean that they are not counted.
const WRITES_MIN: u64 = 8;

#[tokio::test]
async fn a_crash_at_any_write_keeps_each_change_with_its_event_or_neither() {
    each_write::crash_at_each(module_path!(), WRITES_MIN, ready_media, live).await;
}

#[tokio::test]
async fn a_write_that_fails_is_made_up_for() {
    each_write::fail_at_each(module_path!(), WRITES_MIN, ready_media, live).await;
}

async fn ready_media(app: &TestApp) -> Value {
    app.ready("/source.mp4", fixture::two_seconds()).await
}

async fn live(life: &mut Life, media: Value) {
    let (id, first) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    let saves_before = saves(&life.app, id).await;

    let (media, all) = (format!("/v1/on-demand/{id}"), format!("/v1/on-demand/{id}/playback-ids"));
    life.ask("PATCH", &media, &json!({"title": "A title"}), &[200]).await;
    let open = json!({"sourceAccess": true});
    life.ask("PATCH", &format!("{media}/source-access"), &open, &[200]).await;
    // A client whose answer was lost asks for what is so by then.
    let files = json!({"mp4Support": "capped_4k"});
    life.ask("PATCH", &format!("{media}/update-mp4Support"), &files, &[200, 400]).await;
    let public = json!({"accessPolicy": "public"});
    let made = life.ask("POST", &all, &public, &[201]).await.data();
    let made = text(&made["id"]);
    let rule = json!({"defaultPolicy": "deny", "allow": ["example.com"], "deny": []});
    life.ask("PATCH", &format!("{all}/{made}/domains"), &rule, &[200]).await;
    let open_id = life.ask("POST", &all, &public, &[201]).await.data();
    let open_id = text(&open_id["id"]);
    // A client whose answer was lost asks again for what is gone by then.
    life.ask("DELETE", &format!("{all}?playbackId={first}"), &Value::Null, &[200, 404]).await;
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

    // Every save was a change, and every change was told: the title, the original, the files, each playback
    // ID that there is, its rule, and the one that is gone. A client whose answer was lost may have made two.
    let told = told(&life.app);
    let changes = 3 + playback.len() + 1 + 1;
    for once in ["video.media.source.ready", "video.media.mp4Support.ready"] {
        assert_eq!(told.get(&(id.to_owned(), once.to_owned())), Some(&1), "{once}");
    }
    assert_eq!(told.get(&(id.to_owned(), "video.media.updated".to_owned())), Some(&changes));
    assert_eq!(saves(&life.app, id).await - saves_before, i64::try_from(changes).unwrap());
    assert_eq!(told.get(&(id.to_owned(), "video.media.ready".to_owned())), Some(&1));
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
