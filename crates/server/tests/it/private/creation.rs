//! Rules that are set at the creation of a media, from a URL or by an upload.

use kinora_testkit::fixture;
use serde_json::json;

use super::watched::plain;
use crate::support::{TestApp, text};

#[tokio::test]
async fn access_restrictions_at_creation_apply_to_the_first_playback_id() {
    let app = TestApp::start().await;
    let rules = json!({
        "domains": {"defaultPolicy": "deny", "allow": ["shop.example"], "deny": []},
        "userAgents": {"defaultPolicy": "allow", "allow": [], "deny": ["curl/"]},
    });
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"accessRestrictions": rules})).await;
    let event = app.event("video.media.created").await;
    for shown in [&media["playbackIds"][0], &event["data"]["playbackIds"][0]] {
        assert_eq!(shown["accessRestrictions"], rules);
    }
    let manifest = format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]));
    assert_eq!(plain(&manifest).get(&app).await.status, 403);
    let shop = plain(&manifest).with("Origin", "https://shop.example");
    assert_eq!(shop.get(&app).await.status, 200);
    assert_eq!(shop.with("User-Agent", "curl/8").get(&app).await.status, 403);
}

#[tokio::test]
async fn access_restrictions_of_an_upload_apply_to_its_media() {
    let app = TestApp::start().await;
    let rules = json!({
        "domains": {"defaultPolicy": "allow", "allow": [], "deny": ["evil.example"]},
        "userAgents": {"defaultPolicy": "allow", "allow": [], "deny": []},
    });
    let settings = json!({"accessPolicy": "public", "accessRestrictions": rules});
    let body = json!({"corsOrigin": "*", "pushMediaSettings": settings});
    let upload = app.call("POST", "/v1/on-demand/upload").json(&body).send().await.data();
    assert_eq!(upload["pushMediaSettings"]["playbackIds"][0]["accessRestrictions"], rules);
    let event = app.event("video.media.upload").await;
    assert_eq!(event["data"]["pushMediaSettings"]["playbackIds"][0]["accessRestrictions"], rules);
    let address = text(&upload["url"]).replace(&app.url(""), "");
    let sent = app.request("PUT", &address).body(fixture::two_seconds()).send().await;
    assert!(sent.status < 300, "{sent:?}");
    let media = app.wait_settled(text(&upload["uploadId"])).await;
    assert_eq!(media["playbackIds"][0]["accessRestrictions"], rules);
    let manifest = plain(&format!("/{}.m3u8", text(&media["playbackIds"][0]["id"])));
    assert_eq!(manifest.get(&app).await.status, 200);
    assert_eq!(manifest.with("Origin", "https://evil.example").get(&app).await.status, 403);
}
