//! Starting and ending the server as a process.

use std::net::TcpListener;

use kinora_testkit::{Source, SourceServer, fixture};

use super::Machine;
use crate::support::text;

#[tokio::test]
async fn after_a_kill_the_same_folder_and_port_start_again_at_once() {
    let machine = Machine::new().await;
    let sources = SourceServer::start().await;
    let token = machine.token("Development", "read-write").await;
    let url = sources.serve("/a.mp4", Source::of(fixture::two_seconds()));
    let mut server = machine.serve(&["--allow-private", "127.0.0.0/8"]).await;
    let made =
        machine.json(&["media", "create", "--workspace", "Development", "--url", &url, "--wait"]).await;
    let path = format!("/v1/on-demand/{}", text(&made["id"]));
    let before = machine.request("GET", &path).token(&token).send().await;

    for _ in 0..3 {
        let killed = server.kill().await;
        assert_eq!(killed.code, None, "a signal ended it: {killed:?}");
        server = machine.serve(&[]).await;
    }
    let after = machine.request("GET", &path).token(&token).send().await;
    assert_eq!((after.status, after.body), (200, before.body));
    let manifest = format!("/{}.m3u8", text(&made["playbackIds"][0]["id"]));
    assert_eq!(machine.fetch(&manifest).await.status, 200);
    server.stop().await.ok();
}

#[tokio::test]
async fn a_signal_ends_it_cleanly_and_it_says_so() {
    let machine = Machine::new().await;
    let ended = machine.serve(&[]).await.stop().await.ok();
    assert_eq!(ended.stdout, "", "a server has no result");
    assert!(ended.stderr.contains("kinora is ready") && ended.stderr.contains("stopped"), "{ended:?}");
    machine.request("GET", "/healthz").try_send().await.expect_err("nobody listens any more");
}

#[tokio::test]
async fn a_port_in_use_is_named_and_the_folder_left_free() {
    let machine = Machine::new().await;
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = machine.kinora(&["serve", "--listen", &address]).run().await;
    assert_eq!(run.code, Some(1), "{run:?}");
    let expected = format!("cannot listen on {address}; choose another address with --listen");
    assert!(run.stderr.contains(&expected), "{run:?}");
    machine.serve(&[]).await.stop().await.ok();
}
