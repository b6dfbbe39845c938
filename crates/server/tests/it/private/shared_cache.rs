//! Shared caches between server and viewers, where the operator enables them.

use kinora_domain::{Clock as _, Timestamp};
use kinora_testkit::{MovableClock, fixture};
use serde_json::json;

use super::signer::Signer;
use super::watched::{Watched, children, oembed, plain, refused, signed_children, with_token};
use crate::api::Ids;
use crate::support::{Answer, TestApp, text};

const SHARED_S: u32 = 600;

/// The cache policy of a response: status, `Cache-Control`, and `Vary`.
///
/// `Accept-Encoding` is removed from `Vary`, because long texts have it too.
fn cache_headers(answer: &Answer) -> (u16, Option<&str>, Option<&str>) {
    let vary = answer.header("vary").filter(|vary| *vary != "Accept-Encoding");
    let vary = vary.map(|vary| vary.strip_suffix(", Accept-Encoding").unwrap_or(vary));
    (answer.status, answer.header("cache-control"), vary)
}

#[tokio::test]
async fn s_maxage_setting_applies_only_to_signed_segments() {
    let app = TestApp::options().shared_max_age_s(SHARED_S).without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let private = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    for child in signed_children(&app, &signer, &private).await {
        let answer = app.fetch(&child).await;
        assert_eq!(cache_headers(&answer), (200, Some("public, max-age=60, s-maxage=600"), None), "{child}");
        let etag = answer.header("etag").expect("it has one");
        let revalidated = app.request("GET", &child).header("If-None-Match", etag).send().await;
        assert_eq!(
            cache_headers(&revalidated),
            (304, Some("public, max-age=60, s-maxage=600"), None),
            "{child}"
        );
    }
    let token = signer.token(&private);
    let mut token_urls: Vec<_> =
        watched.token_urls(&private).iter().map(|address| with_token(address, &token)).collect();
    token_urls.push(oembed(&app, &private, &with_token("", &token)));
    for address in token_urls {
        let answer = app.fetch(&address).await;
        let (status, control, vary) = cache_headers(&answer);
        assert!(
            status == 200 && control.is_some_and(|control| control.starts_with("private, ")),
            "{address}"
        );
        assert_eq!(vary, None, "{address}");
    }
    let public = text(&watched.media["playbackIds"][0]["id"]);
    for child in children(&app, &format!("/{public}.m3u8"), plain).await {
        let answer = app.fetch(&child).await;
        assert_eq!(
            cache_headers(&answer),
            (200, Some("public, max-age=31536000, immutable"), None),
            "{child}"
        );
    }
}

#[tokio::test]
async fn restricted_responses_are_private_with_vary() {
    let app = TestApp::options().shared_max_age_s(SHARED_S).without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let domains = json!({"defaultPolicy": "allow", "deny": ["evil.example"]});
    let agents = json!({"defaultPolicy": "allow", "deny": ["Scraper"]});
    for (restrictions, vary) in [
        (json!({"domains": domains}), "Origin, Referer"),
        (json!({"userAgents": agents}), "User-Agent"),
        (json!({"domains": domains, "userAgents": agents}), "Origin, Referer, User-Agent"),
    ] {
        for policy in ["public", "private"] {
            let body = json!({"accessPolicy": policy, "accessRestrictions": restrictions});
            let playback = watched.playback(&app, body).await;
            let token =
                if policy == "private" { with_token("", &signer.token(&playback)) } else { String::new() };
            let token_urls = watched.token_urls(&playback).into_iter().map(|address| address + &token);
            let listed = children(&app, &format!("/{playback}.m3u8{token}"), plain).await;
            let oembed_urls = oembed(&app, &playback, &token);
            for address in token_urls.chain(listed).chain([oembed_urls]) {
                let answer = app.fetch(&address).await;
                let (status, control, found_vary) = cache_headers(&answer);
                assert_eq!((status, found_vary), (200, Some(vary)), "{address}");
                assert!(
                    control.is_some_and(|control| control.starts_with("private, ")),
                    "{address}: {control:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn shared_max_age_ends_with_signed_path() {
    let clock = MovableClock::default();
    let app =
        TestApp::options().clock(clock.clone()).shared_max_age_s(SHARED_S).without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let private = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let start = clock.now().as_seconds();
    let claims = json!({"aud": private, "exp": start + 3600});
    let manifest = with_token(&format!("/{private}.m3u8"), &signer.sign(&signer.header(), &claims));
    let child = children(&app, &manifest, plain).await.remove(1);
    // 12 h after the end of a media of 2 s, rounded up to the hour.
    let end = (start + 2 + 12 * 3600).div_euclid(3600) * 3600 + 3600;
    for (left_s, max_age_s, s_maxage_s) in
        [(3600, 60, 600), (600, 60, 600), (599, 60, 599), (60, 60, 60), (59, 59, 59), (1, 1, 1)]
    {
        clock.set(Timestamp::from_micros((end - left_s) * 1_000_000));
        let answer = app.fetch(&child).await;
        let expected = format!("public, max-age={max_age_s}, s-maxage={s_maxage_s}");
        assert_eq!(cache_headers(&answer), (200, Some(&*expected), None), "{left_s}");
    }
    clock.set(Timestamp::from_micros(end * 1_000_000));
    assert_eq!(app.fetch(&child).await.status, 401);
}

#[tokio::test]
async fn signed_path_from_future_clock_is_not_yet_valid() {
    let clock = MovableClock::default();
    let app = TestApp::options().clock(clock.clone()).without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let private = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let right = clock.now();
    let day_ahead = right.plus_seconds(24 * 3600);
    clock.set(day_ahead);
    let claims = json!({"aud": private, "exp": day_ahead.as_seconds() + 3600});
    let manifest = with_token(&format!("/{private}.m3u8"), &signer.sign(&signer.header(), &claims));
    let signed_urls = children(&app, &manifest, plain).await;
    assert_eq!(app.fetch(&signed_urls[0]).await.status, 200);
    clock.set(right);
    for child in &signed_urls {
        let (status, description) = refused(&app.fetch(child).await);
        assert_eq!(status, 401, "{child}");
        assert!(description.contains("in the future of the server clock"), "{description}");
    }
    let counted = app.fetch("/metrics").await.text();
    assert!(counted.contains("kinora_playback_refused_total{reason=\"path_future\"}"), "{counted}");
    // A difference of some minutes rejects no path.
    let again = children(&app, &manifest, plain).await;
    clock.set(right.plus_seconds(-30));
    assert_eq!(app.fetch(&again[0]).await.status, 200);
}
