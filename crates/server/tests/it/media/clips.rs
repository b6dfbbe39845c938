//! Media that play a range of a file, and clips that share the bytes of another media.

use std::ffi::OsStr;

use bytes::Bytes;
use kinora_domain::{PRODUCTION, Permission};
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::added_audio::manifest;
use super::probe::decoded;
use crate::support::{Answer, TestApp, text, until};

/// A media from this file, with these fields of its video input.
async fn edited(app: &TestApp, file: Bytes, fields: Value) -> Value {
    let url = app.serve("/film.mp4", Source::of(file));
    let mut video = json!({"type": "video", "url": url});
    video.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    settled(app, json!({"inputs": [video]})).await
}

async fn settled(app: &TestApp, body: Value) -> Value {
    let created = post(app, &body).await;
    assert_eq!(created.status, 201, "{body}: {created:?}");
    app.wait_settled(text(&created.data()["id"])).await
}

pub(super) async fn post(app: &TestApp, body: &Value) -> Answer {
    app.call("POST", "/v1/on-demand").json(body).send().await
}

pub(super) fn clip_body(of: &Value, fields: Value) -> Value {
    let mut video = json!({"type": "video", "url": format!("fp_mediaId://{}", text(&of["id"]))});
    video.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({"inputs": [video]})
}

/// A ready clip of this media.
pub(super) async fn clip(app: &TestApp, of: &Value, fields: Value) -> Value {
    let clip = settled(app, clip_body(of, fields)).await;
    assert_eq!(clip["status"], "Ready", "{clip}");
    assert_eq!(clip["sourceMediaId"], of["id"]);
    clip
}

/// The number of decoded frames, through the manifest.
async fn frames(app: &TestApp, media: &Value) -> u64 {
    let (_, played) = manifest(app, media).await;
    decoded(OsStr::new(&played), "v:0").await.expect("it has video").frames
}

/// The stored objects without those made for viewers.
async fn objects(app: &TestApp) -> Vec<String> {
    until("no object to be written", async || {
        let mut objects = app.objects().await;
        objects.retain(|path| !["picture", "segment", "init"].contains(&path.split('/').next().unwrap()));
        objects.sort();
        (!objects.iter().any(|path| path.starts_with("temporary"))).then_some(objects)
    })
    .await
}

fn kinds(objects: &[String]) -> Vec<&str> {
    objects.iter().map(|path| path.split('/').next().unwrap()).collect()
}

pub(super) async fn delete(app: &TestApp, media: &Value) {
    assert_eq!(app.delete(text(&media["id"])).await.status, 200);
}

pub(super) async fn until_kinds(app: &TestApp, expected: &[&str]) {
    until("exactly the used objects to be left", async || {
        (kinds(&objects(app).await) == expected).then_some(())
    })
    .await;
}

#[tokio::test]
async fn range_that_begins_at_a_keyframe_is_copied() {
    let app = TestApp::options().without_webhook().start().await;
    let media = edited(&app, fixture::large_two_tracks(), json!({"startTime": 4, "endTime": 6.5})).await;
    assert_eq!((&media["status"], &media["duration"]), (&json!("Ready"), &json!("00:00:03")), "{media}");
    assert_eq!(media["playbackReport"]["renditions"][0]["method"], "copied");
    assert_eq!(frames(&app, &media).await, 63, "25 frames a second from 4 s to 6.5 s");
    assert_eq!(kinds(&objects(&app).await), ["index", "index", "source"]);
}

#[tokio::test]
async fn range_that_begins_between_keyframes_is_encoded() {
    let app = TestApp::options().without_webhook().start().await;
    let media = edited(&app, fixture::large_two_tracks(), json!({"startTime": 4.03, "endTime": 6.5})).await;
    let report = &media["playbackReport"];
    assert_eq!(report["renditions"][0]["method"], "encoded", "{media}");
    assert_eq!(report["notCopied"][0]["reason"], "edits", "{media}");
    assert_eq!(frames(&app, &media).await, 62, "the first frame is that of 4.04 s");
}

#[tokio::test]
async fn original_of_a_range_is_the_whole_file() {
    let app = TestApp::options().without_webhook().start().await;
    let url = app.serve("/film.mp4", Source::of(fixture::large_two_tracks()));
    let body = json!({
        "inputs": [{"type": "video", "url": url, "startTime": 4}],
        "sourceAccess": true,
    });
    let media = settled(&app, body).await;
    let original = app.fetch(&format!("/{}/source", text(&media["playbackIds"][0]["id"]))).await;
    assert_eq!((original.status, original.body), (200, fixture::large_two_tracks()));
    delete(&app, &media).await;
    until_kinds(&app, &[]).await;
}

#[tokio::test]
async fn start_behind_the_end_fails_media_with_duration() {
    let app = TestApp::options().without_webhook().start().await;
    let media = edited(&app, fixture::two_seconds(), json!({"startTime": 2.5})).await;
    let message = "startTime is behind the end of the media, which lasts 2.000 s";
    assert_eq!(media["error"], json!({"code": "clip_outside_media", "message": message}), "{media}");
    until_kinds(&app, &[]).await;
}

#[tokio::test]
async fn clip_of_a_media_fetches_and_copies_nothing() {
    let app = TestApp::start().await;
    let media = app.ready("/film.mp4", fixture::large_two_tracks()).await;
    let created = post(&app, &clip_body(&media, json!({"startTime": 4, "endTime": 6.5}))).await;
    let mut golden = app.golden();
    golden.name(text(&media["id"]), "[source media]");
    let mut transcript = golden.answer(&created);
    let clip = app.wait_settled(text(&created.data()["id"])).await;
    transcript += &golden.json(&clip);
    assert_eq!(frames(&app, &clip).await, 63);
    assert_eq!(app.sources.requests("/film.mp4").len(), 1);
    assert_eq!(kinds(&objects(&app).await), ["index", "index", "source"]);
    let listed = app.call("GET", &format!("/on-demand/{}/media-clips", text(&media["id"]))).send().await;
    transcript += &golden.answer(&listed);
    let ids: Vec<_> = listed.data().as_array().unwrap().iter().map(|clip| clip["id"].clone()).collect();
    assert_eq!(ids, [clip["id"].clone()]);
    insta::assert_snapshot!("clip", transcript);
}

#[tokio::test]
async fn source_bytes_are_deleted_with_the_last_media() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1, 2, 0]] {
        let app = TestApp::options().without_webhook().start().await;
        let media = app.ready("/film.mp4", fixture::large_two_tracks()).await;
        let outer = clip(&app, &media, json!({"startTime": 2, "endTime": 10})).await;
        // Two seconds of the film, from second 6 on.
        let inner = clip(&app, &outer, json!({"startTime": 4, "endTime": 6})).await;
        assert_eq!(inner["duration"], "00:00:02");
        let all = [&media, &outer, &inner];
        for (deleted, number) in (1..).zip(order) {
            delete(&app, all[number]).await;
            let left: Vec<_> = order[deleted..].iter().map(|number| all[*number]).collect();
            if left.is_empty() {
                until_kinds(&app, &[]).await;
            } else {
                // The index of the film is deleted with its bytes.
                let presentations = left.iter().filter(|left| left["id"] != media["id"]).count();
                let mut expected = vec!["index"; presentations + 1];
                expected.push("source");
                until_kinds(&app, &expected).await;
            }
            for left in left {
                let expected =
                    [300, 200, 50][all.iter().position(|media| media["id"] == left["id"]).unwrap()];
                assert_eq!(frames(&app, left).await, expected, "{order:?} after {deleted}");
            }
        }
    }
}

#[tokio::test]
async fn clip_of_an_invalid_media_names_the_field() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.ready("/film.mp4", fixture::two_seconds()).await;
    let talk = app.ready("/talk.m4a", fixture::audio_only()).await;
    let text_file = app.create(&app.serve("/text", Source::of(fixture::not_media::text()))).await;
    app.wait_settled(text(&text_file["id"])).await;
    let held = app.create(&app.serve("/held", Source::of(fixture::two_seconds()).gate_last_byte())).await;
    let unknown = json!({"id": "019a492c-41f3-7001-8203-040506070809"});
    let gone = app.ready("/gone.mp4", fixture::two_seconds()).await;
    delete(&app, &gone).await;
    let foreign = "must name a media of this workspace";
    for (of, field, message) in [
        (&unknown, "url", foreign),
        (&gone, "url", foreign),
        (&talk, "url", "must name a media with video; this one has only audio"),
        (&text_file, "url", "must name a media that is Ready; this one is Failed"),
    ] {
        let refused = post(&app, &clip_body(of, json!({}))).await;
        let expected = json!([{"field": format!("inputs[0].{field}"), "message": message}]);
        assert_eq!((refused.status, &refused.json()["error"]["fields"]), (422, &expected));
    }
    let refused = post(&app, &clip_body(&held, json!({}))).await;
    assert_eq!(refused.refusal().0, 422);
    let outside = post(&app, &clip_body(&film, json!({"startTime": 2}))).await;
    let message = "is behind the end of the media, which lasts 2.000 s";
    let expected = json!([{"field": "inputs[0].startTime", "message": message}]);
    assert_eq!((outside.status, &outside.json()["error"]["fields"]), (422, &expected));
    let other = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let body = clip_body(&film, json!({}));
    let refused = app.request("POST", "/on-demand").token(&other).json(&body).send().await;
    let expected = json!([{"field": "inputs[0].url", "message": foreign}]);
    assert_eq!((refused.status, &refused.json()["error"]["fields"]), (422, &expected));
}

#[tokio::test]
async fn source_access_of_clip_follows_its_media() {
    let app = TestApp::options().without_webhook().start().await;
    let access = async |media: &Value, is_open: bool| {
        let path = format!("/on-demand/{}/source-access", text(&media["id"]));
        app.call("PATCH", &path).json(&json!({"sourceAccess": is_open})).send().await.status
    };
    let is_open = async |media: &Value| app.get(text(&media["id"])).await.data()["sourceAccess"].clone();
    let film = app.ready("/film.mp4", fixture::large_two_tracks()).await;
    let mut open = clip_body(&film, json!({"startTime": 2}));
    open["sourceAccess"] = true.into();
    let refused = post(&app, &open).await;
    assert_eq!(
        (refused.status, &refused.json()["error"]["fields"][0]["field"]),
        (422, &json!("sourceAccess"))
    );
    let closed = clip(&app, &film, json!({"startTime": 2})).await;
    assert_eq!(access(&closed, true).await, 422);

    assert_eq!(access(&film, true).await, 200);
    assert_eq!(access(&closed, true).await, 200);
    let outer = settled(&app, open).await;
    let inner = clip(&app, &outer, json!({"endTime": 2})).await;
    assert_eq!(access(&inner, true).await, 200);
    let original = app.fetch(&format!("/{}/source", text(&inner["playbackIds"][0]["id"]))).await;
    assert_eq!(original.body, fixture::large_two_tracks());
    // The clip between the film and the inner clip is gone.
    delete(&app, &outer).await;
    assert_eq!(access(&film, false).await, 200);
    for media in [&film, &closed, &inner] {
        assert_eq!(is_open(media).await, false);
    }
    assert_eq!(access(&inner, true).await, 422);
}

#[tokio::test]
async fn public_clip_of_private_media_has_warning() {
    let app = TestApp::options().without_webhook().start().await;
    let private = json!({"accessPolicy": "private"});
    let film = app.ready_with("/film.mp4", fixture::two_seconds(), private).await;
    let created = post(&app, &clip_body(&film, json!({}))).await.json();
    let warning = "everyone can play this clip, but the media it is cut from has no public playback ID";
    assert_eq!(created["warnings"], json!([warning]));
    let mut private = clip_body(&film, json!({}));
    private["accessPolicy"] = "private".into();
    assert_eq!(post(&app, &private).await.json()["warnings"], Value::Null);
}

#[tokio::test]
async fn upload_plays_its_range() {
    let app = TestApp::start().await;
    let settings = json!({"startTime": 4, "endTime": 6.5});
    let body = json!({"corsOrigin": "*", "pushMediaSettings": settings});
    let upload = app.call("POST", "/on-demand/upload").json(&body).send().await.data();
    let address = text(&upload["url"]).to_owned();
    let path = address.strip_prefix(&app.url("")).expect("an address of this server");
    let sent = app.request("PUT", path).body(fixture::large_two_tracks()).send().await;
    assert!((200..300).contains(&sent.status), "{sent:?}");
    let media = app.wait_settled(text(&upload["uploadId"])).await;
    assert_eq!((&media["status"], &media["duration"]), (&json!("Ready"), &json!("00:00:03")), "{media}");
    assert_eq!(frames(&app, &media).await, 63);
    assert_eq!(kinds(&objects(&app).await), ["index", "index", "source"]);
    delete(&app, &media).await;
    until_kinds(&app, &[]).await;
}
