//! Clips of a media with subtitles: they have the subtitles of their range.

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::clips::{clip, clip_body, delete, post, until_kinds};
use crate::api::tracks::Tracks;
use crate::support::{HOOK, TestApp, text, until};

const CUES: &str = "WEBVTT\n\n00:01.000 --> 00:02.500\nbefore\n\n00:03.000 --> 00:07.000\nacross\n\n\
    00:09.000 --> 00:10.500\nafter\n\n00:11.000 --> 00:12.000\nlater\n";

/// A ready media of 12 s with [`CUES`] in English, and the ID of that track.
async fn captioned_film(app: &TestApp) -> (Value, String) {
    let film = app.ready("/film.mp4", fixture::large_two_tracks()).await;
    let url = app.serve("/film.vtt", Source::of(CUES));
    let track = Tracks::of(app, &film).added(&url, "en", "English").await;
    (film, track)
}

/// The subtitle tracks of a media once all of them are available.
async fn subtitles(app: &TestApp, media: &Value) -> Vec<Value> {
    until("the subtitles to be available", async || {
        let mut tracks = app.get(text(&media["id"])).await.data()["tracks"].as_array()?.clone();
        tracks.retain(|track| track["type"] == "subtitle");
        tracks.iter().all(|track| track["status"] == "available").then_some(tracks)
    })
    .await
}

/// The cues of a track, one line each.
async fn cues(app: &TestApp, media: &Value, track: &str) -> Vec<String> {
    let path = format!("/{}/subtitles/{track}.vtt", text(&media["playbackIds"][0]["id"]));
    let file = app.fetch(&path).await;
    assert_eq!(file.status, 200, "{file:?}");
    file.text()
        .split("\n\n")
        .skip(1)
        .filter(|cue| !cue.is_empty())
        .map(|cue| cue.replace('\n', " "))
        .collect()
}

#[tokio::test]
async fn clip_has_cut_subtitles_of_its_media() {
    let app = TestApp::start().await;
    let (film, english) = captioned_film(&app).await;
    let failing =
        Tracks::of(&app, &film).add(&app.serve("/no.vtt", Source::of("text")), "fr", "French").await;
    Tracks::of(&app, &film).settled(text(&failing.data()["id"])).await;

    let range = json!({"startTime": 2, "endTime": 10, "expungeSegments": ["4-6"]});
    let outer = clip(&app, &film, range).await;
    let tracks = subtitles(&app, &outer).await;
    let [track] = tracks.as_slice() else { panic!("failed subtitles are not inherited: {tracks:?}") };
    let inherited = ["languageCode", "languageName"].map(|field| track[field].clone());
    assert_eq!(inherited, ["en", "English"]);
    assert_ne!(track["id"], english.as_str());
    assert_eq!(
        cues(&app, &outer, text(&track["id"])).await,
        [
            "00:00:00.000 --> 00:00:00.500 before",
            "00:00:01.000 --> 00:00:02.000 across",
            "00:00:02.000 --> 00:00:03.000 across",
            "00:00:05.000 --> 00:00:06.000 after",
        ]
    );

    // A clip of this clip. The times are those of the outer clip.
    let inner = clip(&app, &outer, json!({"startTime": 1.6})).await;
    let tracks = subtitles(&app, &inner).await;
    let expected = [
        "00:00:00.000 --> 00:00:00.400 across",
        "00:00:00.400 --> 00:00:01.400 across",
        "00:00:03.400 --> 00:00:04.400 after",
    ];
    assert_eq!(cues(&app, &inner, text(&tracks[0]["id"])).await, expected);
    assert_eq!(app.sources.requests("/film.vtt").len(), 1, "nothing is fetched again");

    // The jobs that remove unused objects have run once those of a deleted media are gone.
    delete(&app, &outer).await;
    until_kinds(&app, &["index", "index", "source", "subtitle", "subtitle"]).await;
    assert_eq!(cues(&app, &inner, text(&tracks[0]["id"])).await, expected);
    assert_eq!(cues(&app, &film, &english).await.len(), 4);

    app.all_delivered().await;
    let of_inner = |post: &kinora_testkit::ReceivedPost| {
        let event = post.json();
        [&event["data"]["id"], &event["object"]["id"]].contains(&&inner["id"]).then(|| event.clone())
    };
    let events: Vec<_> = app.posts(HOOK, 0).await.iter().filter_map(of_inner).collect();
    let count = |name: &str| events.iter().filter(|event| event["type"] == name).count();
    for name in ["video.media.track.created", "video.media.track.ready", "video.media.updated"] {
        assert_eq!(count(name), 1, "{name}: {events:?}");
    }
    let created = events.iter().find(|event| event["type"] == "video.media.created").expect("it was emitted");
    assert_eq!(created["data"]["inputs"].as_array().map(Vec::len), Some(1), "{created}");
}

#[tokio::test]
async fn subtitles_of_the_request_replace_inherited_ones() {
    let app = TestApp::options().without_webhook().start().await;
    let (film, _) = captioned_film(&app).await;
    let german = app.serve("/de.vtt", Source::of("WEBVTT\n\n00:03.000 --> 00:04.000\nhallo\n"));
    Tracks::of(&app, &film).added(&german, "de", "Deutsch").await;
    let other = app.serve("/other.vtt", Source::of("WEBVTT\n\n00:05.000 --> 00:06.000\nother\n"));
    for (code, name) in [("en", "English, corrected"), ("en-GB", "English"), ("EN", "British")] {
        let mut body = clip_body(&film, json!({"startTime": 2}));
        let subtitle = json!({"type": "subtitle", "url": other, "languageCode": code, "languageName": name});
        body["inputs"].as_array_mut().expect("a list").push(subtitle);
        let created = post(&app, &body).await;
        assert_eq!(created.status, 201, "{created:?}");
        let media = app.wait_settled(text(&created.data()["id"])).await;
        let tracks = subtitles(&app, &media).await;
        let names: Vec<_> = tracks.iter().map(|track| text(&track["languageName"])).collect();
        assert_eq!(names, [name, "Deutsch"]);
        assert_eq!(cues(&app, &media, text(&tracks[0]["id"])).await, ["00:00:03.000 --> 00:00:04.000 other"]);
        assert_eq!(cues(&app, &media, text(&tracks[1]["id"])).await, ["00:00:01.000 --> 00:00:02.000 hallo"]);
    }
}

#[tokio::test]
async fn subtitles_of_a_deleted_media_are_kept_until_its_clip_is_cut() {
    for is_track_deleted in [false, true] {
        let app = TestApp::options().without_webhook().start().await;
        let (film, _) = captioned_film(&app).await;
        let intro = app.serve("/intro.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
        let created = post(&app, &clip_body(&film, json!({"startTime": 8, "introUrl": intro}))).await.data();
        let id = text(&created["id"]);
        let preparing = app.get(id).await.data()["tracks"][0].clone();
        assert_eq!(preparing["status"], "preparing");
        // The objects of the film are examined before those of the other media are deleted.
        let other = app.ready("/other.mp4", fixture::two_seconds()).await;
        delete(&app, &film).await;
        delete(&app, &other).await;
        until("the objects of the other media to be deleted", async || {
            let objects = app.objects().await;
            (objects.iter().filter(|path| path.starts_with("source/")).count() == 1).then_some(())
        })
        .await;
        if is_track_deleted {
            assert_eq!(Tracks::of(&app, &created).delete(text(&preparing["id"])).await.status, 200);
        }
        app.sources.release("/intro.mp4");
        let media = app.wait_settled(id).await;
        assert_eq!(media["status"], "Ready", "{media}");
        let tracks = subtitles(&app, &media).await;
        if is_track_deleted {
            assert_eq!(tracks, [json!(null); 0]);
            until_kinds(&app, &["index", "index", "index", "source", "source"]).await;
        } else {
            let expected = ["00:00:03.000 --> 00:00:04.500 after", "00:00:05.000 --> 00:00:06.000 later"];
            assert_eq!(cues(&app, &media, text(&tracks[0]["id"])).await, expected);
            until_kinds(&app, &["index", "index", "index", "source", "source", "subtitle"]).await;
        }
        delete(&app, &media).await;
        until_kinds(&app, &[]).await;
    }
}

#[tokio::test]
async fn replaced_file_keeps_the_times_of_the_unedited_base() {
    let app = TestApp::options().without_webhook().start().await;
    let (film, _) = captioned_film(&app).await;
    let media = clip(&app, &film, json!({"startTime": 2})).await;
    let track = text(&subtitles(&app, &media).await[0]["id"]).to_owned();
    let url = app.serve("/fixed.vtt", Source::of("WEBVTT\n\n00:03.000 --> 00:04.000\nfixed\n"));
    let tracks = Tracks::of(&app, &media);
    assert_eq!(tracks.update(&track, &json!({"url": url})).await.status, 200);
    assert_eq!(tracks.settled(&track).await["status"], "available");
    assert_eq!(cues(&app, &media, &track).await, ["00:00:01.000 --> 00:00:02.000 fixed"]);
}
