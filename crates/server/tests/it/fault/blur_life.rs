//! A media whose picture is looked at, and another one chosen for it, with a server that stops at the n-th write, or cannot make it, for every n: in the
//! end the media tells what the picture looks like that stands for it.

use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::each_write::{crash_at_each, fail_at_each};
use super::life::Life;
use crate::media::blur_hash::expected;
use crate::support::{TestApp, text};

/// Two changes, and what was seen of two pictures; fewer would mean that they are not counted.
const WRITES_MIN: u64 = 4;

#[tokio::test]
async fn a_crash_at_any_write_costs_a_hash_nothing_but_time() {
    crash_at_each(module_path!(), WRITES_MIN, ready_media, live).await;
}

#[tokio::test]
async fn a_write_of_a_hash_that_fails_is_made_up_for() {
    fail_at_each(module_path!(), WRITES_MIN, ready_media, live).await;
}

/// A ready media without a BlurHash, and the BlurHash of the thumbnail that is chosen last.
async fn ready_media(app: &TestApp) -> (Value, String) {
    let media = app.ready("/source.mp4", fixture::two_seconds()).await;
    app.blur_hash_from_next_start();
    let chosen = expected(app, text(&media["playbackIds"][0]["id"]), "&time=1.7").await;
    (media, chosen)
}

async fn live(life: &mut Life, (media, chosen): (Value, String)) {
    let id = text(&media["id"]);
    let path = format!("/v1/on-demand/{id}");
    for time in [0.2, 1.7] {
        life.ask("PATCH", &path, &json!({"thumbnail": {"time": time}}), &[200]).await;
    }
    life.settle().await;
    assert_eq!(life.app.get(id).await.data()["blurHash"], chosen);
}
