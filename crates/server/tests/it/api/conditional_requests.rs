//! `ETag`, `If-None-Match` and `If-Match`: unchanged responses are not sent again, and no change overwrites
//! another one (D-0074).

use futures_util::future::join_all;
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::playlists::Playlists;
use super::tracks::Tracks;
use crate::support::{Answer, TestApp, text};

const OTHER: &str = "\"0123456789abcdef0123456789abcdef\"";

/// The current tag.
async fn tag(app: &TestApp, path: &str) -> String {
    let answer = app.call("GET", path).send().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.header("etag").expect("an answer about one thing has one").to_owned()
}

async fn call(app: &TestApp, (method, path, body): (&str, &str, &Value), name: &str, value: &str) -> Answer {
    let request = app.call(method, path).header(name, value);
    let request = if body.is_null() { request } else { request.json(body) };
    request.send().await
}

/// The paths of a media, one of its playback IDs, and a playlist.
async fn resource_paths(app: &TestApp) -> [String; 3] {
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let path = format!("/v1/on-demand/{}", text(&media["id"]));
    let playback = format!("{path}/playback-ids/{}", text(&media["playbackIds"][0]["id"]));
    let playlist = Playlists(app).made_of("r", &[text(&media["id"])]).await;
    [path, playback, format!("/v1/on-demand/playlists/{}", text(&playlist["id"]))]
}

#[tokio::test]
async fn if_none_match_is_304() {
    let app = TestApp::options().without_webhook().start().await;
    for path in resource_paths(&app).await {
        let tag = tag(&app, &path).await;
        assert!(!tag.starts_with("W/") && tag.len() == 34, "strong: {tag}");
        let full = app.call("GET", &path).send().await;
        for matching in [tag.clone(), format!("W/{tag}"), format!("{OTHER}, {tag}"), "*".to_owned()] {
            let answer = call(&app, ("GET", &path, &Value::Null), "If-None-Match", &matching).await;
            assert_eq!((answer.status, answer.header("etag")), (304, Some(&*tag)), "{path} {matching}");
            assert!(answer.body.is_empty());
        }
        for unknown in [OTHER, "\"\"", "W/\"a\""] {
            let answer = call(&app, ("GET", &path, &Value::Null), "If-None-Match", unknown).await;
            assert_eq!((answer.status, answer.text()), (200, full.text()), "{path} {unknown}");
        }
        let head = call(&app, ("HEAD", &path, &Value::Null), "If-None-Match", &tag).await;
        assert_eq!(head.status, 304, "{path}");
        let refused = call(&app, ("GET", &path, &Value::Null), "If-Match", OTHER).await;
        assert_eq!(refused.refusal(), (412, "precondition failed".to_owned()), "{path}");
        let many = vec!["\"a\""; 33].join(",");
        for malformed in ["abc", "\"a", "*, \"a\"", "", &many] {
            for name in ["If-Match", "If-None-Match"] {
                let answer = call(&app, ("GET", &path, &Value::Null), name, malformed).await;
                assert_eq!(answer.refusal().0, 400, "{name}: {malformed}");
            }
        }
    }
}

#[tokio::test]
async fn if_match_with_stale_etag_is_412() {
    let app = TestApp::options().without_webhook().start().await;
    let [media, playback, playlist] = resource_paths(&app).await;
    let subtitles = app.serve("/a.srt", Source::of("1\n00:00:00,000 --> 00:00:01,500\nHello\n"));
    let track = Tracks::of(&app, &app.call("GET", &media).send().await.data())
        .added(&subtitles, "en", "English")
        .await;
    let track = format!("{media}/tracks/{track}");
    let (opened, files) = (json!({"sourceAccess": true}), json!({"mp4Support": "capped_4k"}));
    let named = json!({"languageCode": "en-GB", "languageName": "British"});
    let (source_access, mp4_support) =
        (format!("{media}/source-access"), format!("{media}/update-mp4Support"));
    let (title, rule) = (json!({"title": "T"}), json!({"defaultPolicy": "deny"}));
    let id = media.rsplit('/').next().expect("an id");
    let (ids, shown) = (json!({"mediaIds": [id]}), json!({"name": "M", "description": ""}));
    let rules = [format!("{playback}/domains"), format!("{playback}/user-agents")];
    let (listed, one) = playback.rsplit_once('/').expect("a path");
    let gone = format!("{listed}?playbackId={one}");
    let of_playlist = format!("{playlist}/media");
    let nothing = Value::Null;
    // The changed resource and its change; deletions last.
    let changes: [(&str, (&str, &str, &Value)); 13] = [
        (&media, ("PATCH", &media, &title)),
        (&media, ("PATCH", &source_access, &opened)),
        (&media, ("PATCH", &mp4_support, &files)),
        (&media, ("PATCH", &track, &named)),
        (&media, ("DELETE", &track, &nothing)),
        (&playback, ("PATCH", &rules[0], &rule)),
        (&playback, ("PATCH", &rules[1], &rule)),
        (&playlist, ("PUT", &playlist, &shown)),
        (&playlist, ("PUT", &of_playlist, &ids)),
        (&playlist, ("DELETE", &of_playlist, &ids)),
        (&playlist, ("PATCH", &of_playlist, &ids)),
        (&playback, ("DELETE", &gone, &nothing)),
        (&media, ("DELETE", &media, &nothing)),
    ];
    for (thing, change) in changes {
        let before = app.call("GET", thing).send().await.text();
        let now = tag(&app, thing).await;
        for (name, value) in [
            ("If-Match", OTHER),
            ("If-Match", &format!("W/{now}")),
            ("If-None-Match", &now),
            ("If-None-Match", "*"),
        ] {
            let refused = call(&app, change, name, value).await;
            assert_eq!(
                refused.refusal(),
                (412, "precondition failed".to_owned()),
                "{change:?} {name}: {value}"
            );
        }
        assert_eq!(app.call("GET", thing).send().await.text(), before, "{change:?}");
        let made = call(&app, change, "If-Match", &format!("{OTHER}, {now}")).await;
        assert_eq!(made.status, 200, "{change:?}: {made:?}");
        // The response is the resource itself, or another body.
        let is_the_thing = change.1 == thing && change.0 != "DELETE"
            || [&source_access, &mp4_support].map(String::as_str).contains(&change.1);
        assert!(made.header("etag").is_some() || !is_the_thing, "{change:?}: {made:?}");
        if let Some(etag) = made.header("etag") {
            assert_eq!(etag, tag(&app, thing).await, "{change:?}: the tag of what is now");
        }
    }
    assert_eq!(call(&app, ("DELETE", &playlist, &nothing), "If-Match", OTHER).await.refusal().0, 412);
    assert_eq!(call(&app, ("DELETE", &playlist, &nothing), "If-Match", "*").await.status, 200);
    let bodies = [&title, &opened, &files, &named, &nothing];
    for (path, body) in [&media, &source_access, &mp4_support, &track, &track].into_iter().zip(bodies) {
        let method = if body.is_null() { "DELETE" } else { "PATCH" };
        let gone = call(&app, (method, path, body), "If-Match", "*").await;
        assert_eq!(gone.refusal().0, 404, "{method} {path}");
    }
    // No resource exists, so `*` cannot match.
    for path in [&media, &playlist] {
        assert_eq!(call(&app, ("DELETE", path, &nothing), "If-Match", "*").await.refusal().0, 404);
    }
}

#[tokio::test]
async fn concurrent_updates_with_one_etag_apply_one() {
    const CONCURRENT: usize = 8;
    let app = TestApp::options().without_webhook().start().await;
    let [media, _, playlist] = resource_paths(&app).await;
    for (path, method, field) in [(&media, "PATCH", "title"), (&playlist, "PUT", "name")] {
        for round in 0..4 {
            let now = tag(&app, path).await;
            let bodies: Vec<_> = (0..CONCURRENT)
                .map(|number| json!({field: format!("{round} {number}"), "description": ""}))
                .collect();
            let changes = bodies.iter().map(|body| call(&app, (method, path, body), "If-Match", &now));
            let answers = join_all(changes).await;
            let made: Vec<_> = (0..CONCURRENT).filter(|number| answers[*number].status == 200).collect();
            let [made] = made[..] else { panic!("one is made: {answers:?}") };
            assert!(answers.iter().all(|answer| matches!(answer.status, 200 | 412)), "{answers:?}");
            let stored = app.call("GET", path).send().await.data();
            assert_eq!(stored[field], bodies[made][field], "and equals the stored value");
        }
    }
}
