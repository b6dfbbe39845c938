//! Workspaces: created, renamed and deleted.

use kinora_domain::{
    Actor, Clock as _, DEVELOPMENT, Event, EventKind, MediaId, PRODUCTION, Permission, Role, WorkspaceId,
};
use serde_json::{Value, json};

use super::support::{Browser, World, problem};
use crate::support::text;

const UNKNOWN: &str = "019a492c-41f3-7001-8203-040506070809";

async fn create(browser: &Browser<'_>, name: &str) -> Value {
    let answer = browser.post("/workspaces", &json!({"name": name})).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.data()
}

fn path_of(workspace: &Value) -> String {
    format!("/workspaces/{}", text(&workspace["id"]))
}

#[tokio::test]
async fn created_workspace_is_mounted_and_deleted_one_is_404() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let created = create(&browser, " Archive ").await;
    let now = world.clock.now().to_string();
    let expected = json!({"id": created["id"], "name": "Archive", "createdAt": now, "isEmpty": true});
    assert_eq!(created, expected);
    let path = path_of(&created);
    let media = format!("{path}/on-demand");
    assert_eq!(browser.get(&media).await.status, 200);
    assert!(browser.get("/session").await.text().contains("\"Archive\""));

    assert_eq!(browser.delete(&path).await.data(), json!({}));
    assert_eq!(browser.get(&media).await.refusal(), (404, "workspace not found".to_owned()));
    assert!(!browser.get("/workspaces").await.text().contains("Archive"));
    for answer in [browser.delete(&path).await, browser.patch(&path, &json!({"name": "A"})).await] {
        assert_eq!(answer.refusal(), (404, "workspace not found".to_owned()));
    }
}

#[tokio::test]
async fn list_says_which_workspaces_are_empty() {
    let world = World::start().await;
    let [admin, viewer] = [world.browser_of(Role::Admin).await, world.browser_of(Role::Viewer).await];
    let list = admin.get("/workspaces").await.data();
    let of = |name: &str| list.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone();
    assert_eq!(list.as_array().unwrap().len(), 2);
    assert_eq!(of(DEVELOPMENT)["isEmpty"], false, "it has an access token");
    assert_eq!(of(PRODUCTION)["isEmpty"], true);
    assert_eq!(viewer.get("/workspaces").await.data(), list);
}

#[tokio::test]
async fn workspace_gets_another_name_and_keeps_its_id() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let [development, _] = world.workspace_ids().await;
    let path = format!("/workspaces/{development}");
    let renamed = browser.patch(&path, &json!({"name": " Studio "})).await.data();
    let expected = json!({
        "id": development,
        "name": "Studio",
        "createdAt": renamed["createdAt"],
        "isEmpty": false,
    });
    assert_eq!(renamed, expected);
    assert_eq!(browser.get(&format!("{path}/on-demand")).await.status, 200);
    assert_eq!(browser.get("/access-tokens").await.data()[0]["workspace"]["name"], "Studio");
    assert_eq!(browser.patch(&path, &json!({"name": "Studio"})).await.status, 200, "its own name");
}

#[tokio::test]
async fn workspace_with_content_is_409_and_names_it() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    world.app.create("http://127.0.0.1/a.mp4").await;
    let [development, production] = world.workspace_ids().await;
    let audit = world.audit().await;
    let answer = browser.delete(&format!("/workspaces/{development}")).await;
    assert_eq!(answer.refusal(), (409, "workspace not deleted".to_owned()));
    let description = problem(&answer).1.remove(0);
    assert!(description.contains("media") && description.contains("access tokens"), "{description}");
    assert_eq!(world.audit().await, audit);

    let new = json!({"name": "Player", "workspaceId": production, "permission": "read-only"});
    let token = browser.post("/access-tokens", &new).await.data();
    let path = format!("/workspaces/{production}");
    assert_eq!(browser.delete(&path).await.status, 409);
    browser.delete(&format!("/access-tokens/{}", text(&token["id"]))).await.data();
    assert_eq!(browser.delete(&path).await.data(), json!({}), "a revoked token opens nothing");
}

#[tokio::test]
async fn workspace_is_deleted_with_its_webhooks_and_a_month_of_events() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let [_, production] = world.workspace_ids().await;
    let workspace: WorkspaceId = production.parse().unwrap();
    let media: MediaId = UNKNOWN.parse().unwrap();
    let event = Event { workspace, kind: EventKind::MediaDeleted(media), at: world.clock.now() };
    let pushed = world.app.store.write(async move |tx| {
        for _ in 0..1200 {
            tx.push_event(&event).await?;
        }
        Ok::<_, kinora_store::Error>(())
    });
    pushed.await.unwrap();
    world.app.new_hook(PRODUCTION, "https://hooks.example/a").await;
    assert_eq!(browser.get("/workspaces").await.data()[1]["isEmpty"], true);
    let path = format!("/workspaces/{production}");
    assert_eq!(browser.delete(&path).await.data(), json!({}));
    assert_eq!(browser.get("/workspaces").await.data().as_array().unwrap().len(), 1);
    assert!(world.app.store.webhooks(None).await.unwrap().is_empty());
}

/// By another process: this one caches workspaces and callers for a second.
#[tokio::test]
async fn creation_after_a_deletion_elsewhere_is_404_and_401() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Member).await;
    let [_, production] = world.workspace_ids().await;
    let token = world.app.new_token(PRODUCTION, Permission::ReadWrite).await;
    let path = format!("/workspaces/{production}/on-demand");
    let by_token = |method: &str| world.app.request(method, "/v1/on-demand").token(&token);
    assert_eq!(browser.get(&path).await.status, 200);
    assert_eq!(by_token("GET").send().await.status, 200);

    let operator = Actor::command_line();
    world.service.revoke_access_token(&operator, token.id.parse().unwrap()).await.unwrap();
    world.service.delete_workspace(&operator, production.parse().unwrap()).await.unwrap();
    let body = json!({"inputs": [{"type": "video", "url": "http://127.0.0.1/a.mp4"}]});
    let created = browser.post(&path, &body).await;
    assert_eq!(created.refusal(), (404, "workspace not found".to_owned()));
    let created = by_token("POST").json(&body).send().await;
    assert_eq!(created.refusal(), (401, "unauthorized".to_owned()));
}

#[tokio::test]
async fn last_workspace_stays() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let [development, production] = world.workspace_ids().await;
    browser.delete(&format!("/access-tokens/{}", world.app.token.id)).await.data();
    let paths = [format!("/workspaces/{development}"), format!("/workspaces/{production}")];
    assert_eq!(browser.delete(&paths[1]).await.data(), json!({}));
    let last = browser.delete(&paths[0]).await;
    assert_eq!(last.refusal(), (409, "workspace not deleted".to_owned()));
    assert!(problem(&last).1[0].contains("last"), "{last:?}");
    create(&browser, PRODUCTION).await;
    assert_eq!(browser.delete(&paths[0]).await.data(), json!({}));
}

#[tokio::test]
async fn invalid_name_is_422_and_taken_name_409() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let [development, _] = world.workspace_ids().await;
    let path = format!("/workspaces/{development}");
    let audit = world.audit().await;
    for name in
        [json!(""), json!(" "), json!("a\u{7}b"), json!("a\u{202e}b"), json!("a".repeat(256)), json!(7)]
    {
        let body = json!({"name": name});
        let answers = [browser.post("/workspaces", &body).await, browser.patch(&path, &body).await];
        for answer in answers {
            assert_eq!(problem(&answer), (422, vec!["name".to_owned()]), "{name}");
        }
    }
    let taken = json!({"name": PRODUCTION});
    for answer in [browser.post("/workspaces", &taken).await, browser.patch(&path, &taken).await] {
        assert_eq!(answer.refusal(), (409, "name taken".to_owned()));
    }
    assert_eq!(world.audit().await, audit);
    let unknown = browser.delete(&format!("/workspaces/{UNKNOWN}")).await;
    assert_eq!(unknown.refusal(), (404, "workspace not found".to_owned()));
    assert_eq!(problem(&browser.delete("/workspaces/none").await).0, 422);
}
