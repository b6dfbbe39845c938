//! Still images of media for people: without a playback ID, and without a trace in the usage.

use kinora_domain::{Clock as _, Day, Role};
use kinora_testkit::{Source, fixture};
use serde_json::json;

use super::playing::{media_path, only_playback_id, world};
use super::support::{World, problem};
use crate::api::Ids;
use crate::api::images::size;
use crate::support::text;

#[tokio::test]
async fn image_needs_no_playback_id_and_is_at_most_as_wide_as_the_video() {
    let (world, watched) = world().await;
    let path = format!("{}/picture.jpg", media_path(&world, &watched.media).await);
    for role in Role::ALL {
        let browser = world.browser_of(role).await;
        for (query, expected) in
            [("", (160, 90)), ("?width=1920", (160, 90)), ("?width=80&other=1", (160, 90))]
        {
            let answer = browser.get(&format!("{path}{query}")).await;
            assert_eq!((answer.status, answer.header("content-type")), (200, Some("image/jpeg")), "{query}");
            assert_eq!(answer.header("cache-control"), Some("private, max-age=300"), "{query}");
            assert_eq!(size(&answer.body), expected, "{query}");
        }
    }
    let browser = world.browser_of_person(&world.person("a@example.com", Role::Viewer).await).await;
    let expected = browser.get(&path).await.body;
    let closed = json!({"accessPolicy": "private", "encryption": "aes-128"});
    let playback = only_playback_id(&world, &watched.media, &closed).await;
    assert_eq!(browser.get(&path).await.body, expected);
    Ids::of(&world.app, &watched.media).delete(&playback).await;
    assert_eq!(browser.get(&path).await.body, expected);
}

#[tokio::test]
async fn known_image_is_304_and_head_has_no_body() {
    let (world, watched) = world().await;
    let browser = world.browser_of(Role::Viewer).await;
    let path = format!("{}/picture.jpg?width=64", media_path(&world, &watched.media).await);
    let etag = browser.get(&path).await.header("etag").expect("it has one").to_owned();
    let known = browser.request("GET", &path).header("If-None-Match", &etag).send().await;
    assert_eq!((known.status, known.body.len()), (304, 0));
    assert_eq!(known.header("cache-control"), Some("private, max-age=300"));
    let head = browser.request("HEAD", &path).send().await;
    assert_eq!((head.status, head.header("etag"), head.body.len()), (200, Some(etag.as_str()), 0));
    for (width, is_same) in [("1", true), ("160", true), ("161", false)] {
        let other = browser.get(&path.replace("64", width)).await;
        assert_eq!(other.header("etag") == Some(etag.as_str()), is_same, "{width}");
    }
}

#[tokio::test]
async fn wrong_width_is_422_and_other_people_get_nothing() {
    let (world, watched) = world().await;
    let browser = world.browser_of(Role::Viewer).await;
    let path = format!("{}/picture.jpg", media_path(&world, &watched.media).await);
    for query in [
        "width=0",
        "width=1921",
        "width=-1",
        "width=%2B5",
        "width=x",
        "width=",
        "width=1.5",
        "width=1&width=2",
    ] {
        let answer = browser.get(&format!("{path}?{query}")).await;
        assert_eq!(problem(&answer), (422, vec!["width".to_owned()]), "{query}");
    }
    let [development, production] = world.workspace_ids().await;
    let other = browser.get(&path.replace(&development, &production)).await;
    assert_eq!(other.refusal(), (404, "media workspace relation not found".to_owned()));
    assert_eq!(world.browser().get(&path).await.refusal(), (401, "unauthorized".to_owned()));
    assert_eq!(browser.post(&path, &json!({})).await.status, 405);
}

#[tokio::test]
async fn media_without_an_image_is_404() {
    let (world, _) = world().await;
    let browser = world.browser_of(Role::Viewer).await;
    let audio = world.app.ready("/a.m4a", fixture::audio_only()).await;
    let failed = world.app.create(&world.app.serve("/none.txt", Source::of("none"))).await;
    world.app.wait_settled(text(&failed["id"])).await;
    for media in [audio, failed] {
        let answer = browser.get(&format!("{}/picture.jpg", media_path(&world, &media).await)).await;
        assert_eq!(answer.refusal(), (404, "not found".to_owned()), "{media}");
    }
    let idle = World::start().await;
    let browser = idle.browser_of(Role::Viewer).await;
    let waiting = idle.app.create("http://127.0.0.1/a.mp4").await;
    let answer = browser.get(&format!("{}/picture.jpg", media_path(&idle, &waiting).await)).await;
    assert_eq!(answer.refusal(), (404, "not found".to_owned()));
    assert!(problem(&answer).1[0].contains("still being prepared"), "{answer:?}");
}

#[tokio::test]
async fn image_counts_as_no_delivery() {
    let (mut world, watched) = world().await;
    let today = Day::of(world.clock.now());
    let workspace = world.development().await;
    {
        let browser = world.browser_of(Role::Viewer).await;
        let path = format!("{}/picture.jpg", media_path(&world, &watched.media).await);
        assert_eq!(browser.get(&path).await.status, 200);
    }
    world.app.stop().await;
    world.app.restart().await;
    let days = world.app.store.usage(workspace, today, today).await.unwrap().days;
    let used = days.first().map(|day| day.used).unwrap_or_default();
    assert_eq!((used.delivered_bytes, used.delivered_us), (0, 0));
}
