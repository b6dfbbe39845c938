//! People: listed, changed, removed, and their reset links.

use kinora_domain::{Actor, Clock as _, Member, Role};
use serde_json::{Value, json};

use super::support::{PASSWORD, World, problem};
use crate::support::text;

const UNKNOWN: &str = "019a492c-41f3-7001-8203-040506070809";
const NEW_PASSWORD: &str = "purple monkey dishwasher";

fn path_of(member: &Member) -> String {
    format!("/people/{}", member.person.id)
}

fn secret_in(url: &Value) -> String {
    text(url).split_once('#').expect("the secret is in the fragment").1.to_owned()
}

#[tokio::test]
async fn people_are_listed_oldest_first_to_every_role() {
    let world = World::start().await;
    let created_at = world.clock.now().to_string();
    let viewer = world.browser_of(Role::Viewer).await;
    world.clock.advance_seconds(1);
    world.setup_link("new@example.com", None).await;
    let people = viewer.get("/people").await.data();
    let expected = json!([
        {
            "id": people[0]["id"],
            "email": "viewer@example.com",
            "name": "Ada",
            "role": "viewer",
            "isDisabled": false,
            "canSignIn": true,
            "createdAt": created_at,
            "seenAt": created_at,
        },
        {
            "id": people[1]["id"],
            "email": "new@example.com",
            "name": null,
            "role": "admin",
            "isDisabled": false,
            "canSignIn": false,
            "createdAt": world.clock.now().to_string(),
            "seenAt": null,
        },
    ]);
    assert_eq!(people, expected);
}

#[tokio::test]
async fn new_role_has_effect_at_once() {
    let world = World::start().await;
    let admin = world.browser_of(Role::Admin).await;
    let ada = world.person("ada@example.com", Role::Member).await;
    let browser = world.browser_of_person(&ada).await;
    assert_eq!(browser.get("/audit").await.status, 403);
    let changed = admin.patch(&path_of(&ada), &json!({"role": "admin"})).await.data();
    assert_eq!(changed["role"], "admin");
    assert_eq!(browser.get("/audit").await.status, 200);
    admin.patch(&path_of(&ada), &json!({"role": "viewer"})).await.data();
    assert_eq!(browser.get("/audit").await.status, 403);
}

#[tokio::test]
async fn disabled_person_is_signed_out_until_enabled() {
    let world = World::start().await;
    let admin = world.browser_of(Role::Admin).await;
    let ada = world.person_with_password("ada@example.com", Role::Member).await;
    let browser = world.browser_of_person(&ada).await;
    assert_eq!(browser.get("/session").await.status, 200);
    let sign_in = async || {
        let body = json!({"email": "ada@example.com", "password": PASSWORD});
        world.browser().post("/session", &body).await.status
    };

    let disabled = admin.patch(&path_of(&ada), &json!({"isDisabled": true})).await.data();
    assert_eq!((&disabled["isDisabled"], &disabled["canSignIn"]), (&json!(true), &json!(false)));
    assert_eq!((browser.get("/session").await.status, sign_in().await), (401, 401));
    let reset = admin.post(&format!("{}/reset", path_of(&ada)), &json!({})).await;
    assert_eq!(reset.refusal(), (409, "person disabled".to_owned()));

    let enabled = admin.patch(&path_of(&ada), &json!({"isDisabled": false, "role": "viewer"})).await.data();
    let expected = (&json!(false), &json!(true), &json!("viewer"));
    assert_eq!((&enabled["isDisabled"], &enabled["canSignIn"], &enabled["role"]), expected);
    assert_eq!((browser.get("/session").await.status, sign_in().await), (401, 201));
}

#[tokio::test]
async fn removed_person_is_signed_out_and_unknown() {
    let world = World::start().await;
    let admin = world.browser_of(Role::Admin).await;
    let ada = world.person("ada@example.com", Role::Member).await;
    let browser = world.browser_of_person(&ada).await;
    assert_eq!(browser.get("/session").await.status, 200);
    assert_eq!(admin.delete(&path_of(&ada)).await.data(), json!({}));
    assert_eq!(browser.get("/session").await.status, 401);
    assert_eq!(admin.get("/people").await.data().as_array().unwrap().len(), 1);
    for path in [path_of(&ada), format!("/people/{UNKNOWN}")] {
        let reset = format!("{path}/reset");
        let answers = [
            admin.delete(&path).await,
            admin.patch(&path, &json!({"role": "viewer"})).await,
            admin.post(&reset, &json!({})).await,
        ];
        for answer in answers {
            assert_eq!(answer.refusal(), (404, "person not found".to_owned()), "{path}");
        }
    }
}

#[tokio::test]
async fn reset_link_sets_a_password_and_ends_sessions() {
    let world = World::start().await;
    let admin = world.browser_of(Role::Admin).await;
    let ada = world.person_with_password("ada@example.com", Role::Member).await;
    let browser = world.browser_of_person(&ada).await;
    assert_eq!(browser.get("/session").await.status, 200);

    let made = admin.post(&format!("{}/reset", path_of(&ada)), &json!({})).await;
    assert_eq!(made.status, 201, "{made:?}");
    let link = made.data();
    let secret = secret_in(&link["url"]);
    let expected = json!({
        "kind": "reset",
        "url": format!("{}/dashboard/reset#{secret}", world.origin()),
        "endsAt": world.clock.now().plus_seconds(60 * 60).to_string(),
    });
    assert_eq!(link, expected);
    assert_eq!(browser.get("/session").await.status, 200, "an unused link changes nothing");
    let body = json!({"secret": secret, "password": NEW_PASSWORD});
    assert_eq!(world.browser().post("/links/use", &body).await.status, 201);
    assert_eq!(browser.get("/session").await.status, 401);
    assert!(!admin.get("/audit").await.text().contains(&secret));
}

#[tokio::test]
async fn person_without_a_password_gets_a_setup_link() {
    let world = World::start().await;
    let admin = world.browser_of(Role::Admin).await;
    let first = world.setup_link("new@example.com", None).await;
    let path = format!("/people/{}/reset", first.link.person.unwrap());
    let link = admin.post(&path, &json!({})).await.data();
    assert_eq!(link["kind"], "setup");
    assert!(text(&link["url"]).starts_with(&format!("{}/dashboard/setup#", world.origin())), "{link}");
    let old = json!({"secret": first.secret.reveal()});
    assert_eq!(world.browser().post("/links/look", &old).await.status, 410, "the earlier link ended");
}

#[tokio::test]
async fn invalid_change_is_422_and_changes_nothing() {
    let world = World::start().await;
    let admin = world.browser_of(Role::Admin).await;
    let ada = world.person("ada@example.com", Role::Member).await;
    let audit = world.audit().await;
    let check = async |body: Value, fields: &[&str]| {
        let answer = admin.patch(&path_of(&ada), &body).await;
        assert_eq!(problem(&answer), (422, fields.iter().map(|it| (*it).to_owned()).collect()), "{body}");
    };
    check(json!({"role": "owner", "isDisabled": "yes"}), &["role", "isDisabled"]).await;
    check(json!({"role": "viewer", "isDisabled": 1}), &["isDisabled"]).await;
    check(json!({"isDisable": true}), &["role"]).await;
    check(json!({}), &["role"]).await;
    check(json!([]), &["body"]).await;
    assert_eq!(problem(&admin.delete("/people/none").await), (422, vec!["personId".to_owned()]));
    let unchanged = admin.patch(&path_of(&ada), &json!({"role": "member", "isDisabled": false})).await.data();
    assert_eq!(unchanged["role"], "member");
    assert_eq!(world.audit().await, audit);
}

#[tokio::test]
async fn administrator_may_demote_or_remove_themselves_beside_another() {
    let world = World::start().await;
    let [ada, eve] =
        [world.person("a@example.com", Role::Admin).await, world.person("e@example.com", Role::Admin).await];
    world.person("last@example.com", Role::Admin).await;
    let [first, second] = [world.browser_of_person(&ada).await, world.browser_of_person(&eve).await];
    assert_eq!(first.patch(&path_of(&ada), &json!({"role": "viewer"})).await.data()["role"], "viewer");
    assert_eq!(first.get("/session").await.data()["role"], "viewer");
    assert_eq!(first.patch(&path_of(&ada), &json!({"role": "admin"})).await.status, 403);
    assert_eq!(second.delete(&path_of(&eve)).await.status, 200);
    assert_eq!(second.get("/session").await.status, 401);
    assert!(world.service.set_role(&Actor::command_line(), ada.person.id, Role::Admin).await.is_ok());
}
