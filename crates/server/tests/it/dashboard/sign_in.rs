//! Signing in by password: cookies, failures and their limits.

use futures_util::future::join_all;
use kinora_domain::{Actor, Role};
use serde_json::{Value, json};

use super::support::{API, PASSWORD, World, problem};
use crate::support::{Answer, text};

const EMAIL: &str = "ada@example.com";
const SENTENCE: &str = "the email address or the password is wrong";

fn credentials(email: &str, password: &str) -> Value {
    json!({"email": email, "password": password})
}

async fn sign_in(world: &World, email: &str, password: &str) -> Answer {
    world.browser().post("/session", &credentials(email, password)).await
}

/// A response without the headers that differ between two equal requests.
fn comparable(answer: &Answer) -> (u16, Vec<(String, String)>, String) {
    let own = ["x-request-id", "date"];
    let headers = answer.headers().iter().filter(|(name, _)| !own.contains(&name.as_str()));
    (answer.status, headers.cloned().collect(), answer.text())
}

#[tokio::test]
async fn sign_in_opens_a_session_with_a_cookie() {
    let world = World::start().await;
    let member = world.person_with_password("Ada@Example.com", Role::Member).await;
    let browser = world.browser();
    let request = browser.request("POST", "/session").header("User-Agent", "Firefox 142");
    let answer = browser.send(request.json(&credentials(" aDA@example.COM", PASSWORD))).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let cookie = answer.header("set-cookie").expect("a cookie");
    let secret = browser.secret();
    let expected = format!("kinora={secret}; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict");
    assert_eq!((cookie, secret.len()), (&*expected, 43));
    assert_eq!(answer.header("cache-control"), Some("no-store"));

    let view = answer.data();
    assert_eq!(view, browser.get("/session").await.data());
    let person = json!({
        "id": member.person.id.to_string(),
        "email": "Ada@Example.com",
        "name": "Ada",
        "settings": {"theme": "system", "times": "local", "library": "grid", "keys": true},
    });
    assert_eq!((&view["person"], &view["role"]), (&person, &json!("member")));
    let names: Vec<_> = view["workspaces"].as_array().unwrap().iter().map(|it| text(&it["name"])).collect();
    assert_eq!(names, ["Development", "Production"]);
    assert!(!view["actions"].as_array().unwrap().contains(&json!("people.manage")), "{view}");
    let sessions = browser.get("/me/sessions").await.data();
    assert_eq!((&sessions[0]["client"], &sessions[0]["isCurrent"]), (&json!("Firefox 142"), &json!(true)));
}

#[tokio::test]
async fn cookie_over_tls_is_secure_and_host_only() {
    let world = World::start_with(|options| options.public_url("https://video.example.com")).await;
    world.person_with_password(EMAIL, Role::Viewer).await;
    let request =
        world.app.request("POST", &format!("{API}/session")).header("Sec-Fetch-Site", "same-origin");
    let answer = request.json(&credentials(EMAIL, PASSWORD)).send().await;
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(cookie.starts_with("__Host-kinora="), "{cookie}");
    assert!(cookie.ends_with("; Path=/; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
    let secret = cookie["__Host-kinora=".len()..].split(';').next().unwrap();
    for (name, status) in [("__Host-kinora", 200), ("kinora", 401)] {
        let request = world.app.request("GET", &format!("{API}/session"));
        assert_eq!(
            request.header("Cookie", &format!("{name}={secret}")).send().await.status,
            status,
            "{name}"
        );
    }
}

#[tokio::test]
async fn all_causes_of_a_failure_have_one_response() {
    let world = World::start().await;
    world.person_with_password(EMAIL, Role::Admin).await;
    let disabled = world.person_with_password("off@example.com", Role::Viewer).await;
    world.service.disable_person(&Actor::command_line(), disabled.person.id).await.unwrap();
    world.setup_link("new@example.com", None).await;
    let wrong = sign_in(&world, EMAIL, "a wrong password").await;
    assert_eq!(problem(&wrong), (401, vec![SENTENCE.to_owned()]));
    assert_eq!((wrong.header("www-authenticate"), wrong.header("set-cookie")), (None, None));
    for (email, password) in [
        ("nobody@example.com", PASSWORD),
        ("off@example.com", PASSWORD),
        ("new@example.com", PASSWORD),
        ("new@example.com", ""),
        ("no address", PASSWORD),
        ("", PASSWORD),
        (EMAIL, "short"),
    ] {
        let answer = sign_in(&world, email, password).await;
        assert_eq!(comparable(&answer), comparable(&wrong), "{email:?} {password:?}");
    }
}

#[tokio::test]
async fn malformed_sign_in_is_422() {
    let world = World::start().await;
    let check = async |body: Value, fields: &[&str]| {
        let answer = world.browser().post("/session", &body).await;
        assert_eq!(problem(&answer), (422, fields.iter().map(|it| (*it).to_owned()).collect()), "{body}");
    };
    check(json!({}), &["email", "password"]).await;
    check(json!({"email": 1, "password": []}), &["email", "password"]).await;
    check(json!({"email": "a".repeat(255), "password": "p".repeat(257)}), &["email", "password"]).await;
    check(json!([]), &["body"]).await;
}

#[tokio::test]
async fn account_waits_after_5_failures_known_or_not() {
    let world = World::start().await;
    world.person_with_password(EMAIL, Role::Admin).await;
    for _ in 0..5 {
        let (known, unknown) = tokio::join!(
            sign_in(&world, EMAIL, "a wrong password"),
            sign_in(&world, "nobody@example.com", "a wrong password"),
        );
        assert_eq!(comparable(&known), comparable(&unknown));
        assert_eq!(known.status, 401);
    }
    let audit = world.audit().await;
    // The right password has to wait too.
    let (known, unknown) =
        (sign_in(&world, EMAIL, PASSWORD).await, sign_in(&world, "nobody@example.com", PASSWORD).await);
    assert_eq!(known.refusal(), (429, "too many requests".to_owned()));
    assert_eq!(known.header("retry-after"), Some("1"));
    assert_eq!(comparable(&known), comparable(&unknown));
    assert_eq!(world.audit().await, audit, "refusals write nothing");
    world.clock.advance_seconds(1);
    assert_eq!(sign_in(&world, EMAIL, "a wrong password").await.status, 401);
    assert_eq!(sign_in(&world, EMAIL, PASSWORD).await.header("retry-after"), Some("2"));
    world.clock.advance_seconds(2);
    assert_eq!(sign_in(&world, EMAIL, PASSWORD).await.status, 201);
    assert_eq!(sign_in(&world, EMAIL, "a wrong password").await.status, 401, "failures begin anew");
}

#[tokio::test]
async fn failures_of_one_person_are_one_audit_row() {
    let mut world = World::start().await;
    let member = world.person_with_password(EMAIL, Role::Admin).await;
    for _ in 0..3 {
        sign_in(&world, EMAIL, "a wrong password").await;
        sign_in(&world, "nobody@example.com", "a wrong password").await;
    }
    assert_eq!(world.audit().await.len(), 1, "the person was created");
    world.app.stop().await;
    let entries = world.audit_entries().await;
    let [_, failed] = &entries[..] else { panic!("one more row: {entries:?}") };
    assert_eq!(
        (failed.action.as_str(), &*failed.object.id),
        ("person.sign_in_failed", &*member.person.id.to_string())
    );
    assert_eq!(failed.details["count"], "3");
    assert!(!format!("{failed:?}").contains("a wrong password"));
}

#[tokio::test]
async fn client_address_may_fail_30_times() {
    let world = World::start_with(|options| options.trusted_proxies(&["127.0.0.0/8"])).await;
    let fail = async |from: &str, number: usize| {
        let body = credentials(&format!("{number}@example.com"), "a wrong password");
        let request = world.browser().request("POST", "/session").header("X-Forwarded-For", from);
        request.json(&body).send().await
    };
    for number in 0..30 {
        assert_eq!(fail(&format!("2001:db8::{number:x}"), number).await.status, 401, "{number}");
    }
    let refused = fail("2001:db8::ffff", 99).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("600")));
    assert_eq!(fail("2001:db8:0:1::1", 99).await.status, 401, "another network");
    world.clock.advance_seconds(600);
    assert_eq!(fail("2001:db8::1", 99).await.status, 401);
}

#[tokio::test]
async fn passwords_are_checked_two_at_once_and_the_rest_is_503() {
    let world = World::start().await;
    let attempts =
        (0..20).map(async |number| sign_in(&world, &format!("{number}@example.com"), PASSWORD).await);
    let answers = join_all(attempts).await;
    let (checked, busy): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 401);
    assert!(checked.len() >= 10, "{} of 20", checked.len());
    for answer in busy {
        assert_eq!((answer.refusal().0, answer.header("retry-after")), (503, Some("1")));
    }
    // What was not checked counts as no failure.
    assert_eq!(sign_in(&world, "19@example.com", PASSWORD).await.status, 401);
}

#[tokio::test]
async fn outdated_hash_is_replaced_at_sign_in() {
    let world = World::start().await;
    let member = world.person_with_outdated_hash(EMAIL).await;
    assert!(member.person.password.as_ref().is_some_and(|hash| hash.needs_rehash()));
    assert_eq!(sign_in(&world, EMAIL, PASSWORD).await.status, 201);
    let stored = world.app.store.member(member.person.id).await.unwrap().unwrap().person.password.unwrap();
    assert!(!stored.needs_rehash());
    assert_eq!(sign_in(&world, EMAIL, PASSWORD).await.status, 201);
}

#[tokio::test]
async fn door_says_whether_a_person_can_sign_in() {
    let world = World::start().await;
    let command = "kinora user create --email you@example.com --role administrator";
    let door = world.browser().get("/door").await.data();
    let expected = json!({
        "organisation": {"name": door["organisation"]["name"]},
        "signIn": ["password"],
        "hasPeople": false,
        "publicUrl": world.origin(),
        "createCommand": format!("{command} --data-dir {}", world.app.ground.data_dir().display()),
    });
    assert_eq!(door, expected);
    world.setup_link("new@example.com", None).await;
    assert_eq!(world.browser().get("/door").await.data()["hasPeople"], false, "nobody has a password");
    world.person("a@example.com", Role::Viewer).await;
    let door = world.browser().get("/door").await.data();
    assert_eq!(door["hasPeople"], true);
    assert_eq!(door["createCommand"], command, "the path is for the first person only");
}
