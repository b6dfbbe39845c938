//! A media with replaced audio and imposed audio, with a crash at the n-th write, for every n.
//!
//! It becomes ready with exactly the objects it was made from, and its deletion removes all of them.

use kinora_testkit::fixture::containers::tone_of;
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::crash_scenario::{CrashScenario, EVENTS, answered};
use super::drain::{objects_of, objects_without_images};
use super::each_write::{crash_at_each, nothing};
use super::events;
use crate::support::text;

/// The rows of a media that is created and ready, its three objects, and those of the two files of its
/// audio.
const WRITES_MIN: u64 = 10;

#[tokio::test]
async fn audio_edit_survives_crash_at_any_write() {
    crash_at_each(module_path!(), WRITES_MIN, nothing, run_scenario).await;
}

async fn run_scenario(scenario: &mut CrashScenario, (): ()) {
    let video = scenario.app.serve("/source.mp4", Source::of(fixture::two_seconds()));
    let swapped = scenario.app.serve("/a.flac", Source::of(tone_of(1000, 5, "flac", "-c:a flac")));
    let over = scenario.app.serve("/b.m4a", Source::of(tone_of(700, 5, "m4a", "-c:a aac -b:a 128k")));
    let audio = json!({"type": "audio", "swapTrackUrl": swapped, "imposeTracks": [{"url": over}]});
    let body = json!({"inputs": [{"type": "video", "url": video}, audio]});
    let media = scenario
        .retry_until("the media is accepted", async |app| {
            let created = answered(app, "POST", "/v1/on-demand", Some(&body)).await?;
            (created.status == 201).then(|| created.data())
        })
        .await;
    let id = text(&media["id"]);
    scenario
        .retry_until("the media is ready", async |app| {
            let answer = answered(app, "GET", &format!("/v1/on-demand/{id}"), None).await?;
            (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
        })
        .await;
    scenario.settle().await;
    // A client that lost the response has sent the request twice.
    let list = scenario.app.call("GET", "/v1/on-demand?limit=50").send().await.data();
    let all: Vec<_> =
        list.as_array().expect("a list").iter().map(|media| text(&media["id"]).to_owned()).collect();
    let mut named = Vec::new();
    for id in &all {
        named.extend(objects_of(&scenario.app, id).await);
    }
    named.sort();
    assert_eq!(
        objects_without_images(&scenario.app).await,
        named,
        "the objects that the database names exist, and no others"
    );
    assert_eq!(named.len(), 3 * all.len());

    for id in &all {
        scenario.ask("DELETE", &format!("/v1/on-demand/{id}"), &Value::Null, &[200, 404]).await;
    }
    scenario.settle().await;
    assert_eq!(scenario.app.objects().await, [""; 0], "no object of a deleted media remains");
    let mut events_by_media = events::by_media(&scenario.app.receiver);
    for id in &all {
        let mut event_types = events_by_media.remove(id).expect("it has events");
        if scenario.app.ground.is_shared() {
            // The clock was moved forward, so no event delays later ones any more.
            event_types.sort_by_key(|event| EVENTS.iter().position(|event_type| event_type == event));
        }
        assert_eq!(event_types, EVENTS);
    }
}
