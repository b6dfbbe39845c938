//! The rule against cross-site requests.

use kinora_domain::{DEVELOPMENT, Role};
use serde_json::json;

use super::support::{Browser, World};
use crate::support::{Answer, Request};

/// Requests that change something, each of them valid: own operations and one of the API.
async fn changes(world: &World, browser: &Browser<'_>) -> Vec<(&'static str, String, serde_json::Value)> {
    let workspace = world.app.store.workspace_by_name(DEVELOPMENT).await.unwrap().unwrap().id;
    let name = json!({"name": "Grace"});
    let wrong = json!({"email": "a@example.com", "password": "a wrong one"});
    let secret = json!({"secret": "none"});
    assert_eq!(browser.get("/me").await.status, 200);
    vec![
        ("PATCH", "/me".to_owned(), name),
        ("POST", "/session".to_owned(), wrong),
        ("POST", "/links/look".to_owned(), secret),
        ("POST", format!("/workspaces/{workspace}/on-demand/playlists"), json!({})),
        ("DELETE", "/me/sessions".to_owned(), json!(null)),
    ]
}

fn with_body(request: Request, body: &serde_json::Value) -> Request {
    if body.is_null() { request } else { request.json(body) }
}

async fn sent(
    browser: &Browser<'_>,
    change: &(&'static str, String, serde_json::Value),
    headers: &[(&str, &str)],
) -> Answer {
    let (method, path, body) = change;
    let request = headers
        .iter()
        .fold(browser.bare_request(method, path), |request, (name, value)| request.header(name, value));
    let answer = with_body(request, body).send().await;
    let cors = answer.headers().iter().find(|(name, _)| name.starts_with("access-control-"));
    assert_eq!(cors, None, "{method} {path}");
    answer
}

#[tokio::test]
async fn cross_site_change_is_403_and_changes_nothing() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let (origin, audit) = (world.origin(), world.audit().await);
    for change in &changes(&world, &browser).await {
        for headers in [
            &[][..],
            &[("Origin", "null")],
            &[("Origin", "https://other.example")],
            &[("Origin", "http://127.0.0.1")],
            &[("Origin", "https://sub.127.0.0.1:1")],
            &[("Referer", &*format!("{origin}/dashboard"))],
            &[("Sec-Fetch-Site", "none")],
            &[("Sec-Fetch-Site", "same-site")],
            &[("Sec-Fetch-Site", "cross-site")],
            &[("Sec-Fetch-Site", "same-site"), ("Origin", &origin)],
        ] {
            let answer = sent(&browser, change, headers).await;
            assert_eq!(answer.refusal(), (403, "forbidden".to_owned()), "{change:?} {headers:?}");
            assert_eq!(answer.header("set-cookie"), None);
        }
    }
    assert_eq!(browser.get("/me").await.data()["name"], "Ada");
    assert_eq!(world.audit().await, audit);
}

#[tokio::test]
async fn same_origin_change_passes_whatever_the_host_is() {
    let world = World::start_with(|options| options.dashboard_origins(&["http://10.0.0.7:8080/"])).await;
    let browser = world.browser_of(Role::Admin).await;
    let origin = world.origin();
    for change in &changes(&world, &browser).await {
        for headers in [
            &[("Sec-Fetch-Site", "same-origin")][..],
            &[("Sec-Fetch-Site", "same-origin"), ("Origin", "https://behind.a.proxy.example")],
            &[("Origin", &*origin)],
            &[("Origin", "http://10.0.0.7:8080")],
        ] {
            let answer = sent(&browser, change, headers).await;
            assert_ne!(answer.status, 403, "{change:?} {headers:?}");
            assert!(answer.status < 500, "{answer:?}");
        }
    }
    assert_eq!(browser.get("/me").await.data()["name"], "Grace");
}

#[tokio::test]
async fn reading_needs_no_origin() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Viewer).await;
    for path in ["/door", "/session", "/me", "/me/sessions"] {
        let request = browser.bare_request("GET", path).header("Sec-Fetch-Site", "cross-site");
        let answer = request.header("Origin", "https://other.example").send().await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.headers().iter().all(|(name, _)| !name.starts_with("access-control-")), "{answer:?}");
    }
    let preflight = browser.bare_request("OPTIONS", "/me").header("Origin", "https://other.example");
    let preflight = preflight.header("Access-Control-Request-Method", "PATCH").send().await;
    assert_eq!(preflight.status, 405);
    assert!(
        preflight.headers().iter().all(|(name, _)| !name.starts_with("access-control-")),
        "{preflight:?}"
    );
}

#[tokio::test]
async fn body_of_a_form_is_415() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    for change in changes(&world, &browser).await.iter().filter(|(_, _, body)| !body.is_null()) {
        let (method, path, body) = change;
        for content_type in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=a",
            "application/jsonp",
        ] {
            let request = browser.request(method, path).header("Content-Type", content_type);
            let answer = request.body(body.to_string()).send().await;
            assert_eq!(answer.refusal().0, 415, "{method} {path} {content_type}");
        }
        let answer = browser.request(method, path).body(body.to_string()).send().await;
        assert_eq!(answer.refusal().0, 415, "{method} {path} without a type");
    }
    assert_eq!(browser.get("/me").await.data()["name"], "Ada");
}
