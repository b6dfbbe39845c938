//! `/openapi.json` and `/docs`: every served operation is described, and every description is correct.

mod bounds;
mod examples;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::document::{Operation, operations};
use crate::support::{TestApp, text};

/// The playback ID of examples.
const PLAYBACK: &str = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f";
const ID: &str = "019a492c-41f3-7001-8203-040506070809";

/// The OpenAPI document, requested over HTTP.
async fn document(app: &TestApp) -> Value {
    let answer = app.fetch("/openapi.json").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{answer:?}");
    answer.json()
}

#[tokio::test]
async fn openapi_json_is_public_and_names_the_server_url() {
    let app = TestApp::options().without_webhook().start().await;
    let answer = app.fetch("/openapi.json").await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "tools are pages of other origins");
    assert_eq!(answer.json()["servers"][0]["url"], app.url("/v1"));
    let document = app.golden().json(&answer.json());
    insta::assert_snapshot!(document);
    assert_eq!(app.request("POST", "/openapi.json").send().await.refusal().0, 405);
}

/// Each new operation needs a description in the `doc.rs` of its module.
#[tokio::test]
async fn openapi_describes_exactly_the_served_methods() {
    let app = TestApp::options().without_webhook().start().await;
    let mut described: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Operation { method, path, .. } in operations(&document(&app).await) {
        described.entry(path).or_default().insert(method);
    }
    for path in kinora_api::paths() {
        let target: Vec<_> =
            path.split('/').map(|part| if part.starts_with('{') { ID } else { part }).collect();
        for prefix in ["", "/v1"] {
            // The 405 to an unknown method lists the methods of the path.
            let answer = app.call("BREW", &format!("{prefix}{}", target.join("/"))).send().await;
            assert_eq!(answer.status, 405, "{path}: {answer:?}");
            let allowed = answer.header("allow").unwrap_or_default().split(',');
            let allowed: BTreeSet<_> =
                allowed.filter(|method| *method != "HEAD").map(str::to_owned).collect();
            assert_eq!(described.get(&path), Some(&allowed), "{prefix}{path}: described, and served");
        }
    }
}

#[tokio::test]
async fn docs_page_csp_allows_no_external_resources() {
    let app = TestApp::options().without_webhook().start().await;
    let page = app.fetch("/docs").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").expect("there is a policy");
    insta::assert_snapshot!(policy);
    assert_eq!(app.request("POST", "/docs").send().await.refusal().0, 405);
}

#[tokio::test]
async fn openapi_and_docs_are_404_without_api_role() {
    let roles = kinora_server::Roles { api: false, ..kinora_server::Roles::ALL };
    let app = TestApp::options().without_webhook().roles(roles).start().await;
    for path in ["/openapi.json", "/docs"] {
        assert_eq!(app.fetch(path).await.refusal(), (404, "not found".to_owned()), "{path}");
    }
}

/// The id of a track that was added to a media; the track may fail.
async fn track_of(app: &TestApp, media: &Value, url: &str) -> String {
    let track = json!({"url": url, "type": "subtitle", "languageCode": "de", "languageName": "Deutsch"});
    let path = format!("/v1/on-demand/{}/tracks", text(&media["id"]));
    let added = app.call("POST", &path).json(&json!({"tracks": track})).send().await;
    text(&added.data()["id"]).to_owned()
}
