//! The key of `kinora token sign` where nothing else lies in a folder.

use kinora_testkit::fixture;
use serde_json::json;

use crate::api::Ids;
use crate::support::{Program, TestApp, text};

#[tokio::test]
async fn no_key_for_trials_is_made_in_whatever_folder_the_command_is_typed() {
    let app = TestApp::options().without_webhook().start().await;
    let media = app.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = Ids::of(&app, &media).made(&json!({"accessPolicy": "private"})).await;
    let here = tempfile::tempdir().unwrap();
    let program = Program::new(env!("CARGO_BIN_EXE_kinora"))
        .args(["token", "sign", "--playback-id", &playback, "--expires", "1h"])
        .folder(here.path());
    let program =
        app.ground.environment().into_iter().fold(program, |program, (name, value)| program.env(name, value));
    let problem = program.without("KINORA_DATA_DIR").run().await.problem();
    assert!(problem.contains("say which with --data-dir") && problem.contains("--key FILE"), "{problem}");
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0, "nothing was made");
    let workspace = text(&media["workspaceId"]).parse().unwrap();
    assert_eq!(app.store.signing_key_count(workspace).await.unwrap(), 0);
}
