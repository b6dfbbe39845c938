//! Images, preview clips and files of joined parts.

use futures_util::StreamExt as _;
use kinora_domain::{Clock as _, Resolution};
use kinora_index::RungName;
use kinora_packager::{
    ClipFormat, ClipRequest, Mp4File, Mp4FileLimits, Rendition, SpriteSheet, ThumbnailRequest,
};
use kinora_store::{ClaimJobs, ClaimedJob, JobKind, NewJob, Tx, WorkerId, WorkspaceLimit};
use kinora_testkit::{MovableClock, SeededRandom};

use super::audio_samples::check_audio;
use super::decoded::{assert_bars, assert_times, frames, luma};
use super::scene::Scene;
use super::sources::{base, edited, other_encoder};
use crate::audio;
use crate::thumbnails::png_at;
use crate::world::{TestServer, on_demand_client};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thumbnails_of_joined_sources_show_the_right_source() {
    let scene = Scene::new().await;
    let begins = scene.packaged.index().parts[0].shown_us.end / 1000;
    let wide = scene.world.store(other_encoder()).await;
    // Their times have steps of a tenth of a second.
    for (at, of_source) in [(0, 0), (1000, 1000), (5000, 5000)] {
        let found =
            scene.world.thumbnail(&scene.packaged, png_at(begins.next_multiple_of(100) + at)).await.unwrap();
        let expected = scene.world.thumbnail(&wide, png_at(of_source)).await.unwrap();
        assert!(found == expected, "another frame is shown {at} ms behind the first part");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clips_and_mp4_files_use_one_configuration() {
    let scene = Scene::new().await;
    let begins = scene.packaged.index().parts[0].shown_us.end / 1000;
    let clip =
        |start_ms, end_ms| ClipRequest { start_ms, end_ms, width: 64, fps: 5, format: ClipFormat::Gif };
    let make_clip = async |clip| scene.world.packager.clip(&scene.packaged, clip, on_demand_client()).await;
    // Each clip is of one part, and that of the second part equals the clip of its source.
    make_clip(clip(0, 500)).await.unwrap();
    let found =
        make_clip(clip(begins.next_multiple_of(100) + 1000, begins.next_multiple_of(100) + 1500)).await;
    let wide = scene.world.store(other_encoder()).await;
    let expected = scene.world.packager.clip(&wide, clip(1000, 1500), on_demand_client()).await.unwrap();
    let (found, wanted) = (found.unwrap().bytes().await.unwrap(), expected.bytes().await.unwrap());
    assert!(found == wanted, "the clip of the second part is another one");
    // The clip ends with its part.
    make_clip(clip(begins.saturating_sub(300), begins + 1000)).await.unwrap();
    let bounds = Mp4FileLimits { max_resolution: Resolution::P2160, is_video_withdrawn: false };
    // The copy and the audio have two sample entries.
    let renditions = |file: Mp4File| file.renditions(&scene.packaged, bounds, &[]);
    let video = Rendition::Rung(RungName::P240);
    assert_eq!(renditions(Mp4File::Capped4k), Some(vec![video, Rendition::Aac(0)]));
    assert_eq!(renditions(Mp4File::AudioOnly), Some(vec![Rendition::Aac(0)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sprite_sheet_shows_all_parts() {
    let scene = edited().await;
    let (packager, packaged) = (&scene.world.packager, &scene.packaged);
    let board = packager.storyboard(packaged, SpriteSheet::Every(1), on_demand_client()).await.unwrap();
    assert_eq!((board.count, board.tile_width, board.tile_height), (12, 160, 90));
    let sheet = packager.sprite_sheet(packaged, &board, on_demand_client()).await.unwrap();
    let sheet = sheet.bytes().await.unwrap();
    let size = (board.columns as usize * 160, board.rows as usize * 90);
    let luma = luma(&sheet, size).remove(0);
    let at = |tile: usize, column: usize, row: usize| {
        let (left, top) = (tile % 10 * 160, tile / 10 * 90);
        luma[(top + row) * size.0 + left + column]
    };
    let (black, white) = (0..40, 215..=255);
    // The white square, from 0 to 2 s.
    assert!(
        black.contains(&at(1, 10, 45)) && white.contains(&at(1, 80, 45)) && black.contains(&at(1, 150, 45))
    );
    // The upright frame, from 5 s on.
    assert!(
        black.contains(&at(5, 40, 45)) && white.contains(&at(5, 80, 45)) && black.contains(&at(5, 120, 45))
    );
    // The wide one, from 9.5 s on.
    assert!(
        black.contains(&at(11, 80, 5)) && white.contains(&at(11, 3, 45)) && black.contains(&at(11, 80, 85))
    );
    // Between them the test image of the base: as in a sheet of the base alone.
    let alone = scene.world.store_of_media(base()).await;
    let board = packager.storyboard(&alone, SpriteSheet::Every(1), on_demand_client()).await.unwrap();
    let sheet = packager.sprite_sheet(&alone, &board, on_demand_client()).await.unwrap();
    let alone = self::luma(&sheet.bytes().await.unwrap(), (board.columns as usize * 160, 90)).remove(0);
    let differences =
        (0..90).flat_map(|row| (0..160).map(move |column| (column, row))).map(|(column, row)| {
            let of_alone = alone[row * board.columns as usize * 160 + 160 + column];
            u64::from(at(3, column, row).abs_diff(of_alone))
        });
    assert!(differences.sum::<u64>() / (160 * 90) < 3);
}

/// The job for files in one piece, as a worker leases it.
async fn claimed_job(world: &TestServer) -> ClaimedJob {
    let now = MovableClock::default().now();
    let kind = JobKind::Sweep; // any job will do
    let queue = kind.queue();
    let enqueue = async move |tx: &mut Tx| tx.enqueue(NewJob::due_now(kind, None, now)).await;
    world.store.write::<_, kinora_store::Error, _>(enqueue).await.unwrap();
    let claim = ClaimJobs {
        owner: WorkerId::new(&SeededRandom::default()),
        queue,
        workspace_limits: vec![WorkspaceLimit { workspace: None, limit: 1 }],
        now,
        lease_until: now.plus_seconds(600),
    };
    world.store.claim_jobs(claim).await.unwrap().remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_in_one_piece_hold_all_parts() {
    let scene = edited().await;
    let (packager, packaged) = (&scene.world.packager, &scene.packaged);
    let limits = Mp4FileLimits { max_resolution: Resolution::P2160, is_video_withdrawn: false };
    let job = claimed_job(&scene.world).await;
    for rendition in Mp4File::Capped4k.renditions(packaged, limits, &[]).unwrap() {
        packager.make_rendition_file(&job, packaged, rendition, Resolution::P2160, |_| {}).await.unwrap();
    }
    for file in Mp4File::ALL {
        let reader = packager.file(packaged, file, limits, &[]).await.unwrap();
        let len = reader.len();
        let bytes = reader.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat();
        if file == Mp4File::Capped4k {
            assert_times(frames(&bytes).iter().map(|(at, _)| *at), scene.expected_us(), 1000);
        }
        check_audio(&scene, &audio::decoded(&bytes), &scene.expected_audio());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thumbnails_have_the_bars_of_their_part() {
    let scene = edited().await;
    let image = async |time_ms| scene.world.thumbnail(&scene.packaged, png_at(time_ms)).await.unwrap();
    for (time_ms, across, down) in
        [(1000, 70..250, 0..180), (5500, 114..204, 0..180), (10_000, 0..320, 30..150)]
    {
        let image = image(time_ms).await;
        assert_eq!(be_u32(&image, 16), 320, "the width in a PNG");
        assert_bars(&luma(&image, (320, 180))[0], across, down, &format!("thumbnail at {time_ms}"));
    }
    // The base begins at 2 s.
    let alone = scene.world.store(base()).await;
    let expected = scene.world.thumbnail(&alone, png_at(1500)).await.unwrap();
    assert!(image(3500).await == expected);
    let small = ThumbnailRequest { width: Some(160), ..png_at(1000) };
    let small = scene.world.thumbnail(&scene.packaged, small).await.unwrap();
    assert_eq!((be_u32(&small, 16), be_u32(&small, 20)), (160, 90));
}

fn be_u32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}
