//! `PATCH /on-demand/{mediaId}`: changes the fields that its client set.

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use crate::support::{Answer, DEADLINE, HOOK, TestApp, text};

const UPDATED: &str = "video.media.updated";
const UNKNOWN: &str = "019a492c-41f3-7001-8203-040506070809";

/// `PATCH /on-demand/{id}`, any response.
async fn patch(app: &TestApp, id: &str, body: &Value) -> Answer {
    app.call("PATCH", &format!("/v1/on-demand/{id}")).json(body).send().await
}

/// The bodies of all events of a type, after all deliveries.
pub(super) async fn events_of_type(app: &TestApp, event_type: &str) -> Vec<Value> {
    app.all_delivered().await;
    app.receiver.distinct_events(event_type).iter().map(kinora_testkit::ReceivedPost::json).collect()
}

#[tokio::test]
async fn update_response_equals_read_and_emits_one_event() {
    let app = TestApp::start().await;
    let fields =
        json!({"title": "A title", "creatorId": "creator-1", "metadata": {"season": "2", "part": "1"}});
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), fields).await;
    let id = text(&media["id"]);
    let change =
        json!({"title": "Ein Titel 🎬", "creatorId": "creator-2", "metadata": {"é": "ü"}, "unknown": [1]});
    let changed = patch(&app, id, &change).await;
    insta::assert_snapshot!("changed", app.golden().answer(&changed));
    assert_eq!(changed.body, app.get(id).await.body, "it is answered as it is read");
    assert_ne!(changed.data()["updatedAt"], media["updatedAt"]);

    let bodies = app.posts(HOOK, 3).await;
    insta::assert_snapshot!("told", app.golden().json(&bodies[2].json()));
    // The other prefix, and a single field.
    let cleared = app.call("PATCH", &format!("/on-demand/{id}")).json(&json!({"title": null})).send().await;
    let mut expected = changed.data();
    (expected["title"], expected["updatedAt"]) = (Value::Null, cleared.data()["updatedAt"].clone());
    assert_eq!(cleared.data(), expected, "absent fields are unchanged");
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 2);
}

#[tokio::test]
async fn noop_update_emits_no_event() {
    let app = TestApp::start().await;
    let fields = json!({"title": "A title", "metadata": {"season": "2"}});
    let media = app.ready_with("/a.mp4", fixture::two_seconds(), fields.clone()).await;
    let bare = app.ready("/b.mp4", fixture::two_seconds()).await;
    for (media, change) in [
        (&media, json!({})),
        (&media, fields),
        (&media, json!({"creatorId": null, "metadata": null})),
        (&bare, json!({"title": null, "metadata": {}})),
    ] {
        let answer = patch(&app, text(&media["id"]), &change).await;
        assert_eq!((answer.status, &answer.data()), (200, media), "{change}");
    }
    // A text that databases store in another form is no change the second time.
    for _ in 0..2 {
        let change = json!({"title": "a\0b", "creatorId": "\0", "metadata": {"k\0": "\0v"}});
        let answer = patch(&app, text(&media["id"]), &change).await;
        assert_eq!(answer.body, app.get(text(&media["id"])).await.body);
        assert_eq!(answer.data()["metadata"], json!({"k\u{fffd}": "\u{fffd}v"}));
    }
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 1);
}

#[tokio::test]
async fn invalid_fields_are_422_and_change_nothing() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]);
    let long = "x".repeat(256);
    let eleven: serde_json::Map<_, _> = (0..11).map(|n| (n.to_string(), json!("v"))).collect();
    let mut transcript = String::new();
    for body in [
        json!([]),
        json!("title"),
        json!({"title": 1, "creatorId": false, "metadata": []}),
        json!({"title": long, "creatorId": long, "metadata": {"a": long, "b": 1, "c": null}}),
        json!({"metadata": eleven}),
        json!({"metadata": {long: "a"}}),
    ] {
        let refused = patch(&app, id, &body).await;
        assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()), "{body}");
        transcript += &format!("{}\n", refused.text());
    }
    insta::assert_snapshot!(transcript);
    let request = || app.call("PATCH", &format!("/v1/on-demand/{id}"));
    assert_eq!(request().body("{").send().await.status, 400);
    assert_eq!(request().header("Content-Type", "text/plain").body("{}").send().await.status, 415);
    let ten: serde_json::Map<_, _> = (0..10).map(|n| (n.to_string(), json!("v"))).collect();
    assert_eq!(app.get(id).await.data(), media);
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 0);

    // The bounds themselves are valid.
    let longest = "é".repeat(255);
    let change = json!({"title": longest, "creatorId": longest, "metadata": ten});
    let changed = patch(&app, id, &change).await.data();
    for name in ["title", "creatorId", "metadata"] {
        assert_eq!(changed[name], change[name], "{name}");
    }
}

#[tokio::test]
async fn changes_need_a_read_write_token_of_the_workspace() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]);
    let path = format!("/v1/on-demand/{id}");
    let change = json!({"title": "Mine"});
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let forbidden = app.request("PATCH", &path).token(&reader).json(&change).send().await;
    assert_eq!(forbidden.refusal(), (403, "forbidden".to_owned()));
    assert_eq!(app.request("PATCH", &path).json(&change).send().await.refusal().0, 401);
    let foreign = app.request("PATCH", &path).token(&other_token).json(&change).send().await;
    let unknown = patch(&app, UNKNOWN, &change).await;
    assert_eq!(foreign.refusal(), (404, "media workspace relation not found".to_owned()));
    assert_eq!(app.golden().answer(&foreign), app.golden().answer(&unknown), "a stranger learns nothing");
    let wrong = patch(&app, "42", &change).await;
    assert_eq!((wrong.status, &wrong.json()["error"]["fields"][0]["field"]), (422, &json!("mediaId")));
    assert_eq!(app.get(id).await.data(), media);

    assert_eq!(app.delete(id).await.status, 200);
    assert_eq!(
        patch(&app, id, &change).await.refusal(),
        (404, "media workspace relation not found".to_owned())
    );
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 0);
}

#[tokio::test]
async fn media_can_be_updated_in_every_state() {
    let app = TestApp::start().await;
    let url = app.serve("/slow.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    let slow = app.create(&url).await;
    app.sources.wait_until_held("/slow.mp4", DEADLINE).await;
    let failed = app.create(&app.sources.url("/none.mp4")).await;
    app.wait_settled(text(&failed["id"])).await;
    for (media, status) in [(&slow, "Downloading"), (&failed, "Failed")] {
        let changed = patch(&app, text(&media["id"]), &json!({"title": "While it is so"})).await.data();
        assert_eq!((text(&changed["status"]), text(&changed["title"])), (status, "While it is so"));
    }
    // The running download continues with the changed fields.
    app.sources.release("/slow.mp4");
    let ready = app.wait_settled(text(&slow["id"])).await;
    assert_eq!((text(&ready["status"]), text(&ready["title"])), ("Ready", "While it is so"));
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 2);
}

#[tokio::test]
async fn concurrent_updates_all_apply_and_emit_events() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let id = text(&media["id"]);
    let changes = [
        json!({"title": "A title"}),
        json!({"creatorId": "creator-1"}),
        json!({"metadata": {"season": "2"}}),
    ];
    let [title, creator, metadata] = &changes;
    let answers = tokio::join!(patch(&app, id, title), patch(&app, id, creator), patch(&app, id, metadata));
    for answer in [answers.0, answers.1, answers.2] {
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let read = app.get(id).await.data();
    for change in &changes {
        for (name, value) in change.as_object().expect("it is one") {
            assert_eq!(&read[name], value);
        }
    }
    assert_eq!(events_of_type(&app, UPDATED).await.len(), changes.len());
}
