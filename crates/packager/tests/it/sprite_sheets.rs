//! Sprite sheets: the right frame in each tile, encoded once, with no more decoded than shown.

use std::sync::Arc;

use kinora_packager::{Error, Packaged, SpriteSheet};
use kinora_testkit::fixture;

use crate::thumbnails::{closest, frames, grey};
use crate::world::{TestServer, on_demand_client};

/// Width of a tile, and of the fixtures.
const WIDTH: usize = 160;
const HEIGHT: usize = 90;

/// The source frame that each tile shows.
pub(crate) async fn tiles(
    world: &TestServer,
    packaged: &Arc<Packaged>,
    shown: &[Vec<u8>],
    sheet: SpriteSheet,
) -> Vec<usize> {
    let storyboard = world.packager.storyboard(packaged, sheet, on_demand_client()).await.unwrap();
    assert_eq!((storyboard.tile_width as usize, storyboard.tile_height as usize), (WIDTH, HEIGHT));
    let sheet = world.packager.sprite_sheet(packaged, &storyboard, on_demand_client()).await.unwrap();
    let pixels = grey(&sheet.bytes().await.unwrap());
    let row = WIDTH * storyboard.columns as usize;
    assert_eq!(pixels.len(), row * HEIGHT * storyboard.rows as usize);
    let tile = |(_, x, y): (u32, u32, u32)| -> Vec<u8> {
        let tile_rows = (0..HEIGHT).map(|tile_row| (y as usize + tile_row) * row + x as usize);
        tile_rows.flat_map(|start| pixels[start..start + WIDTH].to_vec()).collect()
    };
    storyboard.tiles().map(|position| closest(&tile(position), shown).unwrap()).collect()
}

#[tokio::test]
async fn each_tile_shows_the_keyframe_of_its_time() {
    let world = TestServer::new().await;
    let file = fixture::two_seconds();
    let packaged = world.store(file.clone()).await;
    let shown = frames(&file);
    assert_eq!(tiles(&world, &packaged, &shown, SpriteSheet::Every(1)).await, [0, 25]);
    assert_eq!(tiles(&world, &packaged, &shown, SpriteSheet::Every(10)).await, [0]);
    assert_eq!(tiles(&world, &packaged, &shown, SpriteSheet::Overview).await, [0]);
}

#[tokio::test]
async fn sparse_keyframes_decode_exact_frames_except_for_overview() {
    let world = TestServer::new().await;
    let file = fixture::long_gop();
    let packaged = world.store(file.clone()).await;
    let shown = frames(&file);
    let (track, _) = packaged.index().video().unwrap();
    let keyframes = track.samples.iter().filter(|sample| sample.is_sync).count();
    let every = tiles(&world, &packaged, &shown, SpriteSheet::Every(1)).await;
    let overview = tiles(&world, &packaged, &shown, SpriteSheet::Overview).await;
    insta::assert_snapshot!(format!(
        "{} frames, {keyframes} keyframes\n{every:?}\n{overview:?}",
        shown.len()
    ));
}

/// The first shown frame is frame 133. A frame that the edit list hides is shown only if no other cheap
/// frame exists.
#[tokio::test]
async fn overview_begins_with_first_frame_of_a_mid_gop_edit() {
    let world = TestServer::new().await;
    let mut found = Vec::new();
    for (name, uncut, cut) in [
        ("one group", fixture::single_gop(), fixture::edit_inside_gop()),
        ("two groups", fixture::long_gop(), fixture::edit_inside_long_gop()),
        ("a jump", fixture::single_gop(), fixture::edits_inside_gop()),
    ] {
        let shown = frames(&uncut);
        let packaged = world.store(cut.clone()).await;
        // Both have one interval, but different names.
        for sheet in [SpriteSheet::Overview, SpriteSheet::Every(2)] {
            found.push(format!("{name}, {sheet:?}: {:?}", tiles(&world, &packaged, &shown, sheet).await));
        }
        // At this size too many frames are before the first one.
        let mut index = packaged.index().clone();
        for track in &mut index.tracks {
            if let kinora_index::TrackMedia::Video(video) = &mut track.media {
                (video.width, video.height) = (3840, 2160);
            }
        }
        let large = world.store_index(world.source(), cut, &index).await;
        let overview = tiles(&world, &large, &shown, SpriteSheet::Overview).await;
        found.push(format!("{name} of 4K, Overview: {overview:?}"));
    }
    insta::assert_snapshot!(found.join("\n"));
}

#[tokio::test]
async fn sprite_sheets_support_every_source_kind() {
    let world = TestServer::new().await;
    let mut found = Vec::new();
    for (name, file) in [
        ("leading pictures", fixture::hevc()),
        ("AV1", fixture::av1_opus()),
        ("VP9 in WebM", fixture::vp9_webm()),
        ("an edit list", fixture::edit_list()),
    ] {
        let packaged = world.store(file.clone()).await;
        let shown = frames(&if name == "an edit list" { fixture::two_seconds() } else { file });
        let every = tiles(&world, &packaged, &shown, SpriteSheet::Every(1)).await;
        found.push(format!("{name}: {} frames, {every:?}", shown.len()));
    }
    insta::assert_snapshot!(found.join("\n"));
}

#[tokio::test]
async fn sprite_sheet_is_single_flight_and_needs_video() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let storyboard =
        world.packager.storyboard(&packaged, SpriteSheet::Every(1), on_demand_client()).await.unwrap();
    let fetch =
        async || world.packager.sprite_sheet(&packaged, &storyboard, on_demand_client()).await?.bytes().await;
    let writes = world.writes_of(Box::pin(async {
        let (one, other) = tokio::join!(fetch(), fetch());
        assert_eq!(one.unwrap(), other.unwrap());
        fetch().await.unwrap();
    }));
    assert_eq!(writes.await, 1);
    let audio = world.store(fixture::audio_only()).await;
    let error =
        world.packager.storyboard(&audio, SpriteSheet::Overview, on_demand_client()).await.unwrap_err();
    assert!(matches!(error.root(), Error::NoImage), "{error:?}");
}

/// The video of a fixture with a duration of `seconds` in its index: one keyframe each second.
async fn lasting(world: &TestServer, seconds: u32, (width, height): (u32, u32)) -> Arc<Packaged> {
    let file = fixture::video_only();
    let mut index = world.store(file.clone()).await.index().clone();
    let track = &mut index.tracks[0];
    let (first, timescale) = (track.samples.get(0).unwrap(), i64::from(track.timescale));
    let samples = (0..i64::from(seconds)).map(|second| kinora_index::Sample {
        dts: second * timescale,
        pts: second * timescale,
        duration: track.timescale,
        ..first
    });
    track.samples = samples.collect();
    (track.shift, track.end) = (0, i64::from(seconds) * timescale);
    if let kinora_index::TrackMedia::Video(video) = &mut track.media {
        (video.width, video.height) = (width, height);
    }
    world.store_index(world.source(), file, &index).await
}

#[tokio::test]
async fn sprite_sheet_size_is_limited_for_long_media() {
    let world = TestServer::new().await;
    let mut found = Vec::new();
    for (what, seconds, size) in [
        ("20 s", 20, (1920, 1080)),
        ("10 min", 600, (1920, 1080)),
        ("2 h", 7200, (1920, 1080)),
        ("12 h", 43_200, (1920, 1080)),
        ("12 h of 4K", 43_200, (3840, 2160)),
        ("12 h upright", 43_200, (1080, 1920)),
        ("12 h of a square", 43_200, (800, 800)),
        ("a second of something small", 1, (16, 16)),
    ] {
        let packaged = lasting(&world, seconds, size).await;
        for sheet in [SpriteSheet::Overview, SpriteSheet::Every(10), SpriteSheet::Every(1)] {
            let board = world.packager.storyboard(&packaged, sheet, on_demand_client()).await.unwrap();
            let (width, height) = (board.columns * board.tile_width, board.rows * board.tile_height);
            assert!(width <= 4096 && height <= 4096, "{what}: {board:?}");
            assert!(board.count <= board.columns * board.rows && board.count * board.interval_s >= seconds);
            found.push(format!(
                "{what}, {sheet:?}: {} tiles of {}x{} each {} s, {}x{} in {width}x{height}",
                board.count, board.tile_width, board.tile_height, board.interval_s, board.columns, board.rows
            ));
        }
    }
    insta::assert_snapshot!(found.join("\n"));
}

/// Half a day of one group: 30 frames a second, and only the first is a keyframe.
async fn half_a_day_of_one_group(world: &TestServer) -> Arc<Packaged> {
    let file = fixture::video_only();
    let mut index = world.store(file.clone()).await.index().clone();
    let track = &mut index.tracks[0];
    let first = track.samples.get(0).unwrap();
    let samples = (0..43_200 * 30_i64).map(|number| kinora_index::Sample {
        dts: number * 1000,
        pts: number * 1000,
        duration: 1000,
        is_sync: number == 0,
        ..first
    });
    track.samples = samples.collect();
    (track.timescale, track.shift, track.end) = (30_000, 0, 43_200 * 30_000);
    if let kinora_index::TrackMedia::Video(video) = &mut track.media {
        (video.width, video.height) = (1280, 720);
    }
    world.store_index(world.source(), file, &index).await
}

/// Reading its group again for each tile would take an hour.
#[tokio::test]
async fn single_gop_is_read_once_for_all_tiles() {
    let world = TestServer::new().await;
    let packaged = half_a_day_of_one_group(&world).await;
    let address = Some(std::net::IpAddr::from([192, 0, 2, 1]));
    let fetch = |seconds| {
        let from = kinora_packager::PlaybackClient { address, ..on_demand_client() };
        world.packager.storyboard(&packaged, SpriteSheet::Every(seconds), from)
    };
    let answers = futures_util::future::join_all((1..=10).map(fetch)).await;
    for board in answers.iter().filter_map(|answer| answer.as_ref().ok()) {
        assert_eq!((board.interval_s, board.count), (44, 982));
    }
    let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert_eq!(refused.len(), 2, "eight at once from one address");
    assert!(refused.iter().all(|error| matches!(error.root(), Error::Busy)), "{refused:?}");
    // A cached layout takes no permit, and is the same.
    let cached = futures_util::future::join_all((0..10).map(|_| fetch(1))).await;
    let first = answers[0].as_ref().unwrap();
    assert!(cached.iter().all(|result| Arc::ptr_eq(result.as_ref().unwrap(), first)));
}
