//! The finder: any id of a workspace, and titles.

use kinora_domain::Role;
use kinora_store::ListedEvent;
use serde_json::{Value, json};

use super::support::{Browser, World, problem};
use crate::support::{Answer, text};

async fn find(browser: &Browser<'_>, workspace: &str, query: &str) -> Answer {
    let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
    browser.get(&format!("/workspaces/{workspace}/find?q={query}")).await
}

async fn results(browser: &Browser<'_>, workspace: &str, query: &str) -> Vec<Value> {
    let answer = find(browser, workspace, query).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.data()["results"].as_array().unwrap().clone()
}

/// A media that is not ready.
async fn titled(world: &World, title: &str) -> Value {
    world.app.create_with("http://127.0.0.1/a.mp4", json!({"title": title})).await
}

async fn last_event(world: &World, id: &str) -> ListedEvent {
    let events = world.app.store.events_of_media(world.development().await, id.parse().unwrap(), None, 1);
    events.await.unwrap().remove(0)
}

#[tokio::test]
async fn exact_id_of_each_kind_is_found_by_a_viewer() {
    let world = World::start().await;
    let [development, production] = world.workspace_ids().await;
    let media = titled(&world, "Tour").await;
    let media_id = text(&media["id"]);
    let created = async |path: &str, body: Value| {
        let answer = world.app.call("POST", path).json(&body).send().await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.data()
    };
    let upload = created("/v1/on-demand/upload", json!({"corsOrigin": "*", "pushMediaSettings": {}})).await;
    let playlist = json!({"name": "Shorts", "referenceId": "shorts", "type": "manual"});
    let playlist = created("/v1/on-demand/playlists", playlist).await;
    let key = created("/v1/iam/signing-keys", json!({})).await;
    let track = json!({"tracks": {"url": "http://127.0.0.1/a.vtt", "type": "subtitle",
        "languageCode": "en", "languageName": "English"}});
    let track = created(&format!("/v1/on-demand/{media_id}/tracks"), track).await;

    let viewer = world.browser_of(Role::Viewer).await;
    let upload_id = text(&upload["uploadId"]);
    let [event, of_upload] = [last_event(&world, media_id).await, last_event(&world, upload_id).await];
    let expected = [
        ("media", media_id, Some(media_id), Some("Tour"), Some("Created")),
        ("playback_id", text(&media["playbackIds"][0]["id"]), Some(media_id), Some("Tour"), Some("public")),
        ("track", text(&track["id"]), Some(media_id), Some("Tour"), Some("preparing")),
        ("upload", text(&upload["uploadId"]), None, None, Some("waiting")),
        ("playlist", text(&playlist["id"]), None, Some("Shorts"), Some("manual")),
        ("signing_key", text(&key["id"]), None, None, None),
        ("event", &event.id.to_string(), Some(media_id), Some(event.kind.as_str()), None),
        ("event", &of_upload.id.to_string(), Some(upload_id), Some(of_upload.kind.as_str()), Some("waiting")),
    ];
    for (kind, id, media, title, state) in expected {
        let expected = json!({"kind": kind, "id": id, "mediaId": media, "title": title, "state": state});
        for spelling in [id.to_owned(), id.to_uppercase(), format!(" {id}\n")] {
            assert_eq!(
                results(&viewer, &development, &spelling).await,
                std::slice::from_ref(&expected),
                "{spelling}"
            );
        }
        assert_eq!(results(&viewer, &production, id).await, Vec::<Value>::new(), "{kind}");
    }
}

#[tokio::test]
async fn event_of_a_deleted_media_leads_to_its_events() {
    let world = World::start().await;
    let [development, production] = world.workspace_ids().await;
    let media = titled(&world, "Tour").await;
    let id = text(&media["id"]);
    assert_eq!(world.app.call("DELETE", &format!("/v1/on-demand/{id}")).send().await.status, 200);
    let event = last_event(&world, id).await;
    let viewer = world.browser_of(Role::Viewer).await;
    let expected = json!({"kind": "event", "id": event.id.to_string(), "mediaId": id,
        "title": "video.media.deleted", "state": "deleted"});
    assert_eq!(results(&viewer, &development, &event.id.to_string()).await, [expected]);
    assert_eq!(results(&viewer, &production, &event.id.to_string()).await, Vec::<Value>::new());
    let events = viewer.get(&format!("/workspaces/{development}/media/{id}/events")).await;
    assert_eq!(events.data()["events"][0]["id"], event.id.to_string());
}

#[tokio::test]
async fn at_most_eight_newest_media_are_found_by_title() {
    let world = World::start().await;
    let [development, production] = world.workspace_ids().await;
    for number in 0..10 {
        titled(&world, &format!("Größe {number}")).await;
        world.clock.advance_seconds(1);
    }
    titled(&world, "Other").await;
    let browser = world.browser_of(Role::Viewer).await;
    let found = results(&browser, &development, "GRÖSSE").await;
    assert_eq!(found, Vec::<Value>::new(), "ß has no other spelling");
    let found = results(&browser, &development, "GRÖ").await;
    let titles: Vec<_> = found.iter().map(|object| text(&object["title"]).to_owned()).collect();
    let expected: Vec<_> = (2..10).rev().map(|number| format!("Größe {number}")).collect();
    assert_eq!(titles, expected);
    assert!(found.iter().all(|object| object["kind"] == "media" && object["mediaId"] == object["id"]));
    assert_eq!(results(&browser, &production, "Größe").await, Vec::<Value>::new());
    for query in ["ther", "%", "_", "'; DROP TABLE media; --", "\u{0}"] {
        assert_eq!(results(&browser, &development, query).await, Vec::<Value>::new(), "{query}");
    }
}

/// A title may look like an id of nothing.
#[tokio::test]
async fn unknown_id_is_searched_as_a_title() {
    let world = World::start().await;
    let [development, _] = world.workspace_ids().await;
    let title = "019a492c-41f3-7001-8203-040506070809";
    let media = titled(&world, title).await;
    let browser = world.browser_of(Role::Viewer).await;
    let found = results(&browser, &development, title).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["id"], media["id"]);
}

#[tokio::test]
async fn query_has_1_to_255_characters() {
    let world = World::start().await;
    let [development, _] = world.workspace_ids().await;
    let browser = world.browser_of(Role::Viewer).await;
    assert_eq!(find(&browser, &development, &"😀".repeat(255)).await.status, 200);
    for query in [String::new(), "😀".repeat(256)] {
        let answer = find(&browser, &development, &query).await;
        assert_eq!(problem(&answer), (422, vec!["q".to_owned()]));
    }
    for query in ["", "?q=a&q=b", "?q=a&limit=3"] {
        let answer = browser.get(&format!("/workspaces/{development}/find{query}")).await;
        assert_eq!(answer.status, 422, "{query}");
    }
}
