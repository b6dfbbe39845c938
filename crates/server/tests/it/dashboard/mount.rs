//! The operations of the API behind a session: the permissions of each role.

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission, Role};
use kinora_testkit::{Source, fixture};
use serde_json::{Value, json};

use super::playing;
use super::support::{API, Browser, World};
use crate::support::{Answer, Request, Token, text};

/// An id without an object.
const UNKNOWN: &str = "019a492c-41f3-7001-8203-040506070809";

/// Every path of the API with every method, also those that a path does not have.
fn operations() -> Vec<(&'static str, String)> {
    let fill = |path: String| {
        let parts = path.split('/').map(|part| if part.starts_with('{') { UNKNOWN } else { part });
        parts.collect::<Vec<_>>().join("/")
    };
    let paths: Vec<_> = kinora_api::paths().into_iter().map(fill).collect();
    assert!(paths.len() > 20, "{paths:?}");
    let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];
    paths.iter().flat_map(|path| methods.map(|method| (method, path.clone()))).collect()
}

fn with_body(method: &str, request: Request) -> Request {
    // A body without the required fields creates nothing.
    if matches!(method, "GET" | "DELETE") { request } else { request.json(&json!({})) }
}

async fn workspace_id(world: &World, name: &str) -> String {
    world.app.store.workspace_by_name(name).await.unwrap().unwrap().id.to_string()
}

/// The response of an operation to a person.
async fn of_person(browser: &Browser<'_>, workspace: &str, method: &str, path: &str) -> Answer {
    let request = browser.request(method, &format!("/workspaces/{workspace}{path}"));
    with_body(method, request).send().await
}

async fn of_token(world: &World, token: &Token, method: &str, path: &str) -> Answer {
    with_body(method, world.app.request(method, &format!("/v1{path}")).token(token)).send().await
}

#[tokio::test]
async fn role_may_what_a_token_of_its_permission_may() {
    let world = World::start().await;
    let workspace = workspace_id(&world, DEVELOPMENT).await;
    let reader = world.app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let mut forbidden = 0;
    for role in Role::ALL {
        let browser = world.browser_of(role).await;
        let token = match role.permission() {
            Permission::ReadOnly => &reader,
            Permission::ReadWrite => &world.app.token,
        };
        for (method, path) in operations() {
            let expected = of_token(&world, token, method, &path).await;
            let answer = of_person(&browser, &workspace, method, &path).await;
            assert_eq!(answer.status, expected.status, "{role:?} {method} {path}: {answer:?}");
            assert_ne!(answer.status, 401, "{role:?} {method} {path}");
            if answer.status == 403 {
                forbidden += 1;
                assert_eq!(role, Role::Viewer, "{method} {path}");
                assert_ne!(method, "GET", "{path}");
                assert!(answer.text().contains("your role is viewer"), "{answer:?}");
            }
        }
    }
    assert!(forbidden > 15, "{forbidden} operations are forbidden to viewers");
}

#[tokio::test]
async fn without_a_session_every_operation_is_401() {
    let world = World::start().await;
    let workspace = workspace_id(&world, DEVELOPMENT).await;
    let browser = world.browser();
    for (method, path) in operations() {
        let expected = with_body(method, world.app.request(method, &format!("/v1{path}"))).send().await;
        let none = of_person(&browser, &workspace, method, &path).await;
        assert_eq!(none.status, expected.status, "{method} {path}");
        let target = format!("{API}/workspaces/{workspace}{path}");
        let with_token = world.app.call(method, &target).header("Sec-Fetch-Site", "same-origin");
        let with_token = with_body(method, with_token).send().await;
        for answer in [none, with_token] {
            assert!(matches!(answer.status, 401 | 405), "{method} {path}: {answer:?}");
            assert_eq!(answer.header("www-authenticate"), None, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn cookie_opens_nothing_below_v1() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let cookie = format!("kinora={0}; __Host-kinora={0}", browser.secret());
    for path in ["/v1/on-demand", "/on-demand"] {
        let request = world.app.request("GET", path).header("Cookie", &cookie);
        let answer = request.header("Sec-Fetch-Site", "same-origin").send().await;
        assert_eq!(answer.refusal(), (401, "unauthorized".to_owned()), "{path}");
        assert!(answer.header("www-authenticate").is_some());
    }
}

#[tokio::test]
async fn unknown_workspace_is_404() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    for workspace in [UNKNOWN, "none", "%20", "%ff", &world.app.token.id] {
        let answer = browser.get(&format!("/workspaces/{workspace}/on-demand")).await;
        assert_eq!(answer.refusal(), (404, "workspace not found".to_owned()), "{workspace}");
    }
}

#[tokio::test]
async fn workspaces_of_one_person_are_separate() {
    let world = World::start().await;
    let [development, production] =
        [workspace_id(&world, DEVELOPMENT).await, workspace_id(&world, PRODUCTION).await];
    let media = world.app.create("http://127.0.0.1/a.mp4").await;
    let browser = world.browser_of(Role::Member).await;
    let path = format!("/on-demand/{}", text(&media["id"]));
    let found = of_person(&browser, &development, "GET", &path).await;
    assert_eq!((found.status, &found.data()["id"]), (200, &media["id"]));
    let other = of_person(&browser, &production, "GET", &path).await;
    assert_eq!(other.refusal(), (404, "media workspace relation not found".to_owned()));
    let list = browser.get(&format!("/workspaces/{development}/on-demand?limit=1")).await.json();
    assert_eq!(list["pagination"]["totalRecords"], 1);
}

/// `Authorization` has no effect: neither a wrong token forbids, nor a right one allows.
#[tokio::test]
async fn session_decides_and_authorization_is_ignored() {
    let world = World::start().await;
    let workspace = workspace_id(&world, DEVELOPMENT).await;
    let viewer = world.browser_of(Role::Viewer).await;
    let path = format!("/workspaces/{workspace}/on-demand");
    let read = viewer.request("GET", &path).basic("no-id", "no-secret").send().await;
    assert_eq!(read.status, 200);
    let write = viewer.request("POST", &path).token(&world.app.token).json(&json!({})).send().await;
    assert_eq!(write.refusal(), (403, "forbidden".to_owned()));
}

#[tokio::test]
async fn input_info_of_a_viewer_has_no_query() {
    let (world, _) = playing::world().await;
    let workspace = workspace_id(&world, DEVELOPMENT).await;
    let url = world.app.serve("/signed.mp4", Source::of(fixture::two_seconds()));
    let signed = format!("{url}?signature=query-secret");
    let media = world.app.create(&signed).await;
    let id = text(&media["id"]);
    world.app.wait_settled(id).await;
    for (role, expected) in [(Role::Viewer, &url), (Role::Member, &signed), (Role::Admin, &signed)] {
        let browser = world.browser_of(role).await;
        let info = browser.get(&format!("/workspaces/{workspace}/on-demand/{id}/input-info")).await;
        assert_eq!(text(&info.data()["configuration"]["url"]), expected, "{role:?}");
    }
    let reader = world.app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    let info =
        world.app.request("GET", &format!("/v1/on-demand/{id}/input-info")).token(&reader).send().await;
    assert_eq!(text(&info.data()["configuration"]["url"]), signed, "the API is as before");
}

#[tokio::test]
async fn idempotency_keys_of_people_are_separate() {
    let world = World::start().await;
    let workspace = workspace_id(&world, DEVELOPMENT).await;
    let path = format!("/workspaces/{workspace}/on-demand");
    let body = json!({"inputs": [{"type": "video", "url": "http://127.0.0.1/a.mp4"}]});
    let (admin, member) = (world.browser_of(Role::Admin).await, world.browser_of(Role::Member).await);
    let created = async |browser: &Browser<'_>| {
        let answer = browser.request("POST", &path).header("Idempotency-Key", "a").json(&body).send().await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.data()["id"].take()
    };
    let first: Value = created(&admin).await;
    assert_eq!(created(&admin).await, first);
    assert_ne!(created(&member).await, first);
}
