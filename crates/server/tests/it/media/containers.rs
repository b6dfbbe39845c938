//! Containers that must be repacked: the media plays, and reports the type of its source.

use std::ffi::OsStr;

use bytes::Bytes;
use kinora_testkit::{Source, fixture};
use serde_json::Value;

use super::probe::{decoded, packets};
use crate::support::{Program, TestApp, text};

/// A file, and its expected stream.
struct Case {
    container: &'static str,
    file: Bytes,
    /// Renditions with the packets of the source, and encoded ones.
    copied: &'static [&'static str],
    encoded: &'static [&'static str],
    /// Decoded frames.
    frames: Option<u64>,
    seconds: f64,
}

/// Checks that each is ready with its facts, and plays to its end.
async fn check(cases: Vec<Case>) {
    let app = TestApp::options().without_webhook().start().await;
    let mut media = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let url = app.serve(&format!("/{number}"), Source::of(case.file.clone()));
        media.push(text(&app.create(&url).await["id"]).to_owned());
    }
    for (case, id) in cases.iter().zip(&media) {
        let name = case.container;
        let ready = app.wait_settled(id).await;
        assert_eq!(ready["status"], "Ready", "{name}: {ready}");
        check_facts(&app, case, &ready).await;
        check_played(&app, case, &ready).await;
    }
}

/// Checks the fields of the API.
async fn check_facts(app: &TestApp, case: &Case, media: &Value) {
    let name = case.container;
    let duration = format!("00:00:{:02.0}", case.seconds);
    assert_eq!(media["duration"], duration, "{name}");
    assert_eq!(media["isAudioOnly"], case.frames.is_none(), "{name}");
    let tracks = media["tracks"].as_array().expect("a list");
    let types: Vec<_> = tracks.iter().map(|track| text(&track["type"])).collect();
    let expected: &[&str] = if case.frames.is_some() { &["video", "audio"] } else { &["audio"] };
    assert_eq!(types, expected, "{name}");
    assert!(media["playbackReport"]["source"].is_null(), "{name} is whole");
    let renditions = media["playbackReport"]["renditions"].as_array().expect("a list");
    let of = |method: &str| {
        let of_method = renditions.iter().filter(|rendition| rendition["method"] == method);
        of_method.map(|rendition| text(&rendition["name"])).collect::<Vec<_>>()
    };
    assert_eq!((&*of("copied"), &*of("encoded")), (case.copied, case.encoded), "{name}");
    let info = app.call("GET", &format!("/v1/on-demand/{}/input-info", text(&media["id"]))).send().await;
    assert_eq!(info.data()["file"]["containerFormat"], name, "{}", info.text());
}

/// Checks the stream of a player.
async fn check_played(app: &TestApp, case: &Case, media: &Value) {
    let name = case.container;
    let manifest = app.url(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])));
    let manifest = OsStr::new(&manifest);
    let video = decoded(manifest, "v:0").await;
    assert_eq!(video.map(|video| video.frames), case.frames, "{name}");
    assert!(decoded(manifest, "a:0").await.is_some_and(|audio| audio.frames > 0), "{name}");
    if case.frames.is_some() {
        let (packets, timescale) = packets(manifest, "v:0").await;
        let mut times: Vec<_> = packets.iter().map(|packet| packet.pts).collect();
        times.sort_unstable();
        let frame = timescale / 25;
        // Some containers have timestamps in milliseconds.
        let slack = timescale / 500;
        // The first frame is shown from the start of the audio, which is a packet or a frame earlier.
        let is_near = times[1] - times[0] <= 2 * frame + slack;
        assert!(is_near || !case.copied.contains(&"video"), "{name}: the first frame is {:?}", &times[..2]);
        for pair in times[1..].windows(2) {
            let apart = pair[1] - pair[0];
            assert!((apart - frame).abs() <= slack, "{name}: {apart} of {timescale} between two frames");
        }
    }
}

#[tokio::test]
async fn playable_codecs_are_copied_from_every_container() {
    use fixture::containers::{
        adts, fast_with_moov_far_behind, flv, transport_stream, transport_stream_that_begins_anew,
    };
    let both = |container, file, frames, seconds| Case {
        container,
        file,
        copied: &["video", "audio"],
        encoded: &[],
        frames: Some(frames),
        seconds,
    };
    check(vec![
        both("mpegts", transport_stream(), 50, 2.0),
        both("mpegts", transport_stream_that_begins_anew(), 100, 4.0),
        both("flv", flv(), 50, 2.0),
        both("mp4", fast_with_moov_far_behind(), 50, 2.0),
        Case { container: "aac", file: adts(), copied: &["audio"], encoded: &[], frames: None, seconds: 2.0 },
    ])
    .await;
}

#[tokio::test]
async fn unplayable_codecs_are_encoded_from_every_container() {
    use fixture::containers::{avi, broadcast, mxf, ogg, program_stream, wmv};
    let case = |container, file| Case {
        container,
        file,
        copied: &[],
        encoded: &["240p", "aac"],
        frames: Some(50),
        seconds: 2.0,
    };
    check(vec![
        case("mpegts", broadcast()),
        case("mpegps", program_stream()),
        case("avi", avi()),
        case("asf", wmv()),
        case("mxf", mxf()),
        case("ogg", ogg()),
    ])
    .await;
}

/// Two fields of different times show combing on moving parts, unless a filter deinterlaces them.
#[tokio::test]
async fn interlaced_video_is_deinterlaced() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/fields.ts", fixture::containers::broadcast_of_fields()).await;
    let manifest = app.url(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])));
    assert_eq!(decoded(OsStr::new(&manifest), "v:0").await.map(|video| video.frames), Some(50));
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("fields.ts");
    std::fs::write(&source, fixture::containers::broadcast_of_fields()).unwrap();
    let (before, after) =
        (interlaced_frames(source.as_os_str()).await, interlaced_frames(OsStr::new(&manifest)).await);
    assert!(before > 30, "{before} frames of the source are combed");
    assert!(after < 5, "{after} frames are still combed");
}

/// The number of frames that ffmpeg detects as interlaced, by their content.
async fn interlaced_frames(input: &OsStr) -> u32 {
    let options = ["-map", "0:v:0", "-vf", "idet", "-f", "null", "-"];
    let run = Program::new("ffmpeg")
        .args(["-hide_banner", "-nostdin", "-i"])
        .args([input])
        .args(options)
        .run()
        .await;
    let line = run.stderr.lines().find(|line| line.contains("Multi frame detection")).expect("it sums up");
    let words: Vec<_> = line.split_whitespace().collect();
    let after = |name: &str| {
        let index = words.iter().position(|word| *word == name).expect("it is counted");
        words[index + 1].parse::<u32>().expect("a number")
    };
    after("TFF:") + after("BFF:")
}

#[tokio::test]
async fn audio_only_wav_mp3_and_flac_are_encoded() {
    use fixture::containers::{flac, mp3, wav};
    let case = |container, file| Case {
        container,
        file,
        copied: &[],
        encoded: &["aac"],
        frames: None,
        seconds: 2.0,
    };
    check(vec![case("wav", wav()), case("mp3", mp3()), case("flac", flac())]).await;
}
