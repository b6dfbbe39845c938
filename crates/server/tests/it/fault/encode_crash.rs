//! A media whose renditions are all encoded, with a crash before the n-th write or removal of an encoded
//! object, for every n.
//!
//! `crash.rs` and `write_failure.rs` count the other writes. Here: the segments encoded before it is ready,
//! the requests of viewers, the whole audio, the backfill, and the removal of all of them.

use std::sync::Arc;

use kinora_blob::{FaultAction, ObjectKey};
use kinora_domain::{Clock as _, MediaId, SourceId};
use kinora_store::{JobKind, NewJob};
use kinora_testkit::{CrashPlan, Source, fixture};
use serde_json::json;

use super::clock::TestClock;
use super::crash_scenario::{CrashScenario, EVENTS, answered};
use super::drain::{Backfills, objects_of, objects_without_images};
use super::each_write::{crash_where, nothing};
use super::events;
use super::watched::encoded_files;
use crate::media::boxes::fragment;
use crate::support::{Faults, TestApp, text};

/// An init segment, two segments of the rung and two of the audio; each is written once and removed once.
const ENCODED_OBJECTS: usize = 5;

#[tokio::test]
async fn encode_survives_crash_at_any_write() {
    crash_where(faults, module_path!(), 2 * ENCODED_OBJECTS as u64, nothing, run_scenario).await;
}

async fn run_scenario(scenario: &mut CrashScenario, (): ()) {
    let clock = scenario.clock.clone();
    let url = scenario.app.serve("/source.mkv", Source::of(fixture::not_copied_small()));
    let body = json!({"inputs": [{"type": "video", "url": url}]});
    let media = scenario
        .retry_until("the media is accepted", async |app| {
            let created = answered(app, "POST", "/v1/on-demand", Some(&body)).await?;
            (created.status == 201).then(|| created.data())
        })
        .await;
    let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    scenario
        .retry_until("the media is ready", async |app| {
            let answer = answered(app, "GET", &format!("/v1/on-demand/{id}"), None).await?;
            (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
        })
        .await;
    scenario.retry_until("the media plays", async |app| plays(app, playback).await).await;
    queue_backfill(&scenario.app, &clock, id).await;
    scenario.retry_until("everything is made", async |app| all_encoded(app).await).await;
    // Each write is counted here; `deleted_meanwhile.rs` covers encodes that run during the deletion.
    let backfills = Backfills::new(&clock);
    scenario.retry_until("no fill is left", async |app| backfills.are_done(app).await).await;
    check_encoded(&scenario.app, id).await;

    scenario
        .retry_until("the media is deleted", async |app| {
            let answer = answered(app, "DELETE", &format!("/v1/on-demand/{id}"), None).await?;
            matches!(answer.status, 200 | 404).then_some(())
        })
        .await;
    scenario.settle_at_each_write().await;
    assert_eq!(scenario.app.objects().await, [""; 0], "no object of a deleted media remains");
    let mut events_by_media = events::by_media(&scenario.app.receiver);
    let mut event_types = events_by_media.remove(id).expect("it has events");
    if scenario.app.ground.is_shared() {
        // The clock was moved forward, so no event delays later ones any more.
        event_types.sort_by_key(|event| EVENTS.iter().position(|event_type| event_type == event));
    }
    assert_eq!(event_types, EVENTS);
}

/// Kills the whole process before the n-th write or removal of an encoded object.
fn faults(plan: &Arc<CrashPlan>) -> Faults {
    struct Dies(Arc<CrashPlan>);

    impl kinora_store::Faults for Dies {
        fn at(&self, _: kinora_store::FaultPoint) -> kinora_store::FaultAction {
            if self.0.has_crashed() {
                kinora_store::FaultAction::Stop
            } else {
                kinora_store::FaultAction::Continue
            }
        }
    }

    let of_objects = Arc::clone(plan);
    let objects = kinora_blob::Faults::new(move |write| {
        let is_encoded = matches!(write.key, ObjectKey::Segment(..) | ObjectKey::Init(_));
        let dies = if is_encoded { of_objects.dies_now() } else { of_objects.has_crashed() };
        if dies { FaultAction::Stop } else { FaultAction::Proceed }
    });
    Faults::new(Some(Arc::new(Dies(Arc::clone(plan)))), Some(Arc::new(objects)))
}

/// Fetches manifest, playlists and the first segment of each rendition.
async fn plays(app: &TestApp, playback: &str) -> Option<()> {
    let get = async |target: String| {
        let answer = app.request("GET", &target).try_send().await.ok()?;
        (answer.status == 200).then_some(answer)
    };
    let manifest = get(format!("/{playback}.m3u8")).await?.text();
    let mut folders: Vec<_> =
        manifest.split(['\n', '"']).filter_map(|part| part.strip_suffix("playlist.m3u8")).collect();
    folders.sort_unstable();
    folders.dedup();
    assert_eq!(folders.len(), 2, "a rung and its audio: {manifest}");
    for folder in folders {
        for file in ["playlist.m3u8", "init.mp4", "0.m4s"] {
            get(format!("/{folder}{file}")).await?;
        }
    }
    Some(())
}

/// Queues a backfill, as `MaintainRenditions` does for a watched media.
async fn queue_backfill(app: &TestApp, clock: &TestClock, id: &str) {
    let (media, source) = ids(app, id).await;
    let (kind, now) = (JobKind::Backfill { media, source }, clock.now());
    let ask = app.store.write(async move |tx| tx.enqueue(NewJob::due_now(kind, None, now)).await);
    ask.await.expect("the database is there");
}

async fn ids(app: &TestApp, id: &str) -> (MediaId, SourceId) {
    let id = id.parse().expect("an id from the API");
    let media = app.store.media_by_id(id).await.expect("the database is there").expect("it is there");
    (id, media.source().expect("it is ready"))
}

async fn all_encoded(app: &TestApp) -> Option<()> {
    let objects = app.objects().await;
    let is_encoded = |path: &&String| path.starts_with("segment/") || path.starts_with("init/");
    (objects.iter().filter(is_encoded).count() == ENCODED_OBJECTS).then_some(())
}

/// Checks that all stored files are whole, and that there are no others.
async fn check_encoded(app: &TestApp, id: &str) {
    let files = encoded_files(&app.ground.blob().await).await;
    for (path, bytes) in files.iter().filter(|(path, _)| path.starts_with("segment/")) {
        assert!(!fragment(bytes).durations.is_empty(), "{path}");
    }
    let mut named = objects_of(app, id).await;
    named.extend(files.into_keys());
    named.sort();
    assert_eq!(
        objects_without_images(app).await,
        named,
        "the objects that the database names exist, and no others"
    );
}
