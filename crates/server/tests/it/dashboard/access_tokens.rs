//! Access tokens: their life in the dashboard, and what they open at `/v1`.

use kinora_domain::{Clock as _, DEVELOPMENT, PRODUCTION, Role};
use serde_json::{Value, json};

use super::support::{API, Browser, World, problem};
use crate::support::{Token, text, until};

const UNKNOWN: &str = "019a492c-41f3-7001-8203-040506070809";
const DAY_S: i64 = 24 * 60 * 60;

async fn create(browser: &Browser<'_>, workspace: &str, permission: &str) -> Value {
    let body = json!({"name": " Player of the shop ", "workspaceId": workspace, "permission": permission});
    let answer = browser.post("/access-tokens", &body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.data()
}

fn credentials(created: &Value) -> Token {
    Token { id: text(&created["id"]).to_owned(), secret: text(&created["secret"]).to_owned() }
}

async fn status(world: &World, method: &str, path: &str, token: &Token) -> u16 {
    let request = world.app.request(method, path).token(token);
    let request = if method == "POST" { request.json(&json!({})) } else { request };
    request.send().await.status
}

#[tokio::test]
async fn created_token_has_its_permission_in_its_workspace_only() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let media = world.app.create("http://127.0.0.1/a.mp4").await;
    let media = format!("/v1/on-demand/{}", text(&media["id"]));
    let [development, production] = world.workspace_ids().await;
    world.clock.advance_seconds(1);
    let now = world.clock.now().to_string();
    let writer = create(&browser, &production, "read-write").await;
    world.clock.advance_seconds(1);
    let reader = create(&browser, &development, "read-only").await;

    let expected = json!({
        "id": writer["id"],
        "name": "Player of the shop",
        "workspace": {"id": production, "name": PRODUCTION},
        "permission": "read-write",
        "createdAt": now,
        "createdBy": {"kind": "person", "name": "Ada"},
        "lastUsedAt": null,
        "revokedAt": null,
    });
    let mut created = writer.clone();
    for name in ["secret", "files", "example"] {
        assert!(!created.as_object_mut().unwrap().remove(name).unwrap().is_null(), "{name}");
    }
    assert_eq!(created, expected);
    let listed = browser.get("/access-tokens").await.data();
    assert_eq!(listed[1], expected, "newest first: {listed}");
    let of_one = browser.get(&format!("/access-tokens?workspaceId={production}")).await.data();
    assert_eq!(of_one, json!([expected]));

    let [writer, reader] = [credentials(&writer), credentials(&reader)];
    assert_eq!(status(&world, "GET", "/v1/on-demand", &writer).await, 200);
    assert_eq!(status(&world, "POST", "/v1/on-demand", &writer).await, 422, "it may write");
    assert_eq!(status(&world, "GET", &media, &writer).await, 404, "it is in {DEVELOPMENT}");
    assert_eq!(status(&world, "GET", &media, &reader).await, 200);
    assert_eq!(status(&world, "POST", "/v1/on-demand", &reader).await, 403);
}

/// The values that a program reads from each form open the API.
#[tokio::test]
async fn files_and_example_of_a_token_work() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let [_, production] = world.workspace_ids().await;
    let created = create(&browser, &production, "read-only").await;
    let (id, token) = (text(&created["id"]), credentials(&created));
    let opens = async |url: &str, token: &Token| {
        let path = url.strip_prefix(&world.origin()).expect("an address of this server");
        status(&world, "GET", path, token).await == 200
    };

    let file = &created["files"]["json"];
    assert_eq!(file["name"], format!("kinora-production-{}.json", &id[..8]));
    let file: Value = serde_json::from_str(text(&file["text"])).unwrap();
    let expected = json!({
        "kinora": 1,
        "baseUrl": format!("{}/v1", world.origin()),
        "workspace": {"id": production, "name": PRODUCTION},
        "accessToken": {"id": id, "secret": token.secret, "permission": "read-only"},
        "createdAt": created["createdAt"],
        "example": created["example"],
    });
    assert_eq!(file, expected);

    let env = &created["files"]["env"];
    assert_eq!(env["name"], format!("kinora-production-{}.env", &id[..8]));
    let value = |name: &str| {
        let mut lines = text(&env["text"]).lines().filter_map(|line| line.split_once('='));
        lines.find(|(key, _)| *key == name).unwrap_or_else(|| panic!("no {name}")).1.to_owned()
    };
    let of_env = Token { id: value("KINORA_TOKEN_ID"), secret: value("KINORA_TOKEN_SECRET") };
    assert!(opens(&format!("{}/on-demand", value("KINORA_BASE_URL")), &of_env).await);
    assert_eq!(value("KINORA_WORKSPACE_ID"), production);

    let example = text(&created["example"]).strip_prefix("curl -u '").expect("a call of curl");
    let (user, url) = example.split_once("' ").unwrap();
    let (id, secret) = user.split_once(':').unwrap();
    assert!(opens(url, &Token { id: id.to_owned(), secret: secret.to_owned() }).await);
}

#[tokio::test]
async fn revoked_token_is_401_and_listed_for_30_days() {
    let world = World::start().await;
    let admin = world.person("ada@example.com", Role::Admin).await;
    let browser = world.browser_of_person(&admin).await;
    let [development, _] = world.workspace_ids().await;
    world.clock.advance_seconds(1);
    let created = create(&browser, &development, "read-only").await;
    let token = credentials(&created);
    let path = format!("/access-tokens/{}", token.id);
    assert_eq!(status(&world, "GET", "/v1/on-demand", &token).await, 200);

    assert_eq!(browser.delete(&path).await.data(), json!({}));
    until("the token is rejected", async || {
        (status(&world, "GET", "/v1/on-demand", &token).await == 401).then_some(())
    })
    .await;
    let revoked_at = world.clock.now().to_string();
    let audit = world.audit().await;
    world.clock.advance_seconds(2);
    assert_eq!(browser.delete(&path).await.data(), json!({}), "revoked already");
    assert_eq!(world.audit().await, audit);
    let listed = browser.get("/access-tokens").await.data();
    assert_eq!((&listed[0]["id"], &listed[0]["revokedAt"]), (&created["id"], &json!(revoked_at)));

    let is_listed = async || {
        let browser = world.browser_of_person(&admin).await;
        browser.get("/access-tokens").await.text().contains(&token.id)
    };
    world.clock.advance_seconds(30 * DAY_S - 3);
    assert!(is_listed().await);
    world.clock.advance_seconds(1);
    assert!(!is_listed().await);
}

#[tokio::test]
async fn token_gets_another_name() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let path = format!("/access-tokens/{}", world.app.token.id);
    let before = browser.get("/access-tokens").await.data();
    assert_eq!((&before[0]["name"], &before[0]["createdBy"]), (&json!(null), &json!(null)), "an old token");
    let renamed = browser.patch(&path, &json!({"name": " Shop "})).await.data();
    assert_eq!(renamed["name"], "Shop");
    assert_eq!(browser.get("/access-tokens").await.data(), json!([renamed]));
}

#[tokio::test]
async fn invalid_field_is_422_and_unknown_id_404() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let [development, _] = world.workspace_ids().await;
    let audit = world.audit().await;
    let path = format!("/access-tokens/{}", world.app.token.id);
    for name in [json!(""), json!("  "), json!("a\u{7}"), json!("a".repeat(81)), json!(1), json!(null)] {
        let body = json!({"name": name, "workspaceId": development, "permission": "read-only"});
        let fields = vec!["name".to_owned()];
        assert_eq!(problem(&browser.post("/access-tokens", &body).await), (422, fields.clone()), "{name}");
        assert_eq!(problem(&browser.patch(&path, &json!({"name": name})).await), (422, fields), "{name}");
    }
    let check = async |body: Value, fields: &[&str]| {
        let answer = browser.post("/access-tokens", &body).await;
        assert_eq!(problem(&answer), (422, fields.iter().map(|it| (*it).to_owned()).collect()), "{body}");
    };
    check(json!({}), &["name", "workspaceId", "permission"]).await;
    check(json!([]), &["body"]).await;
    check(json!({"name": "a", "workspaceId": "none", "permission": "all"}), &["workspaceId", "permission"])
        .await;
    check(json!({"name": "a", "workspaceId": UNKNOWN, "permission": "read-only"}), &["workspaceId"]).await;
    assert_eq!(problem(&browser.get("/access-tokens?workspaceId=none").await).0, 422);
    assert_eq!(browser.get(&format!("/access-tokens?workspaceId={UNKNOWN}")).await.data(), json!([]));

    let unknown = format!("/access-tokens/{UNKNOWN}");
    for answer in [browser.patch(&unknown, &json!({"name": "a"})).await, browser.delete(&unknown).await] {
        assert_eq!(answer.refusal(), (404, "access token not found".to_owned()));
    }
    assert_eq!(
        problem(&browser.delete("/access-tokens/none").await),
        (422, vec!["accessTokenId".to_owned()])
    );
    assert_eq!(world.audit().await, audit);
    let longest = json!({"name": "é".repeat(80), "workspaceId": development, "permission": "read-only"});
    assert_eq!(browser.post("/access-tokens", &longest).await.status, 201);
}

#[tokio::test]
async fn secret_is_in_no_later_answer() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let [development, _] = world.workspace_ids().await;
    let token = credentials(&create(&browser, &development, "read-only").await);
    let path = format!("/access-tokens/{}", token.id);
    let answers = [
        browser.get("/access-tokens").await,
        browser.patch(&path, &json!({"name": "Other"})).await,
        browser.get("/audit").await,
        browser.get("/audit.jsonl").await,
        browser.get("/server").await,
        browser.delete(&path).await,
    ];
    for answer in answers {
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(!answer.text().contains(&token.secret), "{answer:?}");
    }
    let target = format!("{API}/access-tokens");
    assert_eq!(world.app.fetch(&target).await.status, 401);
}
