//! The usage of a workspace: `GET /usage` (D-0088).

use kinora_blob::{ObjectKind, Prefix};
use kinora_domain::{DEVELOPMENT, Day, MediaState, PRODUCTION, Permission, Timestamp, WorkspaceId};
use kinora_server::Roles;
use kinora_store::UsageCounts;
use kinora_testkit::{MovableClock, Source, fixture};
use serde_json::{Value, json};

use super::playback::{addresses, listed};
use crate::fault::TestClock;
use crate::fault::drain::sweep;
use crate::support::{Answer, TestApp, text, until};

/// 2025-11-03 10:03:48 UTC, in microseconds since 1970.
const NOW: i64 = 1_762_164_228_595_604;

async fn workspace(app: &TestApp, name: &str) -> WorkspaceId {
    app.store.workspace_by_name(name).await.unwrap().unwrap().id
}

async fn usage(app: &TestApp) -> Value {
    app.call("GET", "/v1/usage").send().await.data()
}

#[tokio::test]
async fn usage_is_daily_and_invalid_range_is_422() {
    // Without a worker, only this test writes usage.
    let roles = Roles { worker: false, ..Roles::ALL };
    let now = Timestamp::from_micros(NOW);
    let app = TestApp::options().clock(MovableClock::at(now)).roles(roles).without_webhook().start().await;
    let mut transcript = String::new();
    let mut ask = async |query: &str| {
        let bare = app.call("GET", &format!("/usage{query}")).send().await;
        let prefixed = app.call("GET", &format!("/v1/usage{query}")).send().await;
        assert_eq!((bare.status, bare.text()), (prefixed.status, prefixed.text()), "{query}");
        transcript += &format!("GET /usage{query}\n{} {}\n\n", bare.status, bare.text());
        bare.status
    };
    assert_eq!(ask("").await, 200);

    let own = workspace(&app, DEVELOPMENT).await;
    let other = workspace(&app, PRODUCTION).await;
    let day = |back: i64| now.plus_seconds(-back * 24 * 60 * 60);
    for (workspace, back, delivered_bytes) in [(own, 0, 3000), (own, 2, 500), (own, 40, 7), (other, 0, 9_999)]
    {
        let used = UsageCounts { encoded_us: 4_000_000, delivered_us: 90_000_000, delivered_bytes };
        app.store.count_usage(workspace, day(back), used);
    }
    app.store.write_usage(now).await.unwrap();
    app.store.set_stored_bytes(&[(own, 1_000_000), (other, 5)], day(5)).await.unwrap();
    app.store.set_stored_bytes(&[(own, 2_000_000)], day(1)).await.unwrap();
    for query in ["", "?to=2025-11-01", "?from=2025-10-29&to=2025-10-30", "?from=2025-11-03&to=2025-11-04"] {
        assert_eq!(ask(query).await, 200, "{query}");
    }
    for query in [
        "?from=2025-11-31",
        "?from=yesterday&to=2025-11-03T00:00:00Z",
        "?from=2025-11-03&to=2025-11-02",
        "?from=2025-11-04",
        "?from=2024-11-02&to=2025-11-03",
        "?from=2025-11-01&from=2025-11-02",
        "?since=2025-11-01",
    ] {
        assert_eq!(ask(query).await, 422, "{query}");
    }
    insta::assert_snapshot!(transcript);
}

#[tokio::test]
async fn usage_needs_any_token_of_the_workspace() {
    let app = TestApp::options().clock(MovableClock::at(Timestamp::from_micros(NOW))).start().await;
    let own = workspace(&app, DEVELOPMENT).await;
    let now = Timestamp::from_micros(NOW);
    app.store.count_usage(own, now, UsageCounts { delivered_bytes: 5, ..UsageCounts::default() });
    app.store.write_usage(now).await.unwrap();
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let bytes = async |token| {
        let answer = app.request("GET", "/v1/usage").token(token).send().await.data();
        answer["totals"]["bytesDelivered"].clone()
    };
    assert_eq!((bytes(&app.token).await, bytes(&reader).await), (json!(5), json!(5)));
    assert_eq!(bytes(&other_token).await, 0);
    let unauthorized = app.request("GET", "/v1/usage").send().await;
    assert_eq!(unauthorized.refusal(), (401, "unauthorized".to_owned()));
    let written = app.call("POST", "/v1/usage").json(&json!({})).send().await;
    assert_eq!(written.refusal(), (405, "method not allowed".to_owned()));
}

/// The response for a client that retries while the engine is busy.
async fn fetch_until_ready(app: &TestApp, address: &str) -> Answer {
    let answer =
        until("it is made", async || Some(app.fetch(address).await).filter(|answer| answer.status != 503));
    let answer = answer.await;
    assert_eq!(answer.status, 200, "{address}");
    answer
}

/// The usage of today in the database, after the server has restarted.
async fn usage_after_restart(app: &mut TestApp, today: Day) -> UsageCounts {
    app.stop().await;
    app.restart().await;
    let days = app.store.usage(workspace(app, DEVELOPMENT).await, today, today).await.unwrap().days;
    days.first().map(|day| day.used).unwrap_or_default()
}

/// The difference between two usages.
fn since(before: UsageCounts, after: UsageCounts) -> UsageCounts {
    UsageCounts {
        encoded_us: after.encoded_us - before.encoded_us,
        delivered_us: after.delivered_us - before.delivered_us,
        delivered_bytes: after.delivered_bytes - before.delivered_bytes,
    }
}

/// The sum of the segment durations of a playlist, in microseconds.
fn length_us(playlist: &str) -> u64 {
    let lengths = playlist.lines().filter_map(|line| line.strip_prefix("#EXTINF:")?.strip_suffix(','));
    let us = lengths.map(|length| length.parse::<f64>().expect("seconds") * 1e6);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a short time")]
    let us = us.sum::<f64>().round() as u64;
    us
}

/// Compares with a tolerance: durations in playlists are rounded.
#[track_caller]
fn check(used: UsageCounts, bytes: u64, us: u64) {
    assert_eq!(used.delivered_bytes, bytes);
    assert!(used.delivered_us.abs_diff(us) < 100, "{} and {us} µs", used.delivered_us);
}

#[tokio::test]
async fn delivered_bytes_count_only_sent_bytes() {
    let clock = TestClock::standing();
    let today = Day::of(kinora_domain::Clock::now(&clock));
    let mut app = TestApp::options().clock(clock).without_webhook().start().await;
    let fields = json!({"sourceAccess": true, "mp4Support": "audioOnly,capped_4k"});
    let media = app.ready_with("/a.mp4", fixture::large_two_tracks(), fields).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let row = app.store.media_by_id(text(&media["id"]).parse().unwrap()).await.unwrap().unwrap();
    let MediaState::Ready { facts, .. } = row.state else { panic!("it is ready") };
    let whole_us = facts.duration.as_micros();
    let all = addresses(&app, &media).await;
    let before = usage_after_restart(&mut app, today).await;

    // All URLs of players; playback time counts for video renditions only.
    let (mut bytes, mut us, mut encoded_us) = (0_u64, 0, 0);
    for address in &all {
        let answer = fetch_until_ready(&app, address).await;
        bytes += answer.body.len() as u64;
        let rendition = address.rsplit('/').nth(1).unwrap();
        let has_video = !rendition.starts_with("audio") && !rendition.starts_with("aac");
        if address.ends_with("/playlist.m3u8") && has_video && rendition != "iframes" {
            let length = length_us(&answer.text());
            us += length;
            encoded_us += if rendition == "video" { 0 } else { length };
        }
    }
    assert!(encoded_us > 0, "one of them is encoded: {all:?}");
    for file in ["thumbnail.jpg", "storyboard.vtt", "spritesheet.jpg", "clip.webp?end=1"] {
        bytes += fetch_until_ready(&app, &format!("/{playback}/{file}")).await.body.len() as u64;
    }
    let after = usage_after_restart(&mut app, today).await;
    check(since(before, after), bytes, us);
    assert!(after.encoded_us.abs_diff(encoded_us) < 100, "counted once for all viewers: {after:?}");

    // A part of a file counts as that part of its duration.
    let segment = all.iter().find(|address| address.ends_with("/video/0.m4s")).unwrap();
    let segment_us = {
        let playlist = segment.replace("0.m4s", "playlist.m3u8");
        let text = app.fetch(&playlist).await.text();
        bytes = text.len() as u64;
        let first = text.lines().find(|line| line.starts_with("#EXTINF:")).unwrap();
        assert_eq!(listed(&text)[1], "0.m4s");
        length_us(first)
    };
    us = 0;
    for (address, plays_us) in [
        (segment.clone(), segment_us),
        (format!("/{playback}/source"), whole_us),
        (format!("/{playback}/capped-4k.mp4"), whole_us),
        (format!("/{playback}/audio.m4a"), whole_us),
    ] {
        let part = app.request("GET", &address).header("Range", "bytes=0-999").send().await;
        let full = app.fetch(&address).await;
        let len = full.body.len() as u64;
        assert_eq!((part.status, part.body.len(), full.status), (206, 1000, 200), "{address}");
        bytes += 1000 + len;
        us += plays_us + 1000 * plays_us / len;
    }
    let parts = usage_after_restart(&mut app, today).await;
    check(since(after, parts), bytes, us);

    // Bytes that are not sent do not count, nor do errors.
    let etag = app.request("HEAD", segment).send().await.header("etag").unwrap().to_owned();
    let revalidated = app.request("GET", segment).header("If-None-Match", &etag).send().await;
    assert_eq!((revalidated.status, revalidated.body.len()), (304, 0));
    assert_eq!(app.request("HEAD", &format!("/{playback}/source")).send().await.status, 200);
    let outside = app.request("GET", segment).header("Range", "bytes=99999999-").send().await;
    assert_eq!(outside.status, 416);
    for none in ["/nothing.png", "/subtitles/none.vtt", "/x/video/0.m4s"] {
        assert_eq!(app.fetch(&format!("/{playback}{none}")).await.status, 404, "{none}");
    }
    assert_eq!(app.fetch(&format!("/embed/{playback}")).await.status, 200);
    assert_eq!(usage_after_restart(&mut app, today).await, parts);

    let reported = usage(&app).await;
    assert_eq!(reported["totals"]["bytesDelivered"], parts.delivered_bytes);
    let days = reported["days"].as_array().unwrap();
    assert_eq!(days.last().unwrap()["bytesDelivered"], parts.delivered_bytes);
    let metrics = app.fetch("/metrics").await.text();
    for name in
        ["kinora_delivered_bytes_total", "kinora_delivered_seconds_total", "kinora_encoded_seconds_total"]
    {
        assert!(metrics.contains(name), "{name}");
    }
}

#[tokio::test]
async fn audio_only_delivery_counts_minutes() {
    let clock = TestClock::standing();
    let today = Day::of(kinora_domain::Clock::now(&clock));
    let mut app = TestApp::options().clock(clock).without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::audio_only()).await;
    let all = addresses(&app, &media).await;
    let before = usage_after_restart(&mut app, today).await;
    let (mut bytes, mut us) = (0_u64, 0);
    for address in &all {
        let answer = fetch_until_ready(&app, address).await;
        bytes += answer.body.len() as u64;
        us += if address.ends_with("/playlist.m3u8") { length_us(&answer.text()) } else { 0 };
    }
    assert!(us > 1_000_000, "{us}");
    check(since(before, usage_after_restart(&mut app, today).await), bytes, us);
}

/// The bytes of all objects, of every kind that belongs to a media.
async fn stored(app: &TestApp) -> u64 {
    let mut sum = 0;
    for kind in ObjectKind::ALL {
        if !matches!(kind, ObjectKind::Demo | ObjectKind::Owner | ObjectKind::Check) {
            let page = app.ground.blob().await.list(Prefix::Kind(kind), None, 1000).await.unwrap();
            assert!(page.len() < 1000, "more than a test makes");
            sum += page.iter().map(|entry| entry.len).sum::<u64>();
        }
    }
    sum
}

#[tokio::test]
async fn sweep_measures_stored_bytes_and_deletes_reduce_them() {
    let clock = TestClock::standing();
    let app = TestApp::options().clock(clock.clone()).without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::large_two_tracks()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    fetch_until_ready(&app, &format!("/{playback}/thumbnail.jpg")).await;
    // Requests everything, so that nothing is left to encode ahead.
    for address in addresses(&app, &media).await {
        fetch_until_ready(&app, &address).await;
    }
    // Half of a file whose rest has not arrived.
    let week = json!({"corsOrigin": "*", "timeout": 604_800});
    let upload = app.call("POST", "/v1/on-demand/upload").json(&week).send().await.data();
    let path = text(&upload["url"]).replace(&app.url(""), "");
    let half = fixture::two_seconds().slice(..5000);
    let sent =
        app.request("PUT", &path).header("Content-Range", "bytes 0-4999/10000").body(half).send().await;
    assert_eq!(sent.status, 308, "{sent:?}");

    sweep(&app, &clock).await;
    let (first, expected) = (usage(&app).await, stored(&app).await);
    assert!(expected > fixture::large_two_tracks().len() as u64 + 5000);
    assert_eq!(first["totals"]["storedBytes"], expected, "{first}");
    assert_eq!(first["days"].as_array().unwrap().last().unwrap()["storedBytes"], expected);
    let other_token = app.new_token(PRODUCTION, Permission::ReadOnly).await;
    let other_usage = app.request("GET", "/v1/usage").token(&other_token).send().await.data();
    assert_eq!(other_usage["totals"]["storedBytes"], 0);

    assert_eq!(app.delete(text(&media["id"])).await.status, 200);
    sweep(&app, &clock).await;
    let (second, rest) = (usage(&app).await, stored(&app).await);
    assert_eq!(second["totals"]["storedBytes"], rest, "{second}");
    assert!((5000..10_000).contains(&rest), "what came of the upload: {rest}");
    assert!(text(&first["asOf"]) < text(&second["asOf"]));
}

#[tokio::test]
async fn audio_mixed_before_ready_is_encoded_once() {
    let clock = TestClock::standing();
    let today = Day::of(kinora_domain::Clock::now(&clock));
    let mut app = TestApp::options().clock(clock).without_webhook().start().await;
    let video = app.serve("/a.mp4", Source::of(fixture::two_seconds()));
    let audio_url = app.serve("/b.m4a", Source::of(fixture::audio_only()));
    let inputs =
        json!([{"type": "video", "url": video}, {"type": "audio", "imposeTracks": [{"url": audio_url}]}]);
    let created = app.call("POST", "/v1/on-demand").json(&json!({"inputs": inputs})).send().await.data();
    let media = app.wait_settled(text(&created["id"])).await;
    assert_eq!(media["status"], "Ready", "{media}");
    let used = usage_after_restart(&mut app, today).await;
    assert!(used.encoded_us.abs_diff(2_000_000) < 50_000, "as long as the media: {used:?}");
}
