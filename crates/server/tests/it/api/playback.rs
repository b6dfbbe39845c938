//! The resources of players: manifests, playlists, init segments, segments.

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use crate::support::{DEADLINE, Golden, TestApp, text};

/// Every URL that a player requests: the manifest, its playlists, and their entries, in this order.
pub(crate) async fn addresses(app: &TestApp, media: &Value) -> Vec<String> {
    let manifest = format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]));
    let mut found = vec![manifest.clone()];
    for playlist in listed(&app.fetch(&manifest).await.text()) {
        let playlist = format!("/{playlist}");
        let folder = playlist.rsplit_once('/').expect("a playlist lies in a folder").0.to_owned();
        found.push(playlist.clone());
        found
            .extend(listed(&app.fetch(&playlist).await.text()).iter().map(|file| format!("{folder}/{file}")));
    }
    found
}

/// The URLs in a playlist: lines of their own, and `URI="…"`.
pub(crate) fn listed(playlist: &str) -> Vec<String> {
    let uri = |line: &str| {
        if line.starts_with('#') {
            line.split_once("URI=\"")?.1.split('"').next().map(str::to_owned)
        } else {
            Some(line.to_owned()).filter(|line| !line.is_empty())
        }
    };
    playlist.lines().filter_map(uri).collect()
}

/// The index id is a hash of the output of ffmpeg, and so is the bit rate: both differ between versions.
fn golden(app: &TestApp, addresses: &[String]) -> Golden {
    let mut golden = app.golden();
    golden.name(addresses[1].split('/').nth(2).expect("the index id"), "[index]");
    golden
}

fn without_rates(manifest: &str) -> String {
    let mut pieces = manifest.split("BANDWIDTH=");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| {
        text + "BANDWIDTH=[rate]" + piece.trim_start_matches(|digit: char| digit.is_ascii_digit())
    })
}

#[tokio::test]
async fn manifest_leads_to_every_playlist_and_segment() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::thirty_seconds()).await;
    let addresses = addresses(&app, &media).await;
    let mut golden = golden(&app, &addresses);
    let manifest = app.fetch(&addresses[0]).await;
    golden.name(manifest.header("etag").expect("it has one").trim_matches('"'), "[manifest]");
    let (mut transcript, mut first) = (String::new(), String::new());
    for address in &addresses {
        let answer = app.fetch(address).await;
        assert!(answer.status == 200 && !answer.body.is_empty(), "{address}: {answer:?}");
        let shown = format!("GET {}\n{}\n", golden.text(address), without_rates(&golden.answer(&answer)));
        match address.rsplit(['/', '.']).nth(1).and_then(|name| name.parse::<u32>().ok()) {
            None => transcript += &shown,
            Some(0) => {
                transcript += &shown;
                first = shown;
            }
            // All segments get the same headers.
            Some(n) => assert_eq!(
                shown.replace(&format!("{n}.m4s"), "0.m4s").replace(&format!("-{n}\""), "-0\""),
                first
            ),
        }
    }
    insta::assert_snapshot!(transcript);
}

#[tokio::test]
async fn audio_only_and_video_only_manifests_list_their_codecs() {
    let app = TestApp::start().await;
    for (name, bytes) in [("audio_only", fixture::audio_only()), ("video_only", fixture::video_only())] {
        let media = app.ready(&format!("/{name}"), bytes).await;
        let addresses = addresses(&app, &media).await;
        let manifest = app.fetch(&addresses[0]).await.text();
        let text = golden(&app, &addresses).text(&without_rates(&manifest));
        insta::assert_snapshot!(name, text);
        for address in &addresses {
            assert_eq!(app.fetch(address).await.status, 200, "{address}");
        }
    }
}

#[tokio::test]
async fn playback_urls_allow_cors_from_any_origin() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let mut addresses = addresses(&app, &media).await;
    addresses.push(format!("/{}/thumbnail.jpg", text(&media["playbackIds"][0]["id"])));
    let preflight = |address: &str| {
        app.request("OPTIONS", address)
            .header("Origin", "https://page.example")
            .header("Access-Control-Request-Method", "GET")
            .header("Access-Control-Request-Headers", "range")
    };
    let expected = app.golden().answer(&preflight(&addresses[0]).send().await);
    insta::assert_snapshot!("preflight", expected);
    for address in &addresses {
        assert_eq!(app.golden().answer(&preflight(address).send().await), expected, "{address}");
        let answer = app.request("GET", address).header("Origin", "https://page.example").send().await;
        assert_eq!(
            (answer.status, answer.header("access-control-allow-origin")),
            (200, Some("*")),
            "{address}"
        );
    }
    // Monitoring and HTTP clients add headers, for every URL.
    let request_headers = "authorization,sentry-trace,traceparent,x-custom";
    for address in addresses.iter().map(String::as_str).chain(["/none"]) {
        let request = app.request("OPTIONS", address).header("Origin", "https://page.example");
        let answer = request.header("Access-Control-Request-Headers", request_headers).send().await;
        let allowed = answer.header("access-control-allow-headers").expect("the header is present");
        let allowed: Vec<_> = allowed.split(", ").collect();
        assert!(request_headers.split(',').all(|name| allowed.contains(&name)), "{address}: {allowed:?}");
    }
    // Errors have CORS headers too; otherwise a player could not read the reason.
    let wrong = format!("/{}/thumbnail.jpg?width=0", text(&media["playbackIds"][0]["id"]));
    let unknown = "/019a492c-41f3-7001-8203-040506070809.m3u8";
    for (method, address, status) in
        [("GET", unknown, 404), ("GET", "/none", 404), ("GET", &wrong, 422), ("POST", unknown, 405)]
    {
        let answer = app.request(method, address).send().await;
        assert_eq!(
            (answer.status, answer.header("access-control-allow-origin")),
            (status, Some("*")),
            "{address}"
        );
        answer.refusal();
    }
}

#[tokio::test]
async fn unlisted_playback_url_is_404() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let addresses = addresses(&app, &media).await;
    let index = addresses[1].split('/').nth(2).unwrap();
    let unknown = "019a492c-41f3-7001-8203-040506070809";
    let child = |playback: &str, index: &str, rest: &str| format!("/{playback}/{index}/{rest}");
    for address in [
        child(playback, index, "video/1000.m4s"),
        child(playback, index, "video/4294967295.m4s"),
        child(playback, index, "video/99999999999999999999.m4s"),
        child(playback, index, "video/00.m4s"),
        child(playback, index, "video/0.mp4"),
        child(playback, index, "other/0.m4s"),
        child(playback, "0000000000000000", "video/0.m4s"),
        child(playback, "0000000000000000", "video/playlist.m3u8"),
        child(playback, &index.to_uppercase(), "video/init.mp4"),
        child(playback, "..", "video/0.m4s"),
        child(playback, index, "video/%2e%2e"),
        child(unknown, index, "video/0.m4s"),
        child("none", index, "video/0.m4s"),
        format!("/{unknown}.m3u8"),
        format!("/{playback}.m3u"),
        format!("/{playback}"),
        format!("/{playback}/none.jpg"),
        format!("/v1/{playback}.m3u8"),
    ] {
        let answer = app.fetch(&address).await;
        let (status, message) = answer.refusal();
        assert_eq!(status, 404, "{address}: {answer:?}");
        assert!(["not found", "Media/PlaybackId not Found"].contains(&&*message), "{address}: {message}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{address}");
    }
    insta::assert_snapshot!("unknown", app.golden().answer(&app.fetch(&format!("/{unknown}.m3u8")).await));
}

#[tokio::test]
async fn unready_media_sends_retry_after_then_plays() {
    let app = TestApp::start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    let media = app.create(&url).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let (manifest, thumbnail) = (format!("/{playback}.m3u8"), format!("/{playback}/thumbnail.png"));
    app.sources.wait_until_held("/a.mp4", DEADLINE).await;
    insta::assert_snapshot!("not_ready", app.golden().answer(&app.fetch(&manifest).await));
    assert_eq!(app.fetch(&thumbnail).await.refusal(), (400, "media is not ready".to_owned()));

    app.sources.release("/a.mp4");
    app.wait_settled(text(&media["id"])).await;
    assert_eq!(app.fetch(&manifest).await.status, 200, "a refusal was remembered");
    assert_eq!(app.fetch(&thumbnail).await.status, 200);
}

#[tokio::test]
async fn private_media_without_playback_token_is_401() {
    let app = TestApp::start().await;
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"accessPolicy": "private"})).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    insta::assert_snapshot!("private", app.golden().answer(&app.fetch(&format!("/{playback}.m3u8")).await));
    for address in [
        format!("/{playback}.m3u8?token=x"),
        format!("/{playback}/thumbnail.jpg"),
        format!("/{playback}/0000000000000000/video/playlist.m3u8"),
        format!("/{playback}/0000000000000000/audio/0.m4s"),
    ] {
        assert_eq!(app.fetch(&address).await.refusal(), (401, "unauthorized".to_owned()), "{address}");
    }
    let with_token = app.call("GET", &format!("/{playback}.m3u8")).send().await;
    assert_eq!(with_token.status, 401, "an access token is no playback token");
}

#[tokio::test]
async fn failed_media_never_plays() {
    let app = TestApp::start().await;
    let media = app.create(&app.sources.url("/none.mp4")).await;
    app.wait_settled(text(&media["id"])).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    insta::assert_snapshot!("failed", app.golden().answer(&app.fetch(&format!("/{playback}.m3u8")).await));
    assert_eq!(app.fetch(&format!("/{playback}/thumbnail.jpg")).await.status, 404);
}
