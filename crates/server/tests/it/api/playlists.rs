//! `/on-demand/playlists`: created, listed, read, renamed and deleted, and the media in them.
//!
//! `playlist_plays.rs` covers playback.

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use kinora_testkit::fixture;
use serde_json::{Value, json};

use crate::support::{Answer, Request, TestApp, text};

const ALL: &str = "/v1/on-demand/playlists";
const UNKNOWN: &str = "f3b5d6c2-6a1f-4e8e-9b7f-0123456789ab";

/// The playlists of a workspace, as its owner uses them.
pub(super) struct Playlists<'a>(pub(super) &'a TestApp);

impl Playlists<'_> {
    /// `POST`, any response.
    pub(super) async fn make(&self, body: &Value) -> Answer {
        self.0.call("POST", ALL).json(body).send().await
    }

    /// `data` of a new manual playlist with these media.
    pub(super) async fn made_of(&self, reference: &str, media: &[&str]) -> Value {
        let made = self.make(&json!({"name": "N", "referenceId": reference, "type": "manual"})).await;
        assert_eq!(made.status, 201, "{made:?}");
        let made = made.data();
        if media.is_empty() {
            return made;
        }
        let filled = self.media("PATCH", text(&made["id"]), media).await;
        assert_eq!(filled.status, 200, "{filled:?}");
        filled.data()
    }

    pub(super) async fn read(&self, id: &str) -> Answer {
        self.0.call("GET", &format!("{ALL}/{id}")).send().await
    }

    pub(super) async fn delete(&self, id: &str) -> Answer {
        self.0.call("DELETE", &format!("{ALL}/{id}")).send().await
    }

    /// An operation on the media of a playlist, any response.
    pub(super) async fn media(&self, method: &str, id: &str, media: &[&str]) -> Answer {
        let path = format!("{ALL}/{id}/media");
        self.0.call(method, &path).json(&json!({"mediaIds": media})).send().await
    }
}

/// The ids of the media of a playlist.
fn media_ids(playlist: &Value) -> Vec<&str> {
    let list: Vec<_> = playlist["mediaList"].as_array().expect("a list").iter().collect();
    assert_eq!(playlist["mediaCount"], list.len());
    list.into_iter().map(|media| text(&media["id"])).collect()
}

#[tokio::test]
async fn manual_playlist_is_created_filled_reordered_emptied_and_deleted() {
    let app = TestApp::options().without_webhook().start().await;
    let first =
        app.ready_with("/a.mp4", fixture::two_seconds(), json!({"title": "A", "creatorId": "me"})).await;
    let audio = app.ready("/b.m4a", fixture::audio_only()).await;
    let (a, b) = (text(&first["id"]), text(&audio["id"]));
    let lists = Playlists(&app);
    let mut golden = app.golden();
    let body = json!({"name": "Evening", "referenceId": "evening", "type": "manual", "description": "Quiet", "limit": 2, "other": 1});
    let made = lists.make(&body).await;
    let mut transcript = format!("POST\n{}\n", golden.answer(&made));
    let made = made.data();
    let id = text(&made["id"]);
    assert_eq!(id.as_bytes()[14], b'4', "a UUID v4: the id plays");
    for (method, media) in [("PATCH", vec![b, a]), ("PUT", vec![a, b]), ("DELETE", vec![a])] {
        let answer = lists.media(method, id, &media).await;
        transcript += &format!("{method} media\n{}\n", golden.answer(&answer));
        assert_eq!(answer.data(), lists.read(id).await.data(), "{method}");
    }
    let renamed = app.call("PUT", &format!("{ALL}/{id}")).json(&json!({"name": "Night", "description": ""}));
    transcript += &format!("PUT\n{}\n", golden.answer(&renamed.send().await));
    transcript += &format!("GET all\n{}\n", golden.answer(&app.call("GET", ALL).send().await));
    transcript += &format!("DELETE\n{}\n", golden.answer(&lists.delete(id).await));
    transcript += &format!("GET\n{}\n", golden.answer(&lists.read(id).await));
    insta::assert_snapshot!("made", transcript);
    assert_eq!(lists.delete(id).await.refusal(), (404, "playlist not found".to_owned()));
    assert_eq!(app.get(a).await.data(), first, "its media stay as they are");
    let empty = app.call("GET", ALL).send().await.json();
    assert_eq!((&empty["data"], &empty["pagination"]["totalRecords"]), (&json!([]), &json!(0)));
}

#[tokio::test]
async fn smart_playlist_lists_media_in_its_date_ranges() {
    let app = TestApp::options().without_webhook().start().await;
    let mut made = Vec::new();
    for name in ["/a.mp4", "/b.mp4", "/c.mp4"] {
        made.push(app.ready(name, fixture::two_seconds()).await);
    }
    let ids: Vec<_> = made.iter().map(|media| text(&media["id"])).collect();
    let lists = Playlists(&app);
    let (first, last) = (&text(&made[0]["createdAt"])[..10], &text(&made[2]["updatedAt"])[..10]);
    let smart = |reference: &str, play_order: &str, fields: Value| {
        let mut body = json!({"name": "N", "referenceId": reference, "type": "smart", "playOrder": play_order,
            "metadata": {"createdDate": {"startDate": first, "endDate": last}}});
        body.as_object_mut().expect("it is one").extend(fields.as_object().expect("fields").clone());
        body
    };
    let newest = lists.make(&smart("newest", "createdDate DESC", json!({"limit": 2}))).await;
    insta::assert_snapshot!(
        "smart",
        app.golden().answer(&newest).replace(first, "[day]").replace(last, "[day]")
    );
    assert_eq!(media_ids(&newest.data()), [ids[2], ids[1]]);
    let updated = json!({"metadata": {"updatedDate": {"startDate": first}}});
    let oldest = lists.make(&smart("oldest", "createdDate ASC", updated)).await.data();
    assert_eq!(media_ids(&oldest), ids);
    let past = json!({"metadata": {"createdDate": {"endDate": "2020-01-01"}}});
    let past = lists.make(&smart("past", "createdDate ASC", past)).await.data();
    assert_eq!(media_ids(&past), [""; 0]);
    let list = app.call("GET", &format!("{ALL}?orderBy=asc")).send().await.data();
    let counts: Vec<_> = list.as_array().expect("a list").iter().map(|one| &one["mediaCount"]).collect();
    assert_eq!(counts, [2, 3, 0]);

    // A deleted media is no longer selected, and a new one is.
    assert_eq!(app.delete(ids[2]).await.status, 200);
    assert_eq!(media_ids(&lists.read(text(&newest.data()["id"])).await.data()), [ids[1], ids[0]]);
    let none = app.create(&app.sources.url("/none.mp4")).await;
    app.wait_settled(text(&none["id"])).await;
    let fourth = app.ready("/d.mp4", fixture::two_seconds()).await;
    let now = lists.read(text(&oldest["id"])).await.data();
    assert_eq!(media_ids(&now), [ids[0], ids[1], text(&fourth["id"])]);
    for method in ["PATCH", "PUT", "DELETE"] {
        let refused = lists.media(method, text(&oldest["id"]), &[ids[0]]).await;
        assert_eq!(refused.json()["error"]["fields"][0]["field"], "playlistId", "{refused:?}");
        assert_eq!(refused.refusal().0, 422);
    }
    assert_eq!(lists.read(text(&oldest["id"])).await.data(), now);
}

#[tokio::test]
async fn only_ready_media_are_added_and_deleted_media_leave() {
    let app = TestApp::options().without_webhook().start().await;
    let (a, b) = (
        app.ready("/a.mp4", fixture::two_seconds()).await,
        app.ready("/b.mp4", fixture::two_seconds()).await,
    );
    let failed = app.create(&app.sources.url("/none.mp4")).await;
    app.wait_settled(text(&failed["id"])).await;
    let (a, b, failed) = (text(&a["id"]), text(&b["id"]), text(&failed["id"]));
    let lists = Playlists(&app);
    let playlist = lists.made_of("r", &[a, b]).await;
    let id = text(&playlist["id"]);
    let mut golden = app.golden();
    golden.name(UNKNOWN, "[unknown]");
    let mut transcript = String::new();
    for (method, media) in [
        ("PATCH", vec![failed, UNKNOWN]),
        ("PUT", vec![a]),
        ("PUT", vec![a, b, UNKNOWN]),
        ("PUT", vec![]),
        ("DELETE", vec![a, failed]),
        ("DELETE", vec![]),
        ("PATCH", vec![]),
        ("PATCH", vec![a, a, "42"]),
    ] {
        let refused = lists.media(method, id, &media).await;
        assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()), "{method} {media:?}");
        transcript += &format!("{method} {}\n", golden.text(&refused.text()));
    }
    let small =
        lists.make(&json!({"name": "N", "referenceId": "s", "type": "manual", "limit": 1})).await.data();
    let refused = lists.media("PATCH", text(&small["id"]), &[a, b]).await;
    transcript += &format!("PATCH {}\n", golden.text(&refused.text()));
    for body in [json!({"name": "N", "referenceId": "r", "type": "manual"}), json!({"type": "smart"})] {
        let refused = lists.make(&body).await;
        transcript += &format!("POST {} {}\n", refused.refusal().0, golden.text(&refused.text()));
    }
    insta::assert_snapshot!("refused", transcript);
    assert_eq!(lists.read(id).await.data(), playlist, "nothing changed");
    // A repeated change has the same response.
    assert_eq!(lists.media("PATCH", id, &[b]).await.data(), playlist);
    assert_eq!(lists.media("PUT", id, &[a, b]).await.data(), playlist);

    assert_eq!(app.delete(a).await.status, 200);
    assert_eq!(media_ids(&lists.read(id).await.data()), [b]);
    let list = app.call("GET", ALL).send().await.data();
    assert_eq!((&list[1]["id"], &list[1]["mediaCount"]), (&playlist["id"], &json!(1)));
}

/// Every operation on a playlist.
fn operations(prefix: &str, id: &str) -> Vec<(&'static str, String, Option<Value>)> {
    let all = format!("{prefix}/on-demand/playlists");
    let media = Some(json!({"mediaIds": [UNKNOWN]}));
    vec![
        ("GET", all.clone(), None),
        ("POST", all.clone(), Some(json!({"name": "N", "referenceId": "another", "type": "manual"}))),
        ("GET", format!("{all}/{id}"), None),
        ("PUT", format!("{all}/{id}"), Some(json!({"name": "Theirs", "description": ""}))),
        ("PATCH", format!("{all}/{id}/media"), media.clone()),
        ("PUT", format!("{all}/{id}/media"), media.clone()),
        ("DELETE", format!("{all}/{id}/media"), media),
        ("DELETE", format!("{all}/{id}"), None),
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
    let app = TestApp::options().without_webhook().start().await;
    let lists = Playlists(&app);
    let playlist = lists.made_of("mine", &[]).await;
    let id = text(&playlist["id"]);
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    for (method, path, body) in operations("/v1", id) {
        let call = async |token| with(app.request(method, &path).token(token), &body).send().await;
        let read = call(&reader).await;
        if method == "GET" {
            assert_eq!(read.status, 200, "{path}");
        } else {
            assert_eq!(read.refusal(), (403, "forbidden".to_owned()), "{method} {path}");
        }
        assert_eq!(with(app.request(method, &path), &body).send().await.refusal().0, 401, "{path}");
        if !path.contains(id) {
            continue;
        }
        let foreign = call(&other_token).await;
        assert_eq!(foreign.refusal(), (404, "playlist not found".to_owned()), "{method} {path}");
        let unknown = with(app.call(method, &path.replace(id, UNKNOWN)), &body).send().await;
        assert_eq!(app.golden().answer(&foreign), app.golden().answer(&unknown), "a stranger learns nothing");
        let none = with(app.call(method, &path.replace(id, "42")), &body).send().await;
        assert_eq!(none.json()["error"]["fields"][0]["field"], "playlistId", "{none:?}");
    }
    let of_other_workspace = app.request("GET", ALL).token(&other_token).send().await;
    assert_eq!(of_other_workspace.data(), json!([]));
    assert_eq!(lists.read(id).await.data(), playlist);
    // A media of another workspace is not found in this one.
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let body = json!({"name": "N", "referenceId": "mine", "type": "manual"});
    let other = app.request("POST", ALL).token(&other_token).json(&body).send().await;
    assert_eq!(other.status, 201, "each workspace has its references");
    let path = format!("{ALL}/{}/media", text(&other.data()["id"]));
    let body = json!({"mediaIds": [media["id"]]});
    let refused = app.request("PATCH", &path).token(&other_token).json(&body).send().await;
    assert_eq!(refused.json()["error"]["fields"][0]["field"], "mediaIds[0]", "{refused:?}");
}

#[tokio::test]
async fn playlists_are_paged_and_other_methods_are_405() {
    let app = TestApp::options().without_webhook().start().await;
    let lists = Playlists(&app);
    for number in 0..3 {
        lists.made_of(&number.to_string(), &[]).await;
    }
    let page = app.call("GET", "/on-demand/playlists?limit=2&offset=2&orderBy=asc").send().await.json();
    assert_eq!(page["pagination"], json!({"totalRecords": 3, "currentOffset": 2, "offsetCount": 2}));
    assert_eq!(page["data"].as_array().map(Vec::len), Some(1));
    assert_eq!(page["data"][0]["referenceId"], "2");
    assert_eq!(app.call("GET", &format!("{ALL}?limit=51")).send().await.refusal().0, 422);
    let check = async |method: &str, path: &str, status: u16, allow: Option<&str>| {
        let answer = app.call(method, path).send().await;
        assert_eq!((answer.refusal().0, answer.header("allow")), (status, allow), "{method} {path}");
    };
    for prefix in ["", "/v1"] {
        let all = format!("{prefix}/on-demand/playlists");
        check("DELETE", &all, 405, Some("GET,HEAD,POST")).await;
        check("PATCH", &format!("{all}/{UNKNOWN}"), 405, Some("GET,HEAD,PUT,DELETE")).await;
        check("GET", &format!("{all}/{UNKNOWN}/media"), 405, Some("PATCH,PUT,DELETE")).await;
        check("GET", &format!("{all}/{UNKNOWN}/other"), 404, None).await;
    }
}
