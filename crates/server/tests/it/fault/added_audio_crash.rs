//! Added audio tracks, with a crash or a failure at the n-th write, for every n.
//!
//! Every track ends available or deleted. Every change of a track emitted its event and the media's event
//! after it. No file or segment remains that no track references.

use std::collections::BTreeSet;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{AddedTrack, PresentationId, RenditionId, SourceId};
use kinora_testkit::fixture::containers::tone_of;
use kinora_testkit::{ReceivedPost, Source, fixture};
use serde_json::{Value, json};

use super::clock::TestClock;
use super::crash_scenario::{CrashScenario, LEASE, answered};
use super::drain::{Backfills, drain, objects_of, objects_without_images, sweep};
use super::each_write;
use super::tracks_crash::check_events;
use crate::support::{DEADLINE, TestApp, text, until};

/// The writes of a scenario are about twice as many; far fewer would mean that they are not counted.
const WRITES_MIN: u64 = 25;

fn aac() -> Bytes {
    tone_of(1000, 5, "m4a", "-c:a aac -b:a 128k")
}

/// Repacked first, then encoded.
fn flac() -> Bytes {
    tone_of(1000, 5, "flac", "-c:a flac")
}

fn track(url: &str, name: &str) -> Value {
    json!({"url": url, "type": "audio", "languageCode": "en", "languageName": name})
}

async fn ready(app: &TestApp) -> String {
    text(&app.ready("/source.mp4", fixture::two_seconds()).await["id"]).to_owned()
}

#[tokio::test]
async fn crash_at_any_write_keeps_audio_and_events_atomic() {
    each_write::crash_at_each(module_path!(), WRITES_MIN, ready, async |scenario, id| {
        run_scenario(scenario, id, "/a.flac", flac()).await
    })
    .await;
}

#[tokio::test]
async fn failed_write_is_retried() {
    // Copied, not encoded: each scenario would wait for the encoder, whose writes `encode_crash.rs` covers.
    each_write::fail_at_each(module_path!(), WRITES_MIN, ready, async |scenario, id| {
        run_scenario(scenario, id, "/a.m4a", aac()).await
    })
    .await;
}

/// Adds an audio track from this file, replaces its file, then deletes it.
async fn run_scenario(scenario: &mut CrashScenario, id: String, path: &str, first: Bytes) {
    let first = scenario.app.serve(path, Source::of(first));
    let aac = scenario.app.serve("/b.m4a", Source::of(aac()));
    // A client that lost the response retries, and the name of the track is taken by then.
    let all = format!("/v1/on-demand/{id}/tracks");
    scenario.ask("POST", &all, &json!({"tracks": track(&first, "English")}), &[201, 400]).await;
    let tracks = all_available(scenario, &id).await;
    let [track_id] = tracks.as_slice() else { panic!("one audio track: {tracks:?}") };
    // A running encode would store a segment of a deleted file, which the sweep removes a day later.
    let clock = scenario.clock.clone();
    let backfills = Backfills::new(&clock);
    scenario.retry_until("no audio is encoded", async |app| backfills.are_done(app).await).await;
    // The track gets another file, which reuses nothing of the first one; then it is deleted.
    scenario.ask("PATCH", &format!("{all}/{track_id}"), &track(&aac, "English"), &[200]).await;
    all_available(scenario, &id).await;
    scenario.settle().await;
    assert_eq!(audio_count(&scenario.app, &id).await, 1);
    scenario.ask("DELETE", &format!("{all}/{track_id}"), &Value::Null, &[200, 404]).await;
    scenario.settle().await;
    assert_eq!(audio_count(&scenario.app, &id).await, 0);

    check_events(&scenario.app, &id, 0).await;
    scenario.ask("DELETE", &format!("/v1/on-demand/{id}"), &Value::Null, &[200, 404]).await;
    scenario.settle().await;
    assert_eq!(scenario.app.objects().await, [""; 0], "no object of a deleted media remains");
}

/// Waits until no track is preparing; returns the ids of the added audio tracks.
async fn all_available(scenario: &mut CrashScenario, id: &str) -> Vec<String> {
    let path = format!("/v1/on-demand/{id}");
    scenario
        .retry_until("every track is available", async |app| {
            let media = answered(app, "GET", &path, None).await?;
            let media = (media.status == 200).then(|| media.data())?;
            let tracks = media["tracks"].as_array()?;
            let is_over = tracks.iter().all(|track| track["status"] == "available");
            let added = tracks.iter().filter(|track| track["type"] == "audio").skip(1);
            is_over.then(|| added.map(|track| text(&track["id"]).to_owned()).collect())
        })
        .await
}

/// The number of added audio tracks of a media.
///
/// Checks that each one is stored with its derived objects, and that no unreferenced object exists.
async fn audio_count(app: &TestApp, id: &str) -> usize {
    let Look { there, named, audio_tracks } = look(app, id).await;
    assert_eq!(there, named, "the objects that the database names exist, and no others");
    audio_tracks
}

/// The same when no worker runs any more.
///
/// A worker that lost its job continues for a while; the sweep removes what it stores.
async fn settled_audio_count(app: &TestApp, clock: &TestClock, id: &str) -> usize {
    // The clock does not move while an event is delivered: the event would be sent again.
    drain(app, clock).await;
    until("the objects that the database names exist, and no others", async || {
        sweep(app, clock).await;
        let Look { there, named, audio_tracks } = look(app, id).await;
        (there == named).then_some(audio_tracks)
    })
    .await
}

struct Look {
    /// All objects, except images and derived objects of existing audio tracks.
    there: BTreeSet<String>,
    /// Sources and indexes of the media and its audio tracks.
    named: BTreeSet<String>,
    /// The number of audio tracks.
    audio_tracks: usize,
}

async fn look(app: &TestApp, id: &str) -> Look {
    let mut named: BTreeSet<String> = objects_of(app, id).await.into_iter().collect();
    let media_id = id.parse().expect("an id from the API");
    let media = app.store.media_by_id(media_id).await.expect("the database is there");
    let added = media.map(|media| media.added_tracks).unwrap_or_default();
    let sources: Vec<_> = added.iter().filter_map(AddedTrack::available).collect();
    let mut renditions: Vec<RenditionId> = Vec::new();
    for source in &sources {
        named.extend(
            [ObjectKey::Index(PresentationId::of(*source)), ObjectKey::Source(*source)]
                .map(|key| key.to_string()),
        );
        let rows = app.store.renditions_of(PresentationId::of(*source)).await.expect("the database is there");
        renditions.extend(rows.into_iter().map(|row| row.id));
    }
    let is_made = |path: &String| {
        let of = |source: &SourceId| *path == ObjectKey::Normalised(*source).to_string();
        let is_segment = |id: &RenditionId| path.starts_with("segment/") && path.contains(&id.to_string());
        sources.iter().any(of) || renditions.iter().any(is_segment)
    };
    let objects = objects_without_images(app).await.into_iter().filter(|path| !is_made(path)).collect();
    Look { there: objects, named, audio_tracks: sources.len() }
}

#[tokio::test]
async fn deleted_audio_track_leaves_no_object() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let id = ready(&app).await;
    for is_media in [false, true] {
        let url = app.serve("/held.flac", Source::of(flac()).gate_last_byte());
        let body = json!({"tracks": track(&url, "English")});
        let added = app.call("POST", &format!("/v1/on-demand/{id}/tracks")).json(&body).send().await.data();
        app.sources.wait_until_held("/held.flac", DEADLINE).await;
        let track = if is_media { String::new() } else { format!("/tracks/{}", text(&added["id"])) };
        let deleted = app.call("DELETE", &format!("/v1/on-demand/{id}{track}")).send().await;
        assert_eq!(deleted.status, 200);
        app.sources.release("/held.flac");
        assert_eq!(settled_audio_count(&app, &clock, &id).await, 0);
        assert_eq!(objects_of(&app, &id).await.is_empty(), is_media);
    }
    let event_types: Vec<String> = app.receiver.posted().iter().map(ReceivedPost::event_type).collect();
    let is_end = |name: &String| name == "video.media.track.ready" || name == "video.media.track.failed";
    assert!(!event_types.iter().any(is_end), "{event_types:?}");
    assert_eq!(event_types.iter().filter(|name| *name == "video.media.track.deleted").count(), 1);
    let last = event_types.last().map(String::as_str);
    assert_eq!(last, Some("video.media.deleted"), "no event follows the deletion");
}

#[tokio::test]
async fn concurrent_audio_fetches_store_one() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let id = ready(&app).await;
    let url = app.serve("/held.m4a", Source::of(aac()).gate_last_byte());
    let body = json!({"tracks": track(&url, "English")});
    let added = app.call("POST", &format!("/v1/on-demand/{id}/tracks")).json(&body).send().await;
    assert_eq!(added.status, 201, "{added:?}");
    app.sources.wait_until_held("/held.m4a", DEADLINE).await;
    clock.advance(LEASE);
    app.sources.wait_for_requests("/held.m4a", 2, DEADLINE).await;
    app.sources.release("/held.m4a");
    drain(&app, &clock).await;
    assert_eq!(app.receiver.distinct_events("video.media.track.ready").len(), 1);
    assert_eq!(app.receiver.distinct_events("video.media.updated").len(), 2);
    assert_eq!(settled_audio_count(&app, &clock, &id).await, 1);
}

#[tokio::test]
async fn replaced_audio_track_keeps_second_file() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let id = ready(&app).await;
    let gated_url = app.serve("/held.m4a", Source::of(aac()).gate_last_byte());
    let all = format!("/v1/on-demand/{id}/tracks");
    let body = json!({"tracks": track(&gated_url, "English")});
    let added = app.call("POST", &all).json(&body).send().await.data();
    app.sources.wait_until_held("/held.m4a", DEADLINE).await;
    let other = app.serve("/other.flac", Source::of(flac()));
    let one = format!("{all}/{}", text(&added["id"]));
    let changed = app.call("PATCH", &one).json(&track(&other, "English")).send().await;
    assert_eq!(changed.status, 200, "{changed:?}");
    app.receiver.wait_for_event("video.media.track.ready", DEADLINE).await;
    app.sources.release("/held.m4a");
    drain(&app, &clock).await;
    assert_eq!(settled_audio_count(&app, &clock, &id).await, 1);
    assert_eq!(app.receiver.distinct_events("video.media.track.ready").len(), 1);
    let listed = app.get(&id).await.data();
    assert_eq!(listed["tracks"][2]["status"], "available");
}
