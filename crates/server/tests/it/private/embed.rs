//! The page that plays: it hands the token on, and stands where the rule on pages lets it.

use kinora_testkit::fixture;
use serde_json::json;

use super::signer::Signer;
use super::watched::{plain, refused, with_token};
use crate::api::Ids;
use crate::support::{Answer, TestApp, text};

/// The pages that may frame it.
fn ancestors(page: &Answer) -> String {
    let policy = page.header("content-security-policy").expect("it has one");
    policy.split_once("frame-ancestors ").expect("it says so").1.to_owned()
}

#[tokio::test]
async fn the_page_hands_its_token_on_and_shows_the_title_to_who_may_watch() {
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
    for (address, status) in [(address.clone(), 401), (with_token(&address, encoded), 401)] {
        let page = app.fetch(&address).await;
        assert_eq!(page.status, status);
        let shown = page.text();
        assert!(shown.contains(&format!("{playback}.m3u8")) && !shown.contains("Hush"), "{shown}");
        assert!(!shown.contains("thumbnail.jpg") && !shown.contains(strange), "{shown}");
    }
}

#[tokio::test]
async fn the_page_stands_where_the_rule_lets_it_and_plays_there() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let playback = text(&media["playbackIds"][0]["id"]);
    let (address, manifest) = (format!("/embed/{playback}"), format!("/{playback}.m3u8"));
    let from = async |address: &str, referer: &str| plain(address).with("Referer", referer).get(&app).await;
    assert_eq!(ancestors(&app.fetch(&address).await), "*");
    let rule = json!({"defaultPolicy": "deny", "allow": ["Bücher.example", "*.shop.example"]});
    assert_eq!(ids.restrict(playback, "domains", &rule).await.status, 200);
    let page = from(&address, "https://www.xn--bcher-kva.example/").await;
    assert_eq!(page.status, 200);
    assert_eq!(ancestors(&page), "xn--bcher-kva.example:* *.xn--bcher-kva.example:* *.shop.example:*");
    // Our own page asks for the manifest: it has asked for itself where it stands.
    assert_eq!(from(&manifest, &app.url(&address)).await.status, 200);
    let own = app.url("");
    assert_eq!(plain(&manifest).with("Origin", &own).get(&app).await.status, 200);
    let neighbour = format!("http://{}", app.address.ip());
    assert_eq!(
        plain(&manifest).with("Origin", &neighbour).get(&app).await.status,
        403,
        "another port is another page"
    );
    // Elsewhere there is no page.
    for referer in ["https://evil.example/", "https://shop.example/"] {
        assert_eq!(refused(&from(&address, referer).await).0, 403, "{referer}");
    }
    assert_eq!(
        app.fetch(&address).await.refusal().0,
        403,
        "whoever does not tell is not let in by the default deny"
    );
    assert_eq!(ids.restrict(playback, "domains", &json!({"defaultPolicy": "deny"})).await.status, 200);
    assert_eq!(ancestors(&from(&address, &own).await), "'none'");
    assert_eq!(ids.restrict(playback, "domains", &json!({"deny": ["evil.example"]})).await.status, 200);
    assert_eq!(ancestors(&app.fetch(&address).await), "*");
    assert_eq!(from(&address, "https://evil.example/").await.status, 403);
}
