//! Segments of a file that does not decode.

use std::path::Path;

use kinora_testkit::{Source, SourceServer, fixture};

use crate::command::Machine;
use crate::support::text;

#[tokio::test]
async fn undecodable_segment_is_404_and_logs_no_error() {
    let machine = Machine::new().await;
    let sources = SourceServer::start().await;
    let url = sources.serve("/a.mp4", Source::of(fixture::large_two_tracks()));
    let server = machine.serve(&["--allow-private", "127.0.0.0/8"]).await;
    let made =
        machine.json(&["media", "create", "--workspace", "Development", "--url", &url, "--wait"]).await;
    server.stop().await.ok();
    lose_samples(&machine.data_dir().join("objects/source"));

    // Without a worker, no job detects that the copy does not decode either.
    let server = machine.serve(&["--role", "api,delivery", "--log", "info,kinora_delivery=debug"]).await;
    let listed = machine.fetch(&format!("/{}.m3u8", text(&made["playbackIds"][0]["id"]))).await.text();
    let rung =
        listed.lines().find_map(|line| line.strip_suffix("240p/playlist.m3u8")).expect("it is offered");
    // An init segment depends only on the rung.
    assert_eq!(machine.fetch(&format!("/{rung}240p/init.mp4")).await.status, 200);
    for file in ["0.m4s", "1.m4s", "2.m4s", "0.m4s"] {
        let answer = machine.fetch(&format!("/{rung}240p/{file}")).await;
        let description = "this segment cannot be created: the source does not decode here";
        assert_eq!((answer.status, answer.header("cache-control")), (404, Some("no-store")), "{answer:?}");
        assert_eq!(answer.json()["error"]["description"], description, "{file}");
    }
    let log = server.stop().await.ok().stderr;
    assert!(log.lines().all(|line| !line.contains(" ERROR ")), "{log}");
    assert!(
        log.contains("DEBUG") && log.contains("a segment cannot be created: its source does not decode"),
        "{log}"
    );
}

/// Overwrites the samples of each MP4 below a folder, and leaves their metadata.
fn lose_samples(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            lose_samples(&path);
            continue;
        }
        let mut file = std::fs::read(&path).unwrap();
        let mut at = 0;
        while at + 8 <= file.len() {
            let size = u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
            if &file[at + 4..at + 8] == b"mdat" {
                file[at + 8..at + size].fill(0);
            }
            at += size;
        }
        std::fs::write(&path, file).unwrap();
    }
}
