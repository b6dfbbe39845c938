use kinora_testkit::{Answer, WebhookReceiver};
use serde_json::Value;

use super::{Machine, fields};
use crate::support::{DEADLINE, text, until};

#[tokio::test]
async fn webhook_is_created_listed_and_its_secret_rotated() {
    let machine = Machine::new().await;
    let url = "http://receiver.example/hook";
    let made = machine.json(&["webhook", "create", "--workspace", "Development", "--url", url]).await;
    assert_eq!(fields(&made), ["id", "secret", "standardSecret", "url", "workspace"]);
    assert_eq!((fields(&made["workspace"]), text(&made["url"])), (vec!["id", "name"], url));
    assert_eq!(text(&made["secret"]).len(), 44, "32 bytes in Base64");
    assert_eq!(text(&made["standardSecret"]), format!("whsec_{}", text(&made["secret"])));

    let rotated = machine.json(&["webhook", "rotate", text(&made["id"]), "--grace", "60"]).await;
    assert_eq!((fields(&rotated), &rotated["id"]), (fields(&made), &made["id"]));
    assert_ne!(rotated["secret"], made["secret"]);

    let listed = machine.json(&["webhook", "list"]).await;
    let [hook] = listed.as_array().unwrap().as_slice() else { panic!("one webhook: {listed}") };
    assert_eq!(fields(hook), ["createdAt", "id", "reason", "state", "url", "workspace"]);
    assert_eq!((&hook["id"], text(&hook["state"]), &hook["reason"]), (&made["id"], "enabled", &Value::Null));
    let all = machine.run(&["webhook", "list"]).await.ok().stdout;
    for secret in [&made["secret"], &rotated["secret"]] {
        assert!(!all.contains(text(secret)) && !listed.to_string().contains(text(secret)), "{all}");
    }
    let other_workspace = machine.json(&["webhook", "list", "--workspace", "Production"]).await;
    assert_eq!(other_workspace.as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn disabled_webhook_shows_its_reason_until_enabled() {
    let machine = Machine::new().await;
    let receiver = WebhookReceiver::start().await;
    receiver.answer_next("/hook", [Answer::status(410)]);
    let url = receiver.url("/hook");
    let made = machine.json(&["webhook", "create", "--workspace", "Development", "--url", &url]).await;
    let server = machine.serve(&["--allow-private", "127.0.0.0/8"]).await;
    let source = receiver.url("/none.mp4");
    machine.json(&["media", "create", "--workspace", "Development", "--url", &source]).await;
    let reason = until("the webhook is disabled", async || {
        let listed = machine.json(&["webhook", "list"]).await;
        (listed[0]["state"] == "disabled").then(|| text(&listed[0]["reason"]).to_owned())
    })
    .await;
    assert!(reason.starts_with("the receiver responded with 410 Gone"), "{reason}");
    let shown = machine.run(&["webhook", "list"]).await.ok().stdout;
    assert!(shown.contains("disabled: the receiver responded with 410 Gone"), "{shown}");

    let enabled = machine.json(&["webhook", "enable", text(&made["id"])]).await;
    assert_eq!((text(&enabled["state"]), &enabled["reason"]), ("enabled", &Value::Null));
    receiver.wait_for(DEADLINE, |posted| posted.len() >= 2).await;
    server.stop().await.ok();
}
