//! A playlist that its client fills, orders and empties, whose server stops at the n-th write, or cannot make
//! it, for every n: what was answered is so, and each media is in it once.

use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::each_write;
use super::life::Life;
use crate::support::{TestApp, text};

/// Seven changes, and what the deletion of a media leaves to do; fewer would mean that they are not counted.
const WRITES_MIN: u64 = 9;
const ALL: &str = "/v1/on-demand/playlists";

#[tokio::test]
async fn a_crash_at_any_write_keeps_a_change_whole_or_not_at_all() {
    each_write::crash_at_each(module_path!(), WRITES_MIN, two_media, live).await;
}

#[tokio::test]
async fn a_write_that_fails_is_made_up_for() {
    each_write::fail_at_each(module_path!(), WRITES_MIN, two_media, live).await;
}

async fn two_media(app: &TestApp) -> [String; 2] {
    let id = |media: Value| text(&media["id"]).to_owned();
    let [a, b] = ["/a.mp4", "/b.mp4"];
    [id(app.ready(a, fixture::two_seconds()).await), id(app.ready(b, fixture::two_seconds()).await)]
}

async fn live(life: &mut Life, [a, b]: [String; 2]) {
    // A client whose answer was lost finds that its reference is taken, and the playlist by it.
    let new = json!({"name": "N", "referenceId": "r", "type": "manual"});
    life.ask("POST", ALL, &new, &[201, 409]).await;
    let found = life.ask("GET", ALL, &Value::Null, &[200]).await.json();
    assert_eq!(found["pagination"]["totalRecords"], 1, "counted once: {found}");
    assert_eq!(found["data"].as_array().map(Vec::len), Some(1));
    let playlist = format!("{ALL}/{}", text(&found["data"][0]["id"]));
    let media = format!("{playlist}/media");
    let held = |answer: &Value| {
        let list = answer["data"]["mediaList"].as_array().expect("a list").clone();
        list.iter().map(|media| text(&media["id"]).to_owned()).collect::<Vec<_>>()
    };
    let filled = life.ask("PATCH", &media, &json!({"mediaIds": [a, b]}), &[200]).await.json();
    assert_eq!(held(&filled), [a.clone(), b.clone()]);
    let turned = life.ask("PUT", &media, &json!({"mediaIds": [b, a]}), &[200]).await.json();
    assert_eq!(held(&turned), [b.clone(), a.clone()]);
    life.ask("PUT", &playlist, &json!({"name": "M", "description": "D"}), &[200]).await;
    // What was taken out before the answer was lost is not in it the second time.
    life.ask("DELETE", &media, &json!({"mediaIds": [b]}), &[200, 422]).await;
    let left = life.ask("GET", &playlist, &Value::Null, &[200]).await.json();
    assert_eq!((held(&left), &left["data"]["name"]), (vec![a.clone()], &json!("M")));

    life.ask("DELETE", &format!("/v1/on-demand/{a}"), &Value::Null, &[200, 404]).await;
    let empty = life.ask("GET", &playlist, &Value::Null, &[200]).await.json();
    assert_eq!(held(&empty), [""; 0], "what is deleted left with its row");
    life.ask("DELETE", &playlist, &Value::Null, &[200, 404]).await;
    let gone = life.ask("GET", ALL, &Value::Null, &[200]).await.json();
    assert_eq!((&gone["data"], &gone["pagination"]["totalRecords"]), (&json!([]), &json!(0)));
    life.settle().await;
}
