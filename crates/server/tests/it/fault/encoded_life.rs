//! A media of which everything is encoded, whose server stops before the n-th change of what is encoded, for
//! every n.
//!
//! What else is written is counted in `crash.rs` and `failing.rs`; here the beginning that is made before it
//! is ready, what viewers ask for, the whole sound, the fill, and the removal of all that.

use std::sync::Arc;

use kinora_blob::{FaultAction, ObjectKey};
use kinora_domain::{Clock as _, MediaId, SourceId};
use kinora_store::{JobKind, NewJob};
use kinora_testkit::{CrashPlan, Source, fixture};
use serde_json::json;

use super::clock::TestClock;
use super::drain::{Fills, objects_but_pictures, objects_of};
use super::each_write::{crash_where, nothing};
use super::events;
use super::life::{EVENTS, Life, answered};
use super::watched::kept;
use crate::media::boxes::fragment;
use crate::support::{Faults, TestApp, text};

/// An init segment, two segments of the rung and two of the sound; each is written once and removed once.
const KEPT: usize = 5;

#[tokio::test]
async fn a_crash_at_any_encoded_object_costs_nothing_but_time() {
    crash_where(faults, module_path!(), 2 * KEPT as u64, nothing, live).await;
}

async fn live(life: &mut Life, (): ()) {
    let clock = life.clock.clone();
    let url = life.app.serve("/source.mkv", Source::of(fixture::not_copied_small()));
    let body = json!({"inputs": [{"type": "video", "url": url}]});
    let media = life
        .insist("the media is accepted", async |app| {
            let created = answered(app, "POST", "/v1/on-demand", Some(&body)).await?;
            (created.status == 201).then(|| created.data())
        })
        .await;
    let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    life.insist("the media is ready", async |app| {
        let answer = answered(app, "GET", &format!("/v1/on-demand/{id}"), None).await?;
        (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
    })
    .await;
    life.insist("the media plays", async |app| plays(app, playback).await).await;
    ask_for_fill(&life.app, &clock, id).await;
    life.insist("everything is made", async |app| all_kept(app).await).await;
    // Each write is counted here; what is under way when a media is deleted is in `deleted_meanwhile.rs`.
    let fills = Fills::new(&clock);
    life.insist("no fill is left", async |app| fills.over(app).await).await;
    check_kept(&life.app, id).await;

    life.insist("the media is deleted", async |app| {
        let answer = answered(app, "DELETE", &format!("/v1/on-demand/{id}"), None).await?;
        matches!(answer.status, 200 | 404).then_some(())
    })
    .await;
    life.settle_at_each_write().await;
    assert_eq!(life.app.objects().await, [""; 0], "nothing is left of what was deleted");
    let mut told = events::by_media(&life.app.receiver);
    let mut told = told.remove(id).expect("it was told of");
    if life.app.ground.is_shared() {
        // Time that was passed over holds no event back any more.
        told.sort_by_key(|event| EVENTS.iter().position(|known| known == event));
    }
    assert_eq!(told, EVENTS);
}

/// The process dies as a whole before the n-th write or removal of something that was encoded.
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

/// Manifest, playlists and the first segment of each rendition.
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
    assert_eq!(folders.len(), 2, "a rung and its sound: {manifest}");
    for folder in folders {
        for file in ["playlist.m3u8", "init.mp4", "0.m4s"] {
            get(format!("/{folder}{file}")).await?;
        }
    }
    Some(())
}

/// As `TendRenditions` does of a media that was watched.
async fn ask_for_fill(app: &TestApp, clock: &TestClock, id: &str) {
    let (media, source) = ids(app, id).await;
    let (kind, now) = (JobKind::Fill { media, source }, clock.now());
    let ask = app.store.write(async move |tx| tx.enqueue(NewJob::soon(kind, None, now)).await);
    ask.await.expect("the database is there");
}

async fn ids(app: &TestApp, id: &str) -> (MediaId, SourceId) {
    let id = id.parse().expect("an id from the API");
    let media = app.store.media_by_id(id).await.expect("the database is there").expect("it is there");
    (id, media.source().expect("it is ready"))
}

async fn all_kept(app: &TestApp) -> Option<()> {
    let objects = app.objects().await;
    let is_encoded = |path: &&String| path.starts_with("segment/") || path.starts_with("init/");
    (objects.iter().filter(is_encoded).count() == KEPT).then_some(())
}

/// What is kept is whole, and nothing lies beside it.
async fn check_kept(app: &TestApp, id: &str) {
    let kept = kept(&app.ground.blob().await).await;
    for (path, bytes) in kept.iter().filter(|(path, _)| path.starts_with("segment/")) {
        assert!(!fragment(bytes).durations.is_empty(), "{path}");
    }
    let mut named = objects_of(app, id).await;
    named.extend(kept.into_keys());
    named.sort();
    assert_eq!(objects_but_pictures(app).await, named, "what is named is there, and nothing else");
}
