//! Every operation of the organisation: the roles that may call it, and its confirmation.

use kinora_dashboard::operations;
use kinora_domain::Role;
use serde_json::json;

use super::objects::{Objects, rows};
use super::support::{PASSWORD, World, problem};

const MINUTE_S: i64 = 60;

#[tokio::test]
async fn role_without_the_action_is_403_and_changes_nothing() {
    let world = World::start().await;
    let objects = Objects::create(&world).await;
    let mut forbidden = 0;
    for role in [Role::Viewer, Role::Member] {
        let browser = world.browser_of(role).await;
        for operation in operations() {
            let (before, name) = (rows(&world).await, format!("{role:?} {}", operation.path));
            let answer = objects.send(&browser, operation).await;
            assert_eq!(answer.status == 403, !role.may(operation.action), "{name}: {answer:?}");
            if answer.status != 403 {
                assert_eq!((answer.status, operation.method()), (200, "GET"), "{name}");
                continue;
            }
            forbidden += 1;
            assert_eq!(answer.refusal().1, "forbidden", "{name}");
            let (_, description) = problem(&answer);
            assert!(description[0].starts_with("only administrators may "), "{description:?}");
            assert!(description[0].ends_with(&format!("; your role is {}", role.word())), "{description:?}");
            assert_eq!(rows(&world).await, before, "{name}");
        }
    }
    assert_eq!(forbidden, 2 * (operations().len() - 2), "all but the lists of people and workspaces");
}

#[tokio::test]
async fn administrator_may_call_every_operation() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    for operation in operations() {
        let objects = Objects::create(&world).await;
        let before = rows(&world).await;
        let answer = objects.send(&browser, operation).await;
        let name = format!("{} {}", operation.method(), operation.path);
        let expected = if operation.method() == "POST" { 201 } else { 200 };
        assert_eq!(answer.status, expected, "{name}: {answer:?}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{name}");
        assert_eq!(rows(&world).await == before, operation.method() == "GET", "{name}");
    }
}

/// Neither nothing nor an access token is a session.
#[tokio::test]
async fn without_a_session_every_operation_is_401_and_changes_nothing() {
    let world = World::start().await;
    let objects = Objects::create(&world).await;
    let (browser, before) = (world.browser(), rows(&world).await);
    for operation in operations() {
        let requests = [
            objects.request(&browser, operation),
            objects.request(&browser, operation).token(&world.app.token),
        ];
        for request in requests {
            let answer = request.send().await;
            assert_eq!(answer.refusal(), (401, "unauthorized".to_owned()), "{}", operation.path);
            assert_eq!(answer.header("www-authenticate"), None, "{}", operation.path);
        }
    }
    assert_eq!(rows(&world).await, before);
}

#[tokio::test]
async fn access_token_and_cookie_open_no_operation_below_v1() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let objects = Objects::create(&world).await;
    let cookie = format!("kinora={}", browser.secret());
    for operation in operations() {
        let path = format!("/v1{}", objects.path(operation));
        let answer = world.app.call(operation.method(), &path).header("Cookie", &cookie).send().await;
        assert_eq!(answer.status, 404, "{path}");
    }
    let answer = world.app.request("GET", "/v1/on-demand").header("Cookie", &cookie).send().await;
    assert_eq!(answer.status, 401);
}

#[tokio::test]
async fn cross_site_request_of_every_change_is_403() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let objects = Objects::create(&world).await;
    let before = rows(&world).await;
    for operation in operations().iter().filter(|operation| operation.method() != "GET") {
        let request = browser.bare_request(operation.method(), &objects.path(operation)).json(&json!({}));
        let answer = request.header("Sec-Fetch-Site", "cross-site").send().await;
        assert_eq!(answer.refusal(), (403, "forbidden".to_owned()), "{}", operation.path);
    }
    assert_eq!(rows(&world).await, before);
}

#[test]
fn changes_of_access_and_deletions_need_a_confirmation() {
    let confirmed = operations().iter().filter(|operation| operation.needs_confirmation);
    let names: Vec<_> = confirmed.map(|it| format!("{} {}", it.method(), it.path)).collect();
    let expected = [
        "POST /access-tokens",
        "DELETE /access-tokens/{accessTokenId}",
        "PATCH /people/{personId}",
        "DELETE /people/{personId}",
        "POST /people/{personId}/reset",
        "POST /invitations",
        "DELETE /workspaces/{workspaceId}",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn password_of_29_minutes_ago_is_enough() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    world.clock.advance_seconds(29 * MINUTE_S);
    for operation in operations() {
        let answer = Objects::create(&world).await.send(&browser, operation).await;
        assert!(matches!(answer.status, 200 | 201), "{}: {answer:?}", operation.path);
    }
}

#[tokio::test]
async fn password_of_31_minutes_ago_is_403_and_changes_nothing() {
    let world = World::start().await;
    let admin = world.person_with_password("ada@example.com", Role::Admin).await;
    let (browser, member) = (world.browser_of_person(&admin).await, world.browser_of(Role::Member).await);
    world.clock.advance_seconds(31 * MINUTE_S);
    for operation in operations() {
        let objects = Objects::create(&world).await;
        let before = rows(&world).await;
        let answer = objects.send(&browser, operation).await;
        if !operation.needs_confirmation {
            assert!(matches!(answer.status, 200 | 201), "{}: {answer:?}", operation.path);
            continue;
        }
        assert_eq!(answer.refusal(), (403, "confirmation needed".to_owned()), "{}", operation.path);
        assert!(problem(&answer).1[0].contains("/dashboard/api/session/confirm"), "{answer:?}");
        let of_member = objects.send(&member, operation).await;
        assert_eq!(of_member.refusal(), (403, "forbidden".to_owned()), "the role comes first");
        assert_eq!(rows(&world).await, before, "{}", operation.path);
    }

    let confirmed = browser.post("/session/confirm", &json!({"password": PASSWORD})).await;
    assert_eq!(confirmed.status, 200, "{confirmed:?}");
    for operation in operations().iter().filter(|operation| operation.needs_confirmation) {
        let answer = Objects::create(&world).await.send(&browser, operation).await;
        assert!(matches!(answer.status, 200 | 201), "{}: {answer:?}", operation.path);
    }
}
