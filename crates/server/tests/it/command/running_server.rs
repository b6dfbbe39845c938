//! Commands while a server runs: the server sees their changes.

use kinora_testkit::{Source, SourceServer, WebhookReceiver, fixture};
use serde_json::json;

use super::Machine;
use crate::support::{DEADLINE, text, until};

const LIST: &str = "/v1/on-demand";

#[tokio::test]
async fn created_token_works_immediately_and_revoked_token_is_401() {
    let machine = Machine::new().await;
    let server = machine.serve(&[]).await;
    let token = machine.token("Development", "read-write").await;
    let status = async || machine.request("GET", LIST).token(&token).send().await.status;
    assert_eq!(status().await, 200);

    machine.json(&["token", "revoke", &token.id]).await;
    until("the token is refused", async || (status().await == 401).then_some(())).await;
    server.stop().await.ok();
}

#[tokio::test]
async fn workspace_webhook_and_media_of_commands_reach_the_server() {
    let machine = Machine::new().await;
    let (sources, receiver) = (SourceServer::start().await, WebhookReceiver::start().await);
    let server = machine.serve(&["--allow-private", "127.0.0.0/8"]).await;
    machine.json(&["workspace", "create", "Staging"]).await;
    let token = machine.token("Staging", "read-write").await;
    let url = receiver.url("/hook");
    let hook = machine.json(&["webhook", "create", "--workspace", "Staging", "--url", &url]).await;

    let url = sources.serve("/a.mp4", Source::of(fixture::two_seconds()));
    let made = machine.json(&["media", "create", "--workspace", "Staging", "--url", &url, "--wait"]).await;
    let list = machine.request("GET", LIST).token(&token).send().await.json();
    assert_eq!((&list["data"][0]["id"], &list["pagination"]["totalRecords"]), (&made["id"], &json!(1)));
    let ready = receiver.wait_for_event("video.media.ready", DEADLINE).await;
    assert_eq!(
        (&ready.json()["object"]["id"], &ready.json()["workspace"]["name"]),
        (&made["id"], &json!("Staging"))
    );
    let now_s = kinora_domain::Clock::now(&kinora_server::SystemClock).as_seconds();
    assert!(ready.is_signed_with(text(&hook["secret"]), now_s));

    let rotated = machine.json(&["webhook", "rotate", text(&hook["id"]), "--grace", "0"]).await;
    machine.json(&["media", "delete", text(&made["id"])]).await;
    let deleted = receiver.wait_for_event("video.media.deleted", DEADLINE).await;
    assert!(deleted.is_signed_with(text(&rotated["secret"]), now_s));
    assert!(!deleted.is_signed_with(text(&hook["secret"]), now_s));
    let path = format!("{LIST}/{}", text(&made["id"]));
    until("the media is gone", async || {
        (machine.request("GET", &path).token(&token).send().await.status == 404).then_some(())
    })
    .await;
    server.stop().await.ok();
}
