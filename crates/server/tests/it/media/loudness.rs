//! Levelled audio: measured after the media is ready, then offered in place of the copy, and switched on and
//! off. ffmpeg on this machine judges what a viewer hears.

use bytes::Bytes;
use kinora_domain::LoudnessTarget;
use kinora_testkit::fixture;
use kinora_testkit::fixture::containers::tone_of;
use serde_json::{Value, json};

use crate::api::mp4_support::{READY as FILES_READY, address, ready_events};
use crate::support::{Answer, Program, TestApp, text, until};

pub(crate) const READY: &str = "video.media.optimizeAudio.ready";
const UPDATED: &str = "video.media.updated";
/// LUFS.
const TARGET: f64 = -16.0;
const SLACK: f64 = 0.5;

/// A tone in AAC, changed by so many decibels.
fn tone(decibels: f64) -> Bytes {
    tone_of(1000, 8, "m4a", &format!("-af volume={decibels}dB -c:a aac -b:a 128k"))
}

/// Waits until the audio of a media is measured, and returns its `GET` body.
pub(crate) async fn measured(app: &TestApp, media: &Value) -> Value {
    until("the audio is measured", async || {
        let media = app.get(text(&media["id"])).await.data();
        media["loudness"].is_object().then_some(media)
    })
    .await
}

/// The names of the audio renditions in the manifest.
async fn offered(app: &TestApp, media: &Value) -> Vec<String> {
    let manifest = app.fetch(&manifest(media)).await.text();
    let playlists = manifest.split("/playlist.m3u8").map(|text| text.rsplit('/').next().unwrap_or_default());
    let mut names: Vec<_> = playlists.filter(|name| name.starts_with('a')).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    names
}

/// The names of the audio renditions in the playback report.
fn reported(media: &Value) -> Vec<String> {
    let renditions = media["playbackReport"]["renditions"].as_array().unwrap().iter();
    let audio = renditions.filter(|rendition| rendition["type"] == "audio");
    audio.map(|rendition| text(&rendition["name"]).to_owned()).collect()
}

fn manifest(media: &Value) -> String {
    format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]))
}

/// The folder of the renditions of a media.
async fn folder(app: &TestApp, media: &Value) -> String {
    let manifest = app.fetch(&manifest(media)).await.text();
    let line = manifest.lines().find(|line| line.ends_with("playlist.m3u8")).expect("a variant");
    let parts: Vec<_> = line.split('/').collect();
    format!("/{}", parts[..parts.len() - 2].join("/"))
}

/// The integrated loudness in LUFS and the true peak in dBTP of what a viewer hears.
async fn heard(input: &str) -> (f64, f64) {
    let run = Program::new("ffmpeg")
        .args(["-v", "info", "-nostdin", "-i", input, "-map", "0:a:0"])
        .args(["-af", "ebur128=peak=true", "-f", "null", "-"])
        .run()
        .await
        .ok();
    let last = |name: &str| -> f64 {
        let line = run.stderr.lines().rfind(|line| line.trim_start().starts_with(name));
        let line = line.unwrap_or_else(|| panic!("no {name}: {run:?}"));
        line.split_whitespace().nth(1).unwrap().parse().expect("decibels")
    };
    (last("I:"), last("Peak:"))
}

pub(super) async fn check_heard(input: &str, what: &str) {
    let (loudness, peak) = heard(input).await;
    assert!((loudness - TARGET).abs() <= SLACK && peak <= -1.0, "{what}: {loudness} LUFS, {peak} dBTP");
}

async fn switch(app: &TestApp, media: &Value, on: bool) -> Answer {
    let path = format!("/v1/on-demand/{}", text(&media["id"]));
    let answer = app.call("PATCH", &path).json(&json!({"optimizeAudio": on})).send().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer
}

#[tokio::test]
async fn quiet_audio_is_levelled_after_ready() {
    let app = TestApp::start().await;
    let media = app.ready_with("/a.m4a", tone(-12.0), json!({"optimizeAudio": true})).await;
    let levelled = measured(&app, &media).await;
    let loudness = &levelled["loudness"];
    assert_eq!((&loudness["target"], loudness["tracks"].as_array().map(Vec::len)), (&json!(-16), Some(1)));
    let track = &loudness["tracks"][0];
    let [before, after] = ["before", "after"].map(|time| track[time]["integrated"].as_f64().unwrap());
    let gain = track["gain"].as_f64().unwrap();
    assert!((after - TARGET).abs() <= 0.1 && (before + gain - after).abs() <= 0.1, "{track}");
    assert!(before < -25.0 && track["limiter"] == false, "{track}");
    let (source, _) = heard(&app.url(&format!("{}/audio/playlist.m3u8", folder(&app, &media).await))).await;
    assert!((source - before).abs() <= SLACK, "the copy has {source} LUFS, not {before}");

    let names = offered(&app, &media).await;
    let name = format!("aac-up{}", (gain * 100.0).round());
    assert_eq!((&names, &reported(&levelled)), (&vec![name.clone()], &vec![name]));
    assert_eq!(levelled["playbackReport"]["optimizeAudio"], "levelled");
    assert_eq!(levelled["playbackReport"]["notCopied"][0]["reason"], "levelled");
    check_heard(&app.url(&manifest(&media)), "the manifest").await;

    app.all_delivered().await;
    let types: Vec<_> = app.receiver.posted().iter().map(|post| post.event_type()).collect();
    assert_eq!(types, ["video.media.created", "video.media.ready", UPDATED, READY]);
    let event = &app.receiver.distinct_events(READY)[0].json();
    assert_eq!((&event["status"], &event["data"]["id"]), (&json!("ready"), &media["id"]));
    insta::assert_snapshot!("levelled_event", app.golden().json(event));
    let listed = app.call("GET", "/v1/on-demand").send().await.data();
    assert_eq!(listed[0]["loudness"], levelled["loudness"]);
}

#[tokio::test]
async fn switch_applies_at_once_and_running_players_continue() {
    let app = TestApp::start().await;
    let media = app.ready("/a.m4a", tone(-12.0)).await;
    let folder = folder(&app, &media).await;
    assert_eq!(offered(&app, &media).await, ["audio"]);
    assert_eq!((media.get("loudness"), media["playbackReport"].get("optimizeAudio")), (None, None));

    switch(&app, &media, true).await;
    let levelled = offered(&app, &measured(&app, &media).await).await;
    assert!(levelled.len() == 1 && levelled[0].starts_with("aac-up"), "{levelled:?}");
    let files = ["playlist.m3u8", "init.mp4", "0.m4s"];
    let check_files = async |rendition: &str, status: u16| {
        for file in files {
            let address = format!("{folder}/{rendition}/{file}");
            assert_eq!(app.fetch_made(&address).await.status, status, "{address}");
        }
    };
    check_files("audio", 200).await;
    check_files(&levelled[0], 200).await;
    let limited = format!("{}-limited", levelled[0]);
    let second = format!("{}-2", levelled[0]);
    for other in ["aac-up1", "aac-down120", &*limited, &*second] {
        check_files(other, 404).await;
    }

    let off = switch(&app, &media, false).await.data();
    assert_eq!(
        (offered(&app, &media).await, reported(&off)),
        (vec!["audio".to_owned()], vec!["audio".to_owned()])
    );
    assert!(off["loudness"].is_object() && off["playbackReport"].get("optimizeAudio").is_none(), "{off}");
    check_files(&levelled[0], 200).await;
    let on = switch(&app, &media, true).await;
    assert_eq!(offered(&app, &media).await, levelled, "it is not measured again");
    assert_eq!(switch(&app, &media, true).await.body, on.body, "nothing changes");
    app.all_delivered().await;
    let count = |event_type| app.receiver.distinct_events(event_type).len();
    assert_eq!([count(READY), count(UPDATED)], [1, 4]);
}

#[tokio::test]
async fn new_target_applies_to_the_next_measurement() {
    let app = TestApp::start().await;
    let media = app.ready_with("/a.m4a", tone(-12.0), json!({"optimizeAudio": true})).await;
    let levelled = offered(&app, &measured(&app, &media).await).await;
    let watched = format!("{}/{}/0.m4s", folder(&app, &media).await, levelled[0]);
    assert_eq!(app.fetch_made(&watched).await.status, 200);
    let workspace = text(&media["workspaceId"]).parse().unwrap();
    let target = LoudnessTarget::new(-23).unwrap();
    let set = async move |tx: &mut kinora_store::Tx| tx.set_loudness_target(workspace, target).await;
    assert!(app.store.write(set).await.unwrap());
    assert_eq!(offered(&app, &media).await, levelled, "measured audio keeps its gain");
    switch(&app, &media, false).await;
    switch(&app, &media, true).await;
    let measured = until("the audio is measured for the new target", async || {
        let media = app.get(text(&media["id"])).await.data();
        (media["loudness"]["target"] == -23).then_some(media)
    })
    .await;
    let (loudness, _) = heard(&app.url(&manifest(&media))).await;
    assert!((loudness + 23.0).abs() <= SLACK, "{loudness} LUFS: {measured}");
    assert_ne!(offered(&app, &media).await, levelled);
    let running = format!("{}/{}", folder(&app, &media).await, levelled[0]);
    for file in ["playlist.m3u8", "init.mp4", "0.m4s"] {
        let address = format!("{running}/{file}");
        assert_eq!(
            app.fetch_made(&address).await.status,
            200,
            "players that run keep their audio: {address}"
        );
    }
    let other = format!("{}/aac-up1/playlist.m3u8", folder(&app, &media).await);
    assert_eq!(app.fetch(&other).await.status, 404, "it was never listed");
}

#[tokio::test]
async fn silent_audio_and_audio_at_target_keep_their_copy() {
    let app = TestApp::start().await;
    let first = app.ready_with("/a.m4a", tone(0.0), json!({"optimizeAudio": true})).await;
    let first = measured(&app, &first).await;
    let loudness = first["loudness"]["tracks"][0]["before"]["integrated"].as_f64().unwrap();
    let at_target = tone(TARGET + 0.3 - loudness);
    for (path, file, integrated) in [("/b.m4a", at_target, true), ("/c.m4a", tone(-120.0), false)] {
        let media = app.ready_with(path, file, json!({"optimizeAudio": true})).await;
        let media = measured(&app, &media).await;
        let track = &media["loudness"]["tracks"][0];
        assert_eq!((&track["gain"], &track["limiter"]), (&json!(0.0), &json!(false)), "{path}: {track}");
        assert_eq!(track["before"]["integrated"].is_number(), integrated, "{path}: {track}");
        assert_eq!(track["after"], track["before"], "{path}");
        assert_eq!(media["playbackReport"]["optimizeAudio"], "unchanged", "{path}");
        assert_eq!(
            (offered(&app, &media).await, reported(&media)),
            (vec!["audio".into()], vec!["audio".into()])
        );
    }
    app.all_delivered().await;
    assert_eq!(app.receiver.distinct_events(READY).len(), 3, "each is measured");
}

#[tokio::test]
async fn video_without_audio_has_nothing_to_level() {
    let app = TestApp::start().await;
    let mute = app.ready_with("/a.mp4", fixture::video_only(), json!({"optimizeAudio": true})).await;
    assert_eq!((&mute["playbackReport"]["optimizeAudio"], mute.get("loudness")), (&json!("no_audio"), None));
    // A job of the same queue that was queued later is done.
    let other = app.ready_with("/b.m4a", tone(-12.0), json!({"optimizeAudio": true})).await;
    measured(&app, &other).await;
    assert_eq!(app.get(text(&mute["id"])).await.data(), mute);
    app.all_delivered().await;
    assert_eq!(app.receiver.distinct_events(READY).len(), 1);
}

#[tokio::test]
async fn audio_that_does_not_decode_plays_as_it_is_and_is_reported() {
    let app = TestApp::start().await;
    let file = fixture::damaged::undecodable_audio();
    let media = app.ready_with("/a.mp4", file, json!({"optimizeAudio": true})).await;
    let media = measured(&app, &media).await;
    assert_eq!(media["loudness"]["tracks"], json!([null]));
    assert_eq!(media["playbackReport"]["optimizeAudio"], "not_measured");
    assert_eq!(offered(&app, &media).await, ["audio"]);
    app.all_delivered().await;
    let count = |event_type| app.receiver.distinct_events(event_type).len();
    assert_eq!([count(READY), count(UPDATED)], [0, 1]);
}

#[tokio::test]
async fn files_get_levelled_audio_without_a_second_event() {
    let app = TestApp::start().await;
    let fields = json!({"optimizeAudio": true, "mp4Support": "audioOnly,capped_4k"});
    let media = app.ready_with("/a.mp4", fixture::large_two_tracks(), fields).await;
    ready_events(&app, 1).await;
    measured(&app, &media).await;
    for file in ["audio.m4a", "capped-4k.mp4"] {
        let url = address(&media, file);
        until("the file has levelled audio", async || {
            let answer = app.fetch(&url).await;
            assert_eq!(answer.status, 200, "it stays available: {answer:?}");
            answer.header("etag").is_some_and(|etag| etag.contains("aac-")).then_some(())
        })
        .await;
        check_heard(&app.url(&url), file).await;
    }
    let off = switch(&app, &media, false).await;
    assert_eq!(off.status, 200);
    for file in ["audio.m4a", "capped-4k.mp4"] {
        let answer = app.fetch(&address(&media, file)).await;
        assert_eq!(answer.status, 200);
        assert!(answer.header("etag").is_some_and(|etag| !etag.contains("aac-")), "{answer:?}");
    }
    app.all_delivered().await;
    assert_eq!(app.receiver.distinct_events(FILES_READY).len(), 1);
}
