use serde_json::Value;

use super::{Machine, fields};
use crate::support::text;

#[tokio::test]
async fn token_secret_is_shown_once() {
    let machine = Machine::new().await;
    let create = ["token", "create", "--workspace", "Production", "--permission", "read-only"];
    let made = machine.json(&create).await;
    assert_eq!(fields(&made), ["id", "permission", "secret", "workspace"]);
    assert_eq!(fields(&made["workspace"]), ["id", "name"]);
    assert_eq!((text(&made["permission"]), text(&made["workspace"]["name"])), ("read-only", "Production"));
    let secret = text(&made["secret"]);
    assert_eq!(secret.len(), 43, "256 bits in Base64");

    let listed = machine.json(&["token", "list"]).await;
    let [token] = listed.as_array().unwrap().as_slice() else { panic!("one token: {listed}") };
    assert_eq!(fields(token), ["createdAt", "id", "lastUsedAt", "permission", "revokedAt", "workspace"]);
    assert_eq!((&token["id"], &token["workspace"]), (&made["id"], &made["workspace"]));
    assert_eq!((&token["lastUsedAt"], &token["revokedAt"]), (&Value::Null, &Value::Null));
    let other_workspace = machine.json(&["token", "list", "--workspace", "Development"]).await;
    assert_eq!(other_workspace.as_array().unwrap().len(), 0);

    let revoked = machine.json(&["token", "revoke", text(&made["id"])]).await;
    assert_eq!((fields(&revoked), &revoked["revoked"]), (vec!["id", "revoked"], &Value::Bool(true)));
    let listed = machine.json(&["token", "list"]).await;
    assert!(listed[0]["revokedAt"].is_string(), "{listed}");
    assert_eq!(
        machine.json(&["token", "revoke", text(&made["id"])]).await,
        revoked,
        "repeating the command is no error"
    );
    assert_eq!(machine.json(&["token", "list"]).await, listed, "and stays as it was");
}

#[tokio::test]
async fn printed_curl_command_works() {
    let machine = Machine::new().await;
    let create = ["token", "create", "--workspace", "Development", "--permission", "read-write"];
    let shown = machine.run(&create).await.ok().stdout;
    let server = machine.serve(&[]).await;
    let credentials = shown.split_once("curl -u ").expect("a curl").1.split(' ').next().unwrap();
    let (id, secret) = credentials.split_once(':').unwrap();
    assert!(shown.contains(&machine.url("/v1/on-demand")), "{shown}");
    let answer = machine.request("GET", "/v1/on-demand").basic(id, secret).send().await;
    assert_eq!(answer.status, 200);
    server.stop().await.ok();
}
