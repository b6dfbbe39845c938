use std::path::PathBuf;

use bytes::Bytes;
use kinora_testkit::fixture;

use super::{Machine, fields};
use crate::support::text;

/// A file in the machine's folder.
pub(crate) fn file(machine: &Machine, name: &str, bytes: &Bytes) -> PathBuf {
    let path = machine.folder().join(name);
    std::fs::write(&path, bytes).expect("the folder of the machine can be written");
    path
}

#[tokio::test]
async fn upload_without_a_server_creates_ready_media() {
    let machine = Machine::new().await;
    file(&machine, "a clip.mp4", &fixture::two_seconds());
    let state = machine.folder().join("state");
    let arguments = ["upload", "a clip.mp4", "--workspace", "Development", "--wait", "--json"];
    let media = machine.kinora(&arguments).env("XDG_STATE_HOME", &state).run().await.json();
    assert_eq!((text(&media["status"]), text(&media["title"])), ("Ready", "a clip.mp4"));
    assert_eq!(text(&media["duration"]), "00:00:02");
    assert_eq!(machine.json(&["media", "show", text(&media["id"])]).await, media);
    // A completed upload leaves no state, so the same file makes another media.
    assert_eq!(std::fs::read_dir(state.join("kinora/uploads")).unwrap().count(), 0);
    let other = machine.kinora(&arguments).env("XDG_STATE_HOME", &state).run().await.json();
    assert_ne!(other["id"], media["id"]);
}

#[tokio::test]
async fn file_to_encode_waits_for_the_server() {
    let machine = Machine::new().await;
    file(&machine, "clip.mkv", &fixture::not_copied_small());
    let arguments = ["upload", "clip.mkv", "--workspace", "Development", "--title", "A title", "--private"];
    let uploaded = machine.json(&arguments).await;
    assert_eq!((fields(&uploaded), text(&uploaded["status"])), (vec!["id", "status"], "completed"));
    let id = text(&uploaded["id"]);
    assert_eq!(machine.json(&["media", "show", id]).await["status"], "Created");
    let server = machine.serve(&[]).await;
    let media = machine.json(&["media", "wait", id]).await;
    assert_eq!((text(&media["status"]), text(&media["title"])), ("Ready", "A title"));
    assert_eq!(text(&media["playbackIds"][0]["accessPolicy"]), "private");
    server.stop().await.ok();
}

#[tokio::test]
async fn failed_upload_reports_its_reason() {
    let machine = Machine::new().await;
    file(&machine, "empty.mp4", &Bytes::new());
    file(&machine, "text.mp4", &Bytes::from("This is a text. ".repeat(500)));
    let problem =
        async |name: &str| machine.run(&["upload", name, "--workspace", "Development"]).await.problem();
    let folder = machine.folder().canonicalize().unwrap();
    let folder = folder.display();
    assert_eq!(problem("empty.mp4").await, format!("kinora: {folder}/empty.mp4 is empty"));
    assert_eq!(problem(".").await, format!("kinora: {folder} is not a file"));
    assert_eq!(
        problem("away.mp4").await,
        "kinora: cannot read away.mp4: No such file or directory (os error 2)"
    );
    assert_eq!(
        problem("text.mp4").await,
        format!(
            "kinora: {folder}/text.mp4 cannot become a media: \
             the source is a text file, not a video or audio file (not_media)"
        )
    );
    let other_workspace = machine.run(&["upload", "text.mp4", "--workspace", "Nowhere"]).await.problem();
    assert!(other_workspace.contains("Nowhere"), "{other_workspace}");
}
