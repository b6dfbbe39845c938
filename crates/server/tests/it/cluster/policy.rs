//! Every process rejects grants, keys and tokens that another process revoked (C-13).
//!
//! `kinora_web` and `kinora_delivery` bound how long they are cached.

use kinora_server::Roles;
use kinora_testkit::fixture;
use serde_json::{Value, json};

use crate::api::Ids;
use crate::private::revocation::{Reading, long, named, revoke, signed_urls};
use crate::private::signer::{KEYS, Signer};
use crate::private::watched::{RequestSpec, Watched, children, oembed, plain, with_token};
use crate::support::{TestApp, until};

const DELIVERY: Roles = Roles { api: false, delivery: true, worker: false };

/// Waits until each URL of the other process returns this status, then checks all of them again.
///
/// Cache entries expire one by one when the other process has not heard of the change yet.
async fn in_force(node: &TestApp, what: &str, requests: &[RequestSpec], status: u16) {
    for request in requests {
        until(what, async || (request.get(node).await.status == status).then_some(())).await;
    }
    all_are(node, what, requests, status).await;
}

async fn all_are(node: &TestApp, what: &str, requests: &[RequestSpec], status: u16) {
    for request in requests {
        assert_eq!(request.get(node).await.status, status, "{what}: {request:?}");
    }
}

fn without_headers(addresses: &[String]) -> Vec<RequestSpec> {
    addresses.iter().map(|address| plain(address)).collect()
}

fn with_header(addresses: &[String], header: &'static str, value: &str) -> Vec<RequestSpec> {
    addresses.iter().map(|address| plain(address).with(header, value)).collect()
}

#[tokio::test]
async fn revocation_applies_in_other_processes_at_every_url() {
    let app = TestApp::options().start().await;
    let node = TestApp::on_data_of(&app, TestApp::options().roles(DELIVERY)).await;
    let (first, second) = (Signer::made(&app).await, Signer::made(&app).await);
    let watched = Watched::new(&app).await;
    let ids = Ids::of(&app, &watched.media);
    let playbacks = watched.private(&app).await;
    let by = |signer: &Signer| {
        without_headers(
            &watched.urls_and_oembed_with_token(&node, &playbacks, |playback| signer.token(playback)),
        )
    };
    let (by_first, by_second) = (by(&first), by(&second));
    // New keys and playback IDs are valid at once in both processes, and each accepts paths that the other
    // one signed.
    let signed_by_first = without_headers(&signed_urls(&node, &first, &playbacks).await);
    let signed_by_second = signed_urls(&node, &second, &playbacks).await;
    all_are(&app, "what another process signed", &signed_by_first, 200).await;
    all_are(&node, "a new playback ID", &by_first, 200).await;

    assert_eq!(app.call("DELETE", &format!("{KEYS}/{}", first.id)).send().await.status, 200);
    in_force(&node, "paths of a deleted key", &signed_by_first, 401).await;
    in_force(&node, "tokens of a deleted key", &by_first, 401).await;
    all_are(&node, "another key", &by_second, 200).await;

    let named = without_headers(
        &watched.urls_and_oembed_with_token(&node, &playbacks, |playback| named(&second, playback, "x")),
    );
    all_are(&node, "not revoked yet", &named, 200).await;
    assert_eq!(revoke(&app, &json!({"jti": "x"})).await.status, 201);
    in_force(&node, "a revoked token", &named, 401).await;
    all_are(&node, "its segments", &without_headers(&signed_by_second), 200).await;

    // Rules do not apply to oEmbed requests of servers.
    let token_urls = watched.urls_with_token(&playbacks, |playback| second.token(playback));
    let all: Vec<_> = token_urls.into_iter().chain(signed_by_second.clone()).collect();
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
        in_force(&node, "not on the list of those who may", &without_headers(&all), 403).await;
        all_are(&node, "on it", &with_header(&all, header, value), 200).await;
        set(kind, json!({"deny": [named]})).await;
        in_force(&node, "not on the list of those who may not", &without_headers(&all), 200).await;
        all_are(&node, "on it", &with_header(&all, header, value), 403).await;
        set(kind, json!({})).await;
        in_force(&node, "no rule", &with_header(&all, header, value), 200).await;
    }

    for playback in &playbacks {
        let end = json!({"jti": "y", "playbackId": playback, "endPlayback": true});
        assert_eq!(revoke(&app, &end).await.status, 201);
    }
    in_force(&node, "paths of an ended playback", &without_headers(&signed_by_second), 401).await;
    all_are(&node, "tokens that are good", &by_second, 200).await;
    let fresh_urls = signed_urls(&node, &second, &playbacks).await;
    all_are(&node, "paths that are new", &without_headers(&fresh_urls), 200).await;

    for playback in &playbacks {
        assert_eq!(ids.delete(playback).await.status, 200);
    }
    in_force(&node, "paths of a deleted playback ID", &without_headers(&fresh_urls), 404).await;
    in_force(&node, "a deleted playback ID", &by_second, 404).await;
}

/// A rule rejects no oEmbed request, but for viewers it excludes, the response has neither title nor
/// thumbnail.
#[tokio::test]
async fn oembed_hides_title_after_restriction_by_another_process() {
    let app = TestApp::options().without_webhook().start().await;
    let node = TestApp::on_data_of(&app, TestApp::options().roles(DELIVERY)).await;
    let signer = Signer::made(&app).await;
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"title": "Hush"})).await;
    let ids = Ids::of(&app, &media);
    for policy in ["public", "private"] {
        let playback = ids.made(&json!({"accessPolicy": policy})).await;
        let query =
            if policy == "private" { with_token("", &signer.token(&playback)) } else { String::new() };
        let address = oembed(&node, &playback, &query);
        let without_origin = plain(&address);
        let shop = plain(&address).with("Origin", "https://shop.example");
        let shown_fields = async |request: &RequestSpec| {
            let answer = request.get(&node).await;
            assert_eq!(answer.status, 200, "{request:?}");
            let answer = answer.json();
            ["title", "thumbnail_url"].map(|name| answer.get(name).is_some())
        };
        for (rule, without_page, from_shop) in [
            (json!({}), true, true),
            (json!({"defaultPolicy": "deny", "allow": ["shop.example"]}), false, true),
            (json!({"deny": ["shop.example"]}), true, false),
            (json!({"defaultPolicy": "deny"}), false, false),
            (json!({}), true, true),
        ] {
            assert_eq!(ids.restrict(&playback, "domains", &rule).await.status, 200);
            until("the rule is in force", async || {
                let both = [shown_fields(&without_origin).await, shown_fields(&shop).await];
                (both == [[without_page; 2], [from_shop; 2]]).then_some(())
            })
            .await;
        }
    }
}

/// Bytes that a slow viewer reads between two checks.
///
/// The bytes of 2 s and the socket buffers of both sides are less than half of the body.
const READ_BYTES: u64 = 128 << 10;

#[tokio::test]
async fn revocation_aborts_source_download_in_other_process() {
    let app = TestApp::options().without_webhook().start().await;
    let node = TestApp::on_data_of(&app, TestApp::options().roles(DELIVERY)).await;
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
        let mut download = Reading::begin(&node, &address(&playback, &own)).await;
        let mut other_download = Reading::begin(&node, &address(&other, &signer)).await;
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
            let count = download.next(READ_BYTES).await;
            read += count;
            (count == 0).then_some(())
        })
        .await;
        assert!(read < len, "{what}: all of it came");
        assert_eq!(other_download.rest().await, len, "{what}: another one goes on");
    }
}

/// A page in a frame elsewhere requests another process, which hears of the new rule.
#[tokio::test]
async fn embedded_page_obeys_restriction_set_by_another_process() {
    let app = TestApp::options().without_webhook().start().await;
    let node = TestApp::on_data_of(&app, TestApp::options().roles(DELIVERY)).await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let playback = ids.made(&json!({"accessPolicy": "public"})).await;
    assert_eq!(ids.restrict(&playback, "domains", &json!({"deny": ["evil.example"]})).await.status, 200);
    let frame = format!("/{playback}.m3u8?page=shop.example");
    let own = node.url("/embed");
    let urls = children(&node, &frame, |address| plain(address).with("Referer", &own)).await;
    let requests = with_header(&[vec![frame], urls].concat(), "Referer", &own);
    all_are(&node, "let in", &requests, 200).await;
    assert_eq!(ids.restrict(&playback, "domains", &json!({"deny": ["shop.example"]})).await.status, 200);
    in_force(&node, "kept out", &requests, 403).await;
}
