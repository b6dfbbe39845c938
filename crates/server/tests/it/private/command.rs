//! `kinora token sign`, with the real binary beside a server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
async fn the_command_signs_with_the_key_that_the_server_answered_once() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", kinora_testkit::fixture::two_seconds()).await;
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
    // The file tells the id, the database, or whoever types.
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
        (&["--playback-id", &playback, "--key", "no.pem"], "is no private key of RSA"),
        (&["--playback-id", &playback, "--key", "none.pem"], "none.pem"),
    ] {
        let problem = sign(&app, arguments).await.problem();
        assert!(problem.contains(sentence), "{problem}");
    }
    assert_eq!(app.call("DELETE", &format!("{KEYS}/{kid}")).send().await.status, 200);
    let problem = sign(&app, &["--playback-id", &playback, "--key", "key.pem"]).await.problem();
    assert!(problem.contains("has no signing key of this file"), "{problem}");
}
