use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};

use super::{Machine, fields};
use crate::support::{Program, text};

#[tokio::test]
async fn token_secret_is_shown_once() {
    let machine = Machine::new().await;
    let create = ["token", "create", "--workspace", "Production", "--permission", "read-only"];
    let made = machine.json(&create).await;
    assert_eq!(fields(&made), ["id", "name", "permission", "secret", "workspace"]);
    assert_eq!(fields(&made["workspace"]), ["id", "name"]);
    assert_eq!((text(&made["permission"]), text(&made["workspace"]["name"])), ("read-only", "Production"));
    let secret = text(&made["secret"]);
    assert_eq!(secret.len(), 43, "256 bits in Base64");

    let listed = machine.json(&["token", "list"]).await;
    let [token] = listed.as_array().unwrap().as_slice() else { panic!("one token: {listed}") };
    let known =
        ["createdAt", "createdBy", "id", "lastUsedAt", "name", "permission", "revokedAt", "workspace"];
    assert_eq!(fields(token), known);
    assert_eq!(token["createdBy"], json!({"kind": "command", "name": null}));
    assert_eq!((&token["name"], text(&made["name"])), (&made["name"], "kinora token create"));
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

const CREATE: [&str; 6] = ["token", "create", "--workspace", "Production", "--permission", "read-write"];

/// What is in the working folder besides the data.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<_> = files.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn workspace_file_works_and_the_secret_is_not_printed() {
    let machine = Machine::new().await;
    let server = machine.serve(&[]).await;
    let before = files(machine.folder());
    let create = [&CREATE[..], &["--name", "Web shop", "--file", "a.json"]].concat();
    let run = machine.run(&create).await.ok();
    let file = std::fs::read_to_string(machine.folder().join("a.json")).unwrap();
    let json: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(fields(&json), ["accessToken", "baseUrl", "createdAt", "example", "kinora", "workspace"]);
    assert_eq!((&json["kinora"], text(&json["workspace"]["name"])), (&json!(1), "Production"));
    let (id, secret) = (text(&json["accessToken"]["id"]), text(&json["accessToken"]["secret"]));
    assert!(run.stdout.contains(id) && run.stdout.contains("a.json"), "{run:?}");
    assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret), "{run:?}");
    let mode = std::fs::metadata(machine.folder().join("a.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let answer = machine.request("GET", "/v1/on-demand").basic(id, secret).send().await;
    assert_eq!(answer.status, 200);
    assert_eq!(text(&json["baseUrl"]), machine.url("/v1"));
    let shell = async |script: &str| {
        let run = Program::new("sh").args(["-c", script]).folder(machine.folder()).run().await.ok();
        assert!(run.stdout.starts_with("{\"success\":true"), "{run:?}");
    };
    shell(&format!("{} --silent", text(&json["example"]))).await;

    // The usual name of such a file.
    let env = machine.json(&[&CREATE[..], &["--file", ".env"]].concat()).await;
    assert_eq!(fields(&env), ["file", "id", "name", "permission", "workspace"]);
    let request = "-u \"$KINORA_TOKEN_ID:$KINORA_TOKEN_SECRET\" \"$KINORA_BASE_URL/on-demand\"";
    shell(&format!(". ./.env; curl --silent {request}")).await;

    let mut expected = [before, vec![".env".to_owned(), "a.json".to_owned()]].concat();
    expected.sort();
    assert_eq!(files(machine.folder()), expected, "no temporary file stays");
    let listed = machine.json(&["token", "list"]).await;
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|token| text(&token["name"])).collect();
    assert_eq!(names, ["Web shop", "kinora token create"]);
    let table = machine.run(&["token", "list"]).await.ok().stdout;
    assert!(table.contains("Web shop") && table.contains("command line"), "{table}");
    server.stop().await.ok();
}

#[tokio::test]
async fn file_that_cannot_be_written_creates_no_token() {
    let machine = Machine::new().await;
    machine.run(&["workspace", "list"]).await.ok();
    std::fs::write(machine.folder().join("a.json"), "other").unwrap();
    for (file, why) in
        [("a.json", "is not overwritten"), ("nowhere/a.json", "cannot write"), ("..", "no name")]
    {
        let refused = machine.run(&[&CREATE[..], &["--file", file]].concat()).await.problem();
        assert!(refused.contains(why), "{file}: {refused}");
    }
    let refused = machine.run(&[&CREATE[..], &["--file", "b.json", "--name", " "]].concat()).await.problem();
    assert!(refused.contains("the name of an access token must not be empty"), "{refused}");
    assert_eq!(std::fs::read_to_string(machine.folder().join("a.json")).unwrap(), "other");
    assert!(!machine.folder().join("b.json").exists());
    assert_eq!(machine.json(&["token", "list"]).await, json!([]));
}
