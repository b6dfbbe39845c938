//! The last administrator who can sign in stays: pages and commands are rejected.

use kinora_domain::{Actor, Role};
use kinora_service::Error;
use serde_json::{Value, json};

use super::objects::rows;
use super::support::{World, problem};

#[tokio::test]
async fn last_administrator_is_neither_removed_disabled_nor_demoted() {
    let world = World::start().await;
    let ada = world.person("ada@example.com", Role::Admin).await;
    let browser = world.browser_of_person(&ada).await;
    // A disabled administrator is no way in, and neither is a member.
    let disabled = world.person("disabled@example.com", Role::Admin).await;
    world.service.disable_person(&Actor::command_line(), disabled.person.id).await.unwrap();
    world.person("member@example.com", Role::Member).await;
    let (before, path) = (rows(&world).await, format!("/people/{}", ada.person.id));
    let answers = [
        browser.delete(&path).await,
        browser.patch(&path, &json!({"isDisabled": true})).await,
        browser.patch(&path, &json!({"role": "member"})).await,
        browser.patch(&path, &json!({"role": "viewer", "isDisabled": true})).await,
        browser.patch(&path, &json!({"role": "viewer", "isDisabled": false})).await,
    ];
    for answer in answers {
        assert_eq!(answer.refusal(), (409, "last administrator".to_owned()));
        assert!(problem(&answer).1[0].contains("make another person administrator first"), "{answer:?}");
    }
    assert_eq!(rows(&world).await, before);
    let by_command = world.service.remove_person(&Actor::command_line(), ada.person.id).await;
    assert!(matches!(by_command, Err(Error::LastAdministrator)));
    assert_eq!(browser.get("/session").await.data()["role"], "admin");
}

/// Each of two administrators takes the rights of the other one at the same time.
#[tokio::test]
async fn two_administrators_at_once_leave_one() {
    for change in [json!({"role": "viewer"}), json!({"isDisabled": true}), Value::Null] {
        let world = World::start().await;
        let [ada, eve] = [
            world.person("a@example.com", Role::Admin).await,
            world.person("e@example.com", Role::Admin).await,
        ];
        let [first, second] = [world.browser_of_person(&ada).await, world.browser_of_person(&eve).await];
        // Both sessions are known, so both requests reach the operation.
        assert_eq!((first.get("/people").await.status, second.get("/people").await.status), (200, 200));
        let (of_ada, of_eve) = (format!("/people/{}", ada.person.id), format!("/people/{}", eve.person.id));
        let (one, other) = match &change {
            Value::Null => tokio::join!(first.delete(&of_eve), second.delete(&of_ada)),
            change => tokio::join!(first.patch(&of_eve, change), second.patch(&of_ada, change)),
        };
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses[0], 200, "{change}: {one:?} {other:?}");
        assert!(matches!(statuses[1], 401 | 403 | 409), "{change}: {one:?} {other:?}");
        assert!(world.app.store.can_administrator_sign_in().await.unwrap(), "{change}");
    }
}
