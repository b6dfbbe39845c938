//! The segment that players request first, encoded before a media is watched.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kinora_domain::Resolution;
use kinora_packager::Packaged;
use kinora_testkit::fixture;

use crate::world::{TestServer, on_demand_client, until_made};

/// A media whose source is this file.
async fn scene(file: Bytes) -> (TestServer, Arc<Packaged>) {
    let world = TestServer::new().await;
    let packaged = world.store_of_media(file).await;
    (world, packaged)
}

/// Names of the written segments, with the number of writes.
fn written(world: &TestServer) -> Vec<(String, u64)> {
    let name = |key: String| key.rsplit('/').next().expect("a name").to_owned();
    world.writes_below("segment").into_iter().map(|(key, count)| (name(key), count)).collect()
}

async fn until_written(world: &TestServer) {
    let mut interval = tokio::time::interval(Duration::from_millis(1));
    let is_written = async {
        while written(world).is_empty() || world.engine.load().running > 0 {
            interval.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(300), is_written).await.expect("the segment is made");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_segment_is_encoded_once_when_copy_is_large() {
    let (world, packaged) = scene(fixture::high_bitrate()).await;
    world.packager.prepare_start(&packaged, Resolution::P1080).await.unwrap();
    until_written(&world).await; // on a machine that takes longer than it is waited for
    let first = written(&world);
    assert_eq!(first.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1], "one segment: {first:?}");
    world.packager.prepare_start(&packaged, Resolution::P1080).await.unwrap();

    // The requested segment is the prepared one.
    let [rung] = packaged.rungs(Resolution::P1080).try_into().expect("one rung");
    let fetch =
        async || world.packager.encoded_segment(&packaged, &rung, 0, on_demand_client()).await.map(drop);
    until_made(fetch).await.unwrap();
    assert_eq!(written(&world)[..1], first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_segment_is_not_encoded_for_the_copy() {
    let (world, packaged) = scene(fixture::large_two_tracks()).await;
    world.packager.prepare_start(&packaged, Resolution::P1080).await.unwrap();
    // A later segment is requested; the first one would have been encoded before it.
    let [rung] = packaged.rungs(Resolution::P1080).try_into().expect("one rung");
    let count = u32::try_from(packaged.index().plan.encoded_video.len()).unwrap();
    let fetch = async || {
        world.packager.encoded_segment(&packaged, &rung, count - 1, on_demand_client()).await.map(drop)
    };
    until_made(fetch).await.unwrap();
    until_written(&world).await;
    assert_eq!(written(&world).len(), 1, "{:?}", written(&world));
}
