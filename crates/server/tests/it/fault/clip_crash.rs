//! A film with an intro and subtitles, and a clip of it, with a crash at the n-th write, for every n.
//!
//! All become ready, the clip with the subtitles of the film, and exactly their objects are stored. The
//! film is deleted first; its bytes are deleted with the clip.

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::crash_scenario::{CrashScenario, EVENTS, answered};
use super::each_write::{crash_at_each, nothing};
use super::events;
use crate::support::text;

/// The rows of two media that are created and ready, and their objects.
const WRITES_MIN: u64 = 16;

#[tokio::test]
async fn clip_survives_crash_at_any_write() {
    crash_at_each(module_path!(), WRITES_MIN, nothing, run_scenario).await;
}

async fn run_scenario(scenario: &mut CrashScenario, (): ()) {
    let film = scenario.app.serve("/film.mp4", Source::of(fixture::two_seconds()));
    let intro = scenario.app.serve("/intro.mp4", Source::of(fixture::video_only()));
    let srt = scenario.app.serve("/film.srt", Source::of("1\n00:00:00,000 --> 00:00:01,500\nHello\n"));
    let subtitle = json!({"type": "subtitle", "url": srt, "languageCode": "en", "languageName": "English"});
    let film = json!({"type": "video", "url": film, "introUrl": intro});
    let film = create(scenario, json!([film, subtitle])).await;
    wait_ready(scenario, text(&film["id"])).await;
    let origin = format!("fp_mediaId://{}", text(&film["id"]));
    let clip = create(scenario, json!([{"type": "video", "url": origin, "endTime": 1}])).await;
    wait_ready(scenario, text(&clip["id"])).await;
    scenario.settle().await;
    // A client that lost the response has sent the request twice.
    let list = scenario.app.call("GET", "/v1/on-demand?limit=50").send().await.data();
    let all: Vec<_> =
        list.as_array().expect("a list").iter().map(|media| text(&media["id"]).to_owned()).collect();
    for id in &all {
        wait_ready(scenario, id).await;
    }
    scenario.settle().await;
    let is_clip = |media: &&Value| media["sourceMediaId"].is_string();
    let clips = list.as_array().expect("a list").iter().filter(is_clip).count();
    let films = all.len() - clips;
    // For each film: its file, its intro, and the indexes of both; one more index for each media.
    assert_eq!(files_and_indexes(scenario).await, 4 * films + all.len());
    assert_eq!(subtitle_files(scenario).await, all.len());

    let (clip_ids, film_ids): (Vec<_>, Vec<_>) = all.iter().partition(|id| {
        list.as_array().expect("a list").iter().any(|media| media["id"] == **id && is_clip(&media))
    });
    for id in film_ids {
        scenario.ask("DELETE", &format!("/v1/on-demand/{id}"), &Value::Null, &[200, 404]).await;
    }
    scenario.settle().await;
    // The clip shows the intro, and the original of the clip is the film.
    assert_eq!(files_and_indexes(scenario).await, 4 + clip_ids.len());
    assert_eq!(subtitle_files(scenario).await, clip_ids.len());
    for id in &clip_ids {
        let answer = scenario.app.get(id).await;
        assert_eq!(answer.data()["status"], "Ready", "it is played from bytes of a deleted media");
        scenario.ask("DELETE", &format!("/v1/on-demand/{id}"), &Value::Null, &[200, 404]).await;
    }
    scenario.settle().await;
    scenario.until_no_object_remains().await;
    let mut events_by_media = events::by_media(&scenario.app.receiver);
    for id in &all {
        let mut event_types = events_by_media.remove(id).expect("it has events");
        let with_update = event_types.len();
        event_types.retain(|event| event != "video.media.updated");
        assert_eq!(with_update - event_types.len(), 1, "its subtitles are available");
        let with_intro = event_types.len();
        event_types.retain(|event| event != "video.media.intro.ready");
        assert_eq!(
            with_intro - event_types.len(),
            usize::from(!clip_ids.contains(&id)),
            "its edit has one event"
        );
        if scenario.app.ground.is_shared() {
            // The clock was moved forward, so no event delays later ones any more.
            event_types.sort_by_key(|event| EVENTS.iter().position(|event_type| event_type == event));
        }
        assert_eq!(event_types, EVENTS);
    }
    // What is left are the events of the subtitles: one track for each media.
    assert_eq!(events_by_media.len(), all.len());
    for mut event_types in events_by_media.into_values() {
        event_types.sort();
        assert_eq!(event_types, ["video.media.track.created", "video.media.track.ready"]);
    }
}

/// The number of stored sources and indexes.
async fn files_and_indexes(scenario: &CrashScenario) -> usize {
    let objects = scenario.app.objects().await;
    objects.iter().filter(|path| ["source", "index"].contains(&path.split('/').next().unwrap())).count()
}

/// The number of stored subtitle files.
async fn subtitle_files(scenario: &CrashScenario) -> usize {
    scenario.app.objects().await.iter().filter(|path| path.starts_with("subtitle/")).count()
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
        .retry_until("the media is ready with its subtitles", async |app| {
            let answer = answered(app, "GET", &format!("/v1/on-demand/{id}"), None).await?;
            (answer.status == 200).then_some(())?;
            let media = answer.data();
            (media["status"] == "Ready" && media["subtitleAvailable"] == true).then_some(())
        })
        .await;
}
