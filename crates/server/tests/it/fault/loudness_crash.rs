//! A media with levelled audio that is switched off and on, with a crash or a failure at the n-th write, for
//! every n.
//!
//! At the end it is measured, and its events are emitted once.

use kinora_store::{JobKind, NewJob};
use kinora_testkit::Source;
use kinora_testkit::fixture::containers::tone_of;
use serde_json::json;

use super::crash_scenario::{CrashScenario, answered};
use super::each_write::{crash_at_each, fail_at_each, nothing};
use crate::media::loudness::READY;
use crate::support::text;

/// A media, its measurement and two changes; fewer would mean that they are not counted.
const WRITES_MIN: u64 = 12;

#[tokio::test]
async fn measurement_survives_crash_at_any_write() {
    crash_at_each(module_path!(), WRITES_MIN, nothing, run_scenario).await;
}

#[tokio::test]
async fn failed_measurement_write_is_retried() {
    fail_at_each(module_path!(), WRITES_MIN, nothing, run_scenario).await;
}

async fn run_scenario(scenario: &mut CrashScenario, (): ()) {
    let quiet = tone_of(1000, 2, "m4a", "-af volume=-12dB -c:a aac -b:a 128k");
    let url = scenario.app.serve("/source.m4a", Source::of(quiet));
    let body = json!({"inputs": [{"type": "video", "url": url}], "optimizeAudio": true});
    let media = scenario.ask("POST", "/v1/on-demand", &body, &[201]).await.data();
    let path = format!("/v1/on-demand/{}", text(&media["id"]));
    scenario
        .retry_until("the media is ready", async |app| {
            let answer = answered(app, "GET", &path, None).await?;
            (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
        })
        .await;
    for on in [false, true] {
        scenario.ask("PATCH", &path, &json!({"optimizeAudio": on}), &[200]).await;
    }
    scenario.settle().await;
    let app = &scenario.app;
    let settled = app.get(text(&media["id"])).await.data();
    assert_eq!(settled["playbackReport"]["optimizeAudio"], "levelled", "{settled}");

    // The same measurement again changes nothing.
    let id = text(&media["id"]).parse().expect("an id from the API");
    let stored = app.store.media_by_id(id).await.unwrap().unwrap();
    let (source, now) = (stored.source().unwrap(), stored.updated_at);
    let kind = JobKind::MeasureLoudness { media: id, source };
    app.store.write(async move |tx| tx.enqueue(NewJob::due_now(kind, None, now)).await).await.unwrap();
    scenario.settle().await;
    assert_eq!(scenario.app.get(text(&media["id"])).await.data(), settled);
    // A client that lost the response of its first request may have created two media.
    let ready = scenario.app.receiver.distinct_events(READY);
    let of_media = ready.iter().filter(|event| event.json()["object"]["id"] == media["id"]);
    assert_eq!(of_media.count(), 1);
}
