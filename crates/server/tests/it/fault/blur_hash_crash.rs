//! A media with BlurHash jobs and a new thumbnail time, with a crash or a failure at the n-th write, for
//! every n.
//!
//! At the end its BlurHash is that of its current thumbnail.

use kinora_testkit::{Source, fixture};
use serde_json::json;

use super::crash_scenario::{CrashScenario, answered};
use super::each_write::{crash_at_each, fail_at_each};
use crate::media::blur_hash::expected;
use crate::support::{TestApp, text};

/// A media, two changes, and two hashes; fewer would mean that they are not counted.
const WRITES_MIN: u64 = 20;

#[tokio::test]
async fn blur_hash_job_survives_crash_at_any_write() {
    crash_at_each(module_path!(), WRITES_MIN, source, run_scenario).await;
}

#[tokio::test]
async fn failed_blur_hash_write_is_retried() {
    fail_at_each(module_path!(), WRITES_MIN, source, run_scenario).await;
}

/// The URL of a source. BlurHash jobs are queued from now on.
async fn source(app: &TestApp) -> String {
    app.blur_hash_from_next_start();
    app.serve("/source.mp4", Source::of(fixture::two_seconds()))
}

async fn run_scenario(scenario: &mut CrashScenario, url: String) {
    let body = json!({"inputs": [{"type": "video", "url": url}]});
    let media = scenario.ask("POST", "/v1/on-demand", &body, &[201]).await.data();
    let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    let path = format!("/v1/on-demand/{id}");
    scenario
        .retry_until("the media is ready", async |app| {
            let answer = answered(app, "GET", &path, None).await?;
            (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
        })
        .await;
    for time in [0.2, 1.7] {
        scenario.ask("PATCH", &path, &json!({"thumbnail": {"time": time}}), &[200]).await;
    }
    scenario.settle().await;
    let chosen = expected(&scenario.app, playback, "&time=1.7").await;
    assert_eq!(scenario.app.get(id).await.data()["blurHash"], chosen);
}
