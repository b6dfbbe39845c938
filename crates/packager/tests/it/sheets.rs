//! Sheets of tiles: the right frame in each, made once, decoding no more than is shown.

use std::sync::Arc;

use kinora_packager::{Error, Packaged, Sheet};
use kinora_testkit::fixture;

use crate::pictures::{closest, frames, grey};
use crate::world::{World, asker};

/// Width of a tile, and of the fixtures.
const WIDTH: usize = 160;
const HEIGHT: usize = 90;

/// Which frame of a fixture each tile shows.
pub(crate) async fn tiles(
    world: &World,
    packaged: &Arc<Packaged>,
    shown: &[Vec<u8>],
    sheet: Sheet,
) -> Vec<usize> {
    let storyboard = world.packager.storyboard(packaged, sheet, asker()).await.unwrap();
    assert_eq!((storyboard.tile_width as usize, storyboard.tile_height as usize), (WIDTH, HEIGHT));
    let sheet = world.packager.sheet(packaged, &storyboard, asker()).await.unwrap();
    let picture = grey(&sheet.bytes().await.unwrap());
    let row = WIDTH * storyboard.columns as usize;
    assert_eq!(picture.len(), row * HEIGHT * storyboard.rows as usize);
    let tile = |(_, x, y): (u32, u32, u32)| -> Vec<u8> {
        let lines = (0..HEIGHT).map(|line| (y as usize + line) * row + x as usize);
        lines.flat_map(|start| picture[start..start + WIDTH].to_vec()).collect()
    };
    storyboard.tiles().map(|place| closest(&tile(place), shown).unwrap()).collect()
}

#[tokio::test]
async fn each_tile_shows_the_keyframe_of_its_time() {
    let world = World::new().await;
    let file = fixture::two_seconds();
    let packaged = world.store(file.clone()).await;
    let shown = frames(&file);
    assert_eq!(tiles(&world, &packaged, &shown, Sheet::Every(1)).await, [0, 25]);
    assert_eq!(tiles(&world, &packaged, &shown, Sheet::Every(10)).await, [0]);
    assert_eq!(tiles(&world, &packaged, &shown, Sheet::Overview).await, [0]);
}

#[tokio::test]
async fn where_keyframes_are_rare_the_very_frame_is_decoded_but_not_for_an_overview() {
    let world = World::new().await;
    let file = fixture::long_gop();
    let packaged = world.store(file.clone()).await;
    let shown = frames(&file);
    let (track, _) = packaged.index().video().unwrap();
    let keyframes = track.samples.iter().filter(|sample| sample.is_sync).count();
    let every = tiles(&world, &packaged, &shown, Sheet::Every(1)).await;
    let overview = tiles(&world, &packaged, &shown, Sheet::Overview).await;
    insta::assert_snapshot!(format!(
        "{} frames, {keyframes} keyframes\n{every:?}\n{overview:?}",
        shown.len()
    ));
}

/// The first frame that is shown is frame 133. What the edit list hides is shown only where there is nothing
/// else that is cheap.
#[tokio::test]
async fn an_overview_opens_with_the_first_frame_where_an_edit_list_begins_between_keyframes() {
    let world = World::new().await;
    let mut found = Vec::new();
    for (name, whole, cut) in [
        ("one group", fixture::one_group(), fixture::cut_in_one_group()),
        ("two groups", fixture::long_gop(), fixture::cut_in_long_gop()),
        ("a jump", fixture::one_group(), fixture::jumps_in_one_group()),
    ] {
        let shown = frames(&whole);
        let packaged = world.store(cut.clone()).await;
        // Both of one interval: neither is taken for the other.
        for sheet in [Sheet::Overview, Sheet::Every(2)] {
            found.push(format!("{name}, {sheet:?}: {:?}", tiles(&world, &packaged, &shown, sheet).await));
        }
        // Of this size the frames in front of the first one are too many.
        let mut index = packaged.index().clone();
        for track in &mut index.tracks {
            if let kinora_index::TrackMedia::Video(video) = &mut track.media {
                (video.width, video.height) = (3840, 2160);
            }
        }
        let large = world.store_index(world.source(), cut, &index).await;
        let overview = tiles(&world, &large, &shown, Sheet::Overview).await;
        found.push(format!("{name} of 4K, Overview: {overview:?}"));
    }
    insta::assert_snapshot!(found.join("\n"));
}

#[tokio::test]
async fn sheets_are_made_of_every_kind_of_source() {
    let world = World::new().await;
    let mut found = Vec::new();
    for (name, file) in [
        ("pictures that lead a keyframe", fixture::hevc()),
        ("AV1", fixture::av1_opus()),
        ("VP9 in WebM", fixture::vp9_webm()),
        ("an edit list", fixture::edit_list()),
    ] {
        let packaged = world.store(file.clone()).await;
        let shown = frames(&if name == "an edit list" { fixture::two_seconds() } else { file });
        let every = tiles(&world, &packaged, &shown, Sheet::Every(1)).await;
        found.push(format!("{name}: {} frames, {every:?}", shown.len()));
    }
    insta::assert_snapshot!(found.join("\n"));
}

#[tokio::test]
async fn a_sheet_is_made_once_and_sound_has_none() {
    let world = World::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let storyboard = world.packager.storyboard(&packaged, Sheet::Every(1), asker()).await.unwrap();
    let ask = async || world.packager.sheet(&packaged, &storyboard, asker()).await?.bytes().await;
    let writes = world.writes_of(Box::pin(async {
        let (one, other) = tokio::join!(ask(), ask());
        assert_eq!(one.unwrap(), other.unwrap());
        ask().await.unwrap();
    }));
    assert_eq!(writes.await, 1);
    let sound = world.store(fixture::audio_only()).await;
    let error = world.packager.storyboard(&sound, Sheet::Overview, asker()).await.unwrap_err();
    assert!(matches!(error.root(), Error::NoPicture), "{error:?}");
}

/// The video of a fixture, said to last so many seconds: one keyframe each second.
async fn lasting(world: &World, seconds: u32, (width, height): (u32, u32)) -> Arc<Packaged> {
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
async fn a_sheet_stays_within_what_players_open_however_long_the_media_is() {
    let world = World::new().await;
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
        for sheet in [Sheet::Overview, Sheet::Every(10), Sheet::Every(1)] {
            let board = world.packager.storyboard(&packaged, sheet, asker()).await.unwrap();
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

/// Half a day of one group: 30 pictures a second, of which the first alone is a keyframe.
async fn half_a_day_of_one_group(world: &World) -> Arc<Packaged> {
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

/// Were its group read again for each tile, this would take an hour.
#[tokio::test]
async fn where_one_group_is_all_of_a_long_media_its_tiles_are_found_without_reading_it_for_each() {
    let world = World::new().await;
    let packaged = half_a_day_of_one_group(&world).await;
    let address = Some(std::net::IpAddr::from([192, 0, 2, 1]));
    let ask = |seconds| {
        let from = kinora_packager::Asker { address, ..asker() };
        world.packager.storyboard(&packaged, Sheet::Every(seconds), from)
    };
    let answers = futures_util::future::join_all((1..=10).map(ask)).await;
    for board in answers.iter().filter_map(|answer| answer.as_ref().ok()) {
        assert_eq!((board.interval_s, board.count), (44, 982));
    }
    let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
    assert_eq!(refused.len(), 2, "eight at once from one address");
    assert!(refused.iter().all(|error| matches!(error.root(), Error::Busy)), "{refused:?}");
    // What is known takes no place, and is the same.
    let known = futures_util::future::join_all((0..10).map(|_| ask(1))).await;
    let first = answers[0].as_ref().unwrap();
    assert!(known.iter().all(|known| Arc::ptr_eq(known.as_ref().unwrap(), first)));
}
