//! `PATCH /on-demand/{mediaId}/source-access`, and the original at `/{playbackId}/source`.

use bytes::Bytes;
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::permission::{UNKNOWN, check_patch};
use super::playback_ids::Ids;
use super::update::events_of_type;
use crate::support::{Answer, DEADLINE, HOOK, TestApp, text};

const READY: &str = "video.media.source.ready";
const DELETED: &str = "video.media.source.deleted";
const UPDATED: &str = "video.media.updated";

async fn patch(app: &TestApp, id: &str, body: &Value) -> Answer {
    app.call("PATCH", &format!("/v1/on-demand/{id}/source-access")).json(body).send().await
}

/// Enables or disables access to the original of a media.
async fn set(app: &TestApp, media: &Value, is_open: bool) {
    let answer = patch(app, text(&media["id"]), &json!({"sourceAccess": is_open})).await;
    assert_eq!((answer.status, &answer.data()["sourceAccess"]), (200, &json!(is_open)));
}

/// The URL of the original.
fn address(media: &Value) -> String {
    format!("/{}/source", text(&media["playbackIds"][0]["id"]))
}

#[tokio::test]
async fn source_access_change_emits_events() {
    let app = TestApp::start().await;
    let bytes = fixture::two_seconds();
    let media = app.ready("/a.mp4", bytes.clone()).await;
    let (id, address) = (text(&media["id"]), address(&media));
    let closed = app.fetch(&address).await;
    let mut golden = app.golden();
    let mut transcript = golden.answer(&closed);

    let opened = patch(&app, id, &json!({"sourceAccess": true, "unknown": 1})).await;
    transcript += &golden.answer(&opened);
    assert_eq!(opened.body, app.get(id).await.body, "it is answered as it is read");
    let original = app.fetch(&address).await;
    assert_eq!((original.status, &original.body), (200, &bytes));
    // The current value gets a response, but emits no event.
    assert_eq!(patch(&app, id, &json!({"sourceAccess": true})).await.data(), opened.data());

    let shut =
        app.call("PATCH", &format!("/on-demand/{id}/source-access")).json(&json!({"sourceAccess": false}));
    transcript += &golden.answer(&shut.send().await);
    assert_eq!(app.golden().answer(&app.fetch(&address).await), app.golden().answer(&closed));
    insta::assert_snapshot!("opened", transcript);

    let events: Vec<_> =
        app.posts(HOOK, 6).await.iter().map(|post| (post.event_type(), post.json())).collect();
    let names: Vec<_> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names[2..], [READY, UPDATED, DELETED, UPDATED], "after created and ready");
    let mut golden = app.golden();
    insta::assert_snapshot!("told", golden.json(&events[2].1) + &golden.json(&events[4].1));
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 2);
}

#[tokio::test]
async fn source_access_at_creation_opens_source_when_ready() {
    let app = TestApp::start().await;
    let bytes = fixture::two_seconds();
    let path = "/films/My%20film%20%C3%A9.mp4";
    // The query of the URL is not part of the file name: it may be a secret.
    let url = app.serve(path, Source::of(bytes.clone()).gate_last_byte()) + "?key=1";
    let media = app.create_with(&url, json!({"sourceAccess": true})).await;
    app.sources.wait_until_held(path, DEADLINE).await;
    assert_eq!(app.fetch(&address(&media)).await.refusal(), (400, "media is not ready".to_owned()));
    // Access may change before the original exists: then only the change emits an event.
    set(&app, &media, false).await;
    set(&app, &media, true).await;
    app.sources.release(path);
    app.wait_settled(text(&media["id"])).await;
    let original = app.fetch(&address(&media)).await;
    assert_eq!(original.body, bytes);
    assert_eq!(
        original.header("content-disposition"),
        Some("inline; filename=\"My film _.mp4\"; filename*=UTF-8''My%20film%20%C3%A9.mp4")
    );
    app.all_delivered().await;
    let names: Vec<_> = app.posts(HOOK, 5).await.iter().map(|post| post.event_type()).collect();
    assert_eq!(names, ["video.media.created", UPDATED, UPDATED, "video.media.ready", READY]);
}

#[tokio::test]
async fn source_has_its_content_type_and_a_safe_filename() {
    let app = TestApp::start().await;
    let open = json!({"sourceAccess": true});
    for (path, bytes, content_type, name) in [
        ("/a.mp4", fixture::two_seconds(), "video/mp4", "a.mp4"),
        // The content decides the type, not the name.
        ("/page.html", fixture::audio_only(), "audio/mp4", "page.html.m4a"),
        ("/b", fixture::vp9_webm(), "video/webm", ""),
        ("/c.ts", fixture::containers::transport_stream(), "video/mp2t", "c.ts"),
    ] {
        let media = app.ready_with(path, bytes.clone(), open.clone()).await;
        let answer = app.fetch(&address(&media)).await;
        assert_eq!((answer.status, &answer.body), (200, &bytes), "{path}");
        assert_eq!(answer.header("content-type"), Some(content_type), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        let name = if name.is_empty() { format!("{}.webm", text(&media["id"])) } else { name.to_owned() };
        let inline = format!("inline; filename=\"{name}\"");
        assert_eq!(answer.header("content-disposition"), Some(&*inline), "{path}");
    }
    let media = app.ready_with("/d.mp4", fixture::two_seconds(), open).await;
    let address = address(&media);
    for (query, disposition) in [
        ("download", "attachment; filename=\"d.mp4\""),
        ("download=My%20clip", "attachment; filename=\"My clip.mp4\""),
        ("download=../x%0d%0aSet-Cookie:%20a=b", "attachment; filename=\"xSet-Cookie: a=b.mp4\""),
        ("download=%22%3bx", "attachment; filename=\"__x.mp4\"; filename*=UTF-8''%22%3Bx.mp4"),
    ] {
        let answer =
            app.request("GET", &format!("{address}?{query}")).header("Range", "bytes=1-3").send().await;
        assert_eq!(
            (answer.status, answer.header("content-disposition")),
            (206, Some(disposition)),
            "{query}"
        );
        assert_eq!(answer.header("set-cookie"), None);
    }
    let longest = "x".repeat(255);
    assert_eq!(app.fetch(&format!("{address}?download={longest}")).await.status, 200);
    let refused = app.fetch(&format!("{address}?download={longest}x")).await;
    insta::assert_snapshot!("name_too_long", app.golden().answer(&refused));
}

#[tokio::test]
async fn source_of_an_upload_equals_the_uploaded_bytes() {
    let app = TestApp::start().await;
    let bytes = fixture::two_seconds();
    let body =
        json!({"corsOrigin": "*", "pushMediaSettings": {"accessPolicy": "public", "sourceAccess": true}});
    let upload = app.call("POST", "/v1/on-demand/upload").json(&body).send().await.data();
    let target =
        text(&upload["url"]).strip_prefix(&app.url("")).expect("an address of this server").to_owned();
    let sent = app.request("PUT", &target).body(bytes.clone()).send().await;
    assert_eq!(sent.status, 200, "{sent:?}");
    let media = app.wait_settled(text(&upload["uploadId"])).await;
    let original = app.fetch(&address(&media)).await;
    assert_eq!((original.status, &original.body), (200, &bytes));
    let name = format!("inline; filename=\"{}.mp4\"", text(&media["id"]));
    assert_eq!(original.header("content-disposition"), Some(&*name));
    assert_eq!(events_of_type(&app, READY).await.len(), 1);
}

#[tokio::test]
async fn source_enforces_playback_access() {
    let app = TestApp::start().await;
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), json!({"sourceAccess": true})).await;
    let ids = Ids::of(&app, &media);
    for (body, status) in [
        (json!({"accessPolicy": "private"}), 401),
        (
            json!({"accessPolicy": "public", "accessRestrictions": {"domains": {"defaultPolicy": "deny"}}}),
            403,
        ),
        // The source is not larger than this resolution.
        (json!({"accessPolicy": "public", "resolution": "480p"}), 200),
    ] {
        let made = ids.made(&body).await;
        assert_eq!(app.fetch(&format!("/{made}/source")).await.status, status, "{body}");
    }
    for unknown in [UNKNOWN, "x", "source"] {
        assert_eq!(app.fetch(&format!("/{unknown}/source")).await.refusal().0, 404, "{unknown}");
    }
    let address = address(&media);
    assert_eq!(app.request("POST", &address).send().await.status, 405);
    assert_eq!(app.delete(text(&media["id"])).await.status, 200);
    assert_eq!(app.fetch(&address).await.status, 404);
}

#[tokio::test]
async fn failed_media_has_no_source_and_emits_updated_only() {
    let app = TestApp::start().await;
    let url = app.serve("/a.txt", Source::of(Bytes::from_static(b"no media at all")));
    let media = app.create_with(&url, json!({"sourceAccess": true})).await;
    app.wait_settled(text(&media["id"])).await;
    set(&app, &media, false).await;
    set(&app, &media, true).await;
    assert_eq!(app.fetch(&address(&media)).await.status, 404);
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 2);
    assert_eq!((events_of_type(&app, READY).await.len(), events_of_type(&app, DELETED).await.len()), (0, 0));
}

#[tokio::test]
async fn invalid_value_is_422_and_read_only_token_is_403() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]);
    let mut transcript = String::new();
    for body in [
        json!({}),
        json!({"sourceAccess": null}),
        json!({"sourceAccess": "true"}),
        json!([]),
        json!({"sourceAccess": 1}),
    ] {
        let refused = patch(&app, id, &body).await;
        assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()), "{body}");
        transcript += &format!("{body} {}\n", refused.text());
    }
    insta::assert_snapshot!("refused", transcript);
    let body = json!({"sourceAccess": true});
    check_patch(&app, &media, "source-access", &body).await;
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 0);
}
