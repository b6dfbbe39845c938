//! A private media in Chromium: with its token it plays to its end, also when the token expires meanwhile.
//!
//! Without a token, or with another one, it does not play.

use std::time::Duration;

use kinora_domain::Clock as _;
use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::signer::Signer;
use crate::api::Ids;
use crate::fault::TestClock;
use crate::media::browser::{PLAY_TIMEOUT_S, check_frames, web};
use crate::support::{Program, TestApp, until};

const MINUTE_S: i64 = 60;

/// Plays the page at this path, and returns the report. `while_it_plays` runs concurrently.
async fn watch(app: &TestApp, path: &str, while_it_plays: impl Future<Output = ()>) -> Option<Value> {
    let web = web()?;
    let page = app.url(path);
    let play = Program::new("node")
        .folder(&web)
        .args(["e2e/play.mjs", &page, "--until-end", "--timeout", PLAY_TIMEOUT_S])
        .run();
    let (run, ()) = tokio::join!(play, while_it_plays);
    // The exit code is not 0 when nothing played.
    Some(serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}")))
}

/// The number of responses with 200 of this route.
async fn answered(app: &TestApp, route: &str) -> u64 {
    let counts = app.fetch("/metrics").await.text();
    let line = format!("kinora_http_requests_total{{method=\"GET\",route=\"{route}\",status=\"200\"}} ");
    counts
        .lines()
        .find_map(|found| found.strip_prefix(&line))
        .map_or(0, |count| count.parse().expect("a number"))
}

#[tokio::test]
async fn private_playback_outlives_token_expiry() {
    let clock = TestClock::standing();
    let app = TestApp::options().without_webhook().clock(clock.clone()).start().await;
    let signer = Signer::made(&app).await;
    let media = app.ready("/a.mp4", fixture::large_two_tracks()).await;
    let mut playbacks = Vec::new();
    for _ in 0..2 {
        playbacks.push(Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await);
    }
    let [private, other] = playbacks.as_slice() else { unreachable!("two were made") };
    let ends_at = clock.now().as_micros() / 1_000_000 + MINUTE_S;
    let token = |playback: &str| {
        let claims = json!({"aud": format!("media:{playback}"), "exp": ends_at});
        signer.sign(&signer.header(), &claims)
    };
    let (good, foreign) = (token(private), token(other));

    for (name, query) in [("no token", String::new()), ("that of another", format!("?token={foreign}"))] {
        let Some(seen) = watch(&app, &format!("/embed/{private}{query}"), async {}).await else { return };
        assert_eq!((&seen["played"], &seen["ended"]), (&json!(false), &json!(false)), "{name}: {seen:#}");
        assert_ne!(seen["notice"], Value::Null, "{name}: it says why: {seen:#}");
    }

    let child = "/{playbackId}/{signed}/{indexId}/{rendition}/{file}";
    let token_ends = async {
        until("the manifest was fetched", async || (answered(&app, child).await > 0).then_some(())).await;
        clock.advance(Duration::from_secs(60 * 60));
        assert_eq!(
            app.fetch(&format!("/{private}.m3u8?token={good}")).await.status,
            401,
            "the token has ended"
        );
    };
    let before = answered(&app, child).await;
    let seen =
        watch(&app, &format!("/embed/{private}?token={good}"), token_ends).await.expect("it is installed");
    assert_eq!((&seen["played"], &seen["ended"]), (&json!(true), &json!(true)), "{seen:#}");
    assert_eq!((&seen["errors"], &seen["notice"]), (&json!([]), &Value::Null), "{seen:#}");
    assert!(answered(&app, child).await > before + 4, "playlists and segments came after it");
}

#[tokio::test]
async fn encrypted_media_plays_on_the_page_for_authorized_viewers() {
    let app = TestApp::options().without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let media = app.ready("/a.mp4", fixture::large_two_tracks()).await;
    let ids = Ids::of(&app, &media);
    for (policy, key) in [
        ("public", "/{playbackId}/{indexId}/aes-128/key"),
        ("private", "/{playbackId}/{signed}/{indexId}/aes-128/key"),
    ] {
        let playback = ids.made(&json!({"accessPolicy": policy, "encryption": "aes-128"})).await;
        let query = match policy {
            "private" => format!("?token={}", signer.token(&playback)),
            _ => String::new(),
        };
        let Some(seen) = watch(&app, &format!("/embed/{playback}{query}"), async {}).await else { return };
        assert_eq!((&seen["played"], &seen["ended"]), (&json!(true), &json!(true)), "{policy}: {seen:#}");
        assert_eq!((&seen["errors"], &seen["notice"]), (&json!([]), &Value::Null), "{policy}: {seen:#}");
        check_frames(&seen, 300);
        assert!(
            (1..=2).contains(&answered(&app, key).await),
            "{policy}: the key is asked for once, or once a track"
        );
    }
}
