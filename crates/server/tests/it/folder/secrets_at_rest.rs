//! Inspects the files of a data folder.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::command::Machine;
use crate::support::{TestApp, text};

#[tokio::test]
async fn token_secret_is_stored_as_hash_only() {
    let machine = Machine::new().await;
    let token = machine.token("Development", "read-write").await;
    let mut files = 0;
    for file in std::fs::read_dir(machine.data_dir()).unwrap().map(|entry| entry.unwrap().path()) {
        if file.is_file() {
            let bytes = std::fs::read(&file).unwrap();
            let found = bytes.windows(token.secret.len()).any(|window| window == token.secret.as_bytes());
            assert!(!found, "{} holds the secret", file.display());
            files += 1;
        }
    }
    assert!(files > 1, "a database and a key at least");
}

#[tokio::test]
async fn only_public_signing_key_is_stored() {
    let app = TestApp::options().without_webhook().start().await;
    let key = app.call("POST", "/v1/iam/signing-keys").send().await.data();
    let path = format!("/v1/iam/signing-keys/{}", text(&key["id"]));
    let public = text(&app.call("GET", &path).send().await.data()["publicKey"]).to_owned();
    let private = text(&key["privateKey"]);
    let pem = String::from_utf8(STANDARD.decode(private).unwrap()).unwrap();
    // The key as it was sent, as PEM and as bytes. Only the middle of each, because start and end are the
    // same in all keys.
    let lines: Vec<_> = pem.lines().collect();
    let line = lines[lines.len() / 2];
    let middle = private.len() / 2;
    let secrets = [private[middle..middle + 64].into(), line.into(), STANDARD.decode(line).unwrap()];
    let shown = public.lines().nth(3).unwrap();

    let mut is_kept = false;
    for file in std::fs::read_dir(app.ground.data_dir()).unwrap().map(|entry| entry.unwrap().path()) {
        if file.is_file() {
            let bytes = std::fs::read(&file).unwrap();
            let holds = |secret: &[u8]| bytes.windows(secret.len()).any(|window| window == secret);
            assert!(!secrets.iter().any(|secret| holds(secret)), "{} holds the secret", file.display());
            is_kept |= holds(shown.as_bytes());
        }
    }
    assert!(is_kept, "the public key is found, so the search works");
}
