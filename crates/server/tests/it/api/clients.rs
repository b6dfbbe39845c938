//! Default requests of published clients: no operation rejects them, and each response has the fields they
//! read.
//!
//! C-128, C-131, C-141, C-156, C-161 and C-171 define these bodies, and C-102 the headers. C-194 defines the
//! fields of clips.

use kinora_testkit::fixture::images;
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use crate::support::{Answer, Request, TestApp, text};

/// A published client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    Python,
    Node,
}

impl Client {
    const ALL: [Self; 2] = [Self::Python, Self::Node];

    /// The headers of all its requests (C-102). Node sends an empty `cookie` too.
    fn client_headers(self, request: Request) -> Request {
        let request = request.header("Accept", "application/json");
        match self {
            Self::Python => {
                request.header("User-Agent", "fastpix-sdk/python 1.1.5 2.687.13 1.0.0 fastpix-python")
            }
            Self::Node => request
                .header("User-Agent", "fastpix-sdk/typescript 2.0.2 2.687.13 1.0.0 @fastpix/fastpix-node")
                .header("Cookie", ""),
        }
    }

    /// `POST /on-demand` with only a URL (C-128).
    fn media(self, url: &str) -> Value {
        let inputs = json!([{"type": "video", "url": url}]);
        match self {
            Self::Python => {
                json!({"inputs": inputs, "accessPolicy": "public", "optimizeAudio": false, "maxResolution": "1080p"})
            }
            Self::Node => json!({"inputs": inputs, "maxResolution": "1080p", "mediaQuality": "standard"}),
        }
    }

    /// `POST /on-demand/upload` with only an origin and a policy (C-141).
    fn upload(self) -> Value {
        let settings = match self {
            Self::Python => {
                json!({"accessPolicy": "public", "optimizeAudio": true, "maxResolution": "1080p"})
            }
            Self::Node => {
                json!({"accessPolicy": "public", "maxResolution": "1080p", "mediaQuality": "standard"})
            }
        };
        json!({"corsOrigin": "*", "pushMediaSettings": settings})
    }

    /// The range of a clip. Python sends fractions, also of whole numbers. Node rejects fractions in
    /// `POST /on-demand`.
    fn range(self) -> Value {
        match self {
            Self::Python => json!({"startTime": 4.0, "endTime": 6.5}),
            Self::Node => json!({"startTime": 4, "endTime": 6}),
        }
    }

    /// The duration of a media with [`Client::range`].
    fn range_duration(self) -> &'static str {
        match self {
            Self::Python => "00:00:03",
            Self::Node => "00:00:02",
        }
    }

    /// `POST /on-demand` with a range of the video at a URL, which may name a media.
    fn clip(self, url: &str) -> Value {
        let mut body = self.media(url);
        extend(&mut body["inputs"][0], self.range());
        body
    }

    /// `POST /on-demand/upload` with a range. Python may send it in a video input too, and then needs a URL.
    /// The video input of Node has no times.
    fn upload_clips(self) -> Vec<Value> {
        let mut in_settings = self.upload();
        extend(&mut in_settings["pushMediaSettings"], self.range());
        if self == Self::Node {
            return vec![in_settings];
        }
        let mut in_input = self.upload();
        in_input["pushMediaSettings"]["inputs"] = json!([{"type": "video", "url": ""}]);
        extend(&mut in_input["pushMediaSettings"]["inputs"][0], self.range());
        vec![in_settings, in_input]
    }

    /// `POST /on-demand` with an image on the video: with all settings, and with none. Both clients send
    /// the same, as texts.
    fn watermarked(self, url: &str, image: &str) -> [Value; 2] {
        let placement = json!({"xAlign": "right", "xMargin": "5%", "yAlign": "bottom", "yMargin": "24px"});
        let without = json!({"type": "watermark", "url": image});
        let mut with = without.clone();
        extend(&mut with, json!({"placement": placement, "width": "20%", "opacity": "80%"}));
        [with, without].map(|watermark| {
            let mut body = self.media(url);
            body["inputs"].as_array_mut().expect("a list").push(watermark);
            body
        })
    }

    /// `PATCH /on-demand/{mediaId}` with only metadata: Node adds the values of the examples in its document
    /// (C-131).
    fn update(self) -> Value {
        let metadata = json!({"key1": "value1"});
        match self {
            Self::Python => json!({"metadata": metadata}),
            Self::Node => {
                json!({"metadata": metadata, "title": "My Video Title", "creatorId": "a fixed one"})
            }
        }
    }

    /// `POST /on-demand/{mediaId}/playback-ids` with only a policy (C-161).
    fn playback_id(self) -> Value {
        match self {
            Self::Python => json!({"accessPolicy": "public"}),
            Self::Node => json!({"accessPolicy": "public", "accessRestrictions": nothing_restricted()}),
        }
    }

    /// `PATCH /on-demand/{mediaId}/tracks/{trackId}`, one after another.
    ///
    /// Python has no field for the URL and an additional `title`, and sends only fields that were set
    /// (C-156).
    fn track_updates(self, url: &str) -> Vec<Value> {
        match self {
            Self::Python => vec![
                json!({"title": "My title"}),
                json!({}),
                json!({"languageName": "British"}),
                json!({"languageCode": "en-GB", "title": "My title"}),
                json!({"languageCode": "en-GB", "languageName": "British", "title": "My title"}),
            ],
            Self::Node => vec![json!({"url": url, "languageCode": "en-GB", "languageName": "British"})],
        }
    }

    /// `POST /on-demand/playlists` with only the required fields (C-171): Node adds a limit.
    fn playlist(self, reference: &str, smart: bool) -> Value {
        let mut body = if smart {
            let range = json!({"startDate": "2024-11-11", "endDate": "2099-12-12"});
            let dates = json!({"createdDate": range, "updatedDate": range});
            json!({"name": "P", "referenceId": reference, "type": "smart", "playOrder": "createdDate ASC", "metadata": dates})
        } else {
            json!({"name": "P", "referenceId": reference, "type": "manual"})
        };
        if self == Self::Node {
            body["limit"] = json!(1000);
        }
        body
    }
}

/// Adds these fields to an object.
fn extend(object: &mut Value, fields: Value) {
    let Value::Object(fields) = fields else { panic!("no object: {fields}") };
    object.as_object_mut().expect("an object").extend(fields);
}

fn nothing_restricted() -> Value {
    let rule = json!({"defaultPolicy": "allow", "allow": [], "deny": []});
    json!({"domains": rule, "userAgents": rule})
}

/// `data` of a response that must be a success.
///
/// Checks the content type, which clients check before they read the body.
#[track_caller]
fn accepted(answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    answer.data()
}

/// Checks that all these fields exist.
#[track_caller]
fn check_fields(data: &Value, fields: &[&str]) {
    for field in fields {
        assert!(data.get(field).is_some(), "without {field}: {data}");
    }
}

#[tokio::test]
async fn default_sdk_body_creates_media() {
    let app = TestApp::options().without_webhook().start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()));
    // Every optional field set to its default, or to an empty value.
    let input = json!([{"type": "video", "url": url}]);
    let filled = json!({"inputs": input, "accessPolicy": "public", "accessRestrictions": nothing_restricted(), "metadata": {},
        "subtitles": {}, "mp4Support": "none", "sourceAccess": false, "chapters": false, "namedEntities": false,
        "summary": {"generate": false, "summaryLength": 100}});
    let emptied = json!({"inputs": input, "title": null, "creatorId": null, "metadata": null, "subtitles": null,
        "moderation": null, "accessRestrictions": null, "drmConfigurationId": null});
    for client in Client::ALL {
        for path in ["/on-demand", "/v1/on-demand"] {
            for body in [client.media(&url), filled.clone(), emptied.clone()] {
                let answer = client.client_headers(app.call("POST", path)).json(&body).send().await;
                let made = accepted(&answer, 201);
                check_fields(
                    &made,
                    &[
                        "id",
                        "trial",
                        "status",
                        "createdAt",
                        "updatedAt",
                        "playbackIds",
                        "metadata",
                        "mediaQuality",
                        "sourceAccess",
                        "maxResolution",
                        "inputs",
                        "optimizeAudio",
                    ],
                );
                assert_eq!(
                    (&made["status"], &made["inputs"][0]["url"]),
                    (&json!("Created"), &json!(url)),
                    "{client:?}"
                );
                assert_eq!(made["playbackIds"][0]["accessPolicy"], "public", "{client:?}");
                assert_eq!(app.wait_settled(text(&made["id"])).await["status"], "Ready", "{client:?}");
            }
        }
    }
}

#[tokio::test]
async fn default_sdk_requests_create_list_and_cancel_an_upload() {
    let app = TestApp::options().without_webhook().start().await;
    for client in Client::ALL {
        for path in ["/on-demand/upload", "/v1/on-demand/upload", "/v1/on-demand/uploads"] {
            let answer = client.client_headers(app.call("POST", path)).json(&client.upload()).send().await;
            let made = accepted(&answer, 201);
            check_fields(
                &made,
                &["uploadId", "trial", "status", "url", "timeout", "corsOrigin", "pushMediaSettings"],
            );
            check_fields(
                &made["pushMediaSettings"],
                &[
                    "playbackIds",
                    "metadata",
                    "mediaQuality",
                    "sourceAccess",
                    "optimizeAudio",
                    "maxResolution",
                ],
            );
            assert!(made["timeout"].is_u64(), "clients read an integer: {made}");
            let settings = &made["pushMediaSettings"];
            assert_eq!(settings["optimizeAudio"], client == Client::Python, "it is echoed");
            let warnings = &answer.json()["warnings"];
            assert!(warnings.is_null(), "each setting has an effect: {warnings}");

            let listed = client.client_headers(app.call("GET", "/v1/on-demand/uploads?limit=1")).send().await;
            assert_eq!(accepted(&listed, 200)[0]["uploadId"], made["uploadId"]);
            let cancel = format!("/v1/on-demand/upload/{}/cancel", text(&made["uploadId"]));
            let cancelled = accepted(&client.client_headers(app.call("PUT", &cancel)).send().await, 200);
            check_fields(
                &cancelled,
                &[
                    "uploadId",
                    "trial",
                    "status",
                    "url",
                    "timeout",
                    "corsOrigin",
                    "maxResolution",
                    "accessPolicy",
                    "metadata",
                ],
            );
            assert_eq!(cancelled["status"], "cancelled");
        }
    }
}

#[tokio::test]
async fn sdk_requests_cut_a_file_and_a_media_and_list_clips() {
    let app = TestApp::options().without_webhook().start().await;
    for client in Client::ALL {
        let film = app.ready("/film.mp4", fixture::large_two_tracks()).await;
        let post = async |body: Value| {
            let answer = client.client_headers(app.call("POST", "/v1/on-demand")).json(&body).send().await;
            let created = accepted(&answer, 201);
            let media = app.wait_settled(text(&created["id"])).await;
            assert_eq!(
                (&media["status"], &media["duration"]),
                (&json!("Ready"), &json!(client.range_duration())),
                "{client:?}: {media}"
            );
            (created, media)
        };
        let url = app.serve("/film.mp4", Source::of(fixture::large_two_tracks()));
        let (_, of_file) = post(client.clip(&url)).await;
        assert_eq!(of_file["sourceMediaId"], Value::Null, "{client:?}");
        let (created, of_media) = post(client.clip(&format!("fp_mediaId://{}", text(&film["id"])))).await;
        assert_eq!((&created["sourceMediaId"], &of_media["sourceMediaId"]), (&film["id"], &film["id"]));

        // Both clients send every parameter, each in its own order.
        let query = match client {
            Client::Python => "offset=1&limit=10&orderBy=desc",
            Client::Node => "limit=10&offset=1&orderBy=desc",
        };
        let path = format!("/v1/on-demand/{}/media-clips?{query}", text(&film["id"]));
        let listed = client.client_headers(app.call("GET", &path)).send().await;
        let clips = accepted(&listed, 200);
        assert_eq!((clips.as_array().map(Vec::len), &clips[0]["id"]), (Some(1), &of_media["id"]));
        check_fields(&clips[0], &["id", "duration", "status", "thumbnail", "createdAt", "playbackIds"]);
        check_fields(&clips[0]["playbackIds"][0], &["id", "accessPolicy"]);
        check_fields(&listed.json()["pagination"], &["totalRecords", "currentOffset", "offsetCount"]);
    }
}

#[tokio::test]
async fn sdk_requests_draw_a_watermark() {
    let app = TestApp::options().without_webhook().start().await;
    let film = app.serve("/film.mp4", Source::of(fixture::large_two_tracks()));
    let image = app.serve("/logo.png", Source::of(images::plain_png("red", 64, 36, "")));
    let mut drawn = 0;
    for client in Client::ALL {
        for body in client.watermarked(&film, &image) {
            let request = client.client_headers(app.call("POST", "/v1/on-demand"));
            let created = accepted(&request.json(&body).send().await, 201);
            let media = app.wait_settled(text(&created["id"])).await;
            assert_eq!(media["status"], "Ready", "{client:?} {body}: {media}");
            let why = &media["playbackReport"]["notCopied"][0]["reason"];
            assert_eq!(why, "watermark", "{client:?} {body}: {media}");
            drawn += 1;
        }
    }
    assert_eq!(app.sources.requests("/logo.png").len(), drawn, "each media fetches its image");
}

#[tokio::test]
async fn sdk_requests_upload_a_range() {
    let app = TestApp::options().without_webhook().start().await;
    for client in Client::ALL {
        for body in client.upload_clips() {
            let request = client.client_headers(app.call("POST", "/v1/on-demand/upload"));
            let made = accepted(&request.json(&body).send().await, 201);
            let address = text(&made["url"]).strip_prefix(&app.url("")).expect("an address of this server");
            let sent = app.request("PUT", address).body(fixture::large_two_tracks()).send().await;
            assert!((200..300).contains(&sent.status), "{sent:?}");
            let media = app.wait_settled(text(&made["uploadId"])).await;
            assert_eq!(
                (&media["status"], &media["duration"]),
                (&json!("Ready"), &json!(client.range_duration())),
                "{client:?} {body}: {media}"
            );
        }
    }
}

#[tokio::test]
async fn default_sdk_requests_read_update_and_delete_media() {
    let app = TestApp::options().without_webhook().start().await;
    for client in Client::ALL {
        let media = app.ready("/a.mp4", fixture::two_seconds()).await;
        let path = format!("/v1/on-demand/{}", text(&media["id"]));
        let call = async |method: &str, path: &str, body: Option<Value>| {
            let request = client.client_headers(app.call(method, path));
            let request = match body {
                Some(body) => request.json(&body),
                None => request,
            };
            request.send().await
        };
        let changed = accepted(&call("PATCH", &path, Some(client.update())).await, 200);
        assert_eq!(changed["metadata"], json!({"key1": "value1"}));
        check_fields(
            &changed,
            &[
                "id",
                "thumbnail",
                "workspaceId",
                "playbackIds",
                "tracks",
                "duration",
                "createdAt",
                "updatedAt",
            ],
        );
        assert!(
            changed["duration"].is_string() && changed["tracks"][0]["frameRate"].is_string(),
            "{changed}"
        );
        assert_eq!(accepted(&call("GET", &path, None).await, 200), changed);
        // Python sends every parameter.
        let listed = call("GET", "/v1/on-demand?limit=10&offset=1&orderBy=desc", None).await;
        assert_eq!(accepted(&listed, 200)[0], changed);
        check_fields(&listed.json()["pagination"], &["totalRecords", "currentOffset", "offsetCount"]);

        let ids = format!("{path}/playback-ids");
        let made = accepted(&call("POST", &ids, Some(client.playback_id())).await, 201);
        check_fields(&made, &["id", "accessPolicy", "accessRestrictions"]);
        let all = accepted(&call("GET", &ids, None).await, 200);
        assert_eq!(all[1], made);
        let deleted = call("DELETE", &format!("{ids}?playbackId={}", text(&made["id"])), None).await;
        assert_eq!((deleted.status, deleted.json()), (200, json!({"success": true})));

        // Node sends a content type with every request, also with those without a body (C-102).
        let delete =
            client.client_headers(app.call("DELETE", &path)).header("Content-Type", "application/json");
        let deleted = delete.send().await;
        assert_eq!((deleted.status, deleted.json()), (200, json!({"success": true})));
    }
}

#[tokio::test]
async fn default_sdk_requests_add_update_and_delete_a_track() {
    let app = TestApp::options().without_webhook().start().await;
    let url = app.serve("/a.srt", Source::of("1\n00:00:00,000 --> 00:00:01,500\nHello\n"));
    for client in Client::ALL {
        let media = app.ready("/a.mp4", fixture::two_seconds()).await;
        let all = format!("/v1/on-demand/{}/tracks", text(&media["id"]));
        let track =
            json!({"url": url, "type": "subtitle", "languageCode": "en-US", "languageName": "English"});
        let added =
            client.client_headers(app.call("POST", &all)).json(&json!({"tracks": track})).send().await;
        let added = accepted(&added, 201);
        check_fields(&added, &["id", "type", "url", "languageCode", "languageName"]);
        let one = format!("{all}/{}", text(&added["id"]));
        let mut updated = added.clone();
        for body in client.track_updates(&url) {
            let update = client.client_headers(app.call("PATCH", &one)).json(&body).send().await;
            for field in ["languageCode", "languageName"] {
                updated[field] = body.get(field).unwrap_or(&updated[field]).clone();
            }
            assert_eq!(accepted(&update, 200), updated, "{client:?} {body}");
        }
        check_fields(&updated, &["id", "type", "url", "languageCode", "languageName"]);
        assert_eq!(
            (&updated["languageCode"], &updated["languageName"]),
            (&json!("en-GB"), &json!("British"))
        );
        let delete =
            client.client_headers(app.call("DELETE", &one)).header("Content-Type", "application/json");
        let deleted = delete.send().await;
        assert_eq!((deleted.status, deleted.json()), (200, json!({"success": true})));
    }
}

#[tokio::test]
async fn default_sdk_requests_create_fill_and_delete_a_playlist() {
    const ALL: &str = "/v1/on-demand/playlists";
    const FIELDS: [&str; 10] = [
        "id",
        "name",
        "referenceId",
        "type",
        "description",
        "mediaList",
        "workspaceId",
        "createdAt",
        "updatedAt",
        "mediaCount",
    ];
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let ids = json!({"mediaIds": [media["id"]]});
    for client in Client::ALL {
        let call = async |method: &str, path: &str, body: &Value| {
            client.client_headers(app.call(method, path)).json(body).send().await
        };
        let smart = accepted(&call("POST", ALL, &client.playlist("smart", true)).await, 201);
        check_fields(&smart, &FIELDS);
        check_fields(&smart, &["playOrder", "metadata"]);
        assert_eq!(
            (&smart["mediaCount"], &smart["mediaList"][0]["id"]),
            (&json!(1), &media["id"]),
            "{client:?}"
        );
        let manual = accepted(&call("POST", ALL, &client.playlist("manual", false)).await, 201);
        check_fields(&manual, &FIELDS);
        let one = format!("{ALL}/{}", text(&manual["id"]));
        let media_path = format!("{one}/media");
        for (method, count) in [("PATCH", 1), ("PUT", 1), ("DELETE", 0)] {
            let changed = accepted(&call(method, &media_path, &ids).await, 200);
            check_fields(&changed, &FIELDS);
            assert_eq!(changed["mediaCount"], count, "{client:?} {method}");
            for media in changed["mediaList"].as_array().expect("a list") {
                check_fields(
                    media,
                    &[
                        "id",
                        "title",
                        "creatorId",
                        "duration",
                        "status",
                        "sourceResolution",
                        "thumbnail",
                        "createdAt",
                    ],
                );
            }
        }
        let renamed = call("PUT", &one, &json!({"name": "Q", "description": "D"})).await;
        check_fields(&accepted(&renamed, 200), &FIELDS);
        assert_eq!(accepted(&client.client_headers(app.call("GET", &one)).send().await, 200), renamed.data());
        let listed = client.client_headers(app.call("GET", &format!("{ALL}?limit=10&offset=1"))).send().await;
        check_fields(
            &accepted(&listed, 200)[0],
            &["id", "name", "type", "referenceId", "createdAt", "mediaCount"],
        );
        check_fields(&listed.json()["pagination"], &["totalRecords", "currentOffset", "offsetCount"]);
        for id in [&manual["id"], &smart["id"]] {
            let delete = client.client_headers(app.call("DELETE", &format!("{ALL}/{}", text(id))));
            let deleted = delete.header("Content-Type", "application/json").send().await;
            assert_eq!((deleted.status, deleted.json()), (200, json!({"success": true})));
        }
    }
}

#[tokio::test]
async fn default_sdk_requests_read_signing_keys_and_lists() {
    let app = TestApp::options().without_webhook().start().await;
    for client in Client::ALL {
        let made = client
            .client_headers(app.call("POST", "/v1/iam/signing-keys"))
            .header("Content-Type", "application/json");
        let made = accepted(&made.send().await, 201);
        check_fields(&made, &["id", "privateKey", "createdAt"]);
        let one = format!("/v1/iam/signing-keys/{}", text(&made["id"]));
        check_fields(
            &accepted(&client.client_headers(app.call("GET", &one)).send().await, 200),
            &["workspaceId", "signingKeyId", "publicKey"],
        );
        for path in
            ["/v1/iam/signing-keys?limit=10&offset=1", "/v1/on-demand/drm-configurations?offset=1&limit=10"]
        {
            let listed = client.client_headers(app.call("GET", path)).send().await;
            assert!(accepted(&listed, 200).is_array(), "{path}");
        }
        let deleted = client.client_headers(app.call("DELETE", &one)).send().await;
        assert_eq!((deleted.status, deleted.json()), (200, json!({"success": true})));
    }
}
