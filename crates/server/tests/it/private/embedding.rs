//! The embed page: it passes the token on, and is framed only where the domain rule allows it.

use kinora_testkit::fixture;
use serde_json::json;

use super::signer::Signer;
use super::watched::{children, oembed, plain, refusals, refused, with_token};
use crate::api::Ids;
use crate::api::player_page::values;
use crate::support::{Answer, TestApp, text};

/// The pages that may frame it (`frame-ancestors`).
fn ancestors(page: &Answer) -> String {
    let policy = page.header("content-security-policy").expect("it has one");
    policy.split_once("frame-ancestors ").expect("it says so").1.to_owned()
}

#[tokio::test]
async fn page_passes_token_on_and_shows_title_to_authorized_viewers() {
    let app = TestApp::options().without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"title": "Hush"})).await;
    let playback = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let address = format!("/embed/{playback}");
    let token = signer.token(&playback);
    let page = app.fetch(&with_token(&address, &token)).await;
    assert_eq!((page.status, page.header("cache-control")), (200, Some("private, no-cache")));
    let shown = page.text();
    for part in
        [format!("{playback}.m3u8?token={token}"), format!("thumbnail.jpg?token={token}"), "Hush".to_owned()]
    {
        assert!(shown.contains(&part), "{part}: {shown}");
    }
    let strange = "\"></script><script>alert(1)</script>";
    let encoded = "%22%3E%3C/script%3E%3Cscript%3Ealert(1)%3C/script%3E";
    let ended = signer.sign(&signer.header(), &json!({"aud": playback, "exp": 1}));
    let addresses = [encoded, &ended].map(|token| with_token(&address, token));
    for (address, status) in addresses.into_iter().chain([address.clone()]).map(|address| (address, 401)) {
        let page = app.fetch(&address).await;
        assert_eq!(page.status, status);
        let shown = page.text();
        assert!(shown.contains(&format!("{playback}.m3u8?page=")) && !shown.contains("Hush"), "{shown}");
        assert!(shown.contains("\"blurHash\":null"), "{shown}");
        assert!(!shown.contains("thumbnail.jpg") && !shown.contains(strange), "{shown}");
        assert!(!shown.contains("token="), "an invalid token is not repeated: {shown}");
    }
    // A token above the maximum length is not parsed.
    let long = app.fetch(&with_token(&address, &"~".repeat(60_000))).await;
    assert_eq!((long.status, long.body), (401, app.fetch(&address).await.body));
    let counted = app.fetch("/metrics").await.text();
    for (reason, count) in
        [("token_missing", 2), ("token_malformed", 1), ("token_expired", 1), ("token_too_long", 1)]
    {
        assert_eq!(refusals(&counted, reason), count, "{reason}: {counted}");
    }
}

#[tokio::test]
async fn frame_ancestors_follow_the_domain_restriction() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let playback = text(&media["playbackIds"][0]["id"]);
    let (address, manifest) = (format!("/embed/{playback}"), format!("/{playback}.m3u8"));
    let from = async |address: &str, referer: &str| plain(address).with("Referer", referer).get(&app).await;
    assert_eq!(ancestors(&app.fetch(&address).await), "*");
    let rule = json!({"defaultPolicy": "deny", "allow": ["Bücher.example", "*.shop.example"]});
    assert_eq!(ids.restrict(playback, "domains", &rule).await.status, 200);
    for (referer, named) in [
        (
            "https://www.xn--bcher-kva.example/",
            "'self' http://xn--bcher-kva.example:* http://*.xn--bcher-kva.example:*",
        ),
        ("https://a.shop.example/", "'self' http://*.shop.example:*"),
    ] {
        let page = from(&address, referer).await;
        assert_eq!((page.status, page.header("vary")), (200, Some("Origin, Referer")));
        assert_eq!(ancestors(&page), named, "no other entry of the list is revealed");
    }
    // Our own page requests the manifest: the rule was checked for the page that embeds it.
    assert_eq!(from(&manifest, &app.url(&address)).await.status, 200);
    let own = app.url("");
    assert_eq!(plain(&manifest).with("Origin", &own).get(&app).await.status, 200);
    let neighbour = format!("http://{}", app.address.ip());
    assert_eq!(
        plain(&manifest).with("Origin", &neighbour).get(&app).await.status,
        403,
        "another port is another page"
    );
    // Other sites get no page.
    for referer in ["https://evil.example/", "https://shop.example/"] {
        assert_eq!(refused(&from(&address, referer).await).0, 403, "{referer}");
    }
    assert_eq!(
        app.fetch(&address).await.refusal().0,
        403,
        "a request without Origin and Referer is rejected by default deny"
    );
    // CSP cannot express some hosts; requests are still checked against the rule.
    for (host, referer) in
        [("my_shop.example", "https://my_shop.example/"), ("[2001:db8::1]", "https://[2001:db8::1]/")]
    {
        let rule = json!({"defaultPolicy": "deny", "allow": [host, "shop.example"]});
        assert_eq!(ids.restrict(playback, "domains", &rule).await.status, 200);
        assert_eq!(ancestors(&from(&address, referer).await), "*", "{host}");
        let named = from(&address, "https://shop.example/").await;
        assert_eq!(ancestors(&named), "'self' http://shop.example:* http://*.shop.example:*", "{host}");
        assert_eq!(refused(&from(&address, "https://evil.example/").await).0, 403, "{host}");
        assert_eq!(app.fetch(&address).await.refusal().0, 403, "{host}");
    }
    assert_eq!(ids.restrict(playback, "domains", &json!({"defaultPolicy": "deny"})).await.status, 200);
    assert_eq!(ancestors(&from(&address, &own).await), "'self'");
    assert_eq!(ids.restrict(playback, "domains", &json!({"deny": ["evil.example"]})).await.status, 200);
    assert_eq!(ancestors(&app.fetch(&address).await), "*");
    assert_eq!(from(&address, "https://evil.example/").await.status, 403);
}

#[tokio::test]
async fn domain_rule_is_not_exposed() {
    let app = TestApp::options().without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let playback = ids.made(&json!({"accessPolicy": "private"})).await;
    // The longest list with the longest names.
    let [label, rest] = ["a".repeat(63), "b".repeat(56)];
    let list: Vec<_> = (0..99)
        .map(|n| format!("{n:03}.{label}.{label}.{label}.{rest}"))
        .chain(["shop.example".into()])
        .collect();
    let rule = json!({"defaultPolicy": "deny", "allow": list});
    assert_eq!(ids.restrict(&playback, "domains", &rule).await.status, 200);
    let address = format!("/embed/{playback}");
    let good = with_token(&address, &signer.token(&playback));
    let shop = "'self' http://shop.example:* http://*.shop.example:*";
    for (request, status, named) in [
        // Only an allowed frame may show that its token has expired.
        (plain(&address).with("Referer", "https://shop.example/"), 401, shop),
        (plain(&address), 401, "'self'"),
        (plain(&address).with("Referer", "https://evil.example/"), 401, "'self'"),
        (plain(&address).with("Origin", "null").with("Referer", "https://shop.example/"), 401, "'self'"),
        (plain(&good).with("Referer", "https://shop.example/"), 200, shop),
        (plain(&good).with("Referer", &format!("https://{}", list[7])), 200, ""),
    ] {
        let page = request.get(&app).await;
        assert_eq!((page.status, page.header("vary")), (status, Some("Origin, Referer")), "{request:?}");
        match named {
            "" => assert_eq!(ancestors(&page), format!("'self' http://{0}:* http://*.{0}:*", list[7])),
            named => assert_eq!(ancestors(&page), named, "{request:?}"),
        }
        let headers: usize = page.headers().iter().map(|(name, value)| name.len() + value.len() + 4).sum();
        // nginx accepts 4 KiB of headers by default (proxy_buffer_size).
        assert!(headers < 4 << 10, "{headers}: {request:?}");
    }
    let refused = plain(&good).with("Referer", "https://evil.example/").get(&app).await;
    assert_eq!((refused.status, refused.header("content-security-policy")), (403, None));
    assert_eq!(refused.header("cache-control"), Some("no-store"));
}

#[tokio::test]
async fn embedded_player_follows_current_domain_rule() {
    let app = TestApp::options().without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let shop_alone = json!({"defaultPolicy": "deny", "allow": ["shop.example"]});
    for policy in ["public", "private"] {
        let playback = ids.made(&json!({"accessPolicy": policy})).await;
        let token =
            if policy == "private" { format!("?token={}", signer.token(&playback)) } else { String::new() };
        let address = format!("/embed/{playback}{token}");
        for (referer, frame, later) in [
            (Some("https://www.shop.example/product"), "www.shop.example", 200),
            (Some("https://Other.example/"), "other.example", 403),
            (None, "", 403),
        ] {
            assert_eq!(ids.restrict(&playback, "domains", &json!({})).await.status, 200);
            let request =
                referer.iter().fold(plain(&address), |asked, referer| asked.with("Referer", referer));
            let values = values(&request.get(&app).await);
            let [manifest, poster, storyboard] = ["manifest", "poster", "storyboard"].map(|name| {
                let address = text(&values[name]).replace(&app.url(""), "");
                assert!(address.ends_with(&format!("page={frame}")), "{address}");
                address
            });
            // Requests as from the page in the frame: their referrer is its origin.
            let own = app.url("/");
            let dressed = |address: &str| plain(address).with("Referer", &own);
            // A rule that denies a single domain signs the paths.
            assert_eq!(
                ids.restrict(&playback, "domains", &json!({"deny": ["evil.example"]})).await.status,
                200
            );
            let mut played = children(&app, &manifest, dressed).await;
            let sheet = dressed(&storyboard).get(&app).await.text();
            let sheet = sheet
                .lines()
                .find_map(|line| line.strip_suffix("#xywh=0,0,160,90"))
                .unwrap_or_else(|| panic!("{sheet}"));
            assert!(sheet.ends_with(&format!("page={frame}")), "{sheet}");
            assert!(sheet.contains(&token), "{policy}: {sheet}");
            played.push(format!("/{playback}/{sheet}"));
            played.extend([manifest.clone(), poster.clone(), storyboard.clone()]);
            for address in &played {
                assert_eq!(dressed(address).get(&app).await.status, 200, "{frame:?} {address}");
            }
            assert_eq!(ids.restrict(&playback, "domains", &shop_alone).await.status, 200);
            for address in &played {
                assert_eq!(dressed(address).get(&app).await.status, later, "{frame:?} {address}");
                // From another page the rule is checked against that page, despite the `page` parameter.
                let from_other_origin = plain(address).with("Origin", "https://evil.example").get(&app).await;
                assert_eq!(from_other_origin.status, 403, "{frame:?} {address}");
            }
        }
    }
}

#[tokio::test]
async fn oembed_with_token_embeds_until_expiry() {
    let clock = kinora_testkit::MovableClock::default();
    let app = TestApp::options().clock(clock.clone()).without_webhook().start().await;
    let signer = Signer::made(&app).await;
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"title": "Hush"})).await;
    let playback = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let now = kinora_domain::Clock::now(&clock).as_seconds();
    let until = |end: i64| signer.sign(&signer.header(), &json!({"aud": playback, "exp": end}));
    let fetch_oembed = async |token: &str| app.fetch(&oembed(&app, &playback, &with_token("", token))).await;

    let token = until(now + 90);
    let answer = fetch_oembed(&token).await;
    let mut golden = app.golden();
    golden.name(&token, "TOKEN");
    insta::assert_snapshot!("oembed_of_private", golden.answer(&answer));
    assert_eq!(
        fetch_oembed(&until(now + 100_000)).await.json()["cache_age"],
        3600,
        "as that of all viewers, at most"
    );
    // The page has the same link for viewers who may watch.
    let page = app.fetch(&with_token(&format!("/embed/{playback}"), &token)).await.text();
    let address = oembed(&app, &playback, &with_token("", &token));
    let element =
        format!(r#"<link rel="alternate" type="application/json+oembed" href="{}">"#, app.url(&address));
    assert!(page.contains(&element), "{page}");
    assert!(!app.fetch(&format!("/embed/{playback}")).await.text().contains("oembed"));
    // The thumbnail it names exists, for its token.
    let thumbnail = text(&answer.json()["thumbnail_url"]).replace(&app.url(""), "");
    assert_eq!(app.fetch(&thumbnail).await.status, 200);

    clock.set(kinora_domain::Timestamp::from_micros((now + 120) * 1_000_000));
    assert_eq!(fetch_oembed(&token).await.json()["cache_age"], 0, "only the leeway is left");
    clock.set(kinora_domain::Timestamp::from_micros((now + 150) * 1_000_000));
    assert_eq!(
        refused(&fetch_oembed(&token).await),
        (401, "the playback token has expired; sign a new one".to_owned())
    );
    let unnamed = fetch_oembed("").await;
    assert_eq!(refused(&unnamed).0, 401);
    assert!(!unnamed.text().contains("Hush"));
}

#[tokio::test]
async fn oembed_of_restricted_media_hides_title() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"title": "Hush"})).await;
    let ids = Ids::of(&app, &media);
    let playback = text(&media["playbackIds"][0]["id"]);
    let address = oembed(&app, playback, "");
    let domains = json!({"defaultPolicy": "deny", "allow": ["shop.example"]});
    assert_eq!(ids.restrict(playback, "domains", &domains).await.status, 200);
    let from_nowhere = app.fetch(&address).await;
    insta::assert_snapshot!("oembed_of_restricted", app.golden().answer(&from_nowhere));
    let script = plain(&address).with("Origin", "https://shop.example").get(&app).await;
    assert_eq!((script.status, &script.json()["title"]), (200, &json!("Hush")));
    assert_eq!(script.header("cache-control"), Some("private, max-age=60"));
    assert!(text(&script.json()["thumbnail_url"]).contains("/thumbnail.jpg?"));

    assert_eq!(ids.restrict(playback, "domains", &json!({})).await.status, 200);
    let agents = json!({"deny": ["Scraper"]});
    assert_eq!(ids.restrict(playback, "user-agents", &agents).await.status, 200);
    let scraper = plain(&address).with("User-Agent", "Scraper/1").get(&app).await;
    assert_eq!((scraper.status, scraper.json().get("title")), (200, None));
    assert_eq!(app.fetch(&address).await.json()["title"], "Hush");
}
