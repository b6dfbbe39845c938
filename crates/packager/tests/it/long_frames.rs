//! Thumbnails of files with a single frame, and of files with a frame of long duration.

use std::sync::Arc;

use bytes::Bytes;
use kinora_packager::{ClipFormat, ClipRequest, Packaged, SpriteSheet, ThumbnailRequest};
use kinora_testkit::fixture::containers;

use crate::sprite_sheets::tiles;
use crate::thumbnails::{closest, frames, png_at};
use crate::world::{TestServer, on_demand_client};

/// Frames of a media, to find the one that an image shows.
struct Shown {
    world: TestServer,
    packaged: Arc<Packaged>,
    frames: Vec<Vec<u8>>,
}

impl Shown {
    async fn of(file: Bytes) -> Self {
        let world = TestServer::new().await;
        let packaged = world.store(file.clone()).await;
        Self { world, packaged, frames: frames(&file) }
    }

    fn closest(&self, image: &[u8]) -> Vec<usize> {
        frames(image).iter().map(|frame| closest(frame, &self.frames).unwrap()).collect()
    }

    async fn at(&self, time_ms: Option<u64>) -> usize {
        let request = ThumbnailRequest { time_ms, ..png_at(0) };
        self.closest(&self.world.thumbnail(&self.packaged, request).await.unwrap())[0]
    }

    async fn clip(&self, start_ms: u64, end_ms: u64, fps: u32) -> Vec<usize> {
        let request = ClipRequest { start_ms, end_ms, width: 640, fps, format: ClipFormat::Gif };
        let clip = self.world.packager.clip(&self.packaged, request, on_demand_client()).await.unwrap();
        self.closest(&clip.bytes().await.unwrap())
    }

    async fn tiles(&self, sheet: SpriteSheet) -> Vec<usize> {
        tiles(&self.world, &self.packaged, &self.frames, sheet).await
    }
}

#[tokio::test]
async fn matroska_of_keyframes_shows_each_frame() {
    let shown =
        Shown::of(containers::video_frames_in(50, "mkv", "-c:v mjpeg -q:v 2 -pix_fmt yuvj420p")).await;
    for (time_ms, n) in [(0, 0), (400, 10), (1900, 47), (9000, 49)] {
        assert_eq!(shown.at(Some(time_ms)).await, n, "at {time_ms} ms");
    }
    assert_eq!(shown.clip(400, 1000, 5).await, [10, 15, 20]);
    assert_eq!(shown.clip(400, 410, 30).await, [10], "shorter than a frame");
    assert_eq!(shown.tiles(SpriteSheet::Every(1)).await, [0, 25]);
}

#[tokio::test]
async fn webm_with_one_keyframe_shows_every_frame() {
    let codec = "-c:v libvpx -deadline realtime -cpu-used 8 -b:v 1M -g 999";
    let shown = Shown::of(containers::video_frames_in(100, "webm", codec)).await;
    assert_eq!(shown.at(Some(9000)).await, 99);
    assert_eq!(shown.tiles(SpriteSheet::Overview).await, [0, 0]);
    assert_eq!(shown.tiles(SpriteSheet::Every(10)).await, [0]);
    assert_eq!(shown.clip(0, 30, 15).await, [0], "shorter than a frame");
}

#[tokio::test]
async fn webm_of_one_frame_shows_it_at_every_time() {
    let codec = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 1M";
    let shown = Shown::of(containers::video_frames_in(1, "webm", codec)).await;
    for time_ms in [None, Some(0), Some(9000)] {
        assert_eq!(shown.at(time_ms).await, 0, "at {time_ms:?}");
    }
    assert_eq!(shown.tiles(SpriteSheet::Overview).await, [0]);
    assert_eq!(shown.clip(0, 5000, 15).await, [0]);
}

#[tokio::test]
async fn webm_with_final_keyframe_shows_it_at_the_end() {
    let codec = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 1M -g 25 -keyint_min 25";
    let shown = Shown::of(containers::video_frames_in(51, "webm", codec)).await;
    assert_eq!(shown.at(Some(9999)).await, 50);
    assert_eq!(shown.at(Some(1900)).await, 47);
    assert_eq!(shown.clip(2000, 9000, 15).await, [50]);
}

#[tokio::test]
async fn clip_repeats_a_long_frame() {
    let shown = Shown::of(containers::screen_recording()).await;
    assert_eq!(shown.frames.len(), 100);
    assert_eq!(shown.clip(3000, 6000, 5).await, [49; 15]);
    let full_clip = shown.clip(0, 8000, 5).await;
    assert_eq!(full_clip.len(), 40);
    assert_eq!((&full_clip[..3], &full_clip[9..]), (&[0, 5, 10][..], &[&[45][..], &[49; 30]].concat()[..]));
    assert_eq!(shown.clip(1000, 4000, 5).await.len(), 15);
    assert_eq!(shown.clip(7600, 8600, 5).await, [49, 49, 50, 55, 60]);
    for (time_ms, n) in [(1000, 25), (5000, 49), (8000, 50)] {
        assert_eq!(shown.at(Some(time_ms)).await, n, "at {time_ms} ms");
    }
}
