//! What caches between server and viewers may keep, where their operator lets them.

use kinora_domain::{Clock as _, Timestamp};
use kinora_testkit::{MovableClock, fixture};
use serde_json::json;

use super::signer::Signer;
use super::watched::{Watched, children, oembed, plain, refused, signed_children, with_token};
use crate::api::Ids;
use crate::support::{Answer, TestApp, text};

const SHARED_S: u32 = 600;

/// What an answer says of caching: status, `Cache-Control`, and `Vary` without `Accept-Encoding`, which long
/// texts have too.
fn kept(answer: &Answer) -> (u16, Option<&str>, Option<&str>) {
    let vary = answer.header("vary").filter(|vary| *vary != "Accept-Encoding");
    let vary = vary.map(|vary| vary.strip_suffix(", Accept-Encoding").unwrap_or(vary));
    (answer.status, answer.header("cache-control"), vary)
}

#[tokio::test]
async fn segments_of_private_media_are_shared_where_that_is_set_and_nothing_else_is() {
    let app = TestApp::options().shared_max_age_s(SHARED_S).without_webhook().start().await;
    let ours = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let private = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    for child in signed_children(&app, &ours, &private).await {
        let answer = app.fetch(&child).await;
        assert_eq!(kept(&answer), (200, Some("public, max-age=60, s-maxage=600"), None), "{child}");
        let etag = answer.header("etag").expect("it has one");
        let known = app.request("GET", &child).header("If-None-Match", etag).send().await;
        assert_eq!(kept(&known), (304, Some("public, max-age=60, s-maxage=600"), None), "{child}");
    }
    let token = ours.token(&private);
    let mut tokened: Vec<_> =
        watched.tokened(&private).iter().map(|address| with_token(address, &token)).collect();
    tokened.push(oembed(&app, &private, &with_token("", &token)));
    for address in tokened {
        let answer = app.fetch(&address).await;
        let (status, control, vary) = kept(&answer);
        assert!(
            status == 200 && control.is_some_and(|control| control.starts_with("private, ")),
            "{address}"
        );
        assert_eq!(vary, None, "{address}");
    }
    let public = text(&watched.media["playbackIds"][0]["id"]);
    for child in children(&app, &format!("/{public}.m3u8"), plain).await {
        let answer = app.fetch(&child).await;
        assert_eq!(kept(&answer), (200, Some("public, max-age=31536000, immutable"), None), "{child}");
    }
}

#[tokio::test]
async fn what_a_rule_decides_on_is_never_shared_and_says_by_what() {
    let app = TestApp::options().shared_max_age_s(SHARED_S).without_webhook().start().await;
    let ours = Signer::made(&app).await;
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
                if policy == "private" { with_token("", &ours.token(&playback)) } else { String::new() };
            let tokened = watched.tokened(&playback).into_iter().map(|address| address + &token);
            let listed = children(&app, &format!("/{playback}.m3u8{token}"), plain).await;
            let pasted = oembed(&app, &playback, &token);
            for address in tokened.chain(listed).chain([pasted]) {
                let answer = app.fetch(&address).await;
                let (status, control, told) = kept(&answer);
                assert_eq!((status, told), (200, Some(vary)), "{address}");
                assert!(
                    control.is_some_and(|control| control.starts_with("private, ")),
                    "{address}: {control:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn nothing_is_shared_beyond_the_end_of_its_path() {
    let clock = MovableClock::default();
    let app =
        TestApp::options().clock(clock.clone()).shared_max_age_s(SHARED_S).without_webhook().start().await;
    let ours = Signer::made(&app).await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let private = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let start = clock.now().as_seconds();
    let claims = json!({"aud": private, "exp": start + 3600});
    let manifest = with_token(&format!("/{private}.m3u8"), &ours.sign(&ours.header(), &claims));
    let child = children(&app, &manifest, plain).await.remove(1);
    // 12 h after the end of a media of 2 s, the hour made full.
    let end = (start + 2 + 12 * 3600).div_euclid(3600) * 3600 + 3600;
    for (left_s, own_s, shared_s) in
        [(3600, 60, 600), (600, 60, 600), (599, 60, 599), (60, 60, 60), (59, 59, 59), (1, 1, 1)]
    {
        clock.set(Timestamp::from_micros((end - left_s) * 1_000_000));
        let answer = app.fetch(&child).await;
        let expected = format!("public, max-age={own_s}, s-maxage={shared_s}");
        assert_eq!(kept(&answer), (200, Some(&*expected), None), "{left_s}");
    }
    clock.set(Timestamp::from_micros(end * 1_000_000));
    assert_eq!(app.fetch(&child).await.status, 401);
}

#[tokio::test]
async fn a_path_that_a_clock_made_which_was_ahead_plays_nothing_until_its_time() {
    let clock = MovableClock::default();
    let app = TestApp::options().clock(clock.clone()).without_webhook().start().await;
    let ours = Signer::made(&app).await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let private = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let right = clock.now();
    let day_ahead = right.plus_seconds(24 * 3600);
    clock.set(day_ahead);
    let claims = json!({"aud": private, "exp": day_ahead.as_seconds() + 3600});
    let manifest = with_token(&format!("/{private}.m3u8"), &ours.sign(&ours.header(), &claims));
    let led = children(&app, &manifest, plain).await;
    assert_eq!(app.fetch(&led[0]).await.status, 200);
    clock.set(right);
    for child in &led {
        let (status, description) = refused(&app.fetch(child).await);
        assert_eq!(status, 401, "{child}");
        assert!(description.contains("the clock of the server was ahead"), "{description}");
    }
    let counted = app.fetch("/metrics").await.text();
    assert!(counted.contains("kinora_playback_refused_total{reason=\"path_future\"}"), "{counted}");
    // The same clock some minutes later or earlier is no reason.
    let again = children(&app, &manifest, plain).await;
    clock.set(right.plus_seconds(-30));
    assert_eq!(app.fetch(&again[0]).await.status, 200);
}
