//! `/on-demand/{mediaId}/playback-ids`: created, listed, read, restricted and deleted.
//!
//! `access_change.rs` has the effects on viewers.

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::permission::UNKNOWN;
use super::update::events_of_type;
use crate::support::{Answer, DEADLINE, HOOK, Request, TestApp, text};

const UPDATED: &str = "video.media.updated";
/// The most playback IDs of a media, and the most entries of a list (D-0067).
const IDS_MAX: usize = 50;
const ENTRIES_MAX: usize = 100;

/// The playback IDs of a media, as its owner uses them.
pub(crate) struct Ids<'a> {
    app: &'a TestApp,
    media: &'a str,
}

impl<'a> Ids<'a> {
    pub(crate) fn of(app: &'a TestApp, media: &'a Value) -> Self {
        Self { app, media: text(&media["id"]) }
    }

    fn path(&self, rest: &str) -> String {
        format!("/v1/on-demand/{}/playback-ids{rest}", self.media)
    }

    /// `POST`, any response.
    pub(crate) async fn make(&self, body: &Value) -> Answer {
        self.app.call("POST", &self.path("")).json(body).send().await
    }

    /// Creates a playback ID and returns its id.
    pub(crate) async fn made(&self, body: &Value) -> String {
        let answer = self.make(body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        text(&answer.data()["id"]).to_owned()
    }

    pub(crate) async fn list(&self) -> Answer {
        self.app.call("GET", &self.path("")).send().await
    }

    pub(crate) async fn read(&self, id: &str) -> Answer {
        self.app.call("GET", &self.path(&format!("/{id}"))).send().await
    }

    pub(crate) async fn delete(&self, id: &str) -> Answer {
        self.app.call("DELETE", &self.path(&format!("?playbackId={id}"))).send().await
    }

    /// `PATCH …/domains` or `…/user-agents`, any response.
    pub(crate) async fn restrict(&self, id: &str, kind: &str, rule: &Value) -> Answer {
        self.app.call("PATCH", &self.path(&format!("/{id}/{kind}"))).json(rule).send().await
    }
}

#[tokio::test]
async fn playback_id_is_created_listed_read_and_deleted() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let mut golden = app.golden();
    let mut transcript = golden.answer(&ids.list().await);
    let rules = json!({"domains": {"defaultPolicy": "deny", "allow": ["example.com", "*.example.org"], "deny": ["b.example"]},
        "userAgents": {"deny": ["curl/"]}, "unknown": 1});
    for body in [
        json!({}),
        json!({"accessPolicy": "public", "accessRestrictions": null, "resolution": null, "drmConfigurationId": UNKNOWN}),
        json!({"accessPolicy": "private"}),
        json!({"accessPolicy": "private", "resolution": "480p"}),
        json!({"accessPolicy": "public", "accessRestrictions": rules, "resolution": "2160p"}),
    ] {
        transcript += &golden.answer(&ids.make(&body).await);
    }
    let list = ids.list().await;
    transcript += &golden.answer(&list);
    let made = list.data();
    let made = made.as_array().expect("a list");
    assert_eq!(made.len(), 6);
    for one in made {
        assert_eq!(&ids.read(text(&one["id"])).await.data(), one);
        assert_eq!(text(&one["id"]).as_bytes()[14], b'4', "a UUID v4 (C-43)");
    }
    transcript += &golden.answer(&ids.read(text(&made[5]["id"])).await);
    transcript += &golden.answer(&ids.delete(text(&made[5]["id"])).await);
    insta::assert_snapshot!("made", transcript);

    let gone = ids.read(text(&made[5]["id"])).await;
    assert_eq!(gone.refusal(), (404, "Media/PlaybackId not Found".to_owned()));
    assert_eq!(ids.delete(text(&made[5]["id"])).await.refusal(), gone.refusal());
    assert_eq!(ids.list().await.data(), json!(made[..5]));
    // The media shows the same, without the maximum resolution (C-121).
    let mut shown = made[..5].to_vec();
    for one in &mut shown {
        one.as_object_mut().expect("it is one").remove("resolution");
    }
    let now = app.get(ids.media).await.data();
    assert_eq!(now["playbackIds"], json!(shown));
    assert_ne!(now["updatedAt"], media["updatedAt"]);
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 6, "five made, one deleted");
}

#[tokio::test]
async fn playback_id_change_emits_event_noop_emits_none() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let first = text(&media["playbackIds"][0]["id"]);
    let mut golden = app.golden();
    let mut transcript = String::new();
    let rule = json!({"defaultPolicy": "deny", "allow": ["example.com"], "deny": []});
    for (kind, rule, is_another) in [
        ("domains", json!({}), false),
        ("domains", rule.clone(), true),
        ("domains", rule.clone(), false),
        ("user-agents", json!({"deny": ["curl/", "Wget"]}), true),
        // A new list replaces the old one.
        ("user-agents", json!({"allow": ["Mozilla"]}), true),
        ("user-agents", json!({"defaultPolicy": "allow", "allow": ["Mozilla"], "deny": null}), false),
        ("domains", json!({"defaultPolicy": "allow"}), true),
        ("user-agents", json!({}), true),
    ] {
        let before = app.get(ids.media).await.data();
        let answer = ids.restrict(first, kind, &rule).await;
        transcript += &format!("{kind} {rule}\n{}\n", golden.answer(&answer));
        let stored = ids.read(first).await.data();
        let name = if kind == "domains" { "domains" } else { "userAgents" };
        assert_eq!(stored["accessRestrictions"][name], answer.data(), "{kind} {rule}");
        assert_eq!(app.get(ids.media).await.data()["updatedAt"] != before["updatedAt"], is_another, "{rule}");
    }
    insta::assert_snapshot!("rules", transcript);
    let second = ids.made(&json!({"accessPolicy": "public"})).await;
    assert_eq!(ids.delete(&second).await.status, 200);
    let events = events_of_type(&app, UPDATED).await;
    assert_eq!(events.len(), 7);
    let posts = app.posts(HOOK, 9).await;
    assert_eq!(posts.len(), 9, "created, ready, and each change once");
    insta::assert_snapshot!("told", app.golden().json(&events[6]));
    for event in &events {
        let facts = json!({"mediaId": media["id"], "isNamedEntitiesEnabled": false});
        assert_eq!((&event["data"], &event["status"]), (&facts, &json!("media_created")));
    }
}

#[tokio::test]
async fn invalid_fields_are_422_and_change_nothing() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let first = text(&media["playbackIds"][0]["id"]).to_owned();
    let many = |count: usize| (0..count).map(|n| format!("{n}.example")).collect::<Vec<_>>();
    let (long, longest) = ("x".repeat(256), "x".repeat(255));
    let mut transcript = String::new();
    for body in [
        json!([]),
        json!({"accessPolicy": "open", "resolution": "360p", "drmConfigurationId": "7"}),
        json!({"accessPolicy": "Public", "resolution": 720}),
        json!({"accessPolicy": "drm", "drmConfigurationId": UNKNOWN, "resolution": "4320p"}),
        json!({"accessPolicy": 1, "accessRestrictions": []}),
        json!({"accessRestrictions": {"domains": "a.example", "userAgents": {"defaultPolicy": "maybe"}}}),
        json!({"accessRestrictions": {"domains": {"allow": many(ENTRIES_MAX + 1), "deny": [long]}}}),
        json!({"accessRestrictions": {"domains": {"allow": ["https://example.com", "", 1, "*"]}}}),
        json!({"accessRestrictions": {"userAgents": {"allow": ["", longest, long], "deny": {}}}}),
    ] {
        let refused = ids.make(&body).await;
        assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()), "{body}");
        transcript += &format!("{}\n", refused.text());
    }
    for (kind, rule) in [
        ("domains", json!("deny")),
        ("domains", json!({"defaultPolicy": false, "allow": 1, "deny": [null, "a b"]})),
        ("user-agents", json!({"deny": many(ENTRIES_MAX + 1), "allow": [[]]})),
    ] {
        let refused = ids.restrict(&first, kind, &rule).await;
        assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()), "{rule}");
        transcript += &format!("{}\n", refused.text());
    }
    let path = ids.path("");
    for query in
        ["", "?playbackId", "?playbackId=", "?playbackId=42", "?playbackid=x", "?playbackId=a&playbackId=b"]
    {
        let refused = app.call("DELETE", &format!("{path}{query}")).send().await;
        assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()), "{query}");
        transcript += &format!("{query} {}\n", refused.text());
    }
    insta::assert_snapshot!(transcript);
    assert_eq!(app.get(ids.media).await.data(), media);
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 0);

    // The bounds themselves are valid.
    let full = json!({"defaultPolicy": "deny", "allow": many(ENTRIES_MAX), "deny": many(ENTRIES_MAX)});
    assert_eq!(ids.restrict(&first, "domains", &full).await.data(), full);
    let full =
        json!({"defaultPolicy": "allow", "allow": vec![longest; ENTRIES_MAX], "deny": ["é".repeat(255)]});
    assert_eq!(ids.restrict(&first, "user-agents", &full).await.data(), full);
    for resolution in ["480p", "720p", "1080p", "1440p", "2160p"] {
        let made = ids.make(&json!({"resolution": resolution})).await;
        assert_eq!(made.data()["resolution"], resolution);
    }
}

#[tokio::test]
async fn playback_id_limit_per_media_is_enforced() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.create(&app.sources.url("/none.mp4")).await;
    app.wait_settled(text(&media["id"])).await;
    let ids = Ids::of(&app, &media);
    for _ in 1..IDS_MAX {
        ids.made(&json!({"accessPolicy": "private"})).await;
    }
    let refused = ids.make(&json!({"accessPolicy": "private"})).await;
    insta::assert_snapshot!("too_many", app.golden().answer(&refused));
    let list = ids.list().await.data();
    assert_eq!(list.as_array().map(Vec::len), Some(IDS_MAX));
    assert_eq!(ids.delete(text(&list[7]["id"])).await.status, 200);
    ids.made(&json!({"accessPolicy": "public"})).await;
}

/// Every operation on a media and one of its playback IDs.
fn operations(prefix: &str, media: &str, playback: &str) -> Vec<(&'static str, String, Option<Value>)> {
    let all = format!("{prefix}/on-demand/{media}/playback-ids");
    vec![
        ("GET", all.clone(), None),
        ("GET", format!("{all}/{playback}"), None),
        ("POST", all.clone(), Some(json!({"accessPolicy": "public"}))),
        ("PATCH", format!("{all}/{playback}/domains"), Some(json!({"defaultPolicy": "deny"}))),
        ("PATCH", format!("{all}/{playback}/user-agents"), Some(json!({"defaultPolicy": "deny"}))),
        ("DELETE", format!("{all}?playbackId={playback}"), None),
    ]
}

fn with(request: Request, body: &Option<Value>) -> Request {
    match body {
        Some(body) => request.json(body),
        None => request,
    }
}

#[tokio::test]
async fn changes_need_a_read_write_token_of_the_workspace() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let other = app.ready("/b.mp4", fixture::two_seconds()).await;
    let (id, playback) = (text(&media["id"]), text(&media["playbackIds"][0]["id"]));
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    for (method, path, body) in operations("/v1", id, playback) {
        let call = async |token| with(app.request(method, &path).token(token), &body).send().await;
        let read = call(&reader).await;
        if method == "GET" {
            assert_eq!(read.status, 200, "{path}");
        } else {
            assert_eq!(read.refusal(), (403, "forbidden".to_owned()), "{path}");
        }
        assert_eq!(with(app.request(method, &path), &body).send().await.refusal().0, 401, "{path}");
        let foreign = call(&other_token).await;
        let message = if path.ends_with("/playback-ids") {
            "media workspace relation not found"
        } else {
            "Media/PlaybackId not Found"
        };
        assert_eq!(foreign.refusal(), (404, message.to_owned()), "{method} {path}");
        let nowhere = path.replace(id, UNKNOWN);
        let unknown = with(app.call(method, &nowhere), &body).send().await;
        assert_eq!(app.golden().answer(&foreign), app.golden().answer(&unknown), "a stranger learns nothing");
    }
    // A playback ID of another media in the same workspace, and an unknown one.
    let unknown = "f3b5d6c2-6a1f-4e8e-9b7f-0123456789ab";
    for (media, playback) in
        [(&other, playback), (&media, text(&other["playbackIds"][0]["id"])), (&media, unknown)]
    {
        for (method, path, body) in operations("", text(&media["id"]), playback) {
            if path.contains(playback) {
                let answer = with(app.call(method, &path), &body).send().await;
                assert_eq!(
                    answer.refusal(),
                    (404, "Media/PlaybackId not Found".to_owned()),
                    "{method} {path}"
                );
            }
        }
    }
    for (method, path, body) in operations("/v1", "42", "not-an-id") {
        let answer = with(app.call(method, &path), &body).send().await;
        let fields: Vec<_> = answer.json()["error"]["fields"].as_array().expect("fields").clone();
        let named: Vec<_> = fields.iter().map(|field| text(&field["field"])).collect();
        let expected: &[&str] =
            if path.contains("/not-an-id") { &["mediaId", "playbackId"] } else { &["mediaId"] };
        assert_eq!((answer.status, &*named), (422, expected), "{method} {path}");
    }
    assert_eq!(app.get(id).await.data(), media);
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 0);
}

#[tokio::test]
async fn other_methods_are_405_and_other_paths_404() {
    let app = TestApp::start().await;
    let check = async |method: &str, path: &str, status: u16, allow: Option<&str>| {
        let answer = app.call(method, path).send().await;
        assert_eq!((answer.refusal().0, answer.header("allow")), (status, allow), "{method} {path}");
    };
    for prefix in ["", "/v1"] {
        let all = format!("{prefix}/on-demand/{UNKNOWN}/playback-ids");
        check("PUT", &all, 405, Some("GET,HEAD,POST,DELETE")).await;
        check("DELETE", &format!("{all}/{UNKNOWN}"), 405, Some("GET,HEAD")).await;
        check("GET", &format!("{all}/{UNKNOWN}/domains"), 405, Some("PATCH")).await;
        check("PUT", &format!("{all}/{UNKNOWN}/user-agents"), 405, Some("PATCH")).await;
        check("GET", &format!("{all}/{UNKNOWN}/countries"), 404, None).await;
        check("GET", &format!("{all}/"), 404, None).await;
    }
}

#[tokio::test]
async fn playback_ids_change_during_download() {
    let app = TestApp::start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    let media = app.create(&url).await;
    app.sources.wait_until_held("/a.mp4", DEADLINE).await;
    let ids = Ids::of(&app, &media);
    let second = ids.made(&json!({"accessPolicy": "public"})).await;
    assert_eq!(ids.delete(text(&media["playbackIds"][0]["id"])).await.status, 200);
    assert_eq!(app.fetch(&format!("/{second}.m3u8")).await.refusal().1, "media is not ready");

    app.sources.release("/a.mp4");
    let ready = app.wait_settled(text(&media["id"])).await;
    assert_eq!(ready["playbackIds"][0]["id"], json!(second));
    assert_eq!(ready["thumbnail"], json!(app.url(&format!("/{second}/thumbnail.png"))));
    assert_eq!(app.fetch(&format!("/{second}.m3u8")).await.status, 200);
    let event = app.event("video.media.ready").await;
    assert_eq!(event["data"]["playbackIds"], ready["playbackIds"]);
}

#[tokio::test]
async fn media_without_playback_ids_remains_and_accepts_a_new_one() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    assert_eq!(ids.delete(text(&media["playbackIds"][0]["id"])).await.status, 200);
    let bare = app.get(ids.media).await.data();
    assert_eq!(
        (&bare["status"], &bare["playbackIds"], &bare["thumbnail"]),
        (&json!("Ready"), &json!([]), &Value::Null)
    );
    assert_eq!(ids.list().await.data(), json!([]));
    let again = ids.made(&json!({"accessPolicy": "public"})).await;
    assert_eq!(app.fetch(&format!("/{again}.m3u8")).await.status, 200);
}

#[tokio::test]
async fn concurrent_creates_are_all_listed_and_each_emits_updated() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = Ids::of(&app, &media);
    let (public, private) = (json!({"accessPolicy": "public"}), json!({"accessPolicy": "private"}));
    let made = tokio::join!(ids.made(&public), ids.made(&private), ids.made(&public), ids.made(&private));
    let list = ids.list().await.data();
    let listed: Vec<_> = list.as_array().expect("a list").iter().map(|one| text(&one["id"])).collect();
    assert_eq!(listed.len(), 5);
    for id in [made.0, made.1, made.2, made.3] {
        assert!(listed.contains(&id.as_str()), "{id} is not in {list}");
    }
    assert_eq!(events_of_type(&app, UPDATED).await.len(), 4);
}
