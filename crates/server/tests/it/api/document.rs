//! `/openapi.json` and `/docs`: that everything that is served is described, and that everything that is
//! described is so.

mod bounds;
mod examples;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::document::{Operation, operations};
use crate::support::{TestApp, text};

/// The playback ID of examples.
const PLAYBACK: &str = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f";
const ID: &str = "019a492c-41f3-7001-8203-040506070809";

/// The document as a client gets it.
async fn document(app: &TestApp) -> Value {
    let answer = app.fetch("/openapi.json").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")), "{answer:?}");
    answer.json()
}

#[tokio::test]
async fn the_document_is_for_everybody_and_says_where_the_server_is() {
    let app = TestApp::options().without_webhook().start().await;
    let answer = app.fetch("/openapi.json").await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"), "tools are pages of other origins");
    assert_eq!(answer.json()["servers"][0]["url"], app.url("/v1"));
    let document = app.golden().json(&answer.json());
    insta::assert_snapshot!(document);
    assert_eq!(app.request("POST", "/openapi.json").send().await.refusal().0, 405);
}

/// Whoever adds an operation describes it in the `doc.rs` beside it.
#[tokio::test]
async fn every_method_that_is_served_is_described_and_no_other() {
    let app = TestApp::options().without_webhook().start().await;
    let mut described: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Operation { method, path, .. } in operations(&document(&app).await) {
        described.entry(path).or_default().insert(method);
    }
    for path in kinora_api::paths() {
        let target: Vec<_> =
            path.split('/').map(|part| if part.starts_with('{') { ID } else { part }).collect();
        for prefix in ["", "/v1"] {
            // A method that no path has is told those that this one has.
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
async fn the_page_loads_nothing_from_outside() {
    let app = TestApp::options().without_webhook().start().await;
    let page = app.fetch("/docs").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").expect("there is a policy");
    insta::assert_snapshot!(policy);
    assert_eq!(app.request("POST", "/docs").send().await.refusal().0, 405);
}

#[tokio::test]
async fn a_process_without_the_role_has_neither() {
    let roles = kinora_server::Roles { api: false, ..kinora_server::Roles::ALL };
    let app = TestApp::options().without_webhook().roles(roles).start().await;
    for path in ["/openapi.json", "/docs"] {
        assert_eq!(app.fetch(path).await.refusal(), (404, "not found".to_owned()), "{path}");
    }
}

/// The id of a track that was added to a media, whatever becomes of it.
async fn track_of(app: &TestApp, media: &Value, url: &str) -> String {
    let track = json!({"url": url, "type": "subtitle", "languageCode": "de", "languageName": "Deutsch"});
    let path = format!("/v1/on-demand/{}/tracks", text(&media["id"]));
    let added = app.call("POST", &path).json(&json!({"tracks": track})).send().await;
    text(&added.data()["id"]).to_owned()
}
