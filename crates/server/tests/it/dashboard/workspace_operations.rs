//! Every operation of a workspace that only the dashboard has: roles, sessions and workspaces.

use kinora_dashboard::{Operation, workspace_operations};
use kinora_domain::{PRODUCTION, Role};
use serde_json::{Value, json};

use super::support::{Browser, World};
use crate::support::{Answer, Request, text};

/// A media that is not ready, in the workspace Development.
async fn media(world: &World) -> Value {
    world.app.create("http://127.0.0.1/a.mp4").await
}

/// The path of an operation on a media, below the prefix of its workspace.
fn path(operation: &Operation, media: &Value) -> String {
    let path = operation
        .path
        .replace("{mediaId}", text(&media["id"]))
        .replace("{playbackId}", text(&media["playbackIds"][0]["id"]));
    if path == "/find" { "/find?q=a".to_owned() } else { path }
}

/// A request with the body that an operation may have.
fn with_body(operation: &Operation, request: Request) -> Request {
    if operation.method() == "GET" { request } else { request.json(&json!({})) }
}

async fn send(browser: &Browser<'_>, workspace: &str, operation: &Operation, media: &Value) -> Answer {
    let path = format!("/workspaces/{workspace}{}", path(operation, media));
    with_body(operation, browser.request(operation.method(), &path)).send().await
}

#[tokio::test]
async fn role_with_the_action_may_call_every_operation() {
    let world = World::start().await;
    let ([development, _], media) = (world.workspace_ids().await, media(&world).await);
    for role in Role::ALL {
        let browser = world.browser_of(role).await;
        for operation in workspace_operations() {
            let answer = send(&browser, &development, operation, &media).await;
            let name = format!("{role:?} {} {}", operation.method(), operation.path);
            assert_eq!(answer.status == 403, !role.may(operation.action), "{name}: {answer:?}");
            assert!(!matches!(answer.status, 401 | 405 | 415 | 500..), "{name}: {answer:?}");
        }
    }
}

#[tokio::test]
async fn without_a_session_every_operation_is_401() {
    let world = World::start().await;
    let ([development, _], media) = (world.workspace_ids().await, media(&world).await);
    let browser = world.browser();
    for operation in workspace_operations() {
        let target = format!("/workspaces/{development}{}", path(operation, &media));
        let request = || with_body(operation, browser.request(operation.method(), &target));
        for request in [request(), request().token(&world.app.token)] {
            let answer = request.send().await;
            assert_eq!(answer.refusal(), (401, "unauthorized".to_owned()), "{target}");
        }
    }
}

#[tokio::test]
async fn media_of_another_workspace_is_404() {
    let world = World::start().await;
    let media = media(&world).await;
    let production = world.app.workspace(PRODUCTION).await.id.to_string();
    let browser = world.browser_of(Role::Admin).await;
    for operation in workspace_operations().iter().filter(|operation| operation.path.contains("{mediaId}")) {
        let answer = send(&browser, &production, operation, &media).await;
        assert_eq!(answer.status, 404, "{}: {answer:?}", operation.path);
    }
}

#[tokio::test]
async fn operations_exist_at_no_other_prefix() {
    let world = World::start().await;
    let media = media(&world).await;
    for operation in workspace_operations() {
        for prefix in ["", "/v1"] {
            let path = format!("{prefix}{}", path(operation, &media));
            let answer = with_body(operation, world.app.call(operation.method(), &path)).send().await;
            // Players may only read what has such a path.
            assert!(matches!(answer.status, 404 | 405), "{path}: {answer:?}");
        }
    }
}

/// Neither shadows an operation of the API, nor another one.
#[tokio::test]
async fn paths_of_the_api_are_free_of_these_operations() {
    let names = |path: &str| path.split('/').nth(1).map(str::to_owned);
    for operation in workspace_operations() {
        for path in kinora_api::paths() {
            assert_ne!(names(operation.path), names(&path), "{path}");
        }
    }
}
