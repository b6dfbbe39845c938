//! One client of several processes: it reads its own writes from each of them.

use kinora_testkit::{Source, fixture};
use serde_json::json;

use crate::support::{TestApp, text, until};

/// Enough repetitions to show a race.
const TIMES: usize = 24;

async fn two() -> (TestApp, TestApp) {
    let one = TestApp::options().without_webhook().start().await;
    let other = TestApp::on_data_of(&one, TestApp::options()).await;
    (one, other)
}

#[tokio::test]
async fn writes_are_visible_to_other_processes_at_once() {
    let (one, other) = two().await;
    let url = one.serve("/a.mp4", Source::refused(404));
    for round in 0..TIMES {
        let (writes, reads) = if round % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let media = writes.create(&url).await;
        let id = text(&media["id"]);
        assert_eq!(reads.get(id).await.status, 200, "turn {round}");
        let newest = reads.call("GET", "/v1/on-demand?limit=1").send().await.data();
        assert_eq!(newest[0]["id"], media["id"], "turn {round}");
        // Both have cached it now.
        assert_eq!(writes.get(id).await.status, 200, "turn {round}");
        let change = json!({"title": format!("Turn {round}")});
        let changed = reads.call("PATCH", &format!("/v1/on-demand/{id}")).json(&change).send().await;
        assert_eq!(changed.status, 200, "turn {round}: {changed:?}");
        assert_eq!(writes.get(id).await.data()["title"], change["title"], "turn {round}");
        assert_eq!(reads.delete(id).await.status, 200, "turn {round}");
        for app in [writes, reads] {
            assert_eq!(app.get(id).await.status, 404, "turn {round}");
        }
    }
}

#[tokio::test]
async fn media_ready_in_one_process_plays_in_all() {
    let (one, other) = two().await;
    let bytes = fixture::two_seconds();
    for round in 0..TIMES / 4 {
        let path = format!("/{round}.mp4");
        let url = one.serve(&path, Source::of(bytes.clone()).gate_last_byte());
        let media = one.create(&url).await;
        let manifest = format!("/{}.m3u8", text(&media["playbackIds"][0]["id"]));
        for app in [&one, &other] {
            assert_eq!(app.fetch(&manifest).await.refusal(), (400, "media is not ready".to_owned()));
        }
        one.sources.release(&path);
        assert_eq!(one.wait_settled(text(&media["id"])).await["status"], "Ready");
        assert_eq!(other.fetch(&manifest).await.status, 200, "turn {round}");
        assert_eq!(other.get(text(&media["id"])).await.data()["status"], "Ready");
    }
}

#[tokio::test]
async fn every_process_serves_identical_bytes() {
    let (one, other) = two().await;
    let media = one.ready("/a.mp4", fixture::two_seconds()).await;
    let playback = text(&media["playbackIds"][0]["id"]);
    let manifest = one.fetch(&format!("/{playback}.m3u8")).await.text();
    let playlist = manifest.lines().find(|line| line.ends_with("video/playlist.m3u8")).expect("a video");
    let folder = playlist.strip_suffix("playlist.m3u8").expect("it ends so");
    let mut addresses = vec![format!("/{playback}.m3u8"), format!("/{playback}/thumbnail.jpg")];
    addresses.extend(["playlist.m3u8", "init.mp4", "0.m4s"].map(|file| format!("/{folder}{file}")));
    for address in addresses {
        // An image is made on its first request: here by both processes concurrently.
        let (from_one, from_other) = tokio::join!(one.fetch(&address), other.fetch(&address));
        assert_eq!((from_one.status, from_other.status), (200, 200), "{address}");
        assert!(from_one.body == from_other.body, "{address}");
    }
}

#[tokio::test]
async fn new_token_works_immediately_in_every_process() {
    let (one, other) = two().await;
    for _ in 0..TIMES / 4 {
        let token = one.new_token(kinora_domain::DEVELOPMENT, kinora_domain::Permission::ReadOnly).await;
        for app in [&one, &other] {
            let answer = app.request("GET", "/v1/on-demand").token(&token).send().await;
            assert_eq!((answer.status, &answer.json()["data"]), (200, &json!([])));
        }
    }
}

#[tokio::test]
async fn playback_id_changes_reach_every_process() {
    let (one, other) = two().await;
    let media = one.ready("/a.mp4", fixture::two_seconds()).await;
    let all = format!("/v1/on-demand/{}/playback-ids", text(&media["id"]));
    for round in 0..TIMES / 4 {
        let (writes, reads) = if round % 2 == 0 { (&one, &other) } else { (&other, &one) };
        let made = writes.call("POST", &all).json(&json!({"accessPolicy": "public"})).send().await.data();
        let playback = text(&made["id"]);
        let manifest = format!("/{playback}.m3u8");
        assert_eq!(reads.fetch(&manifest).await.status, 200, "turn {round}");
        assert_eq!(writes.fetch(&manifest).await.status, 200, "turn {round}");

        let domains = format!("{all}/{playback}/domains");
        let rule = json!({"defaultPolicy": "deny"});
        assert_eq!(writes.call("PATCH", &domains).json(&rule).send().await.status, 200, "turn {round}");
        assert_eq!(writes.fetch(&manifest).await.status, 403, "turn {round}");
        refused_soon(reads, &manifest, 403).await;
        // A cached refusal does not outlast the rule.
        assert_eq!(writes.call("PATCH", &domains).json(&json!({})).send().await.status, 200, "turn {round}");
        assert_eq!(reads.fetch(&manifest).await.status, 200, "turn {round}");

        let gone = writes.call("DELETE", &format!("{all}?playbackId={playback}")).send().await;
        assert_eq!(gone.status, 200, "turn {round}");
        assert_eq!(writes.fetch(&manifest).await.status, 404, "turn {round}");
        refused_soon(reads, &manifest, 404).await;
    }
}

#[tokio::test]
async fn source_access_changes_reach_every_process() {
    let (one, other) = two().await;
    let media = one.ready("/a.mp4", fixture::two_seconds()).await;
    let change = format!("/v1/on-demand/{}/source-access", text(&media["id"]));
    let original = format!("/{}/source", text(&media["playbackIds"][0]["id"]));
    for round in 0..TIMES / 4 {
        let (writes, reads) = if round % 2 == 0 { (&one, &other) } else { (&other, &one) };
        // Both have cached that it is disabled.
        for app in [&one, &other] {
            assert_eq!(app.fetch(&original).await.status, 404, "turn {round}");
        }
        let opened = writes.call("PATCH", &change).json(&json!({"sourceAccess": true})).send().await;
        assert_eq!(opened.status, 200, "turn {round}");
        assert_eq!(reads.fetch(&original).await.status, 200, "turn {round}");
        assert_eq!(writes.fetch(&original).await.status, 200, "turn {round}");
        let closed = writes.call("PATCH", &change).json(&json!({"sourceAccess": false})).send().await;
        assert_eq!(closed.status, 200, "turn {round}");
        assert_eq!(writes.fetch(&original).await.status, 404, "turn {round}");
        refused_soon(reads, &original, 404).await;
    }
}

/// C-13. `kinora_delivery` bounds how long a grant is cached.
async fn refused_soon(app: &TestApp, address: &str, status: u16) {
    until("the viewer is refused", async || (app.fetch(address).await.status == status).then_some(())).await;
}
