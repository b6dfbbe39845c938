//! `kinora token sign`: the real binary with a running server.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kinora_domain::{Clock as _, DEVELOPMENT, SigningKey, SigningKeyId, WorkspaceId};
use kinora_server::{SystemClock, SystemRandom};
use kinora_testkit::fixture;
use serde_json::{Value, json};

use super::signer::KEYS;
use crate::api::Ids;
use crate::support::{Program, Run, TestApp, text};

async fn sign(app: &TestApp, arguments: &[&str]) -> Run {
    let program =
        Program::new(env!("CARGO_BIN_EXE_kinora")).args(["token", "sign", "--json"]).args(arguments);
    let program = program.folder(app.ground.folder());
    let environment = app.ground.environment().into_iter();
    environment.fold(program, |program, (name, value)| program.env(name, value)).run().await
}

#[tokio::test]
async fn token_sign_uses_a_private_key_file_of_the_api() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let made = app.call("POST", KEYS).send().await;
    let (kid, private) = (text(&made.data()["id"]).to_owned(), text(&made.data()["privateKey"]).to_owned());
    let pem = STANDARD.decode(&private).unwrap();
    let folder = app.ground.folder();
    for (file, bytes) in
        [("answer.json", made.body.to_vec()), ("key.txt", private.into_bytes()), ("key.pem", pem)]
    {
        std::fs::write(folder.join(file), bytes).unwrap();
    }
    // The key id comes from the file, from the database, or from the command line.
    for arguments in
        [&["--key", "answer.json"][..], &["--key", "key.txt"], &["--key", "key.pem", "--kid", &kid]]
    {
        let arguments = [&["--playback-id", &playback, "--expires", "1h"], arguments].concat();
        let signed: Value = sign(&app, &arguments).await.json();
        assert_eq!(signed["kid"], kid, "{arguments:?}");
        assert!(
            text(&signed["url"]).ends_with(&format!("/{playback}.m3u8?token={}", text(&signed["token"])))
        );
        let manifest = app.fetch(&format!("/{playback}.m3u8?token={}", text(&signed["token"]))).await;
        assert_eq!(manifest.status, 200, "{arguments:?}");
    }
    let other = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f";
    std::fs::write(folder.join("no.pem"), "-----BEGIN PRIVATE KEY-----\nAQID\n-----END PRIVATE KEY-----\n")
        .unwrap();
    for (arguments, sentence) in [
        (&["--playback-id", other, "--key", "key.pem"][..], "there is no media with the playback ID"),
        (&["--playback-id", &playback, "--key", "no.pem"], "is not an RSA private key"),
        (&["--playback-id", &playback, "--key", "none.pem"], "none.pem"),
    ] {
        let problem = sign(&app, arguments).await.problem();
        assert!(problem.contains(sentence), "{problem}");
    }
    assert_eq!(app.call("DELETE", &format!("{KEYS}/{kid}")).send().await.status, 200);
    let problem = sign(&app, &["--playback-id", &playback, "--key", "key.pem"]).await.problem();
    assert!(problem.contains("has no signing key for this file"), "{problem}");
}

/// A server with a private playback ID, and the command without a key.
struct Trial {
    app: TestApp,
    media: Value,
    playback: String,
    workspace: WorkspaceId,
}

impl Trial {
    async fn new() -> Self {
        let app = TestApp::options().without_webhook().start().await;
        let media = app.ready("/a.mp4", fixture::two_seconds()).await;
        let playback = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
        let workspace = app.store.workspace_by_name(DEVELOPMENT).await.unwrap().expect("it is there").id;
        Self { app, media, playback, workspace }
    }

    async fn sign(&self) -> Run {
        sign(&self.app, &["--playback-id", &self.playback, "--expires", "1h"]).await
    }

    fn file(&self) -> PathBuf {
        self.app.ground.data_dir().join(format!("trial-key-{}.json", self.workspace))
    }

    /// The ids of the keys of the workspace.
    async fn keys(&self) -> Vec<String> {
        let listed = self.app.call("GET", KEYS).send().await.data();
        listed.as_array().unwrap().iter().map(|key| text(&key["id"]).to_owned()).collect()
    }

    async fn status(&self, signed: &Value) -> u16 {
        self.app.fetch(&format!("/{}.m3u8?token={}", self.playback, text(&signed["token"]))).await.status
    }

    /// The token is valid from the first request: the server does not cache that a key is missing.
    async fn plays(&self, signed: &Value) {
        assert_eq!(self.status(signed).await, 200);
    }

    /// The trial key files in the data folder, sorted.
    fn left(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.app.ground.data_dir()).into_iter().flatten();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.filter(|name| name.starts_with("trial-key-")).collect();
        names.sort();
        names
    }
}

#[tokio::test]
async fn token_sign_creates_and_reuses_a_trial_key() {
    let trial = Trial::new().await;
    let first = trial.sign().await.ok();
    let file = trial.file();
    assert!(first.stderr.contains(&file.display().to_string()), "{first:?}");
    let signed: Value = first.json();
    trial.plays(&signed).await;
    let kid = text(&signed["kid"]).to_owned();
    assert_eq!(trial.keys().await, [kid.as_str()]);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);

    let again = trial.sign().await.ok();
    assert_eq!(again.stderr, "", "standard error is empty");
    let signed_again: Value = again.json();
    assert_eq!(signed_again["kid"], kid);
    trial.plays(&signed_again).await;
    let named =
        sign(&trial.app, &["--playback-id", &trial.playback, "--key", &file.display().to_string()]).await;
    assert_eq!(named.json()["kid"], kid, "the file is one that --key takes");
    assert_eq!(trial.keys().await, [kid.as_str()], "one key is enough");

    // A deleted key is not restored.
    assert_eq!(trial.app.call("DELETE", &format!("{KEYS}/{kid}")).send().await.status, 200);
    let other = trial.sign().await.ok();
    assert!(other.stderr.contains("created the trial signing key"), "{other:?}");
    let signed_by_other: Value = other.json();
    trial.plays(&signed_by_other).await;
    assert_ne!(signed_by_other["kid"], kid);
    assert_eq!(trial.keys().await, [text(&signed_by_other["kid"])]);
    assert_eq!(trial.status(&signed).await, 401);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let shown: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(shown["id"], signed_by_other["kid"]);
}

#[tokio::test]
async fn concurrent_commands_share_one_trial_key() {
    let trial = Trial::new().await;
    let runs = tokio::join!(trial.sign(), trial.sign(), trial.sign());
    let [first, second, third] = [runs.0, runs.1, runs.2].map(Run::json);
    assert_eq!(trial.keys().await, [text(&first["kid"])]);
    for signed in [first, second, third] {
        trial.plays(&signed).await;
    }
    let name = format!("trial-key-{}", trial.workspace);
    assert_eq!(trial.left(), [format!("{name}.json"), format!("{name}.lock")]);
}

#[tokio::test]
async fn trial_key_needs_playback_id_and_free_key_slot() {
    let trial = Trial::new().await;
    let other = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f";
    let problem = sign(&trial.app, &["--playback-id", other, "--expires", "1h"]).await.problem();
    let expected = format!("there is no media with the playback ID {other}; kinora media show ID lists");
    assert!(problem.contains(&expected), "{problem}");
    assert!(trial.left().is_empty() && trial.keys().await.is_empty(), "something was made");

    let workspace = trial.workspace;
    let full = async move |tx: &mut kinora_store::Tx| {
        for _ in 0..SigningKey::PER_WORKSPACE_MAX {
            let now = SystemClock.now();
            let (id, public_key) = (SigningKeyId::new(now, &SystemRandom), "no key".to_owned());
            tx.insert_signing_key(&SigningKey { id, workspace, public_key, created_at: now }).await?;
        }
        Ok::<_, kinora_store::Error>(())
    };
    trial.app.store.write(full).await.unwrap();
    let problem = trial.sign().await.problem();
    assert!(
        problem.contains("the workspace has 100 signing keys") && problem.contains("; delete one"),
        "{problem}"
    );
    assert!(!trial.file().exists(), "a key was kept");
    assert_eq!(trial.app.store.signing_key_count(workspace).await.unwrap(), SigningKey::PER_WORKSPACE_MAX);
}

#[tokio::test]
async fn invalid_trial_key_file_is_reported_and_left_unchanged() {
    let trial = Trial::new().await;
    std::fs::create_dir_all(trial.app.ground.data_dir()).unwrap();
    for (content, what) in [("", "is not an RSA private key"), ("{}", "has no privateKey")] {
        std::fs::write(trial.file(), content).unwrap();
        let problem = trial.sign().await.problem();
        assert!(problem.contains(what) && problem.contains("; remove it"), "{problem}");
        assert_eq!(std::fs::read_to_string(trial.file()).unwrap(), content);
    }
    assert!(trial.keys().await.is_empty(), "a key was made");
    std::fs::remove_file(trial.file()).unwrap();
    trial.plays(&trial.sign().await.json()).await;
}

#[tokio::test]
async fn signing_for_public_playback_id_warns() {
    let trial = Trial::new().await;
    let public = text(&trial.media["playbackIds"][0]["id"]);
    let run = sign(&trial.app, &["--playback-id", public, "--expires", "1h"]).await.ok();
    let notice = format!("the playback ID {public} is public and needs no token");
    assert!(run.stderr.contains(&notice), "{run:?}");
    let signed: Value = run.json();
    let plain = trial.app.fetch(&format!("/{public}.m3u8")).await;
    assert_eq!((plain.status, text(&signed["token"]).split('.').count()), (200, 3));
    assert!(!trial.sign().await.ok().stderr.contains("public"));
}
