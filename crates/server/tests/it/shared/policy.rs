//! What one process takes back, every other one refuses within 2 s (contract decision 13).

use std::time::Duration;

use kinora_server::Roles;
use kinora_testkit::fixture;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::Ids;
use crate::private::revocation::{led, named, revoke};
use crate::private::signer::{KEYS, Signer};
use crate::private::watched::{Asked, Watched, children, plain};
use crate::support::{TestApp, until};

const DELIVERY: Roles = Roles { api: false, delivery: true, worker: false };
const IN_FORCE_WITHIN: Duration = Duration::from_secs(2);

/// Waits until the first address of the other process answers this, looks at the clock, and holds all of them against it.
async fn in_force(node: &TestApp, what: &str, asked: &[Asked], status: u16) {
    let changed = Instant::now();
    until(what, async || (asked[0].get(node).await.status == status).then_some(())).await;
    assert!(changed.elapsed() < IN_FORCE_WITHIN, "{what}: {:?}", changed.elapsed());
    all_are(node, what, asked, status).await;
}

async fn all_are(node: &TestApp, what: &str, asked: &[Asked], status: u16) {
    for asked in asked {
        assert_eq!(asked.get(node).await.status, status, "{what}: {asked:?}");
    }
}

fn without(addresses: &[String]) -> Vec<Asked> {
    addresses.iter().map(|address| plain(address)).collect()
}

fn with(addresses: &[String], header: &'static str, value: &str) -> Vec<Asked> {
    addresses.iter().map(|address| plain(address).with(header, value)).collect()
}

#[tokio::test]
async fn what_one_process_takes_back_another_one_refuses_within_two_seconds_at_every_address() {
    let app = TestApp::options().start().await;
    let node = TestApp::beside(&app, TestApp::options().roles(DELIVERY)).await;
    let (first, second) = (Signer::made(&app).await, Signer::made(&app).await);
    let watched = Watched::new(&app).await;
    let ids = Ids::of(&app, &watched.media);
    let playbacks = watched.private(&app).await;
    let by = |signer: &Signer| without(&watched.tokened_by(&playbacks, |playback| signer.token(playback)));
    let (by_first, by_second) = (by(&first), by(&second));
    // What was just made counts at once, in both, and one process signs what the other one believes.
    let led_by_first = without(&led(&node, &first, &playbacks).await);
    let led_by_second = led(&node, &second, &playbacks).await;
    all_are(&app, "what another process signed", &led_by_first, 200).await;
    all_are(&node, "what was just made", &by_first, 200).await;

    assert_eq!(app.call("DELETE", &format!("{KEYS}/{}", first.id)).send().await.status, 200);
    in_force(&node, "paths of a deleted key", &led_by_first, 401).await;
    in_force(&node, "tokens of a deleted key", &by_first, 401).await;
    all_are(&node, "another key", &by_second, 200).await;

    let named = without(&watched.tokened_by(&playbacks, |playback| named(&second, playback, "x")));
    all_are(&node, "not revoked yet", &named, 200).await;
    assert_eq!(revoke(&app, &json!({"jti": "x"})).await.status, 201);
    in_force(&node, "a revoked token", &named, 401).await;
    all_are(&node, "what it led to", &without(&led_by_second), 200).await;

    let all: Vec<_> =
        by_second.iter().map(|asked| asked.address.clone()).chain(led_by_second.clone()).collect();
    let set = async |kind: &str, rule: Value| {
        for playback in &playbacks {
            assert_eq!(ids.restrict(playback, kind, &rule).await.status, 200, "{kind} {rule}");
        }
    };
    for (kind, header, value) in
        [("domains", "Origin", "https://shop.example"), ("user-agents", "User-Agent", "Shop/1")]
    {
        let named = if kind == "domains" { "shop.example" } else { "Shop" };
        set(kind, json!({"defaultPolicy": "deny", "allow": [named]})).await;
        in_force(&node, "not on the list of those who may", &without(&all), 403).await;
        all_are(&node, "on it", &with(&all, header, value), 200).await;
        set(kind, json!({"deny": [named]})).await;
        in_force(&node, "not on the list of those who may not", &without(&all), 200).await;
        all_are(&node, "on it", &with(&all, header, value), 403).await;
        set(kind, json!({})).await;
        in_force(&node, "no rule", &with(&all, header, value), 200).await;
    }

    for playback in &playbacks {
        let end = json!({"jti": "y", "playbackId": playback, "endPlayback": true});
        assert_eq!(revoke(&app, &end).await.status, 201);
    }
    in_force(&node, "paths of an ended playback", &without(&led_by_second), 401).await;
    all_are(&node, "tokens that are good", &by_second, 200).await;
    let anew = led(&node, &second, &playbacks).await;
    all_are(&node, "paths that are new", &without(&anew), 200).await;

    for playback in &playbacks {
        assert_eq!(ids.delete(playback).await.status, 200);
    }
    in_force(&node, "paths of a deleted playback ID", &without(&anew), 404).await;
    in_force(&node, "a deleted playback ID", &by_second, 404).await;
}

/// A page that plays in a frame elsewhere asks another process, which hears of the new rule.
#[tokio::test]
async fn a_frame_is_held_against_what_another_process_set() {
    let app = TestApp::options().without_webhook().start().await;
    let node = TestApp::beside(&app, TestApp::options().roles(DELIVERY)).await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let playback = ids.made(&json!({"accessPolicy": "public"})).await;
    assert_eq!(ids.restrict(&playback, "domains", &json!({"deny": ["evil.example"]})).await.status, 200);
    let frame = format!("/{playback}.m3u8?page=shop.example");
    let own = node.url("/embed");
    let led = children(&node, &frame, |address| plain(address).with("Referer", &own)).await;
    let asked = with(&[vec![frame], led].concat(), "Referer", &own);
    all_are(&node, "let in", &asked, 200).await;
    assert_eq!(ids.restrict(&playback, "domains", &json!({"deny": ["shop.example"]})).await.status, 200);
    in_force(&node, "kept out", &asked, 403).await;
}
