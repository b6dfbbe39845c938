//! What published clients send when nothing optional is filled in: no operation refuses it, and each answers
//! what they read.
//!
//! C-128, C-131, C-141, C-156, C-161 and C-171 say which bodies these are, and C-102 which headers go with
//! them.

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

    /// The headers that it sends with everything (C-102). Node sends an empty `cookie` too.
    fn dressed(self, request: Request) -> Request {
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

    /// `POST /on-demand` with nothing but an address (C-128).
    fn media(self, url: &str) -> Value {
        let inputs = json!([{"type": "video", "url": url}]);
        match self {
            Self::Python => {
                json!({"inputs": inputs, "accessPolicy": "public", "optimizeAudio": false, "maxResolution": "1080p"})
            }
            Self::Node => json!({"inputs": inputs, "maxResolution": "1080p", "mediaQuality": "standard"}),
        }
    }

    /// `POST /on-demand/upload` with nothing but an origin and a policy (C-141).
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

    /// `PATCH /on-demand/{mediaId}` with nothing but metadata: Node fills in what its document shows
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

    /// `POST /on-demand/{mediaId}/playback-ids` with nothing but a policy (C-161).
    fn playback_id(self) -> Value {
        match self {
            Self::Python => json!({"accessPolicy": "public"}),
            Self::Node => json!({"accessPolicy": "public", "accessRestrictions": nothing_restricted()}),
        }
    }

    /// `PATCH /on-demand/{mediaId}/tracks/{trackId}`, one after another: Python knows no address, a title
    /// that nobody else does, and sends of all three what it is given (C-156).
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

    /// `POST /on-demand/playlists` with nothing but what must be there (C-171): Node fills in a limit.
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

fn nothing_restricted() -> Value {
    let rule = json!({"defaultPolicy": "allow", "allow": [], "deny": []});
    json!({"domains": rule, "userAgents": rule})
}

/// The answer of what must not be refused; its type is the one that clients look at before they read it.
#[track_caller]
fn taken(answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    answer.data()
}

/// Every one of these fields is there.
#[track_caller]
fn has(data: &Value, fields: &[&str]) {
    for field in fields {
        assert!(data.get(field).is_some(), "without {field}: {data}");
    }
}

#[tokio::test]
async fn a_media_is_made_with_what_clients_send_by_default() {
    let app = TestApp::options().without_webhook().start().await;
    let url = app.serve("/a.mp4", Source::of(fixture::two_seconds()));
    // What they send when every optional field was set to what is so anyway, or to nothing at all.
    let input = json!([{"type": "video", "url": url}]);
    let filled = json!({"inputs": input, "accessPolicy": "public", "accessRestrictions": nothing_restricted(), "metadata": {},
        "subtitles": {}, "mp4Support": "none", "sourceAccess": false, "chapters": false, "namedEntities": false,
        "summary": {"generate": false, "summaryLength": 100}});
    let emptied = json!({"inputs": input, "title": null, "creatorId": null, "metadata": null, "subtitles": null,
        "moderation": null, "accessRestrictions": null, "drmConfigurationId": null});
    for client in Client::ALL {
        for path in ["/on-demand", "/v1/on-demand"] {
            for body in [client.media(&url), filled.clone(), emptied.clone()] {
                let answer = client.dressed(app.call("POST", path)).json(&body).send().await;
                let made = taken(&answer, 201);
                has(
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
async fn an_upload_is_made_listed_and_cancelled_with_what_clients_send_by_default() {
    let app = TestApp::options().without_webhook().start().await;
    for client in Client::ALL {
        for path in ["/on-demand/upload", "/v1/on-demand/upload", "/v1/on-demand/uploads"] {
            let answer = client.dressed(app.call("POST", path)).json(&client.upload()).send().await;
            let made = taken(&answer, 201);
            has(&made, &["uploadId", "trial", "status", "url", "timeout", "corsOrigin", "pushMediaSettings"]);
            has(
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
            assert_eq!(
                warnings.is_array(),
                client == Client::Python,
                "what has no effect is told: {warnings}"
            );

            let listed = client.dressed(app.call("GET", "/v1/on-demand/uploads?limit=1")).send().await;
            assert_eq!(taken(&listed, 200)[0]["uploadId"], made["uploadId"]);
            let cancel = format!("/v1/on-demand/upload/{}/cancel", text(&made["uploadId"]));
            let cancelled = taken(&client.dressed(app.call("PUT", &cancel)).send().await, 200);
            has(
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
async fn a_media_is_read_changed_and_deleted_with_what_clients_send_by_default() {
    let app = TestApp::options().without_webhook().start().await;
    for client in Client::ALL {
        let media = app.ready("/a.mp4", fixture::two_seconds()).await;
        let path = format!("/v1/on-demand/{}", text(&media["id"]));
        let call = async |method: &str, path: &str, body: Option<Value>| {
            let request = client.dressed(app.call(method, path));
            let request = match body {
                Some(body) => request.json(&body),
                None => request,
            };
            request.send().await
        };
        let changed = taken(&call("PATCH", &path, Some(client.update())).await, 200);
        assert_eq!(changed["metadata"], json!({"key1": "value1"}));
        has(
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
        assert_eq!(taken(&call("GET", &path, None).await, 200), changed);
        // Python asks with every parameter filled in.
        let listed = call("GET", "/v1/on-demand?limit=10&offset=1&orderBy=desc", None).await;
        assert_eq!(taken(&listed, 200)[0], changed);
        has(&listed.json()["pagination"], &["totalRecords", "currentOffset", "offsetCount"]);

        let ids = format!("{path}/playback-ids");
        let made = taken(&call("POST", &ids, Some(client.playback_id())).await, 201);
        has(&made, &["id", "accessPolicy", "accessRestrictions"]);
        let all = taken(&call("GET", &ids, None).await, 200);
        assert_eq!(all[1], made);
        let deleted = call("DELETE", &format!("{ids}?playbackId={}", text(&made["id"])), None).await;
        assert_eq!((deleted.status, deleted.json()), (200, json!({"success": true})));

        // Node names a content type on every request, also where no body goes with it (C-102).
        let delete = client.dressed(app.call("DELETE", &path)).header("Content-Type", "application/json");
        let deleted = delete.send().await;
        assert_eq!((deleted.status, deleted.json()), (200, json!({"success": true})));
    }
}

#[tokio::test]
async fn a_track_is_added_changed_and_deleted_with_what_clients_send_by_default() {
    let app = TestApp::options().without_webhook().start().await;
    let url = app.serve("/a.srt", Source::of("1\n00:00:00,000 --> 00:00:01,500\nHello\n"));
    for client in Client::ALL {
        let media = app.ready("/a.mp4", fixture::two_seconds()).await;
        let all = format!("/v1/on-demand/{}/tracks", text(&media["id"]));
        let track =
            json!({"url": url, "type": "subtitle", "languageCode": "en-US", "languageName": "English"});
        let added = client.dressed(app.call("POST", &all)).json(&json!({"tracks": track})).send().await;
        let added = taken(&added, 201);
        has(&added, &["id", "type", "url", "languageCode", "languageName"]);
        let one = format!("{all}/{}", text(&added["id"]));
        let mut updated = added.clone();
        for body in client.track_updates(&url) {
            let update = client.dressed(app.call("PATCH", &one)).json(&body).send().await;
            for field in ["languageCode", "languageName"] {
                updated[field] = body.get(field).unwrap_or(&updated[field]).clone();
            }
            assert_eq!(taken(&update, 200), updated, "{client:?} {body}");
        }
        has(&updated, &["id", "type", "url", "languageCode", "languageName"]);
        assert_eq!(
            (&updated["languageCode"], &updated["languageName"]),
            (&json!("en-GB"), &json!("British"))
        );
        let delete = client.dressed(app.call("DELETE", &one)).header("Content-Type", "application/json");
        let deleted = delete.send().await;
        assert_eq!((deleted.status, deleted.json()), (200, json!({"success": true})));
    }
}

#[tokio::test]
async fn a_playlist_is_made_filled_and_deleted_with_what_clients_send_by_default() {
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
            client.dressed(app.call(method, path)).json(body).send().await
        };
        let smart = taken(&call("POST", ALL, &client.playlist("smart", true)).await, 201);
        has(&smart, &FIELDS);
        has(&smart, &["playOrder", "metadata"]);
        assert_eq!(
            (&smart["mediaCount"], &smart["mediaList"][0]["id"]),
            (&json!(1), &media["id"]),
            "{client:?}"
        );
        let manual = taken(&call("POST", ALL, &client.playlist("manual", false)).await, 201);
        has(&manual, &FIELDS);
        let one = format!("{ALL}/{}", text(&manual["id"]));
        let held = format!("{one}/media");
        for (method, count) in [("PATCH", 1), ("PUT", 1), ("DELETE", 0)] {
            let changed = taken(&call(method, &held, &ids).await, 200);
            has(&changed, &FIELDS);
            assert_eq!(changed["mediaCount"], count, "{client:?} {method}");
            for media in changed["mediaList"].as_array().expect("a list") {
                has(
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
        has(&taken(&renamed, 200), &FIELDS);
        assert_eq!(taken(&client.dressed(app.call("GET", &one)).send().await, 200), renamed.data());
        let listed = client.dressed(app.call("GET", &format!("{ALL}?limit=10&offset=1"))).send().await;
        has(&taken(&listed, 200)[0], &["id", "name", "type", "referenceId", "createdAt", "mediaCount"]);
        has(&listed.json()["pagination"], &["totalRecords", "currentOffset", "offsetCount"]);
        for id in [&manual["id"], &smart["id"]] {
            let delete = client.dressed(app.call("DELETE", &format!("{ALL}/{}", text(id))));
            let deleted = delete.header("Content-Type", "application/json").send().await;
            assert_eq!((deleted.status, deleted.json()), (200, json!({"success": true})));
        }
    }
}

#[tokio::test]
async fn signing_keys_and_lists_are_asked_for_as_clients_do() {
    let app = TestApp::options().without_webhook().start().await;
    for client in Client::ALL {
        let made = client
            .dressed(app.call("POST", "/v1/iam/signing-keys"))
            .header("Content-Type", "application/json");
        let made = taken(&made.send().await, 201);
        has(&made, &["id", "privateKey", "createdAt"]);
        let one = format!("/v1/iam/signing-keys/{}", text(&made["id"]));
        has(
            &taken(&client.dressed(app.call("GET", &one)).send().await, 200),
            &["workspaceId", "signingKeyId", "publicKey"],
        );
        for path in
            ["/v1/iam/signing-keys?limit=10&offset=1", "/v1/on-demand/drm-configurations?offset=1&limit=10"]
        {
            let listed = client.dressed(app.call("GET", path)).send().await;
            assert!(taken(&listed, 200).is_array(), "{path}");
        }
        let deleted = client.dressed(app.call("DELETE", &one)).send().await;
        assert_eq!((deleted.status, deleted.json()), (200, json!({"success": true})));
    }
}
