//! The segment that players ask for first, made before a media is watched.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use kinora_domain::Resolution;
use kinora_packager::Packaged;
use kinora_testkit::fixture;

use crate::world::{World, asker, until_made};

/// A media whose source is this file.
async fn scene(file: Bytes) -> (World, Arc<Packaged>) {
    let world = World::new().await;
    let packaged = world.store_of_media(file).await;
    (world, packaged)
}

/// Numbers of the segments that were written, with how often.
fn written(world: &World) -> Vec<(String, u64)> {
    let name = |key: String| key.rsplit('/').next().expect("a name").to_owned();
    world.writes_below("segment").into_iter().map(|(key, count)| (name(key), count)).collect()
}

async fn until_written(world: &World) {
    let mut looks = tokio::time::interval(Duration::from_millis(1));
    let is_written = async {
        while written(world).is_empty() || world.engine.load().running > 0 {
            looks.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(300), is_written).await.expect("the segment is made");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_made_once_where_the_copy_is_too_large_to_begin_with() {
    let (world, packaged) = scene(fixture::heavy()).await;
    world.packager.prepare_start(&packaged, Resolution::P1080).await.unwrap();
    until_written(&world).await; // on a machine that takes longer than it is waited for
    let first = written(&world);
    assert_eq!(first.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1], "one segment: {first:?}");
    world.packager.prepare_start(&packaged, Resolution::P1080).await.unwrap();

    // What is asked for is what was made.
    let [rung] = packaged.rungs(Resolution::P1080).try_into().expect("one rung");
    let ask = async || world.packager.encoded_segment(&packaged, &rung, 0, asker()).await.map(drop);
    until_made(ask).await.unwrap();
    assert_eq!(written(&world)[..1], first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_made_where_players_begin_with_the_copy() {
    let (world, packaged) = scene(fixture::wide()).await;
    world.packager.prepare_start(&packaged, Resolution::P1080).await.unwrap();
    // A later segment comes, and the first one would have come before it.
    let [rung] = packaged.rungs(Resolution::P1080).try_into().expect("one rung");
    let count = u32::try_from(packaged.index().plan.encoded_video.len()).unwrap();
    let ask = async || world.packager.encoded_segment(&packaged, &rung, count - 1, asker()).await.map(drop);
    until_made(ask).await.unwrap();
    until_written(&world).await;
    assert_eq!(written(&world).len(), 1, "{:?}", written(&world));
}
