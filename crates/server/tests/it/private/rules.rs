//! Rules for domains and user agents, at every URL, from the response that sets them.

use serde_json::{Value, json};

use super::signer::Signer;
use super::watched::{RequestSpec, Watched, children, plain, refused, with_token};
use crate::api::Ids;
use crate::support::{TestApp, text};

/// Headers that identify a page or player, and whether the rule allows them.
type Case = (&'static [(&'static str, &'static str)], bool);

fn request_with(address: &str, headers: &[(&'static str, &'static str)]) -> RequestSpec {
    headers.iter().fold(plain(address), |request, (name, value)| request.with(name, value))
}

/// Every URL of a playback ID, with a token if there is one, from an allowed page and player.
///
/// An encrypted playback ID has no whole files.
async fn addresses(
    app: &TestApp,
    watched: &Watched,
    playback: &str,
    (token, is_encrypted): (Option<&str>, bool),
    allowed_headers: &[(&'static str, &'static str)],
) -> Vec<String> {
    let dress = |address: &String| token.map_or(address.clone(), |token| with_token(address, token));
    let files = ["/source", "/capped-4k.mp4", "/audio.m4a"];
    let is_given = |address: &&String| !is_encrypted || !files.iter().any(|file| address.ends_with(file));
    let token_urls: Vec<_> = watched.token_urls(playback).iter().filter(is_given).map(dress).collect();
    let listed = children(app, &token_urls[0], |address| request_with(address, allowed_headers)).await;
    token_urls.into_iter().chain(listed).collect()
}

/// Checks a rule against cases, at every URL of a public and of a private playback ID.
async fn check(kind: &str, rule: Value, allowed_headers: &[(&'static str, &'static str)], cases: &[Case]) {
    let app = TestApp::start().await;
    let signer = Signer::made(&app).await;
    let watched = Watched::new(&app).await;
    let name = if kind == "domains" { "domains" } else { "userAgents" };
    let restrictions = json!({name: rule});
    for (policy, encryption) in [("public", "none"), ("private", "none"), ("private", "aes-128")] {
        let body =
            json!({"accessPolicy": policy, "encryption": encryption, "accessRestrictions": restrictions});
        let playback = watched.playback(&app, body).await;
        let token = (policy == "private").then(|| signer.token(&playback));
        let needs = (token.as_deref(), encryption != "none");
        let addresses = addresses(&app, &watched, &playback, needs, allowed_headers).await;
        assert_eq!(addresses.iter().any(|address| address.ends_with("/aes-128/key")), needs.1);
        let (first, rest) = addresses.split_first().expect("there are some");
        for (headers, is_allowed) in cases {
            let manifest = request_with(first, headers).get(&app).await;
            assert_eq!(
                manifest.status,
                if *is_allowed { 200 } else { 403 },
                "{policy} {headers:?}: {manifest:?}"
            );
            for address in rest {
                let answer = request_with(address, headers).get(&app).await;
                if *is_allowed {
                    assert_eq!(answer.status, 200, "{policy} {headers:?} {address}");
                } else {
                    assert_eq!(answer.body, manifest.body, "{policy} {headers:?} {address}");
                    assert_eq!(answer.header("www-authenticate"), None, "{address}");
                }
            }
        }
    }
    let counted = app.fetch("/metrics").await.text();
    let reason = if kind == "domains" { "domain" } else { "user_agent" };
    assert!(counted.contains(&format!("kinora_playback_refused_total{{reason=\"{reason}\"}}")), "{counted}");
}

#[tokio::test]
async fn default_deny_rejects_unlisted_pages() {
    let cases: &[Case] = &[
        (&[("Origin", "https://xn--bcher-kva.example")], true),
        (&[("Origin", "https://www.XN--BCHER-KVA.example:8443")], true),
        (&[("Referer", "https://xn--bcher-kva.example./page?x#y")], true),
        (&[("Referer", "https://a.shop.example/straße")], true),
        (&[("Referer", "https://evil.example/straße?https://a.shop.example/")], false),
        (&[("Referer", "https://evil.example／.a.shop.example/")], false),
        (&[("Origin", "http://a.shop.example")], true),
        (&[("Origin", "https://a.shop.example"), ("Referer", "https://evil.example/")], true),
        (&[("Origin", "https://shop.example")], false),
        (&[("Origin", "https://evil.example")], false),
        (&[("Origin", "https://evil.example"), ("Referer", "https://a.shop.example/")], false),
        (&[("Origin", "https://a.shop.example.evil.example")], false),
        (&[("Origin", "https://ashop.example")], false),
        (&[("Referer", "https://a.shop.example@evil.example/")], false),
        (&[("Referer", "https://evil.example/?https://a.shop.example/")], false),
        (&[("Referer", "https://evil.example\\@a.shop.example/")], false),
        (&[("Origin", "https://a.shop.example"), ("Origin", "https://a.shop.example")], false),
        (&[("Origin", "null")], false),
        (&[("Origin", "null"), ("Referer", "https://a.shop.example/")], false),
        (&[], false),
        (
            &[
                ("X-Forwarded-Host", "a.shop.example"),
                ("X-Forwarded-For", "a.shop.example"),
                ("X-Original-Host", "a.shop.example"),
                ("Forwarded", "host=a.shop.example;proto=https"),
                ("X-Forwarded-Proto", "https"),
            ],
            false,
        ),
    ];
    let rule = json!({"defaultPolicy": "deny", "allow": ["bücher.example", "*.shop.example"], "deny": ["a.shop.example"]});
    check("domains", rule, &[("Origin", "https://a.shop.example")], cases).await;
}

#[tokio::test]
async fn default_allow_rejects_denied_pages() {
    let cases: &[Case] = &[
        (&[], true),
        (&[("Origin", "null")], true),
        (&[("Origin", "https://other.example")], true),
        (&[("Origin", "https://ignored.example")], true),
        (&[("Origin", "https://evil.example")], false),
        (&[("Origin", "https://www.EVIL.example.:1")], false),
        (&[("Referer", "http://evil.example/x")], false),
        (&[("Origin", "https://xn--bse-sna.example")], false),
        (&[("Origin", "https://evil.example"), ("X-Forwarded-Host", "other.example")], false),
    ];
    let rule = json!({"allow": ["ignored.example"], "deny": ["evil.example", "BÖSE.example"]});
    check("domains", rule, &[], cases).await;
}

#[tokio::test]
async fn user_agent_rules_match_substrings() {
    let cases: &[Case] = &[
        (&[("User-Agent", "Mozilla/5.0 (X11) Kinora/1")], true),
        (&[("User-Agent", "xKinora")], true),
        (&[("User-Agent", "kinora/1")], false),
        (&[("User-Agent", "Mozilla/5.0")], false),
        (&[("X-User-Agent", "Kinora")], false),
        (&[], false),
    ];
    let rule = json!({"defaultPolicy": "deny", "allow": ["Kinora"]});
    check("user-agents", rule, &[("User-Agent", "Kinora")], cases).await;
    let cases: &[Case] = &[
        (&[("User-Agent", "curl/8.1")], false),
        (&[("User-Agent", "a curl/")], false),
        (&[("User-Agent", "CURL/8.1")], true),
        (&[], true),
    ];
    check("user-agents", json!({"deny": ["curl/"]}), &[], cases).await;
}

#[tokio::test]
async fn restriction_applies_to_active_viewers_at_once() {
    let app = TestApp::start().await;
    let watched = Watched::new(&app).await;
    let playback = text(&watched.media["playbackIds"][0]["id"]);
    let ids = Ids::of(&app, &watched.media);
    let second = watched.playback(&app, json!({"accessPolicy": "public"})).await;
    let unsigned = addresses(&app, &watched, playback, (None, false), &[]).await;
    let others = addresses(&app, &watched, &second, (None, false), &[]).await;
    let all = async |addresses: &[String], headers: &[(&'static str, &'static str)], status: u16| {
        for address in addresses {
            assert_eq!(
                request_with(address, headers).get(&app).await.status,
                status,
                "{headers:?} {address}"
            );
        }
    };
    let (shop, other) =
        (&[("Origin", "https://shop.example")][..], &[("Origin", "https://other.example")][..]);
    all(&unsigned, other, 200).await;

    // Clients of a public playback ID need the manifest again.
    let closed = json!({"defaultPolicy": "deny", "allow": ["shop.example"]});
    assert_eq!(
        ids.restrict(playback, "domains", &closed).await.data(),
        json!({"defaultPolicy": "deny", "allow": ["shop.example"], "deny": []})
    );
    let (manifests, segments) = unsigned.split_at(watched.token_urls(playback).len());
    all(manifests, other, 403).await;
    all(manifests, shop, 200).await;
    all(segments, shop, 401).await;
    let signed = addresses(&app, &watched, playback, (None, false), shop).await;
    all(&signed, shop, 200).await;
    all(&signed, other, 403).await;
    all(&others, other, 200).await;

    // Clients with signed paths continue under another rule that allows them: the generation does not
    // change.
    assert_eq!(ids.restrict(playback, "domains", &json!({"deny": ["shop.example"]})).await.status, 200);
    all(&signed, shop, 403).await;
    all(&signed, other, 200).await;
    assert_eq!(ids.restrict(playback, "user-agents", &json!({"defaultPolicy": "deny"})).await.status, 200);
    all(&signed, other, 403).await;

    // Without a rule, both kinds of URLs play for all clients.
    for kind in ["domains", "user-agents"] {
        assert_eq!(ids.restrict(playback, kind, &json!({})).await.status, 200);
    }
    all(&signed, shop, 200).await;
    all(&unsigned, shop, 200).await;
    let caching = app.fetch(&signed[signed.len() - 1]).await;
    assert_eq!(caching.header("cache-control"), Some("public, max-age=31536000, immutable"));
}

#[tokio::test]
async fn forbidden_response_names_the_rule() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", kinora_testkit::fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let rules = json!({"domains": {"defaultPolicy": "deny"}, "userAgents": {"deny": ["curl"]}});
    let playback = ids.made(&json!({"accessRestrictions": rules})).await;
    let manifest = format!("/{playback}.m3u8");
    let mut transcript = app.golden().answer(&app.fetch(&manifest).await);
    assert_eq!(ids.restrict(&playback, "domains", &json!({})).await.status, 200);
    let agent = plain(&manifest).with("User-Agent", "curl/8").get(&app).await;
    transcript += &app.golden().answer(&agent);
    insta::assert_snapshot!("refusals", transcript);
    assert_eq!(refused(&agent).0, 403);

    // The rules apply before the media is ready, too: a client that may not watch need not wait.
    let url = app
        .serve("/b.mp4", kinora_testkit::Source::of(kinora_testkit::fixture::two_seconds()).gate_last_byte());
    let pending = app.create(&url).await;
    app.sources.wait_until_held("/b.mp4", crate::support::DEADLINE).await;
    let pending_ids = Ids::of(&app, &pending);
    for (body, status) in [
        (json!({"accessRestrictions": {"domains": {"defaultPolicy": "deny"}}}), 403),
        (json!({"accessPolicy": "private"}), 401),
        (json!({"accessRestrictions": {"domains": {"allow": ["a.example"]}}}), 400),
        (json!({"resolution": "480p"}), 400),
    ] {
        let id = pending_ids.made(&body).await;
        assert_eq!(app.fetch(&format!("/{id}.m3u8")).await.status, status, "{body}");
    }
    app.sources.release("/b.mp4");
}

/// One of them may be a pass of the dashboard. The refusal is that of a private playback ID.
#[tokio::test]
async fn two_tokens_at_a_public_restricted_playback_id_are_401() {
    let app = TestApp::start().await;
    let watched = Watched::new(&app).await;
    let rules = json!({"domains": {"defaultPolicy": "deny", "allow": ["shop.example"]}});
    let restricted = watched.playback(&app, json!({"accessRestrictions": rules})).await;
    let private = watched.playback(&app, json!({"accessPolicy": "private"})).await;
    let public = text(&watched.media["playbackIds"][0]["id"]);
    for tokens in ["pass.AAAA&token=pass.AAAA", "a&token=a", "pass.AAAA&token=a", "&token=a"] {
        let manifest = |playback: &str| plain(&with_token(&format!("/{playback}.m3u8"), tokens));
        let expected = refused(&manifest(&private).get(&app).await);
        assert_eq!(expected.0, 401, "{tokens}");
        for address in
            watched.token_urls(&restricted).iter().filter(|address| !address.starts_with("/embed/"))
        {
            let request = plain(&with_token(address, tokens));
            for request in [request.clone(), request.with("Referer", "https://shop.example/")] {
                let answer = request.get(&app).await;
                assert_eq!(refused(&answer), expected, "{request:?}");
            }
        }
        let page = app.fetch(&with_token(&format!("/embed/{restricted}"), tokens)).await;
        assert_eq!(page.status, 401, "{tokens}");
        assert_eq!(manifest(public).get(&app).await.status, 200, "without rules a token is not read");
    }
    let ids = Ids::of(&app, &watched.media);
    let open = json!({"defaultPolicy": "allow"});
    assert_eq!(ids.restrict(&restricted, "domains", &open).await.status, 200);
    let opened = with_token(&format!("/{restricted}.m3u8"), "a&token=a");
    assert_eq!(app.fetch(&opened).await.status, 200, "the refusal is not cached");
}
