//! A media with another sound and more over it, whose server stops at the n-th write, for every n: it is
//! ready in the end, with what it was made of and nothing else, and nothing is left of it when it is deleted.

use kinora_testkit::fixture::packed::tone_of;
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::drain::{objects_but_pictures, objects_of};
use super::each_write::{crash_at_each, nothing};
use super::events;
use super::life::{EVENTS, Life, answered};
use crate::support::text;

/// The rows of a media that is made and ready, its three objects, and those of the two files its sound is
/// made of.
const WRITES_MIN: u64 = 10;

#[tokio::test]
async fn a_crash_at_any_write_costs_a_media_with_another_sound_nothing_but_time() {
    crash_at_each(module_path!(), WRITES_MIN, nothing, live).await;
}

async fn live(life: &mut Life, (): ()) {
    let video = life.app.serve("/source.mp4", Source::of(fixture::two_seconds()));
    let swapped = life.app.serve("/a.flac", Source::of(tone_of(1000, 5, "flac", "-c:a flac")));
    let over = life.app.serve("/b.m4a", Source::of(tone_of(700, 5, "m4a", "-c:a aac -b:a 128k")));
    let audio = json!({"type": "audio", "swapTrackUrl": swapped, "imposeTracks": [{"url": over}]});
    let body = json!({"inputs": [{"type": "video", "url": video}, audio]});
    let media = life
        .insist("the media is accepted", async |app| {
            let created = answered(app, "POST", "/v1/on-demand", Some(&body)).await?;
            (created.status == 201).then(|| created.data())
        })
        .await;
    let id = text(&media["id"]);
    life.insist("the media is ready", async |app| {
        let answer = answered(app, "GET", &format!("/v1/on-demand/{id}"), None).await?;
        (answer.status == 200 && answer.data()["status"] == "Ready").then_some(())
    })
    .await;
    life.settle().await;
    // A client whose answer was lost has asked twice.
    let list = life.app.call("GET", "/v1/on-demand?limit=50").send().await.data();
    let all: Vec<_> =
        list.as_array().expect("a list").iter().map(|media| text(&media["id"]).to_owned()).collect();
    let mut named = Vec::new();
    for id in &all {
        named.extend(objects_of(&life.app, id).await);
    }
    named.sort();
    assert_eq!(objects_but_pictures(&life.app).await, named, "what is named is there, and nothing else");
    assert_eq!(named.len(), 3 * all.len());

    for id in &all {
        life.ask("DELETE", &format!("/v1/on-demand/{id}"), &Value::Null, &[200, 404]).await;
    }
    life.settle().await;
    assert_eq!(life.app.objects().await, [""; 0], "nothing is left of what was deleted");
    let mut told = events::by_media(&life.app.receiver);
    for id in &all {
        let mut told = told.remove(id).expect("it was told of");
        if life.app.ground.is_shared() {
            // Time that was passed over holds no event back any more.
            told.sort_by_key(|event| EVENTS.iter().position(|known| known == event));
        }
        assert_eq!(told, EVENTS);
    }
}
