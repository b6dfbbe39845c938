//! Preview clips: the right frames, encoded once.

use std::sync::Arc;

use kinora_packager::{ClipFormat, ClipRequest, Error, Packaged};
use kinora_testkit::fixture;

use crate::thumbnails::{closest, frames};
use crate::world::{TestServer, on_demand_client};

fn gif(start_ms: u64, end_ms: u64) -> ClipRequest {
    ClipRequest { start_ms, end_ms, width: 640, fps: 5, format: ClipFormat::Gif }
}

async fn fetch_clip(
    world: &TestServer,
    packaged: &Arc<Packaged>,
    request: ClipRequest,
) -> Result<bytes::Bytes, Error> {
    world.packager.clip(packaged, request, on_demand_client()).await?.bytes().await
}

/// The source frame that each frame of a clip shows.
async fn found(
    world: &TestServer,
    packaged: &Arc<Packaged>,
    shown: &[Vec<u8>],
    request: ClipRequest,
) -> Vec<usize> {
    let clip = fetch_clip(world, packaged, request).await.unwrap();
    frames(&clip).iter().map(|frame| closest(frame, shown).unwrap()).collect()
}

#[tokio::test]
async fn clip_shows_frames_of_its_time_range() {
    let world = TestServer::new().await;
    let file = fixture::two_seconds();
    let packaged = world.store(file.clone()).await;
    let shown = frames(&file);
    // Five frames a second of 25.
    assert_eq!(found(&world, &packaged, &shown, gif(0, 1000)).await, [0, 5, 10, 15, 20]);
    assert_eq!(found(&world, &packaged, &shown, gif(800, 1400)).await, [20, 25, 30]);
    assert_eq!(found(&world, &packaged, &shown, gif(1600, 9000)).await, [40, 45], "it ends with the media");
    let long = fixture::long_gop();
    let packaged = world.store(long.clone()).await;
    // 12 s after its keyframe.
    assert_eq!(found(&world, &packaged, &frames(&long), gif(12_000, 12_600)).await, [300, 305, 310]);
}

#[tokio::test]
async fn clips_are_encoded_from_every_codec() {
    let world = TestServer::new().await;
    let h264_frames = frames(&fixture::two_seconds());
    for (name, file, expected) in [
        ("HEVC", fixture::hevc(), [20, 25, 30]),
        ("AV1", fixture::av1_opus(), [20, 25, 30]),
        ("VP9", fixture::vp9_webm(), [20, 25, 30]),
        ("an edit list", fixture::edit_list(), [32, 37, 42]),
    ] {
        let packaged = world.store(file.clone()).await;
        let shown = if name == "an edit list" { h264_frames.clone() } else { frames(&file) };
        let found = found(&world, &packaged, &shown, gif(800, 1400)).await;
        let is_near =
            found.len() == 3 && found.iter().zip(expected).all(|(one, other)| one.abs_diff(other) <= 1);
        assert!(is_near, "{name}: {found:?} and not {expected:?}");
    }
}

#[tokio::test]
async fn clip_is_single_flight_and_needs_video() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let webp = ClipRequest { format: ClipFormat::Webp, ..gif(0, 1000) };
    let writes = world.writes_of(Box::pin(async {
        let (one, other) =
            tokio::join!(fetch_clip(&world, &packaged, webp), fetch_clip(&world, &packaged, webp));
        assert_eq!(one.unwrap(), other.unwrap());
        // The video is not wider than 160 pixels.
        fetch_clip(&world, &packaged, ClipRequest { width: 160, ..webp }).await.unwrap();
    }));
    assert_eq!(writes.await, 1);
    let audio = world.store(fixture::audio_only()).await;
    for (packaged, request) in [(&audio, gif(0, 1000)), (&packaged, gif(2000, 3000))] {
        let error = fetch_clip(&world, packaged, request).await.unwrap_err();
        assert!(matches!(error.root(), Error::NoImage), "{error:?}");
    }
}

#[tokio::test]
async fn oversized_clip_input_is_too_much_before_reading() {
    let world = TestServer::new().await;
    let file = fixture::video_only();
    let mut index = world.store(file.clone()).await.index().clone();
    let samples =
        index.tracks[0].samples.iter().map(|sample| kinora_index::Sample { size: 12 << 20, ..sample });
    index.tracks[0].samples = samples.collect();
    index.source_len = 1 << 40;
    index.objects = vec![kinora_index::SampleObject::source(index.source_len)];
    // The bytes are missing: reading them would be another error.
    let packaged = world.store_index(world.source(), file, &index).await;
    let error = fetch_clip(&world, &packaged, gif(0, 2000)).await.unwrap_err();
    assert!(matches!(error.root(), Error::LimitExceeded), "{error:?}");
}
