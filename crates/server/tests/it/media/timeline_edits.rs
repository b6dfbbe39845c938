//! Media whose timeline is edited: removed ranges, inserted files, intro and outro.

use std::ffi::OsStr;

use kinora_testkit::fixture::containers::{clip_with_tone, tone_of};
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::added_audio::{check_tone, manifest, tone};
use super::probe::decoded;
use crate::support::{HOOK, TestApp, text, until};

/// A settled media with these fields of its video input.
async fn edited(app: &TestApp, fields: Value) -> Value {
    let created = app.call("POST", "/v1/on-demand").json(&json!({"inputs": [fields]})).send().await;
    assert_eq!(created.status, 201, "{created:?}");
    app.wait_settled(text(&created.data()["id"])).await
}

/// Frames per second of the fixtures.
const FPS: u64 = 25;

#[tokio::test]
async fn parts_play_in_the_order_of_the_edit() {
    let app = TestApp::start().await;
    // Each part has a tone of its own: the film 16 s, the others 4 s.
    let film = app.serve("/film.mp4", Source::of(clip_with_tone(1000, 16)));
    let [intro, insert, outro] = [(2000, "/intro.mp4"), (3000, "/insert.mp4"), (4000, "/outro.mp4")]
        .map(|(hz, path)| app.serve(path, Source::of(clip_with_tone(hz, 4))));
    let media = edited(
        &app,
        json!({
            "type": "video",
            "url": film,
            "startTime": 2,
            "expungeSegments": ["4-6"],
            "segments": [{"url": insert, "insertAt": 10}],
            "introUrl": intro,
            "outroUrl": outro,
        }),
    )
    .await;
    assert_eq!((&media["status"], &media["duration"]), (&json!("Ready"), &json!("00:00:24")), "{media}");
    let (_, played) = manifest(&app, &media).await;
    let video = decoded(OsStr::new(&played), "v:0").await.expect("it has video");
    assert_eq!(video.frames, 24 * FPS);
    // The tone of a file ends some milliseconds before its video.
    for (hz, from) in [(2000.0, 0), (1000.0, 4), (3000.0, 10), (1000.0, 14), (4000.0, 20)] {
        check_tone(tone(&played, "a:0", from + 1, from + 3).await, hz, &format!("from {from} s on"));
    }

    app.all_delivered().await;
    let names: Vec<_> = app.posts(HOOK, 6).await.iter().map(|post| post.event_type()).collect();
    let edits = ["expunge", "splice", "intro", "outro"].map(|edit| format!("video.media.{edit}.ready"));
    assert_eq!(names[..2], ["video.media.created", "video.media.ready"]);
    assert_eq!(names[2..], edits);
    let mut golden = app.golden();
    let created = app.event("video.media.created").await;
    let spliced = app.event("video.media.splice.ready").await;
    insta::assert_snapshot!("events", golden.json(&created) + &golden.json(&spliced));
}

#[tokio::test]
async fn removed_range_of_a_copied_film_leaves_its_frames() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::large_two_tracks()));
    let media =
        edited(&app, json!({"type": "video", "url": film, "expungeSegments": ["2-4", "6-10.5"]})).await;
    assert_eq!((&media["status"], &media["duration"]), (&json!("Ready"), &json!("00:00:05")), "{media}");
    let (_, played) = manifest(&app, &media).await;
    let frames = decoded(OsStr::new(&played), "v:0").await.expect("it has video").frames;
    // 0 s to 2 s, 4 s to 6 s, and from the frame of 10.52 s on.
    assert_eq!(frames, 50 + 50 + 37);
}

#[tokio::test]
async fn clip_of_a_media_gets_an_intro() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.ready("/film.mp4", clip_with_tone(1000, 6)).await;
    let intro = app.serve("/intro.mp4", Source::of(clip_with_tone(2000, 2)));
    let url = format!("fp_mediaId://{}", text(&film["id"]));
    let media = edited(&app, json!({"type": "video", "url": url, "startTime": 2, "introUrl": intro})).await;
    assert_eq!((&media["status"], &media["duration"]), (&json!("Ready"), &json!("00:00:06")), "{media}");
    assert_eq!(app.sources.requests("/film.mp4").len(), 1);
    for (left, deleted) in [(2, &film), (0, &media)] {
        assert_eq!(app.delete(text(&deleted["id"])).await.status, 200);
        until("only used sources to be left", async || {
            let objects = app.objects().await;
            (objects.iter().filter(|path| path.starts_with("source")).count() == left).then_some(())
        })
        .await;
    }
    until("no object to be left", async || app.objects().await.is_empty().then_some(())).await;
}

#[tokio::test]
async fn edited_audio_follows_the_edited_timeline() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(clip_with_tone(1000, 12)));
    let over = app.serve("/over.wav", Source::of(tone_of(3000, 2, "wav", "-c:a pcm_s16le")));
    let audio = json!({"type": "audio", "imposeTracks": [{"url": over, "startTime": 2}]});
    let video = json!({"type": "video", "url": film, "startTime": 4, "expungeSegments": ["5-7"]});
    let body = json!({"inputs": [video, audio]});
    let created = app.call("POST", "/v1/on-demand").json(&body).send().await;
    let media = app.wait_settled(text(&created.data()["id"])).await;
    assert_eq!((&media["status"], &media["duration"]), (&json!("Ready"), &json!("00:00:06")), "{media}");
    let (_, played) = manifest(&app, &media).await;
    check_tone(tone(&played, "a:0", 0, 1).await, 1000.0, "before");
    check_tone(tone(&played, "a:0", 5, 6).await, 1000.0, "after");
    let mixed = tone(&played, "a:0", 2, 4).await.expect("it is audible");
    assert!(mixed > 1500.0, "both tones are heard, with {mixed} Hz on the whole");
}

#[tokio::test]
async fn clip_of_an_edited_media_begins_in_any_part() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::large_two_tracks()));
    let outro = app.serve("/outro.mp4", Source::of(clip_with_tone(2000, 4)));
    let whole = edited(&app, json!({"type": "video", "url": film, "outroUrl": outro})).await;
    let url = format!("fp_mediaId://{}", text(&whole["id"]));
    for (start, end, frames) in [(11, 13, 2 * FPS), (13, 15, 2 * FPS), (2, 15, 13 * FPS)] {
        let range = json!({"type": "video", "url": url, "startTime": start, "endTime": end});
        let clip = edited(&app, range).await;
        assert_eq!(clip["status"], "Ready", "{clip}");
        let (_, played) = manifest(&app, &clip).await;
        let video = decoded(OsStr::new(&played), "v:0").await.expect("it has video");
        assert_eq!(video.frames, frames, "{start} s to {end} s");
        if 13 == start {
            check_tone(tone(&played, "a:0", 1, 2).await, 2000.0, "in the outro");
        }
    }
}

#[tokio::test]
async fn subtitles_of_the_request_follow_the_edit() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::large_two_tracks()));
    let intro = app.serve("/intro.mp4", Source::of(fixture::two_seconds()));
    let cues = "WEBVTT\n\n00:01.000 --> 00:02.500\nbefore\n\n00:03.000 --> 00:07.000\nacross\n\n00:09.000 --> 00:10.000\nafter\n";
    let url = app.serve("/film.vtt", Source::of(cues));
    let subtitle = json!({"type": "subtitle", "url": url, "languageCode": "en", "languageName": "English"});
    let video = json!({
        "type": "video", "url": film, "startTime": 2, "expungeSegments": ["4-6"], "introUrl": intro,
    });
    let created =
        app.call("POST", "/v1/on-demand").json(&json!({"inputs": [video, subtitle]})).send().await.data();
    let id = text(&created["id"]);
    app.wait_settled(id).await;
    let media = until("the subtitles to be available", async || {
        Some(app.get(id).await.data()).filter(|media| media["subtitleAvailable"] == true)
    })
    .await;
    let track = media["tracks"].as_array().unwrap().iter().find(|track| track["type"] == "subtitle");
    let playback = text(&media["playbackIds"][0]["id"]);
    let path = format!("/{playback}/subtitles/{}.vtt", text(&track.expect("it is listed")["id"]));
    let expected = "WEBVTT\n\n00:00:02.000 --> 00:00:02.500\nbefore\n\n00:00:03.000 --> 00:00:04.000\nacross\n\n\
        00:00:04.000 --> 00:00:05.000\nacross\n\n00:00:07.000 --> 00:00:08.000\nafter\n\n";
    assert_eq!(app.fetch(&path).await.text(), expected);
}

#[tokio::test]
async fn silent_intro_and_imposed_audio_fit_together() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(clip_with_tone(1000, 6)));
    let intro = app.serve("/intro.mp4", Source::of(fixture::video_only()));
    let over = app.serve("/over.wav", Source::of(tone_of(3000, 1, "wav", "-c:a pcm_s16le")));
    let audio = json!({"type": "audio", "imposeTracks": [{"url": over, "startTime": 0.5}]});
    let body = json!({"inputs": [{"type": "video", "url": film, "introUrl": intro}, audio]});
    let created = app.call("POST", "/v1/on-demand").json(&body).send().await;
    let media = app.wait_settled(text(&created.data()["id"])).await;
    assert_eq!(media["status"], "Ready", "{media}");
    let (_, played) = manifest(&app, &media).await;
    check_tone(tone(&played, "a:0", 3, 5).await, 1000.0, "the film");
}

#[tokio::test]
async fn failed_media_names_the_field_of_the_part() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::two_seconds()));
    let page = app.serve("/page.html", Source::of(fixture::not_media::html()));
    let audio = app.serve("/audio.m4a", Source::of(fixture::audio_only()));
    let gone = app.sources.url("/none.mp4");
    for (fields, code, start) in [
        (json!({"introUrl": page}), "not_media", "introUrl: "),
        (json!({"outroUrl": audio}), "codec_unsupported", "outroUrl has no video"),
        (json!({"segments": [{"url": gone, "insertAt": 1}]}), "source_not_found", "segments[0].url: "),
    ] {
        let mut input = json!({"type": "video", "url": film});
        input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let media = edited(&app, input).await;
        assert_eq!((&media["status"], &media["error"]["code"]), (&json!("Failed"), &json!(code)), "{media}");
        assert!(text(&media["error"]["message"]).starts_with(start), "{media}");
    }
    until("no object to be left", async || app.objects().await.is_empty().then_some(())).await;
}

#[tokio::test]
async fn kept_range_without_a_frame_is_dropped() {
    let app = TestApp::options().without_webhook().start().await;
    // The audio of this file ends after its last frame.
    let film = app.serve("/film.mp4", Source::of(fixture::two_seconds()));
    for (fields, frames) in [
        (json!({"expungeSegments": ["1-1.99"]}), FPS),
        (json!({"expungeSegments": ["0.01-1", "1.01-1.02"]}), 1 + FPS),
    ] {
        let mut input = json!({"type": "video", "url": film});
        input.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let media = edited(&app, input).await;
        assert_eq!(media["status"], "Ready", "{media}");
        let (_, played) = manifest(&app, &media).await;
        assert_eq!(decoded(OsStr::new(&played), "v:0").await.unwrap().frames, frames, "{fields}");
    }
    let media = edited(&app, json!({"type": "video", "url": film, "startTime": 1.99})).await;
    let message = "startTime leaves no frame of the media, which lasts 2.000 s";
    assert_eq!(media["error"], json!({"code": "clip_outside_media", "message": message}), "{media}");
}

#[tokio::test]
async fn more_parts_than_an_index_has_fail_the_media() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::two_seconds()));
    let removed: Vec<_> =
        (1..30).map(|n| format!("{:.2}-{:.2}", f64::from(n) * 0.06, f64::from(n) * 0.06 + 0.02)).collect();
    let whole = edited(&app, json!({"type": "video", "url": film, "expungeSegments": removed})).await;
    assert_eq!(whole["status"], "Ready", "{whole}");
    let url = format!("fp_mediaId://{}", text(&whole["id"]));
    // Inside the last part, which lasts from 0.9 s to 1.14 s: two parts are made of it.
    let media = edited(&app, json!({"type": "video", "url": url, "expungeSegments": ["0.98-1.06"]})).await;
    assert_eq!(
        (&media["status"], &media["error"]["code"]),
        (&json!("Failed"), &json!("not_media")),
        "{media}"
    );
}
