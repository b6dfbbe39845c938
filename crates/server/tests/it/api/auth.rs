//! Authentication and authorization.

use kinora_domain::{DEVELOPMENT, PRODUCTION, Permission};
use kinora_testkit::fixture;
use serde_json::json;

use crate::support::{TestApp, Token, text, until};

const LIST: &str = "/v1/on-demand";

#[tokio::test]
async fn wrong_token_id_or_secret_is_401() {
    let app = TestApp::start().await;
    let Token { id, secret } = &app.token;
    let other = app.new_token(DEVELOPMENT, Permission::ReadWrite).await;
    assert_eq!(app.call("GET", LIST).send().await.status, 200);

    let wrong = [
        (id.as_str(), ""),
        (id, "wrong"),
        (id, &secret[1..]),
        (id, &other.secret),
        (&other.id, secret),
        ("", secret),
        ("019a492c-41f3-7001-8203-040506070809", secret),
        ("not an id", secret),
    ];
    let mut refusals = Vec::new();
    for (id, secret) in wrong {
        refusals.push(app.request("GET", LIST).basic(id, secret).send().await);
    }
    for header in ["Basic", "Basic !!!", "Bearer abc", "Basic \u{fc}", &format!("Basic {}", "A".repeat(5000))]
    {
        refusals.push(app.request("GET", LIST).header("Authorization", header).send().await);
    }
    refusals.push(app.request("GET", LIST).send().await);
    refusals.push(app.request("POST", LIST).json(&json!({})).send().await);

    // All get the same response, so that it does not reveal which half was valid.
    let expected = app.golden().answer(&refusals[0]);
    insta::assert_snapshot!(expected);
    for refusal in refusals {
        assert_eq!(app.golden().answer(&refusal), expected);
    }
}

#[tokio::test]
async fn read_only_token_may_only_get() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let path = format!("{LIST}/{}", text(&media["id"]));
    let reader = app.new_token(DEVELOPMENT, Permission::ReadOnly).await;
    assert_eq!(app.request("GET", LIST).token(&reader).send().await.status, 200);
    assert_eq!(app.request("GET", &path).token(&reader).send().await.data(), media);

    let body = json!({"inputs": [{"type": "video", "url": "https://example.com/a.mp4"}]});
    let refused = app.request("POST", LIST).token(&reader).json(&body).send().await;
    insta::assert_snapshot!(app.golden().answer(&refused));
    let refused = app.request("DELETE", &path).token(&reader).send().await;
    assert_eq!(refused.refusal(), (403, "forbidden".to_owned()));

    assert_eq!(app.get(text(&media["id"])).await.data(), media, "nothing was deleted");
    let list = app.call("GET", LIST).send().await.json();
    assert_eq!(list["pagination"]["totalRecords"], 1, "nothing was made");
    assert_eq!(app.receiver.distinct_events("video.media.deleted").len(), 0);
}

#[tokio::test]
async fn token_sees_only_its_workspace() {
    let app = TestApp::start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let path = format!("{LIST}/{}", text(&media["id"]));
    let other_token = app.new_token(PRODUCTION, Permission::ReadWrite).await;

    // The same response as for an id without a media.
    let unknown = app.get("019a492c-41f3-7001-8203-040506070809").await;
    insta::assert_snapshot!(app.golden().answer(&unknown));
    for method in ["GET", "DELETE"] {
        let answer = app.request(method, &path).token(&other_token).send().await;
        assert_eq!(app.golden().answer(&answer), app.golden().answer(&unknown), "{method}");
    }
    let answer = app.request("GET", &format!("{path}/input-info")).token(&other_token).send().await;
    assert_eq!(app.golden().answer(&answer), app.golden().answer(&unknown), "input-info");
    let list = app.request("GET", LIST).token(&other_token).send().await.json();
    assert_eq!((&list["data"], &list["pagination"]["totalRecords"]), (&json!([]), &json!(0)));
    assert_eq!(app.get(text(&media["id"])).await.data(), media, "nothing was deleted");
}

/// `kinora_web` bounds how long a caller is cached.
#[tokio::test]
async fn token_revoked_by_another_process_is_401() {
    let app = TestApp::start().await;
    let token = app.new_token(DEVELOPMENT, Permission::ReadWrite).await;
    let call = async || app.request("GET", LIST).token(&token).send().await;
    assert_eq!(call().await.status, 200);

    let id = token.id.parse().unwrap();
    let now = kinora_domain::Clock::now(&kinora_server::SystemClock);
    assert!(app.store.write(async move |tx| tx.revoke_access_token(id, now).await).await.unwrap());
    let refused = until("the token is refused", async || {
        let answer = call().await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    assert_eq!(refused.refusal(), (401, "unauthorized".to_owned()));
    assert_eq!(app.call("GET", LIST).send().await.status, 200, "others go on");
}

#[tokio::test]
async fn token_of_another_process_works_immediately_after_a_401() {
    let app = TestApp::start().await;
    let made = app.new_token(DEVELOPMENT, Permission::ReadWrite).await;
    assert_eq!(app.request("GET", LIST).basic(&made.id, "a typing error").send().await.status, 401);
    assert_eq!(app.request("GET", LIST).token(&made).send().await.status, 200);
}
