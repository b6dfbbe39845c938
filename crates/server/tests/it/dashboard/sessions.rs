//! The life of a session: idle, absolute, rotated, confirmed, ended.

use kinora_domain::{Actor, Clock as _, Role, Session, Timestamp};
use serde_json::json;

use super::support::{PASSWORD, World, secret_of};
use crate::support::{Answer, text, until};

const MINUTE_S: i64 = 60;
const DAY_S: i64 = 24 * 60 * MINUTE_S;

#[tokio::test]
async fn session_ends_after_7_days_without_a_request() {
    let world = World::start().await;
    let member = world.person("a@example.com", Role::Viewer).await;
    let [unused, used] = [world.browser_of_person(&member).await, world.browser_of_person(&member).await];
    assert_eq!(used.get("/session").await.status, 200);
    world.clock.advance_seconds(7 * DAY_S - 1);
    assert_eq!(used.get("/session").await.status, 200);
    world.clock.advance_seconds(1);
    let ended = unused.get("/session").await;
    assert_eq!(ended.refusal(), (401, "unauthorized".to_owned()));
    assert_eq!(ended.header("www-authenticate"), None);
    assert_eq!(used.get("/session").await.status, 200);
    // A use that is not written yet counts too. Its time is exact to a minute.
    world.clock.advance_seconds(7 * DAY_S - MINUTE_S);
    assert_eq!(used.get("/session").await.status, 200);
}

#[tokio::test]
async fn session_ends_30_days_after_sign_in() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Viewer).await;
    let signed_in_at = world.clock.now();
    for _ in 0..5 {
        assert_eq!(browser.get("/session").await.status, 200);
        world.clock.advance_seconds(6 * DAY_S - 1);
    }
    let last = browser.get("/session").await;
    let ends_at = signed_in_at.plus_micros(Session::AGE_MAX_US);
    assert_eq!((last.status, &last.data()["endsAt"]), (200, &json!(ends_at.to_string())));
    world.clock.set(ends_at);
    assert_eq!(browser.get("/session").await.status, 401);
}

#[tokio::test]
async fn secret_is_rotated_daily_while_requests_are_under_way() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Viewer).await;
    let first = browser.secret();
    assert_eq!(secret_of(&browser.get("/session").await), None, "not within a day");
    world.clock.advance_seconds(DAY_S);

    let [one, other] = [world.browser_with(&first), world.browser_with(&first)];
    let (answer, other_answer) = tokio::join!(one.get("/me/sessions"), other.get("/me/sessions"));
    assert_eq!((answer.status, other_answer.status), (200, 200));
    let secrets: Vec<_> = [&answer, &other_answer].into_iter().filter_map(secret_of).collect();
    let [new] = &secrets[..] else { panic!("one response has the new secret: {secrets:?}") };
    assert_ne!(*new, first);

    let status = async |secret: &str| world.browser_with(secret).get("/session").await.status;
    let stale_retry = world.browser_with(&first).get("/session").await;
    assert_eq!((stale_retry.status, secret_of(&stale_retry)), (200, None), "the earlier value gets no other");
    world.clock.advance_seconds(MINUTE_S - 1);
    assert_eq!((status(&first).await, status(new).await), (200, 200));
    world.clock.advance_seconds(1);
    assert_eq!((status(&first).await, status(new).await), (401, 200));

    let sessions = world.browser_with(new).get("/me/sessions").await.data();
    assert_eq!(sessions.as_array().unwrap().len(), 1, "it is the same session: {sessions}");
    assert_eq!(sessions[0]["id"], answer.data()[0]["id"]);
    assert!(!world.audit().await.iter().any(|action| action.as_str().contains("rotat")));
}

#[tokio::test]
async fn ended_session_is_rejected_within_the_time_of_the_cache() {
    let world = World::start().await;
    let member = world.person("a@example.com", Role::Viewer).await;
    for end in ["ended", "disabled", "removed"] {
        let member = match end {
            "removed" => world.person("b@example.com", Role::Viewer).await,
            _ => member.clone(),
        };
        let browser = world.browser_of_person(&member).await;
        assert_eq!(browser.get("/session").await.status, 200);
        // By another process.
        let (actor, id) = (Actor::command_line(), member.person.id);
        match end {
            "ended" => drop(world.service.end_sessions(&actor, id).await.unwrap()),
            "disabled" => drop(world.service.disable_person(&actor, id).await.unwrap()),
            _ => world.service.remove_person(&actor, id).await.unwrap(),
        }
        until("the session is rejected", async || {
            (browser.get("/session").await.status == 401).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn new_role_has_effect_within_the_time_of_the_cache() {
    let world = World::start().await;
    let member = world.person("a@example.com", Role::Viewer).await;
    let browser = world.browser_of_person(&member).await;
    let session = browser.get("/session").await.data();
    assert_eq!((&session["role"], session["actions"].as_array().unwrap().len()), (&json!("viewer"), 4));
    world.service.set_role(&Actor::command_line(), member.person.id, Role::Admin).await.unwrap();
    let session = until("the role is new", async || {
        let session = browser.get("/session").await.data();
        (session["role"] == "admin").then_some(session)
    })
    .await;
    assert!(session["actions"].as_array().unwrap().contains(&json!("accessTokens.manage")));
}

#[tokio::test]
async fn sign_out_ends_the_session_and_clears_the_site() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Viewer).await;
    let secret = browser.secret();
    assert_eq!(browser.get("/session").await.status, 200);
    let check = |answer: &Answer| {
        assert_eq!((answer.status, answer.data()), (200, json!({})));
        assert_eq!(answer.header("clear-site-data"), Some("\"cache\", \"storage\""));
        let cookie = answer.header("set-cookie").expect("it removes the cookie");
        assert_eq!(cookie, "kinora=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    };
    check(&browser.delete("/session").await);
    assert_eq!(world.browser_with(&secret).get("/session").await.status, 401, "at once");
    check(&browser.delete("/session").await);
    check(&world.browser_with(&secret).delete("/session").await);
    let signed_out = world.audit().await.into_iter().filter(|action| action.as_str() == "person.signed_out");
    assert_eq!(signed_out.count(), 1);
}

/// Operations that need it are in `operations.rs`.
#[tokio::test]
async fn password_confirms_the_session_for_30_minutes() {
    let world = World::start().await;
    let member = world.person_with_password("a@example.com", Role::Admin).await;
    let browser = world.browser_of_person(&member).await;
    let until = |answer: &Answer| text(&answer.data()["confirmedUntil"]).to_owned();
    let in_30_minutes = |from: Timestamp| from.plus_seconds(30 * MINUTE_S).to_string();
    let signed_in_at = world.clock.now();
    world.clock.advance_seconds(31 * MINUTE_S);
    assert_eq!(until(&browser.get("/session").await), in_30_minutes(signed_in_at));

    let before = browser.secret();
    let wrong = browser.post("/session/confirm", &json!({"password": "a wrong password"})).await;
    assert_eq!(super::support::problem(&wrong), (422, vec!["password".to_owned()]));
    let confirmed = browser.post("/session/confirm", &json!({"password": PASSWORD})).await;
    assert_eq!((confirmed.status, until(&confirmed)), (200, in_30_minutes(world.clock.now())));
    assert_ne!(browser.secret(), before, "the session has a new secret");
    assert_eq!(until(&browser.get("/session").await), in_30_minutes(world.clock.now()));
    assert_eq!(world.browser_with(&before).get("/session").await.status, 200, "for requests under way");
    world.clock.advance_seconds(MINUTE_S);
    assert_eq!(world.browser_with(&before).get("/session").await.status, 401);
}

#[tokio::test]
async fn invalid_cookies_are_401_and_cost_no_session() {
    let world = World::start().await;
    let secret = world.browser_of(Role::Admin).await.secret();
    let other_end = if secret.ends_with('A') { "B" } else { "A" };
    for wrong in [String::new(), "x".repeat(43), "x".repeat(10_000), format!("{}{other_end}", &secret[..42])]
    {
        assert_eq!(world.browser_with(&wrong).get("/session").await.status, 401);
    }
    let bare = world
        .app
        .request("GET", "/dashboard/api/session")
        .header("Cookie", "\u{1}=;;==; kinora")
        .send()
        .await;
    assert!(matches!(bare.status, 400 | 401), "{bare:?}");
    assert_eq!(world.browser_with(&secret).get("/session").await.status, 200);
}
