//! Malicious sources against the real binary, whose memory can be measured.

use kinora_testkit::{Source, SourceServer, fixture};
use serde_json::Value;

use super::binary::Binary;
use crate::support::until;

/// The most memory of such a source beyond that of a small one.
const GROWTH_MAX_KIB: u64 = 32 << 10;

#[tokio::test]
async fn moov_claiming_billions_of_samples_uses_bounded_memory() {
    let sources = SourceServer::start().await;
    let binary = Binary::new().await;
    let running = binary.serve().await;
    let settled = async |path: &str, bytes: bytes::Bytes| -> Value {
        let media = binary.create(&sources.serve(path, Source::of(bytes))).await;
        until("the media is settled", async || binary.settled(&media).await).await
    };
    // The memory that every first media costs.
    assert_eq!(settled("/small.mp4", fixture::two_seconds()).await["status"], "Ready");
    let before = running.memory_peak_kib();

    for (path, bytes) in [
        ("/samples.mp4", fixture::damaged::four_billion_samples()),
        ("/table.mp4", fixture::damaged::table_longer_than_its_box()),
    ] {
        let media = settled(path, bytes).await;
        assert_eq!(media["status"], "Failed", "{media}");
    }
    let growth = running.memory_peak_kib() - before;
    assert!(growth < GROWTH_MAX_KIB, "{growth} KiB more than before");
    running.end().await;
}
