//! Sources that decode in part, or not at all, and engines that fail.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{PlaybackId, Resolution, SourceId};
use kinora_packager::{Asker, Error, Packaged, Wanted};
use kinora_testkit::{SeededRandom, fixture};

use crate::world::World;

fn asker() -> Asker {
    Asker { playback: PlaybackId::new(&SeededRandom::default()), address: None }
}

/// The clip with the bytes of these samples of its video overwritten.
async fn damaged(world: &World, samples: impl FnOnce(&Packaged) -> Range<u32>) -> Arc<Packaged> {
    damaged_as(world, world.source(), samples).await
}

/// The same under this id.
async fn damaged_as(
    world: &World,
    source: SourceId,
    samples: impl FnOnce(&Packaged) -> Range<u32>,
) -> Arc<Packaged> {
    let whole = world.store(fixture::wide()).await;
    let (track, _) = whole.index().video().expect("it has pictures");
    let mut file = fixture::wide().to_vec();
    for sample in track.samples.range(samples(&whole)) {
        let start = usize::try_from(sample.offset).unwrap();
        file[start..start + sample.size as usize].fill(0);
    }
    world.media_of(source).await;
    world.store_as(source, Bytes::from(file)).await
}

async fn segment(world: &World, packaged: &Arc<Packaged>, number: u32) -> Result<u64, Error> {
    let rung = packaged.rungs(Resolution::P1080).remove(0);
    let segment = world.packager.encoded_segment(packaged, &rung, number, asker()).await?;
    Ok(segment.total_len())
}

async fn manifest(world: &World, packaged: &Packaged) -> String {
    let manifest = world.packager.multivariant(packaged, "", Resolution::P1080, Wanted::default()).await;
    manifest.unwrap().expect("something is offered")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_segment_that_does_not_decode_is_refused_and_its_neighbours_play() {
    let world = World::new().await;
    let packaged = damaged(&world, |packaged| packaged.index().plan.encoded_video[1].samples.clone()).await;
    for number in [0, 2] {
        assert!(segment(&world, &packaged, number).await.unwrap() > 0, "segment {number}");
    }
    for _ in 0..2 {
        let error = segment(&world, &packaged, 1).await.unwrap_err();
        assert!(matches!(error.root(), Error::NoFrame | Error::Unmade(_)), "{error:?}");
    }
    assert!(manifest(&world, &packaged).await.contains("240p/playlist.m3u8"), "the rest is offered");
    assert!(!world.writes_below("segment").keys().any(|key| key.ends_with("/1")), "nothing is kept of it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_segment_that_decodes_in_part_is_served_with_what_decodes() {
    let world = World::new().await;
    let packaged = damaged(&world, |packaged| {
        let samples = packaged.index().plan.encoded_video[1].samples.clone();
        samples.start + 20..samples.end
    });
    assert!(segment(&world, &packaged.await, 1).await.unwrap() > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rung_of_which_nothing_can_be_made_leaves_the_manifest() {
    let world = World::new().await;
    let packaged = damaged(&world, |packaged| 0..packaged.index().video().unwrap().0.samples.len()).await;
    assert!(manifest(&world, &packaged).await.contains("240p/playlist.m3u8"), "nobody has tried it");
    for number in 0..3 {
        assert!(segment(&world, &packaged, number).await.is_err(), "segment {number}");
    }
    let left = manifest(&world, &packaged).await;
    assert!(left.contains("video/playlist.m3u8") && !left.contains("240p/playlist.m3u8"), "{left}");
    let other = world.another_packager().await;
    let left = other.multivariant(&packaged, "", Resolution::P1080, Wanted::default()).await.unwrap();
    assert!(left.is_some_and(|left| !left.contains("240p/playlist.m3u8")), "another process knows it, too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_init_segment_that_cannot_be_learnt_costs_one_try() {
    let world = World::new().await;
    let (source, all) =
        (world.source(), |packaged: &Packaged| 0..packaged.index().video().unwrap().0.samples.len());
    let packaged = damaged_as(&world, source, all).await;
    let rung = packaged.rungs(Resolution::P1080).remove(0);
    let init = || world.packager.encoded_init(&packaged, &rung, asker());
    assert!(init().await.is_err());
    // The bytes are gone, so another try would be another error.
    world.blob.delete(ObjectKey::Source(source)).await.unwrap();
    let error = init().await.unwrap_err();
    assert!(matches!(error.root(), Error::NoFrame), "{error:?}");
}
