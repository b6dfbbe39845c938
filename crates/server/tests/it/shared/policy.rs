//! What one process takes back, every other one refuses within 2 s (contract decision 13).

use std::time::Duration;

use kinora_server::Roles;
use kinora_testkit::fixture;
use serde_json::json;
use tokio::time::Instant;

use crate::api::Ids;
use crate::private::revocation::{named, revoke};
use crate::private::signer::{KEYS, Signer};
use crate::private::watched::{children, plain, with_token};
use crate::support::{TestApp, until};

const DELIVERY: Roles = Roles { api: false, delivery: true, worker: false };
const IN_FORCE_WITHIN: Duration = Duration::from_secs(2);

/// Waits until an address of the other process answers this, and looks at the clock.
async fn in_force(node: &TestApp, what: &str, address: &str, status: u16) {
    let changed = Instant::now();
    until(what, async || (node.fetch(address).await.status == status).then_some(())).await;
    assert!(changed.elapsed() < IN_FORCE_WITHIN, "{what}: {:?}", changed.elapsed());
}

#[tokio::test]
async fn what_one_process_takes_back_another_one_refuses_within_two_seconds() {
    let app = TestApp::options().without_webhook().start().await;
    let node = TestApp::beside(&app, TestApp::options().roles(DELIVERY)).await;
    let (first, second) = (Signer::made(&app).await, Signer::made(&app).await);
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let playback = ids.made(&json!({"accessPolicy": "private"})).await;
    let manifest = format!("/{playback}.m3u8");
    let by = |token: &str| with_token(&manifest, token);
    let (by_first, by_second) = (by(&first.token(&playback)), by(&second.token(&playback)));
    // What was just made counts at once, in both.
    let led_by_first = children(&node, &by_first, plain).await;
    let led_by_second = children(&node, &by_second, plain).await;
    // One process signs what the other one believes.
    assert_eq!(app.fetch(&led_by_first[1]).await.status, 200);

    assert_eq!(app.call("DELETE", &format!("{KEYS}/{}", first.id)).send().await.status, 200);
    in_force(&node, "a path of a deleted key", &led_by_first[1], 401).await;
    in_force(&node, "a token of a deleted key", &by_first, 401).await;
    assert_eq!(node.fetch(&led_by_second[1]).await.status, 200);

    let named = by(&named(&second, &playback, "x"));
    assert_eq!(node.fetch(&named).await.status, 200);
    assert_eq!(revoke(&app, &json!({"jti": "x"})).await.status, 201);
    in_force(&node, "a revoked token", &named, 401).await;
    assert_eq!(node.fetch(&led_by_second[1]).await.status, 200);

    assert_eq!(ids.restrict(&playback, "domains", &json!({"defaultPolicy": "deny"})).await.status, 200);
    in_force(&node, "a path under another rule", &led_by_second[1], 403).await;
    in_force(&node, "a token under another rule", &by_second, 403).await;
    assert_eq!(ids.restrict(&playback, "domains", &json!({})).await.status, 200);
    in_force(&node, "a path under no rule", &led_by_second[1], 200).await;

    let end = json!({"jti": "y", "playbackId": playback, "endPlayback": true});
    assert_eq!(revoke(&app, &end).await.status, 201);
    in_force(&node, "a path of an ended playback", &led_by_second[1], 401).await;
    let anew = children(&node, &by_second, plain).await;

    assert_eq!(ids.delete(&playback).await.status, 200);
    in_force(&node, "a path of a deleted playback ID", &anew[1], 404).await;
    in_force(&node, "a deleted playback ID", &by_second, 404).await;
}
