//! An engine that is missing for a while, and a full disk.

use std::sync::atomic::Ordering;

use kinora_blob::ObjectKey;
use kinora_domain::{Clock as _, PlaybackId, PresentationId, Resolution};
use kinora_engine::{Engine, Settings};
use kinora_packager::{
    AddedTracks, Error, FitMode, ImageFormat, PlaybackClient, Rendition, RenditionFilter, ThumbnailRequest,
};
use kinora_testkit::{MovableClock, RemovableFfmpeg, SeededRandom, fixture};

use crate::world::TestServer;

fn on_demand_client() -> PlaybackClient {
    PlaybackClient { playback: PlaybackId::new(&SeededRandom::default()), address: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engine_outage_marks_nothing_as_failed() {
    let folder = tempfile::tempdir().unwrap();
    let ffmpeg = RemovableFfmpeg::new(folder.path());
    let settings = Settings { program: Some(ffmpeg.path().to_owned()), ..Settings::default() };
    let world = TestServer::with_engine(Engine::find(settings).await.unwrap()).await;
    let source = world.source();
    world.media_of(source).await;
    let packaged = world.store_as(source, fixture::large_two_tracks()).await;
    let (rungs, packager) = (packaged.rungs(Resolution::P1080), &world.packager);
    let count = u32::try_from(packaged.index().plan.encoded_video.len()).unwrap();
    let is_unavailable = |error: &Error| matches!(error.root(), Error::EngineUnavailable(_));

    ffmpeg.remove();
    for number in 0..count {
        for _ in 0..2 {
            let result = packager.encoded_segment(&packaged, &rungs[0], number, on_demand_client()).await;
            assert!(result.is_err_and(|error| is_unavailable(&error)), "segment {number}");
        }
    }
    assert!(packager.encoded_init(&packaged, &rungs[0]).await.is_err_and(|error| is_unavailable(&error)));
    assert!(packager.first_segment(&packaged, &rungs[0]).await.is_err_and(|error| is_unavailable(&error)));
    let filled = packager.backfill(&packaged, &rungs, |progress| assert_eq!(progress.done, 0)).await;
    assert!(filled.is_err_and(|error| is_unavailable(&error)));
    let request = ThumbnailRequest {
        time_ms: None,
        width: None,
        height: None,
        fit: FitMode::Preserve,
        format: ImageFormat::Jpg,
        is_poster: false,
    };
    assert!(world.thumbnail(&packaged, request).await.is_err_and(|error| is_unavailable(&error)));
    assert!(packager.broken(PresentationId::of(source)).await.unwrap().is_empty());

    ffmpeg.restore();
    packager.encoded_init(&packaged, &rungs[0]).await.unwrap();
    for number in 0..count {
        packager.encoded_segment(&packaged, &rungs[0], number, on_demand_client()).await.unwrap();
    }
    let manifest = packager
        .multivariant(
            &packaged,
            "",
            Resolution::P1080,
            RenditionFilter::default(),
            AddedTracks::default(),
            &[],
        )
        .await
        .unwrap();
    assert!(manifest.is_some_and(|manifest| manifest.contains("240p/playlist.m3u8")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn full_disk_serves_segments_without_storing() {
    let world = TestServer::new().await;
    let source = world.source();
    world.media_of(source).await;
    let packaged = world.store_as(source, fixture::large_two_tracks()).await;
    let (rungs, packager) = (packaged.rungs(Resolution::P1080), &world.packager);
    let id = Rendition::Rung(rungs[0].name).id(PresentationId::of(source)).unwrap();
    let count = u32::try_from(packaged.index().plan.encoded_video.len()).unwrap();

    world.is_full.store(true, Ordering::SeqCst);
    let init = packager.encoded_init(&packaged, &rungs[0]).await.unwrap();
    let mut lengths = Vec::new();
    for number in 0..count {
        let segment =
            packager.encoded_segment(&packaged, &rungs[0], number, on_demand_client()).await.unwrap();
        lengths.push(segment.total_len());
    }
    let request = ThumbnailRequest {
        time_ms: None,
        width: None,
        height: None,
        fit: FitMode::Preserve,
        format: ImageFormat::Jpg,
        is_poster: false,
    };
    assert!(!world.thumbnail(&packaged, request).await.unwrap().is_empty());
    let filled = packager.backfill(&packaged, &rungs, |progress| assert_eq!(progress.done, 0)).await;
    assert!(filled.is_err_and(|error| error.is_disk_full()));
    assert_eq!(world.blob.get(ObjectKey::Init(id)).await.unwrap(), None);
    assert!(packager.broken(PresentationId::of(source)).await.unwrap().is_empty());

    let now = MovableClock::default().now();
    assert_eq!(world.store.write_usage(now).await.unwrap(), None, "a deleted object is not counted");
    world.is_full.store(false, Ordering::SeqCst);
    packager.backfill(&packaged, &rungs, |_| {}).await.unwrap();
    assert_eq!(world.blob.get(ObjectKey::Init(id)).await.unwrap(), Some(init));
    for (number, len) in (0..).zip(lengths) {
        assert!(len > 0);
        let stored = world.blob.reader(ObjectKey::Segment(id, number)).await.unwrap();
        assert!(stored.is_some(), "segment {number}");
    }
}
