//! Sound of a media from files of its own, whose server stops at the n-th write, or cannot make it, for every
//! n: every track ends available or gone, every change of it was told with the media behind it, and no file
//! and no segment is left that no track names.

use std::collections::BTreeSet;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{AddedTrack, PresentationId, RenditionId, SourceId};
use kinora_testkit::fixture::packed::tone_of;
use kinora_testkit::{Posted, Source, fixture};
use serde_json::{Value, json};

use super::clock::TestClock;
use super::drain::{Fills, drain, objects_but_pictures, objects_of, sweep};
use super::each_write;
use super::life::{LEASE, Life, answered};
use super::tracks_life::check_told;
use crate::support::{DEADLINE, TestApp, text, until};

/// The writes of a life are about twice as many; far fewer would mean that they are not counted.
const WRITES_MIN: u64 = 25;

fn aac() -> Bytes {
    tone_of(1000, 5, "m4a", "-c:a aac -b:a 128k")
}

/// Repacked, then encoded.
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
async fn a_crash_at_any_write_keeps_each_change_of_a_sound_with_its_events_or_neither() {
    each_write::crash_at_each(module_path!(), WRITES_MIN, ready, async |life, id| {
        live(life, id, "/a.flac", flac()).await
    })
    .await;
}

#[tokio::test]
async fn a_write_that_fails_is_made_up_for() {
    // A copy: each life would wait for the encoder, whose writes are those of `encoded_life.rs`.
    each_write::fail_at_each(module_path!(), WRITES_MIN, ready, async |life, id| {
        live(life, id, "/a.m4a", aac()).await
    })
    .await;
}

/// Sound of this file, then of another one, then none.
async fn live(life: &mut Life, id: String, path: &str, first: Bytes) {
    let first = life.app.serve(path, Source::of(first));
    let aac = life.app.serve("/b.m4a", Source::of(aac()));
    // A client whose answer was lost asks again, and its name is taken by then.
    let all = format!("/v1/on-demand/{id}/tracks");
    life.ask("POST", &all, &json!({"tracks": track(&first, "English")}), &[201, 400]).await;
    let tracks = all_available(life, &id).await;
    let [sound] = tracks.as_slice() else { panic!("one sound: {tracks:?}") };
    // What is under way would keep a segment of a file that is gone, which is swept a day later.
    let clock = life.clock.clone();
    let fills = Fills::new(&clock);
    life.insist("no sound is encoded", async |app| fills.over(app).await).await;
    // It gets another file, which takes nothing from the first, and goes.
    life.ask("PATCH", &format!("{all}/{sound}"), &track(&aac, "English"), &[200]).await;
    all_available(life, &id).await;
    life.settle().await;
    assert_eq!(sounds_of(&life.app, &id).await, 1);
    life.ask("DELETE", &format!("{all}/{sound}"), &Value::Null, &[200, 404]).await;
    life.settle().await;
    assert_eq!(sounds_of(&life.app, &id).await, 0);

    check_told(&life.app, &id, 0).await;
    life.ask("DELETE", &format!("/v1/on-demand/{id}"), &Value::Null, &[200, 404]).await;
    life.settle().await;
    assert_eq!(life.app.objects().await, [""; 0], "nothing is left of what was deleted");
}

/// Waits until nothing is prepared; answers the ids of the sounds that were added.
async fn all_available(life: &mut Life, id: &str) -> Vec<String> {
    let path = format!("/v1/on-demand/{id}");
    life.insist("every track is available", async |app| {
        let media = answered(app, "GET", &path, None).await?;
        let media = (media.status == 200).then(|| media.data())?;
        let tracks = media["tracks"].as_array()?;
        let is_over = tracks.iter().all(|track| track["status"] == "available");
        let added = tracks.iter().filter(|track| track["type"] == "audio").skip(1);
        is_over.then(|| added.map(|track| text(&track["id"]).to_owned()).collect())
    })
    .await
}

/// How many sounds a media has beside its own; each is there with what was made of it, and beside them and
/// the media's own nothing is that belongs to nobody.
async fn sounds_of(app: &TestApp, id: &str) -> usize {
    let Look { there, named, sounds } = look(app, id).await;
    assert_eq!(there, named, "what is named is there, and nothing else");
    sounds
}

/// The same once nobody works any more: whoever lost its job goes on for a while, and what it keeps is swept.
async fn sounds_at_rest(app: &TestApp, clock: &TestClock, id: &str) -> usize {
    // While something is told no time is passed over: it would be told again.
    drain(app, clock).await;
    until("what is named is there, and nothing else", async || {
        sweep(app, clock).await;
        let Look { there, named, sounds } = look(app, id).await;
        (there == named).then_some(sounds)
    })
    .await
}

struct Look {
    /// All objects, less pictures and what was made of sounds that are there.
    there: BTreeSet<String>,
    /// Sources and indexes of the media and its sounds.
    named: BTreeSet<String>,
    /// How many of those.
    sounds: usize,
}

async fn look(app: &TestApp, id: &str) -> Look {
    let mut named: BTreeSet<String> = objects_of(app, id).await.into_iter().collect();
    let media_id = id.parse().expect("an id from the API");
    let media = app.store.media_by_id(media_id).await.expect("the database is there");
    let added = media.map(|media| media.added).unwrap_or_default();
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
    let there = objects_but_pictures(app).await.into_iter().filter(|path| !is_made(path)).collect();
    Look { there, named, sounds: sources.len() }
}

#[tokio::test]
async fn a_sound_that_is_deleted_while_it_is_fetched_leaves_nothing() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let id = ready(&app).await;
    for is_media in [false, true] {
        let url = app.serve("/held.flac", Source::of(flac()).hold_last_byte());
        let body = json!({"tracks": track(&url, "English")});
        let added = app.call("POST", &format!("/v1/on-demand/{id}/tracks")).json(&body).send().await.data();
        app.sources.wait_until_held("/held.flac", DEADLINE).await;
        let track = if is_media { String::new() } else { format!("/tracks/{}", text(&added["id"])) };
        let deleted = app.call("DELETE", &format!("/v1/on-demand/{id}{track}")).send().await;
        assert_eq!(deleted.status, 200);
        app.sources.release("/held.flac");
        assert_eq!(sounds_at_rest(&app, &clock, &id).await, 0);
        assert_eq!(objects_of(&app, &id).await.is_empty(), is_media);
    }
    let told: Vec<String> = app.receiver.posted().iter().map(Posted::event_type).collect();
    let is_end = |name: &String| name == "video.media.track.ready" || name == "video.media.track.failed";
    assert!(!told.iter().any(is_end), "{told:?}");
    assert_eq!(told.iter().filter(|name| *name == "video.media.track.deleted").count(), 1);
    let last = told.last().map(String::as_str);
    assert_eq!(last, Some("video.media.deleted"), "nothing is told of what is gone");
}

#[tokio::test]
async fn of_two_fetches_of_a_sound_one_wins_and_the_other_changes_nothing() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let id = ready(&app).await;
    let url = app.serve("/held.m4a", Source::of(aac()).hold_last_byte());
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
    assert_eq!(sounds_at_rest(&app, &clock, &id).await, 1);
}

#[tokio::test]
async fn a_sound_that_is_replaced_while_it_is_fetched_is_the_second_file() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).start().await;
    let id = ready(&app).await;
    let held = app.serve("/held.m4a", Source::of(aac()).hold_last_byte());
    let all = format!("/v1/on-demand/{id}/tracks");
    let body = json!({"tracks": track(&held, "English")});
    let added = app.call("POST", &all).json(&body).send().await.data();
    app.sources.wait_until_held("/held.m4a", DEADLINE).await;
    let other = app.serve("/other.flac", Source::of(flac()));
    let one = format!("{all}/{}", text(&added["id"]));
    let changed = app.call("PATCH", &one).json(&track(&other, "English")).send().await;
    assert_eq!(changed.status, 200, "{changed:?}");
    app.receiver.wait_for_event("video.media.track.ready", DEADLINE).await;
    app.sources.release("/held.m4a");
    drain(&app, &clock).await;
    assert_eq!(sounds_at_rest(&app, &clock, &id).await, 1);
    assert_eq!(app.receiver.distinct_events("video.media.track.ready").len(), 1);
    let listed = app.get(&id).await.data();
    assert_eq!(listed["tracks"][2]["status"], "available");
}
