use kinora_testkit::{Source, SourceServer, fixture};
use serde_json::{Value, json};

use super::{Machine, fields};
use crate::support::{DEADLINE, text};

const VIEW: [&str; 8] =
    ["createdAt", "duration", "id", "playbackIds", "status", "title", "updatedAt", "workspaceId"];

#[tokio::test]
async fn media_is_created_awaited_shown_listed_and_deleted() {
    let machine = Machine::new().await;
    let sources = SourceServer::start().await;
    let url = sources.serve("/a.mp4", Source::of(fixture::two_seconds()).gate_last_byte());
    let server = machine.serve(&["--allow-private", "127.0.0.0/8"]).await;
    let create = ["media", "create", "--workspace", "Development", "--url", &url, "--title", "A title"];
    let made = machine.json(&create).await;
    let id = text(&made["id"]);
    assert_eq!((fields(&made), text(&made["status"])), (VIEW.to_vec(), "Created"));

    sources.wait_until_held("/a.mp4", DEADLINE).await;
    let waiting = machine.kinora(&["media", "wait", id, "--json"]).start();
    assert_eq!(machine.json(&["media", "show", id]).await["status"], "Downloading");
    sources.release("/a.mp4");
    let ready: Value = serde_json::from_str(&waiting.ended("waiting").await.ok().stdout).unwrap();
    assert_eq!(
        (text(&ready["status"]), text(&ready["duration"]), text(&ready["title"])),
        ("Ready", "00:00:02", "A title")
    );
    let playback = &ready["playbackIds"][0];
    assert_eq!(fields(playback), ["accessPolicy", "id", "manifest", "player"]);
    assert_eq!(text(&playback["manifest"]), machine.url(&format!("/{}.m3u8", text(&playback["id"]))));
    assert_eq!(machine.fetch(&format!("/{}.m3u8", text(&playback["id"]))).await.status, 200);
    assert_eq!(machine.fetch(&format!("/embed/{}", text(&playback["id"]))).await.status, 200);

    assert_eq!(machine.json(&["media", "show", id]).await, ready);
    let shown = machine.run(&["media", "show", id]).await.ok().stdout;
    for part in
        [id, "Ready", "00:00:02", "A title", "160x90, 25/1 frames a second", text(&playback["player"])]
    {
        assert!(shown.contains(part), "{part} is missing:\n{shown}");
    }
    let listed = machine.json(&["media", "list", "--workspace", "Development"]).await;
    assert_eq!(listed, json!({"media": [ready], "total": 1, "page": 1}));
    let other_workspace = machine.json(&["media", "list", "--workspace", "Production"]).await;
    assert_eq!(other_workspace, json!({"media": [], "total": 0, "page": 1}));

    assert_eq!(machine.json(&["media", "delete", id]).await, json!({"id": id, "deleted": true}));
    let gone = machine.run(&["media", "show", id]).await.problem();
    assert_eq!(gone, format!("kinora: there is no media {id}"));
    assert_eq!(machine.run(&["media", "delete", id]).await.problem(), gone);
    server.stop().await.ok();
}

#[tokio::test]
async fn failed_media_is_shown_with_exit_code_1() {
    let machine = Machine::new().await;
    let server = machine.serve(&[]).await;
    let url = "http://127.0.0.1:9/a.mp4";
    let create =
        ["media", "create", "--workspace", "Development", "--url", url, "--wait", "--private", "--json"];
    let run = machine.run(&create).await;
    assert_eq!(run.code, Some(1), "{run:?}");
    let media: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    assert_eq!(media["error"]["code"], "source_forbidden_address");
    assert_eq!(media["playbackIds"][0]["accessPolicy"], "private");
    assert!(run.stderr.contains(text(&media["error"]["message"])), "{run:?}");
    let waited = machine.run(&["media", "wait", text(&media["id"])]).await;
    assert_eq!(waited.code, Some(1), "{waited:?}");
    server.stop().await.ok();
}

#[tokio::test]
async fn wait_without_a_server_times_out_with_advice() {
    let machine = Machine::new().await;
    let url = "https://example.com/a.mp4";
    let made = machine.json(&["media", "create", "--workspace", "Development", "--url", url]).await;
    let id = text(&made["id"]);
    let problem = machine.run(&["media", "wait", id, "--timeout", "0"]).await.problem();
    assert_eq!(
        problem,
        format!("kinora: media {id} is not ready after 0 s; is kinora serve running on the same data?")
    );
}
