//! Empty lists: clips of a media without one, clips of live streams and DRM configurations (D-0066, C-136).

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use serde_json::json;

use crate::support::{TestApp, text};

const ID: &str = "019a492c-41f3-7001-8203-040506070809";
const STREAM: &str = "1c5ec9c1f3d3c7b0b8e0c0b6d5b9f4a2";

#[tokio::test]
async fn empty_lists_are_paged_and_unknown_ids_are_404() {
    // Sources are rejected at once: this test needs only rows.
    let app = TestApp::options().allow_loopback(false).without_webhook().start().await;
    let media = app.create("http://127.0.0.1/a.mp4").await;
    let media = text(&media["id"]);
    let mut golden = app.golden();
    golden.name(media, "[media]");
    golden.name(ID, "[unknown]");
    let too_long = "a".repeat(256);
    golden.name(&too_long, "[256 characters]");

    let mut transcript = String::new();
    for path in [
        "/on-demand/drm-configurations".to_owned(),
        "/on-demand/drm-configurations?limit=50&offset=7&orderBy=asc".to_owned(),
        "/on-demand/drm-configurations?limit=51".to_owned(),
        format!("/on-demand/drm-configurations/{ID}"),
        "/on-demand/drm-configurations/42".to_owned(),
        format!("/on-demand/{media}/media-clips"),
        format!("/on-demand/{media}/media-clips?limit=5&offset=2"),
        format!("/on-demand/{media}/media-clips?offset=0"),
        format!("/on-demand/{ID}/media-clips"),
        "/on-demand/42/media-clips".to_owned(),
        format!("/on-demand/{STREAM}/live-clips"),
        format!("/on-demand/{media}/live-clips"),
        format!("/on-demand/{}/live-clips", &too_long[1..]),
        format!("/on-demand/{too_long}/live-clips"),
        format!("/on-demand/{STREAM}/live-clips?limit=0&orderBy=up"),
    ] {
        let bare = app.call("GET", &path).send().await;
        let prefixed = app.call("GET", &format!("/v1{path}")).send().await;
        assert_eq!((bare.status, bare.text()), (prefixed.status, prefixed.text()), "{path}");
        if bare.status != 200 {
            bare.refusal();
        }
        let shown = golden.text(&path).replace(&too_long[1..], "[255 characters]");
        transcript += &format!("GET {shown}\n{} {}\n\n", bare.status, golden.text(&bare.text()));
    }
    insta::assert_snapshot!(transcript);
}

#[tokio::test]
async fn empty_lists_need_a_workspace_token_and_allow_only_get() {
    let app = TestApp::options().allow_loopback(false).without_webhook().start().await;
    let media = app.create("http://127.0.0.1/a.mp4").await;
    let clips = format!("/v1/on-demand/{}/media-clips", text(&media["id"]));
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let drm = "/v1/on-demand/drm-configurations";
    let one = format!("{drm}/{ID}");
    let live = format!("/v1/on-demand/{STREAM}/live-clips");

    let not_found = (404, "media workspace relation not found".to_owned());
    assert_eq!(app.request("GET", &clips).token(&reader).send().await.data(), json!([]));
    assert_eq!(app.request("GET", drm).token(&reader).send().await.data(), json!([]));
    assert_eq!(app.request("GET", &one).token(&reader).send().await.refusal(), not_found);
    assert_eq!(app.request("GET", &live).token(&reader).send().await.data(), json!([]));

    let foreign = app.request("GET", &clips).token(&other_token).send().await;
    let unknown = app.call("GET", &format!("/v1/on-demand/{ID}/media-clips")).send().await;
    assert_eq!(app.golden().answer(&foreign), app.golden().answer(&unknown));

    for path in [&clips, drm, &one, &live] {
        let unauthorized = app.request("GET", path).send().await;
        assert_eq!(unauthorized.refusal(), (401, "unauthorized".to_owned()), "{path}");
        let written = app.call("POST", path).json(&json!({})).send().await;
        assert_eq!(written.refusal(), (405, "method not allowed".to_owned()), "{path}");
        assert_eq!(written.header("allow"), Some("GET,HEAD"), "{path}");
    }
    app.delete(text(&media["id"])).await;
    assert_eq!(app.call("GET", &clips).send().await.refusal(), not_found, "with its media the list is gone");
}
