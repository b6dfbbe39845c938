//! The organisation.

use kinora_domain::Role;
use serde_json::json;

use super::support::{World, problem};

#[tokio::test]
async fn organisation_gets_another_name() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let before = browser.get("/organisation").await.data();
    let stored = world.app.store.organisation().await.unwrap().unwrap();
    let mut expected = json!({
        "id": stored.id.to_string(),
        "name": stored.name,
        "createdAt": stored.created_at.to_string(),
    });
    assert_eq!(before, expected);
    expected["name"] = json!("Studio \"Nord\"");
    assert_eq!(browser.patch("/organisation", &json!({"name": " Studio \"Nord\" "})).await.data(), expected);
    assert_eq!(browser.get("/organisation").await.data(), expected);
    assert_eq!(world.browser().get("/door").await.data()["organisation"], json!({"name": "Studio \"Nord\""}));
    assert_eq!(browser.get("/session").await.data()["organisation"]["name"], "Studio \"Nord\"");
}

#[tokio::test]
async fn invalid_name_is_422_and_same_name_changes_nothing() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let (before, audit) = (browser.get("/organisation").await.data(), world.audit().await);
    for name in [json!(""), json!(" "), json!("a\u{7}b"), json!("a".repeat(81)), json!([]), json!(null)] {
        let answer = browser.patch("/organisation", &json!({"name": name})).await;
        assert_eq!(problem(&answer), (422, vec!["name".to_owned()]), "{name}");
    }
    assert_eq!(browser.patch("/organisation", &json!({"name": before["name"]})).await.data(), before);
    assert_eq!(world.audit().await, audit);
    assert_eq!(browser.patch("/organisation", &json!({"name": "a".repeat(80)})).await.status, 200);
}
