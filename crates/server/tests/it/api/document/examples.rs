//! Sends every example of the document, and checks every response against it.

use std::collections::BTreeMap;

use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::{ID, PLAYBACK, document, track_of};
use crate::support::document::{Operation, operations, problems, problems_of_answer, resolve};
use crate::support::{Answer, TestApp, text};

/// So high that no test reaches it; with a limit, every response to a token has all described headers.
const LIMIT: &str = "1000000/60";

/// The source URL of the examples; tests replace it with their own.
const SOURCE: &str = "https://example.com/talk.mp4";
/// The URL of the subtitles of the examples.
const SUBTITLES: &str = "https://example.com/talk.srt";

#[tokio::test]
async fn openapi_request_examples_succeed_as_described() {
    let app = TestApp::options().without_webhook().rate_limit(LIMIT).start().await;
    let document = document(&app).await;
    let url = app.serve("/talk.mp4", Source::of(fixture::two_seconds()));
    let ids = Ids::make(&app).await;
    let mut sent = 0;
    for operation in operations(&document) {
        for (name, body) in operation.bodies() {
            let mut target = format!("/v1{}", ids.target(&operation));
            // The client chooses the id of an imported key, so no other key has it.
            let is_made = operation.about["operationId"] == "putSigningKey";
            if is_made {
                target = target.replace(ids.of("signingKeyId"), ID);
            }
            let request = app.call(&operation.method, &target);
            let request = match body {
                Some(body) => {
                    let wrong = problems(&document, operation.body_schema().unwrap(), &body);
                    assert_eq!(wrong, Vec::<String>::new(), "{}: the example {name}", operation.name());
                    request.json(&served(body, &url, &ids))
                }
                None => request,
            };
            let answer = request.send().await;
            let success = if is_made { 201 } else { operation.success() };
            assert_eq!(answer.status, success, "{} {name}: {answer:?}", operation.name());
            check(&document, &operation, &answer);
            if operation.about["operationId"] == "createMedia" {
                app.wait_settled(text(&answer.data()["id"])).await;
            }
            sent += 1;
        }
    }
    assert!(sent > 45, "only {sent} were sent");
}

/// The ids of the resources that operations use.
struct Ids(BTreeMap<&'static str, String>);

impl Ids {
    async fn make(app: &TestApp) -> Self {
        let media = app.ready("/a.mp4", fixture::two_seconds()).await;
        let post = async |path: &str, body: Value| app.call("POST", path).json(&body).send().await.data();
        let track = track_of(app, &media, &app.sources.url("/none.srt")).await;
        let upload = post("/v1/on-demand/upload", json!({"corsOrigin": "*"})).await;
        let key = post("/v1/iam/signing-keys", json!({})).await;
        let playlist = json!({"name": "N", "referenceId": "of the test", "type": "manual"});
        let playlist = post("/v1/on-demand/playlists", playlist).await;
        let path = format!("/v1/on-demand/playlists/{}/media", text(&playlist["id"]));
        app.call("PATCH", &path).json(&json!({"mediaIds": [media["id"]]})).send().await.data();
        let id = |value: &Value| text(value).to_owned();
        Self(BTreeMap::from([
            ("mediaId", id(&media["id"])),
            ("playbackId", id(&media["playbackIds"][0]["id"])),
            ("playlistId", id(&playlist["id"])),
            ("trackId", track),
            ("uploadId", id(&upload["uploadId"])),
            ("signingKeyId", id(&key["id"])),
        ]))
    }

    fn of(&self, name: &str) -> &str {
        self.0.get(name).map_or(ID, String::as_str)
    }

    /// The path with ids in it, and the required parameters.
    fn target(&self, operation: &Operation) -> String {
        let parts: Vec<_> = operation
            .path
            .split('/')
            .map(|part| {
                part.strip_prefix('{')
                    .and_then(|part| part.strip_suffix('}'))
                    .map_or(part, |name| self.of(name))
            })
            .collect();
        let required =
            operation.parameters("query").into_iter().filter(|parameter| parameter["required"] == true);
        let query: Vec<_> = required
            .map(|parameter| format!("{0}={1}", text(&parameter["name"]), self.of(text(&parameter["name"]))))
            .collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{}{mark}{}", parts.join("/"), query.join("&"))
    }
}

/// An example with existing ids and URLs.
fn served(body: Value, url: &str, ids: &Ids) -> Value {
    let subtitles = url.replace(".mp4", ".srt");
    let body = body.to_string().replace(SOURCE, url).replace(SUBTITLES, &subtitles);
    let body = body.replace(ID, ids.of("mediaId")).replace(PLAYBACK, ids.of("playbackId"));
    serde_json::from_str(&body).unwrap()
}

/// Checks type, body and headers of a response against the document.
fn check(document: &Value, operation: &Operation, answer: &Answer) {
    let name = format!("{}: {}", operation.name(), answer.status);
    let response =
        operation.response(document, answer.status).unwrap_or_else(|| panic!("{name} is not described"));
    let content = &response["content"]["application/json"];
    assert_eq!(answer.header("content-type"), Some("application/json"), "{name}");
    let wrong = problems_of_answer(document, &content["schema"], &answer.json());
    assert_eq!(wrong, Vec::<String>::new(), "{name}: {}", answer.text());
    for (header, described) in response["headers"].as_object().expect("every response has headers") {
        let described = resolve(document, described);
        let found = answer.header(&header.to_lowercase());
        let found = found.unwrap_or_else(|| panic!("{name}: without {header}"));
        let value = match described["schema"]["type"].as_str() {
            Some("integer") => found.parse::<u64>().map_or_else(|_| json!(found), |number| json!(number)),
            _ => json!(found),
        };
        assert_eq!(
            problems(document, &described["schema"], &value),
            Vec::<String>::new(),
            "{name}: {header}"
        );
    }
}

/// All errors of every operation that a request can cause without fault injection.
#[tokio::test]
async fn error_responses_match_openapi() {
    let app = TestApp::options().without_webhook().rate_limit(LIMIT).start().await;
    let document = document(&app).await;
    let reader = app.new_token(kinora_domain::DEVELOPMENT, kinora_domain::Permission::ReadOnly).await;
    let ids = Ids(BTreeMap::new());
    for operation in operations(&document) {
        let path = format!("/v1{}", ids.target(&operation));
        let method = &operation.method;
        let first = operation.bodies().swap_remove(0).1;
        let mut answers = vec![(401, app.request(method, &path).send().await)];
        let with_body = |request: crate::support::Request| match &first {
            Some(body) => request.json(body),
            None => request,
        };
        if method != "GET" {
            answers.push((403, with_body(app.request(method, &path).token(&reader)).send().await));
        }
        if operation.response(&document, 404).is_some() && !path.contains("/live-clips") {
            answers.push((404, with_body(app.call(method, &path)).send().await));
        }
        // Unsupported operations respond the same for any path: the document describes no id format there.
        let with_wrong_id = path.replace(ID, "no-id");
        if operation.parameters("path").iter().any(|part| part["schema"]["format"] == "uuid") {
            answers.push((422, with_body(app.call(method, &with_wrong_id)).send().await));
        }
        if first.is_some() {
            let call = || app.call(method, &path);
            answers.extend([
                (400, call().header("Content-Type", "application/json").body("{").send().await),
                (413, call().body(vec![b' '; (1 << 20) + 1]).send().await),
                (415, call().header("Content-Type", "text/plain").body("{}").send().await),
                (422, call().json(&json!([])).send().await),
            ]);
        }
        // With an idempotency key the body is always read, also of operations without a body.
        if operation.parameters("header").iter().any(|header| header["name"] == "Idempotency-Key") {
            let named = || app.call(method, &path).header("Idempotency-Key", "one");
            answers.push((413, named().body(vec![b' '; (1 << 20) + 1]).send().await));
            answers.push((422, app.call(method, &path).header("Idempotency-Key", "").send().await));
            for status in [400, 408] {
                assert!(operation.response(&document, status).is_some(), "{}: {status}", operation.name());
            }
        }
        for (status, answer) in answers {
            assert_eq!(answer.status, status, "{}: {answer:?}", operation.name());
            check(&document, &operation, &answer);
        }
    }
}

/// Every example response is valid by the schema of the document.
#[tokio::test]
async fn openapi_response_examples_match_their_schemas() {
    let app = TestApp::options().without_webhook().rate_limit(LIMIT).start().await;
    let document = document(&app).await;
    let mut shown = 0;
    for operation in operations(&document) {
        for status in operation.about["responses"].as_object().unwrap().keys() {
            if status == "304" {
                continue; // without a body
            }
            let response = operation.response(&document, status.parse().unwrap()).unwrap();
            let content = &response["content"]["application/json"];
            let several = content["examples"].as_object().into_iter().flat_map(|examples| examples.values());
            let examples: Vec<_> =
                content.get("example").into_iter().chain(several.map(|example| &example["value"])).collect();
            assert!(!examples.is_empty(), "{} {status} shows no answer", operation.name());
            for example in examples {
                let wrong = problems_of_answer(&document, &content["schema"], example);
                assert_eq!(wrong, Vec::<String>::new(), "{} {status}: {example}", operation.name());
                shown += 1;
            }
        }
    }
    assert!(shown > 200, "only {shown} were shown");
}
