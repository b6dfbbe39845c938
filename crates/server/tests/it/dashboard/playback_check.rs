//! The tester of rules: it answers as delivery does.

use kinora_domain::Role;
use serde_json::{Value, json};

use super::playing::{media_path, only_playback_id, world};
use super::support::problem;
use crate::api::Ids;
use crate::private::signer::Signer;
use crate::private::watched::{plain, with_token};
use crate::support::text;

/// A rule, a page and a user agent of a request, and which rule denies them.
type Case = (Value, Option<&'static str>, Option<&'static str>, Option<&'static str>);

fn cases() -> Vec<Case> {
    let domains = |rule: Value| json!({"domains": rule});
    let agents = |rule: Value| json!({"userAgents": rule});
    let shop = json!({"defaultPolicy": "deny", "allow": ["shop.example"]});
    let bad = json!({"defaultPolicy": "allow", "deny": ["*.bad.example"], "allow": ["good.example"]});
    let firefox = json!({"defaultPolicy": "deny", "allow": ["Firefox"]});
    let curl = json!({"defaultPolicy": "allow", "deny": ["curl/"]});
    let by_domain = Some("domains");
    let by_agent = Some("userAgents");
    vec![
        (json!({}), None, None, None),
        (json!({}), Some("https://evil.example/"), Some("curl/8"), None),
        (domains(shop.clone()), Some("https://shop.example/a?b#c"), None, None),
        (domains(shop.clone()), Some("https://www.SHOP.example:8443"), None, None),
        (domains(shop.clone()), Some("http://shop.example./"), None, None),
        (domains(shop.clone()), Some("https://evil.example/shop.example"), None, by_domain),
        (domains(shop.clone()), Some("https://shop.example@evil.example/"), None, by_domain),
        (domains(shop.clone()), None, None, by_domain),
        (domains(bad.clone()), Some("https://bad.example/"), None, None),
        (domains(bad.clone()), Some("https://a.bad.example/"), None, by_domain),
        (domains(bad.clone()), None, None, None),
        (
            domains(json!({"defaultPolicy": "deny", "allow": ["bücher.example"]})),
            Some("https://xn--bcher-kva.example"),
            None,
            None,
        ),
        (agents(firefox.clone()), None, Some("Mozilla/5.0 Firefox/140.0"), None),
        (agents(firefox.clone()), None, Some("firefox"), by_agent),
        (agents(firefox.clone()), None, None, by_agent),
        (agents(curl.clone()), None, Some(" curl/8.1 "), by_agent),
        (agents(curl.clone()), None, Some("Curl/8.1"), None),
        (
            json!({"domains": shop, "userAgents": curl}),
            Some("https://evil.example/"),
            Some("curl/8"),
            by_domain,
        ),
        (
            json!({"domains": bad, "userAgents": firefox}),
            Some("https://good.example/"),
            Some("curl/8"),
            by_agent,
        ),
    ]
}

#[tokio::test]
async fn check_agrees_with_delivery() {
    let (world, watched) = world().await;
    let signer = Signer::made(&world.app).await;
    let viewer = world.browser_of(Role::Viewer).await;
    let path = media_path(&world, &watched.media).await;
    let open = Ids::of(&world.app, &watched.media).made(&json!({"accessPolicy": "private"})).await;
    for policy in ["public", "private"] {
        for (rules, page, agent, rejected_by) in cases() {
            let settings = json!({"accessPolicy": policy, "accessRestrictions": rules});
            let playback = Ids::of(&world.app, &watched.media).made(&settings).await;
            let case = format!("{policy} {rules} {page:?} {agent:?}");
            let body = json!({"page": page, "userAgent": agent});
            let stored = viewer.post(&format!("{path}/playback-ids/{playback}/check"), &body).await;
            let draft = json!({"page": page, "userAgent": agent, "accessRestrictions": rules});
            let draft = viewer.post(&format!("{path}/playback-ids/{open}/check"), &draft).await;
            assert_eq!((stored.status, draft.status), (200, 200), "{case}: {stored:?} {draft:?}");
            assert_eq!(stored.data(), draft.data(), "{case}");
            assert_eq!(stored.data()["rejectedBy"], json!(rejected_by), "{case}");
            assert_eq!(stored.data()["isAllowed"], rejected_by.is_none(), "{case}");
            assert!(text(&stored.data()["message"]).ends_with('.'), "{case}");

            for header in ["Referer", "Origin"] {
                let token = if policy == "private" { signer.token(&playback) } else { String::new() };
                let request = plain(&with_token(&format!("/{playback}.m3u8"), &token));
                let request = page.iter().fold(request, |request, page| request.with(header, page));
                let request = agent.iter().fold(request, |request, agent| request.with("User-Agent", agent));
                let answer = request.get(&world.app).await;
                let expected = if rejected_by.is_none() { 200 } else { 403 };
                assert_eq!(answer.status, expected, "{header} {case}: {answer:?}");
            }
            Ids::of(&world.app, &watched.media).delete(&playback).await;
        }
    }
}

#[tokio::test]
async fn page_of_this_server_is_allowed_by_every_rule_on_domains() {
    let (world, watched) = world().await;
    let viewer = world.browser_of(Role::Viewer).await;
    let rules = json!({"domains": {"defaultPolicy": "deny"}});
    let settings = json!({"accessRestrictions": rules});
    let playback = only_playback_id(&world, &watched.media, &settings).await;
    let path = format!("{}/playback-ids/{playback}/check", media_path(&world, &watched.media).await);
    let page = world.app.url("/dashboard");
    assert_eq!(viewer.post(&path, &json!({"page": page})).await.data()["isAllowed"], true);
    let answer = plain(&format!("/{playback}.m3u8")).with("Referer", &page).get(&world.app).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn wrong_field_is_422_by_name() {
    let (world, watched) = world().await;
    let viewer = world.browser_of(Role::Viewer).await;
    let playback = text(&watched.media["playbackIds"][0]["id"]).to_owned();
    let path = format!("{}/playback-ids/{playback}/check", media_path(&world, &watched.media).await);
    for (body, field) in [
        (json!({"page": "shop.example"}), "page"),
        (json!({"page": ""}), "page"),
        (json!({"page": "null"}), "page"),
        (json!({"page": 7}), "page"),
        (json!({"page": "https://shop.exa\nmple/"}), "page"),
        (json!({"page": format!("https://shop.example/{}", "a".repeat(5000))}), "page"),
        (json!({"userAgent": 7}), "userAgent"),
        (json!({"userAgent": "a\nb"}), "userAgent"),
        (json!({"userAgent": "a".repeat(2049)}), "userAgent"),
        (json!({"accessRestrictions": []}), "accessRestrictions"),
        (
            json!({"accessRestrictions": {"domains": {"deny": ["https://b.example"]}}}),
            "accessRestrictions.domains.deny[0]",
        ),
        (json!({"referrer": "https://shop.example/"}), "referrer"),
        (json!({"restrictions": null}), "restrictions"),
        (json!({"accessRestrictions": {"domain": {"defaultPolicy": "deny"}}}), "accessRestrictions.domain"),
        (
            json!({"accessRestrictions": {"userAgents": {"policy": "deny"}}}),
            "accessRestrictions.userAgents.policy",
        ),
        (json!([]), "body"),
    ] {
        let answer = viewer.post(&path, &body).await;
        assert_eq!(problem(&answer), (422, vec![field.to_owned()]), "{body}");
    }
}

#[tokio::test]
async fn check_belongs_to_its_media_and_changes_nothing() {
    let (world, watched) = world().await;
    let path = media_path(&world, &watched.media).await;
    let playback = text(&watched.media["playbackIds"][0]["id"]).to_owned();
    let check = format!("{path}/playback-ids/{playback}/check");
    let before = world.app.get(text(&watched.media["id"])).await.data();
    let body = json!({"accessRestrictions": {"domains": {"defaultPolicy": "deny"}}});
    for role in Role::ALL {
        let answer = world.browser_of(role).await.post(&check, &body).await;
        assert_eq!((answer.status, &answer.data()["rejectedBy"]), (200, &json!("domains")), "{role:?}");
    }
    assert_eq!(world.app.get(text(&watched.media["id"])).await.data(), before);
    assert_eq!(world.app.fetch(&format!("/{playback}.m3u8")).await.status, 200);

    let browser = world.browser_of_person(&world.person("a@example.com", Role::Viewer).await).await;
    let second = world.app.ready("/b.mp4", kinora_testkit::fixture::two_seconds()).await;
    let other = text(&second["playbackIds"][0]["id"]).to_owned();
    let answer = browser.post(&check.replace(&playback, &other), &json!({})).await;
    assert_eq!(answer.refusal(), (404, "Media/PlaybackId not Found".to_owned()));
    let [development, production] = world.workspace_ids().await;
    let answer = browser.post(&check.replace(&development, &production), &json!({})).await;
    assert_eq!(answer.refusal(), (404, "media workspace relation not found".to_owned()));
    assert_eq!(world.browser().post(&check, &json!({})).await.status, 401);
}
