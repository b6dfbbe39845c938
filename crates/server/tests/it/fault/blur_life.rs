//! A media whose picture is looked at, and another one chosen for it, with a server that stops at the n-th
//! write, or cannot make it, for every n: in the end the media tells what the picture looks like that stands
//! for it.

use kinora_testkit::{Source, fixture};
use serde_json::json;

use super::each_write::{crash_at_each, fail_at_each};
use super::life::{Life, answered};
use crate::media::blur_hash::expected;
use crate::support::{TestApp, text};

/// A media, two changes, and what was seen of two pictures; fewer would mean that they are not counted.
const WRITES_MIN: u64 = 20;

#[tokio::test]
async fn a_crash_at_any_write_costs_a_hash_nothing_but_time() {
    crash_at_each(module_path!(), WRITES_MIN, source, live).await;
}

#[tokio::test]
async fn a_write_of_a_hash_that_fails_is_made_up_for() {
    fail_at_each(module_path!(), WRITES_MIN, source, live).await;
}

/// The address of a source. BlurHash jobs are queued from now on.
async fn source(app: &TestApp) -> String {
    app.blur_hash_from_next_start();
    app.serve("/source.mp4", Source::of(fixture::two_seconds()))
}

async fn live(life: &mut Life, url: String) {
    let body = json!({"inputs": [{"type": "video", "url": url}]});
    let media = life.ask("POST", "/v1/on-demand", &body, &[201]).await.data();
    let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    let path = format!("/v1/on-demand/{id}");
    life.insist("the media is ready", async |app| {
        let answer = answered(app, "GET", &path, None).await?;
        (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
    })
    .await;
    for time in [0.2, 1.7] {
        life.ask("PATCH", &path, &json!({"thumbnail": {"time": time}}), &[200]).await;
    }
    life.settle().await;
    let chosen = expected(&life.app, playback, "&time=1.7").await;
    assert_eq!(life.app.get(id).await.data()["blurHash"], chosen);
}
