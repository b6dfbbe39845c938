//! Images whose store fails, whose clients disconnect, or that cannot be made.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use kinora_blob::{Entry, ImageHash, ObjectKey, ObjectKind, Prefix};
use kinora_domain::{PresentationId, SourceId};
use kinora_engine::{Engine, Settings};
use kinora_packager::{ClipFormat, ClipRequest, Error, FitMode, Packaged, SpriteSheet, ThumbnailRequest};
use kinora_testkit::{RemovableFfmpeg, fixture};

use crate::thumbnails::png_at;
use crate::world::{TestServer, on_demand_client, until_made};

/// The stored images.
async fn stored_images(world: &TestServer) -> Vec<Entry> {
    world.blob.list(Prefix::Kind(ObjectKind::Image), None, 100).await.unwrap()
}

#[tokio::test]
async fn thumbnail_is_served_when_store_fails() {
    let world = TestServer::new().await;
    let packaged = world.store_of_media(fixture::two_seconds()).await;
    for (time_ms, fault) in [(0, &world.is_failing), (500, &world.is_full)] {
        fault.store(true, Ordering::SeqCst);
        let image = world.thumbnail(&packaged, png_at(time_ms)).await.unwrap();
        assert_eq!(world.thumbnail(&packaged, png_at(time_ms)).await.unwrap(), image);
        assert_eq!(stored_images(&world).await, []);
        fault.store(false, Ordering::SeqCst);
        let another = world.another_packager().await;
        let refetched = another.thumbnail(&packaged, png_at(time_ms), on_demand_client()).await.unwrap();
        assert_eq!(refetched.bytes().await.unwrap(), image);
        let [entry] = &stored_images(&world).await[..] else { panic!("it is kept once that is possible") };
        world.blob.delete(entry.key).await.unwrap();
    }
}

#[tokio::test]
async fn unreadable_thumbnail_is_made_again() {
    let world = TestServer::new().await;
    let packaged = world.store_of_media(fixture::two_seconds()).await;
    let image = world.thumbnail(&packaged, png_at(0)).await.unwrap();
    let [Entry { key, .. }] = stored_images(&world).await[..] else { panic!("it is kept") };
    let file = world.objects().join(key.to_string());
    // It opens, and every read fails.
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    for _ in 0..2 {
        let another = world.another_packager().await;
        let refetched = another.thumbnail(&packaged, png_at(0), on_demand_client()).await.unwrap();
        assert_eq!(refetched.bytes().await.unwrap(), image);
    }
}

/// A packager whose ffmpeg may be missing.
async fn packager_with_lent_ffmpeg(folder: &Path) -> (TestServer, RemovableFfmpeg) {
    let ffmpeg = RemovableFfmpeg::new(folder);
    let settings = Settings { program: Some(ffmpeg.path().to_owned()), ..Settings::default() };
    (TestServer::with_engine(Engine::find(settings).await.unwrap()).await, ffmpeg)
}

/// A source without a frame that decodes.
async fn overwritten(world: &TestServer) -> Arc<Packaged> {
    let file = fixture::video_only();
    let samples = file.windows(4).position(|bytes| bytes == b"mdat").expect("there are samples") + 4;
    let mut damaged = file.to_vec();
    damaged[samples..].fill(0);
    let index = world.store(file).await.index().clone();
    world.store_index(world.source(), Bytes::from(damaged), &index).await
}

#[tokio::test]
async fn thumbnail_failure_is_cached() {
    let folder = tempfile::tempdir().unwrap();
    let (world, ffmpeg) = packager_with_lent_ffmpeg(folder.path()).await;
    let packaged = overwritten(&world).await;
    let clip = ClipRequest { start_ms: 0, end_ms: 1000, width: 160, fps: 5, format: ClipFormat::Gif };
    let sheet =
        world.packager.storyboard(&packaged, SpriteSheet::Overview, on_demand_client()).await.unwrap();
    let fetch = async |time_ms| {
        let errors = [
            world.thumbnail(&packaged, png_at(time_ms)).await.unwrap_err(),
            world.packager.clip(&packaged, clip, on_demand_client()).await.err().unwrap(),
            world.packager.sprite_sheet(&packaged, &sheet, on_demand_client()).await.err().unwrap(),
        ];
        errors.map(|error| matches!(error.root(), Error::NoImage))
    };
    assert_eq!(fetch(0).await, [true; 3]);
    ffmpeg.remove();
    assert_eq!(fetch(0).await, [true; 3], "no run was begun");
    let error = world.thumbnail(&packaged, png_at(500)).await.unwrap_err();
    assert!(matches!(error.root(), Error::EngineUnavailable(_)), "another one is tried: {error:?}");
    ffmpeg.restore();
    let error = world.thumbnail(&packaged, png_at(500)).await.unwrap_err();
    assert!(
        matches!(error.root(), Error::NoImage),
        "what the machine is to blame for is forgotten: {error:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thumbnail_is_completed_after_client_leaves() {
    let world = TestServer::new().await;
    let packaged = world.store_of_media(fixture::two_seconds()).await;
    let mut pending = Box::pin(world.packager.thumbnail(&packaged, png_at(0), on_demand_client()));
    while world.engine.load().running == 0 {
        assert!((&mut pending).now_or_never().is_none(), "it is pending");
        tokio::task::yield_now().await;
    }
    drop(pending);
    // Without another request the image is stored in the end.
    let is_stored = async {
        while stored_images(&world).await.is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), is_stored).await.expect("it is kept");
    world.packager.stop().await;
    let error = world.thumbnail(&packaged, png_at(500)).await.unwrap_err();
    assert!(matches!(error.root(), Error::Busy), "nothing is begun any more: {error:?}");
}

#[tokio::test]
async fn thumbnail_of_deleted_media_is_not_stored() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    assert!(world.thumbnail(&packaged, png_at(0)).await.is_ok());
    assert_eq!(stored_images(&world).await, []);
}

#[tokio::test]
async fn large_image_is_streamed_from_store() {
    let world = TestServer::new().await;
    let packaged = world.store_of_media(fixture::large_two_tracks()).await;
    let (width, height) = (Some(1600), Some(900));
    let request = ThumbnailRequest { width, height, fit: FitMode::Stretch, ..png_at(0) };
    let mut sent = Vec::new();
    for _ in 0..2 {
        let image =
            world.packager.thumbnail(&packaged, request, on_demand_client()).await.unwrap().into_content();
        assert!(256 << 10 < image.total_len(), "{} bytes", image.total_len());
        assert!(image.whole().is_none());
        let len = image.total_len();
        let pieces: Vec<_> = image.stream(0..len).collect().await;
        sent.push(pieces.into_iter().flat_map(Result::unwrap).collect::<Vec<u8>>());
    }
    assert_eq!(sent[0], sent[1]);
    assert_eq!(world.writes_below("picture").values().sum::<u64>(), 1);
    let small =
        world.packager.thumbnail(&packaged, png_at(0), on_demand_client()).await.unwrap().into_content();
    assert_eq!(small.whole().is_some(), small.total_len() <= 256 << 10);
}

/// Objects as if viewers had requested `count` images of this length.
fn store_requested_images(world: &TestServer, source: SourceId, count: u16, len: u64) {
    for n in 0..count {
        let mut hash = [0xff; 16];
        hash[..2].copy_from_slice(&n.to_be_bytes());
        let file =
            world.objects().join(ObjectKey::Image(PresentationId::of(source), ImageHash(hash)).to_string());
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::File::create(file).unwrap().set_len(len).unwrap();
    }
}

#[tokio::test]
async fn image_quota_exempts_the_poster() {
    let many = (1000, 1);
    let large = (2, (32 << 20) - 1000);
    for (count, len) in [many, large] {
        let world = TestServer::new().await;
        let source = world.source();
        let packaged = world.store_as(source, fixture::two_seconds()).await;
        store_requested_images(&world, source, count, len);
        let writes = async |request| {
            world
                .writes_of(Box::pin(async { world.thumbnail(&packaged, request).await.map(drop).unwrap() }))
                .await
        };
        assert_eq!(writes(png_at(0)).await, 0, "another one of {count} x {len}");
        assert_eq!(writes(ThumbnailRequest { time_ms: None, is_poster: true, ..png_at(0) }).await, 1);
        for (sheet, expected) in [(SpriteSheet::Every(1), 0), (SpriteSheet::Overview, 1)] {
            let written = world.writes_of(Box::pin(async {
                let board = world.packager.storyboard(&packaged, sheet, on_demand_client()).await.unwrap();
                world.packager.sprite_sheet(&packaged, &board, on_demand_client()).await.map(drop).unwrap();
            }));
            assert_eq!(written.await, expected, "{sheet:?} beside {count} x {len}");
        }
    }
}

#[tokio::test]
async fn image_queue_is_fair_between_addresses() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::long_gop()).await;
    let fetch = async |time_ms, address: [u8; 4]| {
        let client = kinora_packager::PlaybackClient { address: Some(address.into()), ..on_demand_client() };
        until_made(async || world.packager.thumbnail(&packaged, png_at(time_ms), client).await).await
    };
    let one = futures_util::future::join_all((0..7).map(|n| fetch(10_000 + n * 100, [192, 0, 2, 1])));
    let (one, other) = tokio::join!(one, fetch(0, [192, 0, 2, 2]));
    assert!(other.is_ok(), "{:?}", other.err());
    // The limit of waiting requests is tested with the queues.
    assert!(one.iter().all(Result::is_ok));
}
