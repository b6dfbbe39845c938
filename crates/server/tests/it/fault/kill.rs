//! `kill -9` of the real binary at several points of a download, and its start on the same folder and port.

use std::collections::BTreeSet;

use kinora_testkit::{ReceivedPost, Source, SourceServer, fixture};

use super::binary::Binary;
use super::events;
use crate::support::{DEADLINE, until};

fn is_ready(post: &ReceivedPost) -> bool {
    post.event_type() == "video.media.ready"
}

#[tokio::test]
async fn killed_server_emits_exactly_one_ready_event() {
    let (sources, binary) = (SourceServer::start().await, Binary::new().await);
    let bytes = fixture::thirty_seconds();
    let len = bytes.len() as u64;
    let mut accepted = Vec::new();
    let mut running = binary.serve().await;
    // Before the first byte, inside the tables, in the middle, before the last byte.
    for (number, gate) in [0, 2000, len / 2, len - 1].into_iter().enumerate() {
        let path = format!("/{number}.mp4");
        let url = sources.serve(&path, Source::of(bytes.clone()).gated_at(gate));
        accepted.push(binary.create(&url).await);
        sources.wait_until_held(&path, DEADLINE).await;
        running.kill().await;
        sources.release(&path);
        running = binary.serve().await;
    }
    // Right after the last byte, without a gate; the second time once the ready event has arrived.
    for number in 4..6 {
        let path = format!("/{number}.mp4");
        let url = sources.serve(&path, Source::of(bytes.clone()).gated_at(len - 1));
        let seen = binary.receiver.posted().len();
        accepted.push(binary.create(&url).await);
        sources.wait_until_held(&path, DEADLINE).await;
        sources.release(&path);
        if number == 5 {
            binary.receiver.wait_for(DEADLINE, |posted| posted[seen..].iter().any(is_ready)).await;
        }
        running.kill().await;
        running = binary.serve().await;
    }

    for id in &accepted {
        let media = until("the media is settled", async || binary.settled(id).await).await;
        assert_eq!(media["status"], "Ready");
    }
    let all_ready = |posted: &[ReceivedPost]| {
        let ready: BTreeSet<String> =
            posted.iter().filter(|post| is_ready(post)).map(ReceivedPost::event_id).collect();
        ready.len() == accepted.len()
    };
    binary.receiver.wait_for(DEADLINE, all_ready).await;
    until("what earlier attempts left behind is gone", async || {
        (binary.objects().await.len() == 2 * accepted.len()).then_some(())
    })
    .await;
    running.end().await;
    let events_by_media = events::by_media(&binary.receiver);
    assert_eq!(events_by_media.len(), accepted.len());
    for id in &accepted {
        assert_eq!(events_by_media[id], ["video.media.created", "video.media.ready"]);
    }
}
