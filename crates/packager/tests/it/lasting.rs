//! Pictures of files in which a frame stands alone, and of those in which one stands for long.

use std::sync::Arc;

use bytes::Bytes;
use kinora_packager::{ClipFormat, ClipRequest, Packaged, PictureRequest, Sheet};
use kinora_testkit::fixture::packed;

use crate::pictures::{closest, frames, png_at};
use crate::sheets::tiles;
use crate::world::{World, asker};

/// Frames of a media, and which of them is shown in pictures.
struct Shown {
    world: World,
    packaged: Arc<Packaged>,
    frames: Vec<Vec<u8>>,
}

impl Shown {
    async fn of(file: Bytes) -> Self {
        let world = World::new().await;
        let packaged = world.store(file.clone()).await;
        Self { world, packaged, frames: frames(&file) }
    }

    fn closest(&self, picture: &[u8]) -> Vec<usize> {
        frames(picture).iter().map(|frame| closest(frame, &self.frames).unwrap()).collect()
    }

    async fn at(&self, time_ms: Option<u64>) -> usize {
        let request = PictureRequest { time_ms, ..png_at(0) };
        self.closest(&self.world.picture(&self.packaged, request).await.unwrap())[0]
    }

    async fn clip(&self, start_ms: u64, end_ms: u64, fps: u32) -> Vec<usize> {
        let request = ClipRequest { start_ms, end_ms, width: 640, fps, format: ClipFormat::Gif };
        let clip = self.world.packager.clip(&self.packaged, request, asker()).await.unwrap();
        self.closest(&clip.bytes().await.unwrap())
    }

    async fn tiles(&self, sheet: Sheet) -> Vec<usize> {
        tiles(&self.world, &self.packaged, &self.frames, sheet).await
    }
}

#[tokio::test]
async fn of_matroska_in_which_every_frame_is_a_keyframe_each_is_shown_by_itself() {
    let shown = Shown::of(packed::pictures(50, "mkv", "-c:v mjpeg -q:v 2 -pix_fmt yuvj420p")).await;
    for (time_ms, n) in [(0, 0), (400, 10), (1900, 47), (9000, 49)] {
        assert_eq!(shown.at(Some(time_ms)).await, n, "at {time_ms} ms");
    }
    assert_eq!(shown.clip(400, 1000, 5).await, [10, 15, 20]);
    assert_eq!(shown.clip(400, 410, 30).await, [10], "shorter than a frame");
    assert_eq!(shown.tiles(Sheet::Every(1)).await, [0, 25]);
}

#[tokio::test]
async fn of_webm_with_one_keyframe_everything_is_shown() {
    let codec = "-c:v libvpx -deadline realtime -cpu-used 8 -b:v 1M -g 999";
    let shown = Shown::of(packed::pictures(100, "webm", codec)).await;
    assert_eq!(shown.at(Some(9000)).await, 99);
    assert_eq!(shown.tiles(Sheet::Overview).await, [0, 0]);
    assert_eq!(shown.tiles(Sheet::Every(10)).await, [0]);
    assert_eq!(shown.clip(0, 30, 15).await, [0], "shorter than a frame");
}

#[tokio::test]
async fn of_webm_of_one_frame_it_is_shown_everywhere() {
    let codec = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 1M";
    let shown = Shown::of(packed::pictures(1, "webm", codec)).await;
    for time_ms in [None, Some(0), Some(9000)] {
        assert_eq!(shown.at(time_ms).await, 0, "at {time_ms:?}");
    }
    assert_eq!(shown.tiles(Sheet::Overview).await, [0]);
    assert_eq!(shown.clip(0, 5000, 15).await, [0]);
}

#[tokio::test]
async fn of_webm_whose_last_frame_is_a_keyframe_it_is_shown_at_the_end() {
    let codec = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 1M -g 25 -keyint_min 25";
    let shown = Shown::of(packed::pictures(51, "webm", codec)).await;
    assert_eq!(shown.at(Some(9999)).await, 50);
    assert_eq!(shown.at(Some(1900)).await, 47);
    assert_eq!(shown.clip(2000, 9000, 15).await, [50]);
}

#[tokio::test]
async fn a_clip_goes_on_where_nothing_moves() {
    let shown = Shown::of(packed::screen()).await;
    assert_eq!(shown.frames.len(), 100);
    assert_eq!(shown.clip(3000, 6000, 5).await, [49; 15]);
    let whole = shown.clip(0, 8000, 5).await;
    assert_eq!(whole.len(), 40);
    assert_eq!((&whole[..3], &whole[9..]), (&[0, 5, 10][..], &[&[45][..], &[49; 30]].concat()[..]));
    assert_eq!(shown.clip(1000, 4000, 5).await.len(), 15);
    assert_eq!(shown.clip(7600, 8600, 5).await, [49, 49, 50, 55, 60]);
    for (time_ms, n) in [(1000, 25), (5000, 49), (8000, 50)] {
        assert_eq!(shown.at(Some(time_ms)).await, n, "at {time_ms} ms");
    }
}
