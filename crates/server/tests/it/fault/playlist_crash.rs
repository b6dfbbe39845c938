//! A playlist that its client fills, orders and empties, with a crash or a failure at the n-th write, for
//! every n.
//!
//! Every acknowledged change is stored, and each media is in the playlist once.

use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::crash_scenario::CrashScenario;
use super::each_write;
use crate::support::{TestApp, text};

/// Seven changes, and the jobs of the deletion of a media; fewer would mean that they are not counted.
const WRITES_MIN: u64 = 9;
const ALL: &str = "/v1/on-demand/playlists";

#[tokio::test]
async fn crash_at_any_write_keeps_playlist_change_atomic() {
    each_write::crash_at_each(module_path!(), WRITES_MIN, two_media, run_scenario).await;
}

#[tokio::test]
async fn failed_write_is_retried() {
    each_write::fail_at_each(module_path!(), WRITES_MIN, two_media, run_scenario).await;
}

async fn two_media(app: &TestApp) -> [String; 2] {
    let id = |media: Value| text(&media["id"]).to_owned();
    let [a, b] = ["/a.mp4", "/b.mp4"];
    [id(app.ready(a, fixture::two_seconds()).await), id(app.ready(b, fixture::two_seconds()).await)]
}

async fn run_scenario(scenario: &mut CrashScenario, [a, b]: [String; 2]) {
    // A client that lost the response gets 409 for its reference, and finds the playlist in the list.
    let new = json!({"name": "N", "referenceId": "r", "type": "manual"});
    scenario.ask("POST", ALL, &new, &[201, 409]).await;
    let found = scenario.ask("GET", ALL, &Value::Null, &[200]).await.json();
    assert_eq!(found["pagination"]["totalRecords"], 1, "counted once: {found}");
    assert_eq!(found["data"].as_array().map(Vec::len), Some(1));
    let playlist = format!("{ALL}/{}", text(&found["data"][0]["id"]));
    let media = format!("{playlist}/media");
    let media_ids = |answer: &Value| {
        let list = answer["data"]["mediaList"].as_array().expect("a list").clone();
        list.iter().map(|media| text(&media["id"]).to_owned()).collect::<Vec<_>>()
    };
    let filled = scenario.ask("PATCH", &media, &json!({"mediaIds": [a, b]}), &[200]).await.json();
    assert_eq!(media_ids(&filled), [a.clone(), b.clone()]);
    let reversed = scenario.ask("PUT", &media, &json!({"mediaIds": [b, a]}), &[200]).await.json();
    assert_eq!(media_ids(&reversed), [b.clone(), a.clone()]);
    scenario.ask("PUT", &playlist, &json!({"name": "M", "description": "D"}), &[200]).await;
    // A media that was removed before the response was lost is not in the playlist at the retry.
    scenario.ask("DELETE", &media, &json!({"mediaIds": [b]}), &[200, 422]).await;
    let remaining = scenario.ask("GET", &playlist, &Value::Null, &[200]).await.json();
    assert_eq!((media_ids(&remaining), &remaining["data"]["name"]), (vec![a.clone()], &json!("M")));

    scenario.ask("DELETE", &format!("/v1/on-demand/{a}"), &Value::Null, &[200, 404]).await;
    let empty = scenario.ask("GET", &playlist, &Value::Null, &[200]).await.json();
    assert_eq!(media_ids(&empty), [""; 0], "a deleted media left the playlist");
    scenario.ask("DELETE", &playlist, &Value::Null, &[200, 404]).await;
    let gone = scenario.ask("GET", ALL, &Value::Null, &[200]).await.json();
    assert_eq!((&gone["data"], &gone["pagination"]["totalRecords"]), (&json!([]), &json!(0)));
    scenario.settle().await;
}
