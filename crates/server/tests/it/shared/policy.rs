//! Every process refuses what another process revoked (C-13).
//!
//! `kinora_web` and `kinora_delivery` bound how long grants, keys and tokens are cached.

use kinora_server::Roles;
use kinora_testkit::fixture;
use serde_json::{Value, json};

use crate::api::Ids;
use crate::private::revocation::{Reading, led, long, named, revoke};
use crate::private::signer::{KEYS, Signer};
use crate::private::watched::{Asked, Watched, children, oembed, plain, with_token};
use crate::support::{TestApp, until};

const DELIVERY: Roles = Roles { api: false, delivery: true, worker: false };

/// Waits until each address of the other process answers this. Then all of them still do.
///
/// Cache entries expire one by one when the other process has not heard of the change yet.
async fn in_force(node: &TestApp, what: &str, asked: &[Asked], status: u16) {
    for asked in asked {
        until(what, async || (asked.get(node).await.status == status).then_some(())).await;
    }
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
async fn revoked_by_one_process_is_refused_by_another_at_every_address() {
    let app = TestApp::options().start().await;
    let node = TestApp::beside(&app, TestApp::options().roles(DELIVERY)).await;
    let (first, second) = (Signer::made(&app).await, Signer::made(&app).await);
    let watched = Watched::new(&app).await;
    let ids = Ids::of(&app, &watched.media);
    let playbacks = watched.private(&app).await;
    let by =
        |signer: &Signer| without(&watched.asked_by(&node, &playbacks, |playback| signer.token(playback)));
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

    let named = without(&watched.asked_by(&node, &playbacks, |playback| named(&second, playback, "x")));
    all_are(&node, "not revoked yet", &named, 200).await;
    assert_eq!(revoke(&app, &json!({"jti": "x"})).await.status, 201);
    in_force(&node, "a revoked token", &named, 401).await;
    all_are(&node, "what it led to", &without(&led_by_second), 200).await;

    // Rules keep no server from embedding a page.
    let tokened = watched.tokened_by(&playbacks, |playback| second.token(playback));
    let all: Vec<_> = tokened.into_iter().chain(led_by_second.clone()).collect();
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

/// A rule keeps no server from embedding a page, and tells whom it would keep out neither title nor
/// thumbnail.
#[tokio::test]
async fn oembed_hides_title_from_viewers_another_process_keeps_out() {
    let app = TestApp::options().without_webhook().start().await;
    let node = TestApp::beside(&app, TestApp::options().roles(DELIVERY)).await;
    let signer = Signer::made(&app).await;
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"title": "Hush"})).await;
    let ids = Ids::of(&app, &media);
    for policy in ["public", "private"] {
        let playback = ids.made(&json!({"accessPolicy": policy})).await;
        let query =
            if policy == "private" { with_token("", &signer.token(&playback)) } else { String::new() };
        let address = oembed(&node, &playback, &query);
        let nobody = plain(&address);
        let shop = plain(&address).with("Origin", "https://shop.example");
        let told = async |asked: &Asked| {
            let answer = asked.get(&node).await;
            assert_eq!(answer.status, 200, "{asked:?}");
            let answer = answer.json();
            ["title", "thumbnail_url"].map(|name| answer.get(name).is_some())
        };
        for (rule, of_nobody, of_shop) in [
            (json!({}), true, true),
            (json!({"defaultPolicy": "deny", "allow": ["shop.example"]}), false, true),
            (json!({"deny": ["shop.example"]}), true, false),
            (json!({"defaultPolicy": "deny"}), false, false),
            (json!({}), true, true),
        ] {
            assert_eq!(ids.restrict(&playback, "domains", &rule).await.status, 200);
            until("the rule is in force", async || {
                let both = [told(&nobody).await, told(&shop).await];
                (both == [[of_nobody; 2], [of_shop; 2]]).then_some(())
            })
            .await;
        }
    }
}

/// What a slow viewer reads between two looks: what comes in 2 s, and what the systems of both sides keep, is
/// not half of what is sent.
const READ_BYTES: u64 = 128 << 10;

#[tokio::test]
async fn an_original_that_one_process_sends_is_broken_off_by_what_another_one_takes_back() {
    let app = TestApp::options().without_webhook().start().await;
    let node = TestApp::beside(&app, TestApp::options().roles(DELIVERY)).await;
    let signer = Signer::made(&app).await;
    let long = long();
    let len = long.len();
    let media = app.ready_with("/a.mp4", long, json!({"sourceAccess": true})).await;
    let ids = Ids::of(&app, &media);
    for (what, policy, status) in [
        ("a deleted key", "private", 401),
        ("an ended playback", "private", 200),
        ("a rule", "public", 403),
        ("no playback ID", "private", 404),
    ] {
        let playback = ids.made(&json!({"accessPolicy": policy})).await;
        let (own, other) = (Signer::made(&app).await, ids.made(&json!({"accessPolicy": "private"})).await);
        let address = |playback: &str, signer: &Signer| {
            with_token(&format!("/{playback}/source"), &signer.token(playback))
        };
        let mut stays = Reading::begin(&node, &address(&playback, &own)).await;
        let mut goes_on = Reading::begin(&node, &address(&other, &signer)).await;
        let answer = match what {
            "a deleted key" => app.call("DELETE", &format!("{KEYS}/{}", own.id)).send().await,
            "an ended playback" => {
                revoke(&app, &json!({"jti": "x", "playbackId": playback, "endPlayback": true})).await
            }
            "a rule" => ids.restrict(&playback, "domains", &json!({"defaultPolicy": "deny"})).await,
            _ => ids.delete(&playback).await,
        };
        assert!(matches!(answer.status, 200 | 201), "{what}: {answer:?}");
        let manifest = with_token(&format!("/{playback}.m3u8"), &own.token(&playback));
        in_force(&node, what, &[plain(&manifest)], status).await;
        let mut read = 0;
        until("the answer ends", async || {
            let count = stays.next(READ_BYTES).await;
            read += count;
            (count == 0).then_some(())
        })
        .await;
        assert!(read < len, "{what}: all of it came");
        assert_eq!(goes_on.rest().await, len, "{what}: another one goes on");
    }
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
