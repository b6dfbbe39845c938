//! One-time links over HTTP.

use kinora_domain::{Actor, Email, LinkKind, Role};
use kinora_service::MadeLink;
use serde_json::{Value, json};

use super::support::{PASSWORD, World, problem};
use crate::support::{Answer, text};

const NEW_PASSWORD: &str = "purple monkey dishwasher";

fn secret_of(link: &MadeLink) -> String {
    link.secret.reveal().to_owned()
}

async fn look(world: &World, secret: &str) -> Answer {
    world.browser().post("/links/look", &json!({"secret": secret})).await
}

fn description(answer: &Answer) -> String {
    text(&answer.json()["error"]["description"]).to_owned()
}

#[tokio::test]
async fn setup_link_sets_name_and_password_and_signs_in() {
    let world = World::start().await;
    let link = world.setup_link("ada@example.com", None).await;
    let secret = secret_of(&link);
    let address = LinkKind::Setup.url(&world.origin(), &link.secret);
    assert_eq!(address, format!("{}/dashboard/setup#{secret}", world.origin()));
    assert_eq!(world.app.fetch("/dashboard/setup").await.status, 200);

    let expected = json!({
        "kind": "setup",
        "email": "ada@example.com",
        "name": null,
        "role": "admin",
        "endsAt": link.link.ends_at.to_string(),
        "organisation": {"name": world.browser().get("/door").await.data()["organisation"]["name"]},
    });
    for _ in 0..2 {
        assert_eq!(look(&world, &secret).await.data(), expected, "looking does not use it");
    }
    let browser = world.browser();
    let body = json!({"secret": secret, "name": " Ada ", "password": PASSWORD});
    let used = browser.post("/links/use", &body).await;
    assert_eq!(used.status, 201, "{used:?}");
    assert_eq!((&used.data()["person"]["name"], &used.data()["role"]), (&json!("Ada"), &json!("admin")));
    assert_eq!(browser.get("/session").await.data(), used.data());
    let credentials = json!({"email": "ada@example.com", "password": PASSWORD});
    assert_eq!(world.browser().post("/session", &credentials).await.status, 201);
    assert_eq!(world.browser().get("/door").await.data()["hasPeople"], true);
}

#[tokio::test]
async fn link_used_twice_at_once_works_once() {
    let world = World::start().await;
    let secret = secret_of(&world.setup_link("ada@example.com", None).await);
    let body = |name: &str| json!({"secret": secret, "name": name, "password": PASSWORD});
    let (bodies, browsers) = ([body("Ada"), body("Eve")], [world.browser(), world.browser()]);
    let (one, other) =
        tokio::join!(browsers[0].post("/links/use", &bodies[0]), browsers[1].post("/links/use", &bodies[1]));
    let mut statuses = [one.status, other.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 410]);
    let (winner, loser) = if one.status == 201 { (one, other) } else { (other, one) };
    assert_eq!(loser.header("set-cookie"), None);
    let members = world.app.store.members().await.unwrap();
    assert_eq!(members[0].person.name.as_deref(), winner.data()["person"]["name"].as_str());

    let again = world.browser().post("/links/use", &bodies[0]).await;
    for answer in [&again, &look(&world, &secret).await] {
        assert_eq!(answer.refusal(), (410, "link gone".to_owned()));
        assert!(description(answer).contains("used already"), "{answer:?}");
    }
}

#[tokio::test]
async fn ended_link_is_410_and_unknown_link_404() {
    let world = World::start().await;
    let secret = secret_of(&world.setup_link("ada@example.com", None).await);
    world.clock.advance_seconds(24 * 60 * 60 - 1);
    assert_eq!(look(&world, &secret).await.status, 200);
    world.clock.advance_seconds(1);
    let ended = look(&world, &secret).await;
    assert_eq!(ended.refusal().0, 410);
    assert!(
        description(&ended).contains("has ended") && description(&ended).contains("kinora user reset"),
        "{ended:?}"
    );
    let body = json!({"secret": secret, "name": "Ada", "password": PASSWORD});
    assert_eq!(world.browser().post("/links/use", &body).await.refusal().0, 410);
    for unknown in ["none", "", &"x".repeat(43)] {
        let answer = look(&world, unknown).await;
        assert_eq!(answer.refusal().0, 404, "{unknown:?}");
    }
    assert_eq!(
        problem(&world.browser().post("/links/look", &json!({})).await),
        (422, vec!["secret".to_owned()])
    );
}

#[tokio::test]
async fn weak_password_and_missing_name_are_422_and_leave_the_link() {
    let world = World::start().await;
    let secret = secret_of(&world.setup_link("margarete.sommerfeld@example.com", None).await);
    let check = async |fields: Value, names: &[&str]| {
        let mut body = json!({"secret": secret});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let answer = world.browser().post("/links/use", &body).await;
        assert_eq!(problem(&answer), (422, names.iter().map(|it| (*it).to_owned()).collect()), "{body}");
        answer
    };
    check(json!({"name": "Ada"}), &["password"]).await;
    check(json!({"password": PASSWORD}), &["name"]).await;
    check(json!({"name": " ", "password": PASSWORD}), &["name"]).await;
    check(json!({"name": "a".repeat(81), "password": PASSWORD}), &["name"]).await;
    check(json!({"name": "Ada", "password": "short"}), &["password"]).await;
    check(json!({"name": "Ada", "password": "a".repeat(257)}), &["password"]).await;
    let weak = check(json!({"name": "Ada", "password": "margaretesommerfeld"}), &["password"]).await;
    assert!(weak.text().contains("too easy to guess"), "{weak:?}");
    assert_eq!(look(&world, &secret).await.status, 200);
    assert_eq!(world.audit().await.len(), 1, "the person was created, nothing else");
}

#[tokio::test]
async fn reset_link_ends_all_sessions_of_the_person() {
    let world = World::start().await;
    let member = world.person_with_password("ada@example.com", Role::Admin).await;
    let other = world.browser_of(Role::Viewer).await;
    let browsers = [world.browser_of_person(&member).await, world.browser_of_person(&member).await];
    let first = secret_of(&world.service.reset_link(&Actor::command_line(), member.person.id).await.unwrap());
    let link = world.service.reset_link(&Actor::command_line(), member.person.id).await.unwrap();
    assert_eq!(look(&world, &first).await.refusal().0, 410, "a new link ends the earlier one");
    let view = look(&world, &secret_of(&link)).await.data();
    assert_eq!((&view["kind"], &view["name"]), (&json!("reset"), &json!("Ada")));
    for browser in &browsers {
        assert_eq!(browser.get("/session").await.status, 200, "nothing ends before the new password");
    }
    let body = json!({"secret": secret_of(&link), "password": NEW_PASSWORD});
    let used = world.browser().post("/links/use", &body).await;
    assert_eq!((used.status, &used.data()["person"]["name"]), (201, &json!("Ada")));
    for browser in &browsers {
        assert_eq!(browser.get("/session").await.status, 401);
    }
    assert_eq!(other.get("/session").await.status, 200);
    for (password, status) in [(PASSWORD, 401), (NEW_PASSWORD, 201)] {
        let body = json!({"email": "ada@example.com", "password": password});
        assert_eq!(world.browser().post("/session", &body).await.status, status);
    }
}

#[tokio::test]
async fn invitation_makes_a_person_of_its_role() {
    let world = World::start().await;
    let invite = async |email: &str| {
        let email = Email::parse(email).unwrap();
        let link = world.service.invitation_link(&Actor::command_line(), email, Role::Member).await;
        secret_of(&link.unwrap())
    };
    let secret = invite("eve@example.com").await;
    let view = look(&world, &secret).await.data();
    assert_eq!(
        (&view["kind"], &view["role"], &view["name"]),
        (&json!("invitation"), &json!("member"), &json!(null))
    );
    let body = json!({"secret": secret, "name": "Eve", "password": PASSWORD});
    let used = world.browser().post("/links/use", &body).await;
    assert_eq!((used.status, &used.data()["role"]), (201, &json!("member")));
}

#[tokio::test]
async fn client_address_may_try_10_unknown_links() {
    let world = World::start_with(|options| options.trusted_proxies(&["127.0.0.0/8"])).await;
    let secret = secret_of(&world.setup_link("ada@example.com", None).await);
    let look = async |secret: &str, from: &str| {
        let request = world.browser().request("POST", "/links/look").header("X-Forwarded-For", from);
        request.json(&json!({"secret": secret})).send().await
    };
    for _ in 0..10 {
        assert_eq!(look("none", "203.0.113.1").await.status, 404);
        assert_eq!(look(&secret, "203.0.113.2").await.status, 200);
    }
    let refused = look(&secret, "203.0.113.1").await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("600")));
    assert_eq!(look(&secret, "203.0.113.2").await.status, 200);
    world.clock.advance_seconds(600);
    assert_eq!(look(&secret, "203.0.113.1").await.status, 200);
}
