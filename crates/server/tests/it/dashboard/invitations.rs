//! Invitations: made, listed, used and taken back.

use kinora_domain::{Clock as _, Role};
use serde_json::{Value, json};

use super::support::{Browser, PASSWORD, World, problem};
use crate::support::text;

const UNKNOWN: &str = "019a492c-41f3-7001-8203-040506070809";
const DAY_S: i64 = 24 * 60 * 60;

async fn invite(browser: &Browser<'_>, email: &str) -> (Value, String) {
    let answer = browser.post("/invitations", &json!({"email": email, "role": "member"})).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let invitation = answer.data();
    let secret = text(&invitation["url"]).split_once('#').expect("a secret").1.to_owned();
    (invitation, secret)
}

async fn look(world: &World, secret: &str) -> u16 {
    world.browser().post("/links/look", &json!({"secret": secret})).await.status
}

#[tokio::test]
async fn used_invitation_makes_a_person() {
    let world = World::start().await;
    let admin = world.browser_of(Role::Admin).await;
    let (mut invitation, secret) = invite(&admin, " Eve@Example.com ").await;
    let now = world.clock.now();
    let mut expected = json!({
        "id": invitation["id"],
        "email": "Eve@Example.com",
        "role": "member",
        "madeBy": "Ada",
        "createdAt": now.to_string(),
        "endsAt": now.plus_seconds(7 * DAY_S).to_string(),
        "url": format!("{}/dashboard/join#{secret}", world.origin()),
    });
    assert_eq!(invitation, expected);
    for value in [&mut expected, &mut invitation] {
        value.as_object_mut().unwrap().remove("url");
    }
    assert_eq!(admin.get("/invitations").await.data(), json!([expected]));
    assert_eq!(look(&world, &secret).await, 200);

    // People of one instant have no order.
    world.clock.advance_seconds(1);
    let eve = world.browser();
    let body = json!({"secret": secret, "name": "Eve", "password": PASSWORD});
    assert_eq!(eve.post("/links/use", &body).await.status, 201);
    assert_eq!(eve.get("/session").await.data()["role"], "member");
    assert_eq!(admin.get("/invitations").await.data(), json!([]));
    assert_eq!(admin.get("/people").await.data()[1]["name"], "Eve");
    let used = admin.delete(&format!("/invitations/{}", text(&invitation["id"]))).await;
    assert_eq!(used.refusal(), (404, "invitation not found".to_owned()));
}

#[tokio::test]
async fn invitation_taken_back_is_410() {
    let world = World::start().await;
    let admin = world.browser_of(Role::Admin).await;
    let (first, secret) = invite(&admin, "eve@example.com").await;
    world.clock.advance_seconds(1);
    let (second, other_secret) = invite(&admin, "zoe@example.com").await;
    let ids = |list: Value| list.as_array().unwrap().iter().map(|it| it["id"].clone()).collect::<Vec<_>>();
    let listed = ids(admin.get("/invitations").await.data());
    assert_eq!(listed, [second["id"].clone(), first["id"].clone()], "newest first");

    let path = format!("/invitations/{}", text(&first["id"]));
    assert_eq!(admin.delete(&path).await.data(), json!({}));
    assert_eq!((look(&world, &secret).await, look(&world, &other_secret).await), (410, 200));
    let body = json!({"secret": secret, "name": "Eve", "password": PASSWORD});
    assert_eq!(world.browser().post("/links/use", &body).await.status, 410);
    assert_eq!(ids(admin.get("/invitations").await.data()), [second["id"].clone()]);

    let audit = world.audit().await;
    for path in [path.as_str(), &format!("/invitations/{UNKNOWN}")] {
        assert_eq!(admin.delete(path).await.refusal(), (404, "invitation not found".to_owned()));
    }
    assert_eq!(problem(&admin.delete("/invitations/none").await), (422, vec!["invitationId".to_owned()]));
    assert_eq!(world.audit().await, audit);
}

#[tokio::test]
async fn invitation_ends_after_7_days_or_with_a_later_one() {
    let world = World::start().await;
    let admin = world.person("ada@example.com", Role::Admin).await;
    let browser = world.browser_of_person(&admin).await;
    let (_, first) = invite(&browser, "eve@example.com").await;
    world.clock.advance_seconds(1);
    let (invitation, second) = invite(&browser, "EVE@example.com").await;
    assert_eq!((look(&world, &first).await, look(&world, &second).await), (410, 200));
    assert_eq!(browser.get("/invitations").await.data().as_array().unwrap().len(), 1);
    world.clock.advance_seconds(7 * DAY_S);
    let browser = world.browser_of_person(&admin).await;
    assert_eq!(browser.get("/invitations").await.data(), json!([]));
    assert_eq!(look(&world, &second).await, 410);
    let path = format!("/invitations/{}", text(&invitation["id"]));
    assert_eq!(browser.delete(&path).await.refusal().0, 404);
}

#[tokio::test]
async fn invalid_field_is_422_and_known_address_409() {
    let world = World::start().await;
    let admin = world.browser_of(Role::Admin).await;
    let audit = world.audit().await;
    let check = async |body: Value, fields: &[&str]| {
        let answer = admin.post("/invitations", &body).await;
        assert_eq!(problem(&answer), (422, fields.iter().map(|it| (*it).to_owned()).collect()), "{body}");
    };
    check(json!({}), &["email", "role"]).await;
    check(json!({"email": "eve", "role": "owner"}), &["email", "role"]).await;
    check(json!({"email": format!("{}@b", "a".repeat(253)), "role": "admin"}), &["email"]).await;
    check(json!({"email": 1, "role": 2}), &["email", "role"]).await;
    let known = admin.post("/invitations", &json!({"email": "ADMIN@example.com", "role": "member"})).await;
    assert_eq!(known.refusal(), (409, "email taken".to_owned()));
    assert!(problem(&known).1[0].contains("reset link"), "{known:?}");
    assert_eq!(world.audit().await, audit);
}
