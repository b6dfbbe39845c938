//! `/on-demand/{mediaId}/tracks` of type `audio`: audio is added, replaced and deleted, emits events, and is
//! offered to players.

use kinora_testkit::fixture::containers::tone_of;
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::permission::UNKNOWN;
use super::tracks::{Tracks, events_of_scenario, in_order, manifest, track};
use super::update::events_of_type;
use crate::support::{DEADLINE, TestApp, text, until};

fn aac() -> Source {
    Source::of(tone_of(1000, 5, "m4a", "-c:a aac -b:a 128k"))
}

fn flac() -> Source {
    Source::of(tone_of(1000, 5, "flac", "-c:a flac"))
}

/// The URLs of the playlists of added audio.
fn playlists(manifest: &str) -> Vec<String> {
    let lines = manifest.lines().filter(|line| line.contains("TYPE=AUDIO"));
    let uris = lines.map(|line| format!("/{}", line.split("URI=\"").nth(1).unwrap().trim_end_matches('"')));
    // A rendition name with an id has four more hyphens than one of the media itself.
    uris.filter(|uri| uri.rsplit('/').nth(1).unwrap().matches('-').count() > 1).collect()
}

#[tokio::test]
async fn added_audio_lifecycle_emits_events() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let plain = manifest(&app, &media).await;
    let tracks = Tracks::of_audio(&app, &media);
    let mut golden = app.golden();

    let answer = tracks.add(&app.serve("/a.m4a", aac()), "en-US", "English").await;
    let mut transcript = golden.answer(&answer);
    let id = text(&answer.data()["id"]).to_owned();
    assert_eq!(tracks.settled(&id).await["status"], "available");
    transcript += &golden.answer(&app.get(tracks.media).await);
    insta::assert_snapshot!("manifest", golden.text(&manifest(&app, &media).await));

    let flac = app.serve("/b.flac", flac());
    let change = json!({"url": flac, "languageCode": "de", "languageName": "Deutsch"});
    transcript += &golden.answer(&tracks.update(&id, &change).await);
    assert_eq!(tracks.settled(&id).await["languageName"], "Deutsch");
    let listed = manifest(&app, &media).await;
    assert!(listed.contains("LANGUAGE=\"de\",NAME=\"Deutsch\",DEFAULT=NO,AUTOSELECT=YES"), "{listed}");
    // Python sends no URL: the file stays.
    let answer = tracks.update(&id, &json!({"languageCode": "de-AT", "languageName": "Deutsch"})).await;
    transcript += &golden.answer(&answer);
    assert_eq!(tracks.shown(&id).await.unwrap()["status"], "available");
    assert_eq!(app.sources.requests("/b.flac").len(), 1);

    transcript += &golden.answer(&tracks.delete(&id).await);
    assert_eq!(tracks.delete(&id).await.refusal(), (404, "track not found".to_owned()));
    let now = app.get(tracks.media).await.data();
    assert_eq!((&now["tracks"], &now["subtitleAvailable"]), (&media["tracks"], &json!(false)));
    assert_eq!(manifest(&app, &media).await, plain, "as if there had never been any");
    insta::assert_snapshot!("answers", transcript);

    insta::assert_snapshot!("events", events_of_scenario(&app, &mut golden, &id).await);
}

#[tokio::test]
async fn failed_added_audio_reports_reason_media_unchanged() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let plain = manifest(&app, &media).await;
    let tracks = Tracks::of_audio(&app, &media);
    let cases = [
        (
            "none",
            app.sources.url("/none.mp3"),
            "source_not_found",
            "the source server responded with status 404",
        ),
        (
            "private",
            "http://10.0.0.1/a.mp3".to_owned(),
            "source_forbidden_address",
            "the source URL, or one it redirects to, is not on the public internet",
        ),
        (
            "pictures",
            app.serve("/v.mp4", Source::of(fixture::video_only())),
            "no_audio",
            "the file has no audio",
        ),
        ("page", app.serve("/p.mp3", Source::of(fixture::not_media::html())), "not_media", ""),
        (
            "subtitles",
            app.serve("/s.srt", Source::of("1\n00:00:00,000 --> 00:00:01,000\na\n")),
            "not_media",
            "",
        ),
    ];
    for (name, url, code, sentence) in &cases {
        let answer = tracks.add(url, "en", name).await;
        let track = tracks.settled(text(&answer.data()["id"])).await;
        assert_eq!((&track["status"], &track["error"]["code"]), (&json!("failed"), &json!(code)), "{name}");
        let message = text(&track["error"]["message"]);
        assert!(message.contains(sentence) && !message.is_empty(), "{name}: {message}");
    }
    let now = app.get(tracks.media).await.data();
    assert_eq!((&now["status"], &now["playbackReport"]), (&json!("Ready"), &media["playbackReport"]));
    assert_eq!(manifest(&app, &media).await, plain);
    let failed = in_order(events_of_type(&app, "video.media.track.failed").await);
    assert_eq!(failed.len(), cases.len());
    insta::assert_snapshot!("failed", app.golden().json(&failed[2]));
    until("what came of them is removed", async || {
        let objects = app.objects().await;
        (objects.iter().filter(|path| path.starts_with("source/")).count() == 1).then_some(())
    })
    .await;

    // A failed track gets another URL, and plays.
    let id = text(&failed[0]["object"]["id"]);
    let url = app.serve("/none.mp3", aac());
    let change = json!({"url": url, "languageCode": "en", "languageName": "none"});
    assert_eq!(tracks.update(id, &change).await.status, 200);
    let track = tracks.settled(id).await;
    assert_eq!((&track["status"], &track["error"]), (&json!("available"), &Value::Null));
    assert_eq!(playlists(&manifest(&app, &media).await).len(), 1);
}

#[tokio::test]
async fn track_names_are_unique_per_track_type() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of_audio(&app, &media);
    let url = app.serve("/a.m4a", aac());
    let id = tracks.added(&url, "en", "English").await;
    let duplicate = tracks.add(&url, "en", "English").await;
    assert_eq!(duplicate.refusal(), (400, "duplicate language name".to_owned()));
    let other = tracks.added(&url, "de", "Deutsch").await;
    let change = json!({"languageCode": "en", "languageName": "English"});
    assert_eq!(tracks.update(&other, &change).await.refusal().0, 400);
    assert_eq!(tracks.update(&id, &change).await.status, 200, "its own name is not taken");
    let subtitles = Tracks::of(&app, &media).add("https://example.com/a.srt", "en", "English").await;
    assert_eq!(subtitles.status, 201, "{subtitles:?}");
    // The media's own audio does not change.
    let own = text(&media["tracks"][1]["id"]);
    assert_eq!((tracks.update(own, &change).await.status, tracks.delete(own).await.status), (400, 400));
    // Audio tracks are added later, never at the creation.
    let body = json!({"inputs": [{"type": "video", "url": url}, {"type": "audio", "url": url, "languageCode": "en", "languageName": "English"}]});
    let refused = app.call("POST", "/v1/on-demand").json(&body).send().await;
    assert_eq!(refused.refusal().0, 422, "{refused:?}");
}

#[tokio::test]
async fn early_audio_track_waits_for_its_media() {
    let app = TestApp::start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    let media = app.create(&url).await;
    let tracks = Tracks::of_audio(&app, &media);
    app.sources.wait_until_held("/a.mp4", DEADLINE).await;
    let ids = ["English", "Deutsch", "Lost"].map(|name| (name, format!("/{name}.m4a")));
    let mut added = Vec::new();
    for (name, path) in &ids {
        let url = if *name == "Lost" { app.sources.url(path) } else { app.serve(path, aac()) };
        let answer = tracks.add(&url, "en", name).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        added.push(text(&answer.data()["id"]).to_owned());
    }
    // One is deleted before it is fetched.
    assert_eq!(tracks.delete(&added[1]).await.status, 200);
    assert_eq!(tracks.shown(&added[0]).await.unwrap()["status"], "preparing");
    assert_eq!(app.sources.requests("/English.m4a").len(), 0);
    app.sources.release("/a.mp4");
    assert_eq!(app.wait_settled(tracks.media).await["status"], "Ready");
    assert_eq!(tracks.settled(&added[0]).await["status"], "available");
    assert_eq!(tracks.settled(&added[2]).await["status"], "failed");
    assert_eq!(app.sources.requests("/Deutsch.m4a").len(), 0);
    assert_eq!(playlists(&manifest(&app, &media).await).len(), 1);
    assert_eq!(events_of_type(&app, "video.media.track.ready").await.len(), 1);

    // When its media fails, the track fails too.
    let url = app.serve("/b.mp4", Source::of(fixture::not_media::html()).gate_last_byte());
    let media = app.create(&url).await;
    let tracks = Tracks::of_audio(&app, &media);
    app.sources.wait_until_held("/b.mp4", DEADLINE).await;
    let answer = tracks.add(&app.serve("/c.m4a", aac()), "en", "English").await;
    app.sources.release("/b.mp4");
    assert_eq!(app.wait_settled(tracks.media).await["status"], "Failed");
    assert_eq!(tracks.settled(text(&answer.data()["id"])).await["status"], "available");
}

#[tokio::test]
async fn added_audio_enforces_playback_restrictions() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of_audio(&app, &media);
    tracks.added(&app.serve("/a.m4a", aac()), "en", "English").await;
    tracks.added(&app.serve("/b.flac", flac()), "de", "Deutsch").await;
    let first = text(&media["playbackIds"][0]["id"]);
    let playlists = playlists(&manifest(&app, &media).await);
    let files = ["playlist.m3u8", "init.mp4", "0.m4s"];
    let addresses =
        playlists.iter().flat_map(|playlist| files.map(|file| playlist.replace("playlist.m3u8", file)));
    let addresses: Vec<String> = addresses.collect();
    assert_eq!(addresses.len(), 6);
    let ids = format!("/v1/on-demand/{}/playback-ids", tracks.media);
    let make = async |body: Value| {
        let made = app.call("POST", &ids).json(&body).send().await.data();
        text(&made["id"]).to_owned()
    };
    let private = make(json!({"accessPolicy": "private"})).await;
    let limited = make(json!({"accessRestrictions": {"domains": {"defaultPolicy": "deny"}}})).await;
    let other = make(json!({"accessPolicy": "public"})).await;
    for address in &addresses {
        for (playback, status) in
            [(first, 200), (&other, 200), (&private, 401), (&limited, 401), (UNKNOWN, 404)]
        {
            let answer = app.fetch(&address.replace(first, playback)).await;
            assert_eq!(answer.status, status, "{address} {playback}");
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        }
        let answer = app.fetch(address).await;
        assert_eq!(answer.header("cache-control"), Some("public, max-age=31536000, immutable"), "{address}");
        let tag = answer.header("etag").expect("it has one");
        let revalidated = app.request("GET", address).header("If-None-Match", tag).send().await;
        assert_eq!(revalidated.status, 304, "{address}");
        let content = answer.header("content-type");
        let is_playlist = address.ends_with(".m3u8");
        assert_eq!(content, Some(if is_playlist { "application/vnd.apple.mpegurl" } else { "audio/mp4" }));
    }
    // Audio that was added to another media is not served here under any name.
    let other_media = app.ready("/b.mp4", fixture::large_two_tracks()).await;
    let other_playback = text(&other_media["playbackIds"][0]["id"]);
    let listed = manifest(&app, &other_media).await;
    let index = listed.lines().find(|line| line.contains("/video/")).expect("the copy is listed");
    let index = index.split('/').nth(1).expect("the index").to_owned();
    for address in &addresses {
        assert_eq!(app.fetch(&address.replace(first, other_playback)).await.status, 404, "{address}");
        let own = address.split('/').nth(2).expect("the index");
        let address = address.replace(first, other_playback).replace(own, &index);
        assert_eq!(app.fetch(&address).await.status, 404, "{address}");
    }
    for nowhere in [
        playlists[0].replace("playlist.m3u8", "9.m4s"),
        playlists[0].replace("playlist.m3u8", "00.m4s"),
        playlists[0].replace("/audio-", "/aac-"),
        playlists[0].replace("/audio-", "/video-"),
        playlists[0].replace("/audio-", "/audio-2-"),
    ] {
        assert_eq!(app.fetch(&nowhere).await.refusal().0, 404, "{nowhere}");
    }
}

#[tokio::test]
async fn replaced_audio_has_new_urls_old_objects_deleted() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of_audio(&app, &media);
    let alone = app.objects().await;
    let url = app.serve("/a.flac", flac());
    let id = tracks.added(&url, "en", "English").await;
    let before = playlists(&manifest(&app, &media).await).remove(0);
    assert_eq!(app.fetch(&before.replace("playlist.m3u8", "0.m4s")).await.status, 200);

    // The same URL with another file.
    app.serve("/a.flac", aac().gate_last_byte());
    let change = json!({"url": url, "languageCode": "en", "languageName": "English"});
    assert_eq!(tracks.update(&id, &change).await.status, 200);
    app.sources.wait_until_held("/a.flac", DEADLINE).await;
    assert_eq!(tracks.shown(&id).await.unwrap()["status"], "preparing");
    assert_eq!(app.fetch(&before).await.status, 404, "the replaced audio is 404");
    assert_eq!(playlists(&manifest(&app, &media).await), [""; 0]);
    app.sources.release("/a.flac");
    assert_eq!(tracks.settled(&id).await["status"], "available");
    let after = playlists(&manifest(&app, &media).await).remove(0);
    assert_ne!(before, after);
    assert!(after.contains("/audio-"), "{after}");
    until("the old file is removed with its segments", async || {
        let objects = app.objects().await;
        let of = |kind: &str| objects.iter().filter(|path| path.starts_with(kind)).count();
        ((of("source/"), of("index/"), of("normalised/"), of("segment/")) == (2, 2, 0, 0)).then_some(())
    })
    .await;
    assert_eq!(tracks.delete(&id).await.status, 200);
    until("nothing is left", async || (app.objects().await == alone).then_some(())).await;
    assert_eq!(app.fetch(&after).await.status, 404);
}

#[tokio::test]
async fn added_audio_uses_first_audio_track_of_any_file() {
    use fixture::containers;

    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let tracks = Tracks::of_audio(&app, &media);
    let files = [
        ("mp3", containers::mp3(), "aac"),
        ("wav", containers::wav(), "aac"),
        ("ogg", containers::ogg(), "aac"),
        ("adts", containers::adts(), "audio"),
        ("ts", containers::transport_stream(), "audio"),
        ("webm", fixture::vp9_webm(), "aac"),
        ("not copied", fixture::not_copied_small(), "aac"),
        ("six channels", fixture::surround_5_1(), "aac"),
        ("several", fixture::several_audio(), "audio"),
        ("late", fixture::late_audio(), "audio"),
    ];
    for (number, (name, file, rendition)) in files.into_iter().enumerate() {
        let url = app.serve(&format!("/{number}"), Source::of(file));
        let id = tracks.added(&url, "en", name).await;
        let listed = playlists(&manifest(&app, &media).await);
        let [playlist] = listed.as_slice() else { panic!("{name}: {listed:?}") };
        assert!(playlist.contains(&format!("/{rendition}-")), "{name}: {playlist}");
        for file in ["playlist.m3u8", "init.mp4", "0.m4s"] {
            let answer = app.fetch(&playlist.replace("playlist.m3u8", file)).await;
            assert_eq!(answer.status, 200, "{name}: {file}");
        }
        assert_eq!(tracks.delete(&id).await.status, 200);
    }
    let wrong = app.call("POST", &tracks.path("")).json(&track("text", "https://example.com/", "en", "a"));
    assert_eq!(wrong.send().await.refusal().0, 422);
}
