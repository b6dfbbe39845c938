//! The renditions of a media, and how many of their segments are encoded.

use kinora_domain::{Clock as _, MediaId, PresentationId, RenditionId, Role};
use kinora_server::Roles;
use kinora_store::RenditionUsage;
use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::support::World;
use crate::support::text;

async fn with_worker() -> World {
    World::start_with(|options| options.roles(Roles::ALL)).await
}

async fn renditions(world: &World, role: Role, media: &Value) -> Value {
    let [development, _] = world.workspace_ids().await;
    let path = format!("/workspaces/{development}/media/{}/renditions", text(&media["id"]));
    let answer = world.browser_of(role).await.get(&path).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.data()
}

fn named<'a>(answer: &'a Value, r#type: &str, name: &str) -> &'a Value {
    let all = answer["renditions"].as_array().unwrap();
    let mut found = all.iter().filter(|it| it["type"] == r#type && it["name"] == name);
    let first = found.next().unwrap_or_else(|| panic!("no {type} {name}: {answer}"));
    assert_eq!(found.next(), None);
    first
}

/// Adds the row of a rendition with counted segments.
async fn made(world: &World, media: &Value, name: &'static str, segments: u64, is_broken: bool) {
    let id: MediaId = text(&media["id"]).parse().unwrap();
    let media = world.app.store.media_by_id(id).await.unwrap().unwrap();
    let (presentation, now) = (PresentationId::of(media.source().unwrap()), world.clock.now());
    let id = RenditionId::of_hash([name.len() as u8; 16]);
    let written = world.app.store.write(async move |tx| {
        assert!(tx.insert_rendition(id, presentation, name, now).await?);
        let usage = RenditionUsage { id, bytes: segments * 1000, segments, watched_at: Some(now) };
        tx.add_rendition_usage(&[usage]).await?;
        if is_broken { tx.set_rendition_broken(id, now).await } else { Ok(()) }
    });
    written.await.map_err(|error: kinora_store::Error| error.to_string()).unwrap();
}

#[tokio::test]
async fn renditions_have_counts_of_all_and_of_made_segments() {
    let world = with_worker().await;
    let media = world.app.ready("/a.mp4", fixture::large_two_tracks()).await;
    let before = renditions(&world, Role::Viewer, &media).await;
    assert_eq!(before["playbackReport"], media["playbackReport"]);
    let offered = media["playbackReport"]["renditions"].as_array().unwrap();
    let names =
        |list: &[Value]| list.iter().map(|it| (it["name"].clone(), it["method"].clone())).collect::<Vec<_>>();
    assert_eq!(names(before["renditions"].as_array().unwrap()), names(offered));
    let copy = named(&before, "video", "video");
    assert_eq!(
        (&copy["method"], &copy["segments"], &copy["bytes"]),
        (&json!("copied"), &Value::Null, &Value::Null)
    );
    let rung = named(&before, "video", "240p");
    assert_eq!(
        (&rung["segmentsMade"], &rung["bytes"], &rung["resolution"]),
        (&json!(0), &json!(0), &json!("240p"))
    );
    assert_eq!((&rung["lastWatchedAt"], &rung["isBroken"]), (&Value::Null, &json!(false)));
    let segments = rung["segments"].as_u64().unwrap();
    assert!((2..=30).contains(&segments), "{rung}");

    made(&world, &media, "240p", 2, false).await;
    let after = renditions(&world, Role::Member, &media).await;
    let rung = named(&after, "video", "240p");
    assert_eq!(
        (&rung["segmentsMade"], &rung["segments"], &rung["bytes"]),
        (&json!(2), &json!(segments), &json!(2000))
    );
    assert_eq!(rung["lastWatchedAt"], world.clock.now().to_string());
    // Counted twice.
    made(&world, &media, "240p", 1000, false).await;
    let after = renditions(&world, Role::Admin, &media).await;
    assert_eq!(named(&after, "video", "240p")["segmentsMade"], segments);
}

#[tokio::test]
async fn broken_renditions_and_downloads_are_not_offered_ones() {
    let world = with_worker().await;
    let media = world.app.ready("/a.mp4", fixture::large_two_tracks()).await;
    made(&world, &media, "480p", 1, true).await;
    made(&world, &media, "240p whole", 1, false).await;
    made(&world, &media, "240p in part", 0, true).await;
    let answer = renditions(&world, Role::Viewer, &media).await;
    let broken = named(&answer, "video", "480p");
    assert_eq!((&broken["isBroken"], &broken["segmentsMade"]), (&json!(true), &Value::Null));
    let download = named(&answer, "download", "240p");
    assert_eq!(
        (&download["bytes"], &download["segments"], &download["isBroken"]),
        (&json!(1000), &Value::Null, &json!(false))
    );
    assert_eq!(named(&answer, "video", "240p")["isBroken"], false, "it is offered, a part of it failed");
    let all = answer["renditions"].as_array().unwrap();
    assert!(all.iter().all(|it| !text(&it["name"]).contains(' ')), "{all:?}");
}

#[tokio::test]
async fn media_that_is_not_ready_has_no_renditions() {
    let world = World::start().await;
    let media = world.app.create("http://127.0.0.1/a.mp4").await;
    let answer = renditions(&world, Role::Viewer, &media).await;
    assert_eq!(answer, json!({"playbackReport": null, "renditions": []}));
}

/// A clip shares the source of its media; its renditions are its own.
#[tokio::test]
async fn clip_has_renditions_and_counts_of_its_own() {
    let world = with_worker().await;
    let media = world.app.ready("/a.mp4", fixture::large_two_tracks()).await;
    made(&world, &media, "240p", 1, false).await;
    let url = format!("fp_mediaId://{}", text(&media["id"]));
    let body = json!({"inputs": [{"type": "video", "url": url, "startTime": 4, "endTime": 8}]});
    let clip = world.app.call("POST", "/v1/on-demand").json(&body).send().await;
    assert_eq!(clip.status, 201, "{clip:?}");
    let clip = world.app.wait_settled(text(&clip.data()["id"])).await;
    assert_eq!(clip["status"], "Ready", "{clip}");
    let (of_media, of_clip) =
        (renditions(&world, Role::Viewer, &media).await, renditions(&world, Role::Member, &clip).await);
    let (long, short) = (named(&of_media, "video", "240p"), named(&of_clip, "video", "240p"));
    assert_eq!((&long["segmentsMade"], &short["segmentsMade"]), (&json!(1), &json!(0)));
    assert!(short["segments"].as_u64() < long["segments"].as_u64(), "{short} {long}");
}
