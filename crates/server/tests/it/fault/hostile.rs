//! Sources made to hurt, against the real binary: its memory is its own.

use kinora_testkit::{Source, SourceServer, fixture};
use serde_json::Value;

use super::binary::Binary;
use crate::support::until;

/// What reading such a source may cost beside what a small one does.
const GROWTH_MAX_KIB: u64 = 32 << 10;

#[tokio::test]
async fn a_moov_that_claims_billions_of_samples_costs_no_memory_and_no_time() {
    let sources = SourceServer::start().await;
    let binary = Binary::new().await;
    let running = binary.serve().await;
    let settled = async |path: &str, bytes: bytes::Bytes| -> Value {
        let media = binary.create(&sources.serve(path, Source::of(bytes))).await;
        until("the media is settled", async || binary.settled(&media).await).await
    };
    // What everything costs once.
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
