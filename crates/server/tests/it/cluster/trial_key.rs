//! `kinora token sign` with all data outside of a folder: it creates no trial key.

use kinora_testkit::fixture;
use serde_json::json;

use crate::api::Ids;
use crate::support::{Program, TestApp, text};

#[tokio::test]
async fn trial_key_is_never_created_in_the_working_directory() {
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
    assert!(problem.contains("set --data-dir") && problem.contains("--key FILE"), "{problem}");
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0, "nothing was made");
    let workspace = text(&media["workspaceId"]).parse().unwrap();
    assert_eq!(app.store.signing_key_count(workspace).await.unwrap(), 0);
}
