//! `PATCH /on-demand/{mediaId}/update-mp4Support`, and the responses of `capped-4k.mp4` and `audio.m4a`.
//!
//! `media/files.rs` checks the contents of the files.

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::permission::check_patch;
use super::playback_ids::Ids;
use super::update::events_of_type;
use crate::support::{Answer, DEADLINE, TestApp, text};

pub(crate) const READY: &str = "video.media.mp4Support.ready";
const UPDATED: &str = "video.media.updated";
const BOTH: &str = "audioOnly,capped_4k";
const FILES: [&str; 2] = ["capped-4k.mp4", "audio.m4a"];

pub(crate) async fn patch(app: &TestApp, id: &str, body: &Value) -> Answer {
    app.call("PATCH", &format!("/v1/on-demand/{id}/update-mp4Support")).json(body).send().await
}

/// Sets the files of a media.
pub(crate) async fn set_mp4_support(app: &TestApp, media: &Value, word: &str) -> Answer {
    patch(app, text(&media["id"]), &json!({"mp4Support": word})).await
}

/// Waits until the event that the files are ready has arrived `times` times.
pub(crate) async fn ready_events(app: &TestApp, times: usize) {
    let has_events = |posted: &[kinora_testkit::ReceivedPost]| {
        posted.iter().filter(|post| post.event_type() == READY).count() >= times
    };
    app.receiver.wait_for(DEADLINE, has_events).await;
}

/// The URL of a file.
pub(crate) fn address(media: &Value, file: &str) -> String {
    format!("/{}/{file}", text(&media["playbackIds"][0]["id"]))
}

/// The statuses of both files.
async fn statuses(app: &TestApp, media: &Value) -> [u16; 2] {
    let [mp4, m4a] = FILES.map(|file| address(media, file));
    [app.fetch(&mp4).await.status, app.fetch(&m4a).await.status]
}

#[tokio::test]
async fn mp4_support_change_emits_event_when_files_are_ready() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]);
    let mut golden = app.golden();
    let mut transcript = golden.answer(&app.fetch(&address(&media, FILES[0])).await);
    transcript += &golden.answer(&set_mp4_support(&app, &media, "none").await);
    for (index, (word, files)) in
        [("capped_4k", [200, 404]), ("audioOnly", [404, 200]), (BOTH, [200, 200])].into_iter().enumerate()
    {
        let updated = set_mp4_support(&app, &media, word).await;
        transcript += &golden.answer(&updated);
        assert_eq!(updated.body, app.get(id).await.body, "it is answered as it is read");
        assert_eq!(statuses(&app, &media).await, files, "copied files are available at once: {word}");
        ready_events(&app, index + 1).await;
        transcript += &golden.answer(&set_mp4_support(&app, &media, word).await);
    }
    insta::assert_snapshot!("wanted", transcript);
    let off = set_mp4_support(&app, &media, "none").await;
    assert_eq!((off.status, off.data().get("mp4Support")), (200, None), "it is left out while it is off");
    assert_eq!(statuses(&app, &media).await, [404, 404]);

    let ready = events_of_type(&app, READY).await;
    let words: Vec<_> = ready.iter().map(|event| text(&event["data"]["mp4Support"]).to_owned()).collect();
    assert_eq!(words, ["capped_4k", "audioOnly", BOTH], "`none` sends no event");
    insta::assert_snapshot!("told", app.golden().json(&ready[2]));
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 4);
}

#[tokio::test]
async fn mp4_ready_event_follows_media_ready() {
    let app = TestApp::start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    let media = app.create_with(&url, json!({"mp4Support": "capped_4k", "sourceAccess": true})).await;
    app.sources.wait_until_held("/a.mp4", DEADLINE).await;
    let waiting = app.fetch(&address(&media, FILES[0])).await;
    assert_eq!(waiting.refusal(), (400, "media is not ready".to_owned()));
    assert_eq!(set_mp4_support(&app, &media, BOTH).await.data()["mp4Support"], BOTH);
    app.sources.release("/a.mp4");
    app.wait_settled(text(&media["id"])).await;
    assert_eq!(statuses(&app, &media).await, [200, 200]);
    ready_events(&app, 1).await;
    app.all_delivered().await;
    let names: Vec<_> = app.receiver.posted().iter().map(|post| post.event_type()).collect();
    assert_eq!(
        names,
        ["video.media.created", UPDATED, "video.media.ready", "video.media.source.ready", READY]
    );
    assert_eq!(events_of_type(&app, READY).await[0]["data"]["mp4Support"], BOTH);
}

#[tokio::test]
async fn upload_settings_may_request_mp4_support() {
    let app = TestApp::start().await;
    let settings = json!({"accessPolicy": "public", "mp4Support": "audioOnly"});
    let body = json!({"corsOrigin": "*", "pushMediaSettings": settings});
    let upload = app.call("POST", "/v1/on-demand/upload").json(&body).send().await.data();
    let target =
        text(&upload["url"]).strip_prefix(&app.url("")).expect("an address of this server").to_owned();
    assert_eq!(app.request("PUT", &target).body(fixture::two_seconds()).send().await.status, 200);
    let media = app.wait_settled(text(&upload["uploadId"])).await;
    assert_eq!((statuses(&app, &media).await, &media["mp4Support"]), ([404, 200], &json!("audioOnly")));
    ready_events(&app, 1).await;
}

#[tokio::test]
async fn mp4_without_matching_track_is_rejected_or_omitted() {
    let app = TestApp::start().await;
    let mute = app.ready_with("/a.mp4", fixture::video_only(), json!({"mp4Support": BOTH})).await;
    let deaf = app.ready_with("/b.mp4", fixture::audio_only(), json!({"mp4Support": "capped_4k"})).await;
    ready_events(&app, 1).await;
    assert_eq!(statuses(&app, &mute).await, [200, 404]);
    assert_eq!(statuses(&app, &deaf).await, [404, 404]);
    let mut golden = app.golden();
    let transcript = golden.answer(&set_mp4_support(&app, &mute, "audioOnly").await)
        + &golden.answer(&set_mp4_support(&app, &deaf, BOTH).await);
    insta::assert_snapshot!("nothing_to_make_it_of", transcript);
    assert_eq!(set_mp4_support(&app, &mute, "capped_4k").await.status, 200);
    assert_eq!(set_mp4_support(&app, &deaf, "audioOnly").await.status, 200);
    ready_events(&app, 3).await;
    assert_eq!(statuses(&app, &deaf).await, [404, 200]);
    let of: Vec<_> =
        events_of_type(&app, READY).await.iter().map(|event| event["object"]["id"].clone()).collect();
    assert_eq!(of.iter().filter(|id| **id == mute["id"]).count(), 2);
    assert_eq!(of.iter().filter(|id| **id == deaf["id"]).count(), 1, "a media without audio sends no event");
}

#[tokio::test]
async fn mp4_enforces_playback_access() {
    let app = TestApp::start().await;
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"mp4Support": BOTH})).await;
    let ids = Ids::of(&app, &media);
    for (body, status) in [
        (json!({"accessPolicy": "private"}), 401),
        (
            json!({"accessPolicy": "public", "accessRestrictions": {"userAgents": {"defaultPolicy": "deny"}}}),
            403,
        ),
    ] {
        let made = ids.made(&body).await;
        for file in FILES {
            assert_eq!(app.fetch(&format!("/{made}/{file}")).await.status, status, "{body} {file}");
        }
    }
    for file in FILES {
        assert_eq!(app.request("POST", &address(&media, file)).send().await.status, 405);
        let named = app.fetch(&(address(&media, file) + "?download=My%20clip%0d%0a")).await;
        let (_, extension) = file.rsplit_once('.').unwrap();
        let disposition = format!("attachment; filename=\"My clip.{extension}\"");
        assert_eq!(named.header("content-disposition"), Some(&*disposition));
        let content_type = if extension == "mp4" { "video/mp4" } else { "audio/mp4" };
        assert_eq!(named.header("content-type"), Some(content_type));
    }
    assert_eq!(app.fetch(&address(&media, "capped_4k.mp4")).await.status, 404);
    assert_eq!(app.delete(text(&media["id"])).await.status, 200);
    assert_eq!(statuses(&app, &media).await, [404, 404]);
}

#[tokio::test]
async fn invalid_value_is_422_and_read_only_token_is_403() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]);
    let mut transcript = String::new();
    for body in [
        json!({}),
        json!({"mp4Support": null}),
        json!({"mp4Support": "capped-4k"}),
        json!({"mp4Support": "capped_4k,audioOnly"}),
        json!({"mp4Support": ["capped_4k"]}),
        json!({"mp4Support": true}),
        json!([]),
    ] {
        let refused = patch(&app, id, &body).await;
        assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()), "{body}");
        transcript += &format!("{body} {}\n", refused.text());
    }
    insta::assert_snapshot!("refused", transcript);
    let body = json!({"mp4Support": "capped_4k"});
    check_patch(&app, &media, "update-mp4Support", &body).await;
    assert_eq!((events_of_type(&app, UPDATED).await.len(), events_of_type(&app, READY).await.len()), (0, 0));
}
