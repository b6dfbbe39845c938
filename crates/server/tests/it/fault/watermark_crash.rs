//! A film with a watermark and a clip of it, with a crash at the n-th write, for every n.
//!
//! Both become ready, and exactly their objects are stored. The film is deleted first; its bytes and the
//! image are deleted with the clip.

use kinora_testkit::fixture::images;
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::crash_scenario::{CrashScenario, answered};
use super::each_write::{crash_at_each, nothing};
use crate::support::text;

/// The rows of two media that are created and ready, and their objects.
const WRITES_MIN: u64 = 14;

#[tokio::test]
async fn watermark_survives_crash_at_any_write() {
    crash_at_each(module_path!(), WRITES_MIN, nothing, run_scenario).await;
}

async fn run_scenario(scenario: &mut CrashScenario, (): ()) {
    let film = scenario.app.serve("/film.mp4", Source::of(fixture::two_seconds()));
    let logo = scenario.app.serve("/logo.png", Source::of(images::pixel()));
    let watermark = json!({"type": "watermark", "url": logo, "width": "25%"});
    let film = create(scenario, json!([{"type": "video", "url": film}, watermark])).await;
    wait_ready(scenario, text(&film["id"])).await;
    let origin = format!("fp_mediaId://{}", text(&film["id"]));
    let clip = create(scenario, json!([{"type": "video", "url": origin, "endTime": 1}])).await;
    wait_ready(scenario, text(&clip["id"])).await;
    scenario.settle().await;
    // A client that lost the response has sent the request twice.
    let list = scenario.app.call("GET", "/v1/on-demand?limit=50").send().await.data();
    let list = list.as_array().expect("a list");
    for media in list {
        wait_ready(scenario, text(&media["id"])).await;
    }
    scenario.settle().await;
    let (clips, films): (Vec<_>, Vec<_>) = list.iter().partition(|media| media["sourceMediaId"].is_string());
    // For each film: its file, its image and its index; an index for each clip.
    assert_eq!(files_and_indexes(scenario).await, 3 * films.len() + clips.len());
    for film in films {
        delete(scenario, film).await;
    }
    scenario.settle().await;
    // The clip shows the image; its index is cut from that of the film.
    assert_eq!(files_and_indexes(scenario).await, 3 + clips.len());
    for clip in clips {
        delete(scenario, clip).await;
    }
    scenario.settle().await;
    scenario.until_no_object_remains().await;
}

/// The number of stored sources and indexes.
async fn files_and_indexes(scenario: &CrashScenario) -> usize {
    let objects = scenario.app.objects().await;
    objects.iter().filter(|path| ["source", "index"].contains(&path.split('/').next().unwrap())).count()
}

async fn delete(scenario: &mut CrashScenario, media: &Value) {
    let path = format!("/v1/on-demand/{}", text(&media["id"]));
    scenario.ask("DELETE", &path, &Value::Null, &[200, 404]).await;
}

async fn create(scenario: &mut CrashScenario, inputs: Value) -> Value {
    let body = json!({"inputs": inputs});
    scenario
        .retry_until("the media is accepted", async |app| {
            let created = answered(app, "POST", "/v1/on-demand", Some(&body)).await?;
            (created.status == 201).then(|| created.data())
        })
        .await
}

async fn wait_ready(scenario: &mut CrashScenario, id: &str) {
    scenario
        .retry_until("the media is ready", async |app| {
            let answer = answered(app, "GET", &format!("/v1/on-demand/{id}"), None).await?;
            (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
        })
        .await;
}
