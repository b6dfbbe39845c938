//! Subtitles of a media, with a crash or a failure at the n-th write, for every n.
//!
//! Every track ends available or deleted. Every change of a track emitted its event and the media's event
//! after it. No file remains that no track references.

use std::collections::{BTreeMap, BTreeSet};

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::clock::TestClock;
use super::crash_scenario::{CrashScenario, LEASE, answered};
use super::drain::{drain, objects_of, objects_without_images, sweep};
use super::each_write::{self, nothing};
use crate::support::{DEADLINE, TestApp, text};

/// The writes of a scenario are about twice as many; far fewer would mean that they are not counted.
const WRITES_MIN: u64 = 25;

const SRT: &str = "1\n00:00:00,000 --> 00:00:01,500\nHello\n";
const PREFIX: &str = "video.media.track.";

#[tokio::test]
async fn crash_at_any_write_keeps_track_and_events_atomic() {
    each_write::crash_at_each(module_path!(), WRITES_MIN, nothing, run_scenario).await;
}

#[tokio::test]
async fn failed_write_is_retried() {
    each_write::fail_at_each(module_path!(), WRITES_MIN, nothing, run_scenario).await;
}

async fn run_scenario(scenario: &mut CrashScenario, (): ()) {
    let video = scenario.app.serve("/source.mp4", Source::of(fixture::two_seconds()));
    let srt = scenario.app.serve("/a.srt", Source::of(SRT));
    let subtitle = json!({"type": "subtitle", "url": srt, "languageCode": "en", "languageName": "English"});
    let body = json!({"inputs": [{"type": "video", "url": video}, subtitle]});
    let created = scenario.ask("POST", "/v1/on-demand", &body, &[201]).await.data();
    let id = text(&created["id"]);
    all_available(scenario, id).await;

    // Another track. A client that lost the response retries, and the name is taken by then.
    let all = format!("/v1/on-demand/{id}/tracks");
    let body =
        json!({"tracks": {"url": srt, "type": "subtitle", "languageCode": "de", "languageName": "Deutsch"}});
    scenario.ask("POST", &all, &body, &[201, 400]).await;
    let tracks = all_available(scenario, id).await;
    let [first, second] = tracks.as_slice() else { panic!("two tracks: {tracks:?}") };
    // One track gets another file, the other is deleted.
    let body = json!({"url": srt, "languageCode": "en", "languageName": "English"});
    scenario.ask("PATCH", &format!("{all}/{first}"), &body, &[200]).await;
    scenario.ask("DELETE", &format!("{all}/{second}"), &Value::Null, &[200, 404]).await;
    all_available(scenario, id).await;
    scenario.settle().await;

    assert_eq!(subtitles_of(&scenario.app, id).await, 1);
    for media in scenario.accepted().await {
        // A client whose connection broke retries, and may have created two. The track of the creation emits
        // no `video.media.updated`: the media was new.
        check_events(&scenario.app, &media, 1).await;
        scenario.ask("DELETE", &format!("/v1/on-demand/{media}"), &Value::Null, &[200, 404]).await;
    }
    scenario.settle().await;
    assert_eq!(scenario.app.objects().await, [""; 0], "no object of a deleted media remains");
}

/// Waits until the media is ready and no track is preparing; returns the ids of the added tracks.
async fn all_available(scenario: &mut CrashScenario, id: &str) -> Vec<String> {
    let path = format!("/v1/on-demand/{id}");
    scenario
        .retry_until("the media is ready with its tracks", async |app| {
            let media = answered(app, "GET", &path, None).await?;
            let media = (media.status == 200).then(|| media.data())?;
            let tracks = media["tracks"].as_array()?;
            let is_over =
                media["status"] == "Ready" && tracks.iter().all(|track| track["status"] == "available");
            let added = tracks.iter().filter(|track| track["type"] == "subtitle");
            is_over.then(|| added.map(|track| text(&track["id"]).to_owned()).collect())
        })
        .await
}

/// The number of subtitles of a media.
///
/// Checks that each one is stored, and that no unreferenced object exists.
async fn subtitles_of(app: &TestApp, id: &str) -> usize {
    let list = app.call("GET", "/v1/on-demand?limit=50").send().await.data();
    let mut named = BTreeSet::new();
    let mut count = 0;
    for media in list.as_array().expect("a list") {
        named.extend(objects_of(app, text(&media["id"])).await);
        let media_id = text(&media["id"]).parse().expect("an id from the API");
        let media =
            app.store.media_by_id(media_id).await.expect("the database is there").expect("it is listed");
        let sources: Vec<_> =
            media.added_tracks.iter().filter_map(kinora_domain::AddedTrack::available).collect();
        if media_id.to_string() == id {
            count = sources.len();
        }
        named.extend(sources.into_iter().map(|source| kinora_blob::ObjectKey::Subtitle(source).to_string()));
    }
    let objects: BTreeSet<_> = objects_without_images(app).await.into_iter().collect();
    assert_eq!(objects, named, "the objects that the database names exist, and no others");
    count
}

/// Checks that an event of the media follows every event of a track, except for `of_creation` of them.
///
/// Also checks that every save of the media emitted an event.
pub(super) async fn check_events(app: &TestApp, media: &str, of_creation: i64) {
    let mut events: BTreeMap<String, Value> = BTreeMap::new();
    for post in app.receiver.posted() {
        events.insert(post.event_id(), post.json());
    }
    let of_media =
        events.values().filter(|event| event["data"]["id"] == media || event["object"]["id"] == media);
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    of_media.for_each(|event| *counts.entry(text(&event["type"])).or_default() += 1);
    let of = |what: &str| counts.get(what).copied().unwrap_or(0);
    let tracks: i64 =
        counts.iter().filter(|(name, _)| name.starts_with(PREFIX)).map(|(_, count)| count).sum();
    assert_eq!(of(&format!("{PREFIX}failed")), 0, "{counts:?}");
    assert!(of(&format!("{PREFIX}ready")) >= of(&format!("{PREFIX}created")), "{counts:?}");
    assert_eq!(of("video.media.updated"), tracks - of_creation, "{counts:?}");
    assert_eq!(of("video.media.ready"), 1, "{counts:?}");
    let id = media.parse().expect("an id from the API");
    let version =
        app.store.media_by_id(id).await.expect("the database is there").expect("it is there").version;
    // The download saves at least twice: at its start, once more after each crash, and when the media is
    // ready.
    assert!(version >= of("video.media.updated") + 2, "{counts:?}");
}

#[tokio::test]
async fn track_deleted_during_download_leaves_nothing() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]);
    for is_media in [false, true] {
        let url = app.serve("/held.srt", Source::of(SRT).gate_last_byte());
        let body = json!({"tracks": {"url": url, "type": "subtitle", "languageCode": "en", "languageName": "English"}});
        let track = app.call("POST", &format!("/v1/on-demand/{id}/tracks")).json(&body).send().await.data();
        app.sources.wait_until_held("/held.srt", DEADLINE).await;
        let track = if is_media { String::new() } else { format!("/tracks/{}", text(&track["id"])) };
        let deleted = app.call("DELETE", &format!("/v1/on-demand/{id}{track}")).send().await;
        assert_eq!(deleted.status, 200);
        app.sources.release("/held.srt");
        drain(&app, &clock).await;
        sweep(&app, &clock).await;
        let expected = objects_of(&app, id).await.into_iter().collect::<BTreeSet<_>>();
        assert_eq!(objects_without_images(&app).await.into_iter().collect::<BTreeSet<_>>(), expected);
        assert_eq!(expected.is_empty(), is_media);
    }
    let event_types: Vec<String> =
        app.receiver.posted().iter().map(kinora_testkit::ReceivedPost::event_type).collect();
    assert!(
        event_types
            .iter()
            .all(|name| name != "video.media.track.ready" && name != "video.media.track.failed"),
        "{event_types:?}"
    );
    assert_eq!(event_types.iter().filter(|name| *name == "video.media.track.deleted").count(), 1);
    assert_eq!(
        event_types.last().map(String::as_str),
        Some("video.media.deleted"),
        "no event follows the deletion"
    );
}

#[tokio::test]
async fn second_download_of_a_track_changes_nothing() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]);
    let url = app.serve("/held.srt", Source::of(SRT).gate_last_byte());
    let body =
        json!({"tracks": {"url": url, "type": "subtitle", "languageCode": "en", "languageName": "English"}});
    let added = app.call("POST", &format!("/v1/on-demand/{id}/tracks")).json(&body).send().await;
    assert_eq!(added.status, 201, "{added:?}");
    app.sources.wait_until_held("/held.srt", DEADLINE).await;
    clock.advance(LEASE);
    app.sources.wait_for_requests("/held.srt", 2, DEADLINE).await;
    app.sources.release("/held.srt");
    drain(&app, &clock).await;
    assert_eq!(app.receiver.distinct_events("video.media.track.ready").len(), 1);
    assert_eq!(app.receiver.distinct_events("video.media.updated").len(), 2);
    sweep(&app, &clock).await;
    assert_eq!(subtitles_of(&app, id).await, 1);
}
