//! `POST /on-demand/upload` and related operations (C-139, C-142, C-143).

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::{Upload, long, still};
use crate::support::{TestApp, text};

const UPLOAD: &str = "/v1/on-demand/upload";
const UPLOADS: &str = "/v1/on-demand/uploads";
const ID: &str = "019a492c-41f3-7001-8203-040506070809";

#[tokio::test]
async fn upload_is_created_listed_and_cancelled() {
    let app = still().await;
    let body = json!({
        "corsOrigin": "HTTPS://Shop.Example:443",
        "timeout": 3600,
        "pushMediaSettings": {
            "accessPolicy": "private",
            "metadata": {"season": "2"},
            "title": "A title",
            "creatorId": "creator-1",
            "maxResolution": "2160p",
            "mediaQuality": "pro",
            "sourceAccess": true,
            "optimizeAudio": true,
            "inputs": [{"type": "video"}],
        },
        "unknown": {"is": "ignored"},
    });
    let made = app.call("POST", UPLOAD).json(&body).send().await;
    assert_eq!(made.status, 201, "{made:?}");
    let upload = Upload::of(&app, &made.data());
    let mut golden = upload.golden(&app, &fixture::two_seconds());
    insta::assert_snapshot!("made", golden.json(&made.json()));
    assert_eq!(upload.listed(&app).await, Some(made.data()));
    assert_eq!(app.get(&upload.id).await.status, 404, "there is no media before the first byte");

    let cancelled = upload.cancel(&app).await;
    assert_eq!(cancelled.status, 200, "{cancelled:?}");
    insta::assert_snapshot!("cancelled", golden.json(&cancelled.json()));
    assert_eq!(upload.listed(&app).await.expect("no file came of it")["status"], "cancelled");
    let again = upload.cancel(&app).await;
    insta::assert_snapshot!("cancelled_again", golden.answer(&again));

    let least = app.call("POST", "/on-demand/upload").json(&json!({"corsOrigin": "*"})).send().await;
    let mut golden = Upload::of(&app, &least.data()).golden(&app, &fixture::two_seconds());
    insta::assert_snapshot!("least", golden.answer(&least));
}

/// C-141: requests of the SDKs without optional fields, headers and body.
#[tokio::test]
async fn default_sdk_requests_never_get_4xx() {
    let app = TestApp::start().await;
    let nothing = json!({"domains": {"defaultPolicy": "allow", "allow": [], "deny": []},
        "userAgents": {"defaultPolicy": "allow", "allow": [], "deny": []}});
    let python = "fastpix-sdk/python 1.1.5 2.687.13 1.0.0 fastpix-python";
    let node = "fastpix-sdk/typescript 2.0.2 2.687.13 1.0.0 @fastpix/fastpix-node";
    let bodies = [
        (python, json!({"corsOrigin": "*"})),
        (
            python,
            json!({"corsOrigin": "*", "pushMediaSettings": {"accessPolicy": "public", "optimizeAudio": true}}),
        ),
        (
            python,
            json!({"corsOrigin": "*", "pushMediaSettings": {"accessPolicy": "public", "optimizeAudio": true,
                "maxResolution": "1080p", "startTime": null, "endTime": null, "inputs": null, "metadata": null, "subtitles": null}}),
        ),
        (
            node,
            json!({"corsOrigin": "*", "pushMediaSettings": {"accessPolicy": "public", "maxResolution": "1080p",
                "mediaQuality": "standard"}}),
        ),
        (
            node,
            json!({"corsOrigin": "*", "pushMediaSettings": {"accessPolicy": "public", "accessRestrictions": nothing, "metadata": {},
                "subtitles": {}, "mp4Support": "none", "sourceAccess": false, "chapters": false, "namedEntities": false,
                "summary": {"generate": false, "summaryLength": 100}}}),
        ),
    ];
    for (agent, body) in bodies {
        for path in ["/on-demand/upload", UPLOAD, "/on-demand/uploads", UPLOADS] {
            let request = app.call("POST", path).header("user-agent", agent).header("cookie", "");
            // The web header requests a URL that the browser uploader can use; all our URLs are such
            // (C-104).
            let request = request.header("Accept", "application/json").header("X-Client-Type", "web-browser");
            let answer = request.json(&body).send().await;
            assert_eq!(answer.status, 201, "{path} {body}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn invalid_body_names_every_field_and_creates_nothing() {
    let app = TestApp::start().await;
    let body = json!({
        "corsOrigin": "https://shop.example/checkout",
        "timeout": 5,
        "pushMediaSettings": {
            "accessPolicy": "open",
            "startTime": 3,
            "inputs": [{"type": "video", "url": "https://example.com/a.mp4"}, {"type": "watermark"}],
            "mp4Support": "capped_4k",
        },
    });
    let refused = app.call("POST", UPLOAD).json(&body).send().await;
    assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()));
    insta::assert_snapshot!(app.golden().json(&refused.json()));
    let missing = app.call("POST", UPLOAD).json(&json!({})).send().await;
    assert_eq!(
        missing.json()["error"]["fields"],
        json!([{"field": "corsOrigin", "message": "must not be null"}])
    );

    let list = app.call("GET", UPLOADS).send().await.json();
    assert_eq!(
        (&list["data"], &list["pagination"]["totalRecords"]),
        (&json!([]), &json!(0)),
        "nothing was made"
    );
    assert!(app.receiver.posted().is_empty(), "no event was sent");
}

#[tokio::test]
async fn deprecated_path_sends_deprecation_on_every_response() {
    let app = TestApp::start().await;
    let body = json!({"corsOrigin": "*"});
    for path in ["/on-demand/uploads", UPLOADS] {
        let answers = [
            (201, app.call("POST", path).json(&body).send().await),
            (422, app.call("POST", path).json(&json!({})).send().await),
            (401, app.request("POST", path).json(&body).send().await),
            (400, app.call("POST", path).header("Content-Type", "application/json").body("{").send().await),
        ];
        for (status, answer) in answers {
            assert_eq!(answer.status, status, "{answer:?}");
            assert_eq!(answer.header("deprecation"), Some("@1751328000"), "{answer:?}");
            assert_eq!(answer.header("sunset"), Some("Fri, 30 Jun 2028 23:59:59 GMT"));
            let link = format!("<{}>; rel=\"successor-version\"", app.url(UPLOAD));
            assert_eq!(answer.header("link"), Some(link.as_str()));
        }
        let list = app.call("GET", path).send().await;
        assert_eq!((list.status, list.header("deprecation")), (200, None), "the list has no successor");
    }
    let current = app.call("POST", UPLOAD).json(&body).send().await;
    assert_eq!((current.status, current.header("deprecation")), (201, None));
}

#[tokio::test]
async fn list_is_paged_and_omits_completed_uploads() {
    let app = TestApp::start().await;
    let page = async |query: &str| {
        let body = app.call("GET", &format!("{UPLOADS}{query}")).send().await.json();
        let items = body["data"].as_array().expect("data is a list");
        let ids: Vec<_> = items.iter().map(|item| text(&item["uploadId"]).to_owned()).collect();
        (ids, body["pagination"].clone())
    };
    let pagination = |total: u64, offset: u64, pages: u64| json!({"totalRecords": total, "currentOffset": offset, "offsetCount": pages});
    assert_eq!(page("").await, (Vec::new(), pagination(0, 1, 0)));
    let mut oldest_first = Vec::new();
    for _ in 0..3 {
        oldest_first.push(Upload::new(&app).await);
    }
    let ids: Vec<_> = oldest_first.iter().map(|upload| upload.id.clone()).collect();
    let newest_first: Vec<_> = ids.iter().rev().cloned().collect();
    assert_eq!(page("").await, (newest_first.clone(), pagination(3, 1, 1)));
    assert_eq!(page("?limit=2&offset=2&orderBy=asc").await, (ids[2..].to_vec(), pagination(3, 2, 2)));
    assert_eq!(page("?limit=1&offset=3&orderBy=desc").await, (ids[..1].to_vec(), pagination(3, 3, 3)));
    let refused = app.call("GET", &format!("{UPLOADS}?limit=51&offset=0")).send().await;
    assert_eq!(refused.refusal(), (422, "payload validation failed".to_owned()));

    let full = oldest_first[1].request(&app, "PUT").body(fixture::two_seconds()).send().await;
    assert_eq!(full.status, 200, "{full:?}");
    assert_eq!(page("").await.0, [ids[2].clone(), ids[0].clone()], "a complete one has left");
    assert_eq!(oldest_first[1].cancel(&app).await.refusal(), (400, "Bad Request".to_owned()));
    oldest_first[1].ready(&app).await;
}

#[tokio::test]
async fn create_and_cancel_need_a_read_write_token() {
    let app = TestApp::start().await;
    let upload = Upload::new(&app).await;
    let cancel = format!("{UPLOAD}/{}/cancel", upload.id);
    let body = json!({"corsOrigin": "*"});
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    for (method, path) in [("POST", UPLOAD), ("POST", UPLOADS), ("PUT", cancel.as_str())] {
        let refused = app.request(method, path).token(&reader).json(&body).send().await;
        assert_eq!(refused.refusal(), (403, "forbidden".to_owned()), "{path}");
        assert_eq!(app.request(method, path).json(&body).send().await.refusal().0, 401, "{path}");
    }
    assert_eq!(app.request("GET", UPLOADS).send().await.refusal().0, 401);
    let read = app.request("GET", UPLOADS).token(&reader).send().await.data();
    let address = app.url(&format!("/upload/{}", upload.id));
    assert_eq!(read[0]["url"], Value::from(address), "a read token gets no upload URL");
    assert_eq!(read.as_array().map(Vec::len), Some(1));

    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let foreign = app.request("PUT", &cancel).token(&other_token).send().await;
    let unknown = app.call("PUT", &format!("{UPLOAD}/{ID}/cancel")).send().await;
    assert_eq!(foreign.refusal(), (404, "media workspace relation not found".to_owned()));
    assert_eq!(app.golden().answer(&foreign), app.golden().answer(&unknown), "a stranger learns nothing");
    assert_eq!(app.request("GET", UPLOADS).token(&other_token).send().await.data(), json!([]));
    let wrong = app.call("PUT", &format!("{UPLOAD}/42/cancel")).send().await;
    assert_eq!((wrong.status, &wrong.json()["error"]["fields"][0]["field"]), (422, &Value::from("uploadId")));
    assert_eq!(upload.listed(&app).await.expect("it is there")["status"], "waiting");
}

#[tokio::test]
async fn upload_id_updates_the_media_after_the_first_byte() {
    let app = TestApp::start().await;
    let upload = Upload::new(&app).await;
    let path = format!("/v1/on-demand/{}", upload.id);
    let patch = async |title: &str| app.call("PATCH", &path).json(&json!({"title": title})).send().await;
    assert_eq!(patch("Early").await.refusal(), (404, "media workspace relation not found".to_owned()));
    let mut sending = upload.stall_after_first_bytes(&app, upload.request(&app, "PUT").body(long())).await;
    assert_eq!(patch("While it is sent").await.data()["title"], "While it is sent");
    sending.send_rest().await;
    assert_eq!(sending.answer().await.status, 200);
    assert_eq!(upload.ready(&app).await["title"], "While it is sent");
    assert_eq!(patch("Sent").await.data()["title"], "Sent");
}

#[tokio::test]
async fn other_methods_are_405_and_other_paths_404() {
    let app = TestApp::start().await;
    let check = async |method: &str, path: &str, status: u16, allow: Option<&str>| {
        let answer = app.call(method, path).send().await;
        assert_eq!((answer.refusal().0, answer.header("allow")), (status, allow), "{method} {path}");
    };
    for prefix in ["", "/v1"] {
        check("GET", &format!("{prefix}/on-demand/upload"), 405, Some("POST")).await;
        check("PUT", &format!("{prefix}/on-demand/uploads"), 405, Some("GET,HEAD,POST")).await;
        check("POST", &format!("{prefix}/on-demand/upload/{ID}/cancel"), 405, Some("PUT")).await;
        check("PUT", &format!("{prefix}/on-demand/upload/{ID}"), 404, None).await;
    }
}
