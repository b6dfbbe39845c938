//! The own account: name, settings, password and sessions.

use kinora_domain::{Clock as _, Role};
use serde_json::{Value, json};

use super::support::{API, Browser, COOKIE, PASSWORD, World, problem};
use crate::support::text;

const NEW_PASSWORD: &str = "purple monkey dishwasher";

#[tokio::test]
async fn name_and_settings_change_apart() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Viewer).await;
    let before = browser.get("/me").await.data();
    let mut expected = json!({
        "id": before["id"],
        "email": "viewer@example.com",
        "name": "Ada",
        "role": "viewer",
        "settings": {"theme": "system", "times": "local", "library": "grid", "keys": true},
        "createdAt": world.clock.now().to_string(),
    });
    assert_eq!(before, expected);
    expected["name"] = json!("Grace");
    assert_eq!(browser.patch("/me", &json!({"name": " Grace "})).await.data(), expected);
    expected["settings"]["theme"] = json!("dark");
    expected["settings"]["keys"] = json!(false);
    let change = json!({"settings": {"theme": "dark", "keys": false}});
    assert_eq!(browser.patch("/me", &change).await.data(), expected);
    assert_eq!(browser.patch("/me", &json!({})).await.data(), expected);
    assert_eq!(browser.get("/me").await.data(), expected);
    assert_eq!(browser.get("/session").await.data()["person"]["settings"], expected["settings"]);
}

#[tokio::test]
async fn invalid_change_is_422_and_changes_nothing() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Viewer).await;
    let before = browser.get("/me").await.data();
    let check = async |body: Value, fields: &[&str]| {
        let answer = browser.patch("/me", &body).await;
        assert_eq!(problem(&answer), (422, fields.iter().map(|it| (*it).to_owned()).collect()), "{body}");
    };
    check(json!({"name": ""}), &["name"]).await;
    check(json!({"name": "a\u{7}"}), &["name"]).await;
    check(json!({"name": "Ada\u{202e}"}), &["name"]).await;
    check(json!({"name": "a".repeat(81)}), &["name"]).await;
    check(json!({"settings": []}), &["settings"]).await;
    check(json!({"settings": {"theme": "pink", "keys": "yes"}}), &["settings.theme", "settings.keys"]).await;
    check(json!({"name": "Grace", "settings": {"volume": 1}}), &["settings.volume"]).await;
    check(json!({"settings": {"a": "x".repeat(5000)}}), &["settings.a"]).await;
    assert_eq!(browser.get("/me").await.data(), before);
}

#[tokio::test]
async fn new_password_ends_all_other_sessions() {
    let world = World::start().await;
    let member = world.person_with_password("ada@example.com", Role::Admin).await;
    let [own, other] = [world.browser_of_person(&member).await, world.browser_of_person(&member).await];
    assert_eq!(other.get("/session").await.status, 200);
    let change = async |password: &str, new: &str| {
        own.post("/me/password", &json!({"password": password, "newPassword": new})).await
    };
    assert_eq!(problem(&change("a wrong password", NEW_PASSWORD).await), (422, vec!["password".to_owned()]));
    assert_eq!(problem(&change(PASSWORD, "password1234").await), (422, vec!["newPassword".to_owned()]));
    assert_eq!(other.get("/session").await.status, 200);

    let before = own.secret();
    let changed = change(PASSWORD, NEW_PASSWORD).await;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_ne!(own.secret(), before);
    assert_eq!(other.get("/session").await.status, 401, "at once");
    let copied =
        world.app.request("GET", &format!("{API}/session")).header("Cookie", &format!("{COOKIE}={before}"));
    assert_eq!(copied.send().await.status, 401, "the earlier secret ends too: a thief may have a copy");
    assert_eq!(own.get("/session").await.data(), changed.data());
    for (password, status) in [(PASSWORD, 401), (NEW_PASSWORD, 201)] {
        let body = json!({"email": "ada@example.com", "password": password});
        assert_eq!(world.browser().post("/session", &body).await.status, status);
    }
}

#[tokio::test]
async fn wrong_present_password_is_throttled_for_the_session_alone() {
    let world = World::start().await;
    let member = world.person_with_password("ada@example.com", Role::Admin).await;
    let browser = world.browser_of_person(&member).await;
    let other = world.browser_of_person(&member).await;
    let confirm = async |browser: &Browser<'_>, password: &str| {
        browser.post("/session/confirm", &json!({"password": password})).await.status
    };
    for _ in 0..5 {
        assert_eq!(confirm(&browser, "a wrong password").await, 422);
    }
    assert_eq!(confirm(&browser, PASSWORD).await, 429);
    assert_eq!(confirm(&other, PASSWORD).await, 200);
    let body = json!({"email": "ada@example.com", "password": PASSWORD});
    assert_eq!(world.browser().post("/session", &body).await.status, 201);
    world.clock.advance_seconds(1);
    assert_eq!(confirm(&browser, PASSWORD).await, 200);
}

/// Failures of other clients do not lock the account for its person.
#[tokio::test]
async fn failed_sign_ins_do_not_stop_a_person_who_is_signed_in() {
    let world = World::start().await;
    let member = world.person_with_password("ada@example.com", Role::Admin).await;
    let browser = world.browser_of_person(&member).await;
    let body = json!({"email": "ada@example.com", "password": "a wrong password"});
    for _ in 0..5 {
        assert_eq!(world.browser().post("/session", &body).await.status, 401);
    }
    assert_eq!(world.browser().post("/session", &body).await.status, 429);
    assert_eq!(browser.post("/session/confirm", &json!({"password": PASSWORD})).await.status, 200);
}

/// Two tabs of a browser share its cookie: what one shows may be the page of an earlier person.
#[tokio::test]
async fn request_of_another_persons_page_is_409_and_changes_nothing() {
    let world = World::start().await;
    let browser = world.browser_of(Role::Admin).await;
    let me = browser.get("/me").await.data();
    let rename = async |shown: &str| {
        let request = browser.request("PATCH", "/me").header("Kinora-Person", shown);
        request.json(&json!({"name": "Mallory"})).send().await
    };
    for shown in ["019a492c-41f3-7001-8203-040506070809", "", "other"] {
        assert_eq!(rename(shown).await.refusal(), (409, "person changed".to_owned()), "{shown}");
    }
    let workspace = browser.get("/session").await.data()["workspaces"][0]["id"].as_str().unwrap().to_owned();
    let media = browser.request("GET", &format!("/workspaces/{workspace}/on-demand"));
    assert_eq!(media.header("Kinora-Person", "other").send().await.status, 409);
    assert_eq!(browser.get("/me").await.data(), me);
    assert_eq!(rename(me["id"].as_str().unwrap()).await.status, 200);
}

#[tokio::test]
async fn sign_in_ends_the_earlier_session_of_the_browser() {
    let world = World::start().await;
    let member = world.person_with_password("ada@example.com", Role::Admin).await;
    let browser = world.browser_of_person(&member).await;
    let before = browser.secret();
    let body = json!({"email": "ada@example.com", "password": PASSWORD});
    assert_eq!(browser.post("/session", &body).await.status, 201);
    assert_ne!(browser.secret(), before);
    let sessions = browser.get("/me/sessions").await.data();
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
}

#[tokio::test]
async fn sessions_are_listed_and_ended() {
    let world = World::start().await;
    let member = world.person("ada@example.com", Role::Viewer).await;
    let stranger = world.browser_of(Role::Admin).await;
    let first = world.browser_of_person(&member).await;
    world.clock.advance_seconds(60);
    let second = world.browser_of_person(&member).await;
    world.clock.advance_seconds(60);
    let third = world.browser_of_person(&member).await;
    let sessions = third.get("/me/sessions").await.data();
    let current: Vec<_> = sessions.as_array().unwrap().iter().map(|it| it["isCurrent"] == true).collect();
    assert_eq!(current, [true, false, false], "newest use first: {sessions}");
    let path = |at: usize| format!("/me/sessions/{}", text(&sessions[at]["id"]));

    assert_eq!(stranger.delete(&path(2)).await.refusal(), (404, "session not found".to_owned()));
    assert_eq!(third.delete("/me/sessions/none").await.status, 422);
    assert_eq!(first.get("/session").await.status, 200);
    assert_eq!(third.delete(&path(2)).await.data(), json!({}));
    assert_eq!((first.get("/session").await.status, second.get("/session").await.status), (401, 200));
    assert_eq!(third.delete(&path(2)).await.refusal().0, 404);

    assert_eq!(third.delete("/me/sessions").await.data(), json!({}));
    assert_eq!((second.get("/session").await.status, third.get("/session").await.status), (401, 200));
    assert_eq!(third.get("/me/sessions").await.data().as_array().unwrap().len(), 1);
    assert_eq!(stranger.get("/session").await.status, 200);
}

#[tokio::test]
async fn own_account_needs_a_session() {
    let world = World::start().await;
    let browser = world.browser();
    for (method, path) in [
        ("GET", "/session"),
        ("POST", "/session/confirm"),
        ("GET", "/me"),
        ("PATCH", "/me"),
        ("POST", "/me/password"),
        ("GET", "/me/sessions"),
        ("DELETE", "/me/sessions"),
        ("DELETE", "/me/sessions/019a492c-41f3-7001-8203-040506070809"),
    ] {
        let answers = [
            browser.request(method, path).send().await,
            browser.request(method, path).token(&world.app.token).send().await,
        ];
        for answer in answers {
            assert_eq!(answer.refusal(), (401, "unauthorized".to_owned()), "{method} {path}");
            assert_eq!(answer.header("www-authenticate"), None, "{method} {path}");
        }
    }
}
