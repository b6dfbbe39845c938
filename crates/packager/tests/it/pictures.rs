//! Pictures: the very frame of a moment, made once.

use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use kinora_engine::Load;
use kinora_index::{Sample, SampleObject};
use kinora_packager::{Asker, Error, FitMode, Packaged, PictureFormat, PictureRequest};
use kinora_testkit::fixture;
use tokio::task::yield_now;

use crate::world::{World, asker, until_made};

pub(crate) fn png_at(time_ms: u64) -> PictureRequest {
    PictureRequest {
        time_ms: Some(time_ms),
        width: None,
        height: None,
        fit: FitMode::Preserve,
        format: PictureFormat::Png,
        is_poster: false,
    }
}

/// Width times height of the fixtures.
const PIXELS: usize = 160 * 90;

/// Every frame that ffmpeg decodes of a fixture, in shades of grey.
pub(crate) fn frames(file: &[u8]) -> Vec<Vec<u8>> {
    grey(file).chunks(PIXELS).map(<[u8]>::to_vec).collect()
}

/// All that ffmpeg decodes of a file, in shades of grey.
#[expect(clippy::disallowed_methods, reason = "an independent decoder")]
pub(crate) fn grey(file: &[u8]) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("input");
    std::fs::write(&path, file).expect("it can be written");
    let ffmpeg = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-i"])
        .arg(&path)
        .args(["-fps_mode", "passthrough", "-pix_fmt", "gray", "-f", "rawvideo", "-"])
        .output();
    let output = ffmpeg.expect("tests need ffmpeg");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Which of the frames a picture shows. Colours are converted in more than one way, so it is the one that
/// comes closest.
pub(crate) fn closest(picture: &[u8], frames: &[Vec<u8>]) -> Option<usize> {
    let distance = |frame: &[u8]| -> u64 {
        let differences = frame.iter().zip(picture).map(|(one, other)| u64::from(one.abs_diff(*other)));
        differences.map(|difference| difference * difference).sum()
    };
    (0..frames.len()).min_by_key(|n| distance(&frames[*n]))
}

#[tokio::test]
async fn a_picture_is_the_very_frame_that_is_shown_at_its_time() {
    let world = World::new().await;
    let file = fixture::two_seconds();
    let packaged = world.store(file.clone()).await;
    let shown = frames(&file);
    assert_eq!(shown.len(), 50);
    // 25 frames a second, times in whole tenths; a time past the end is that of the last frame.
    for (time_ms, n) in [(0, 0), (400, 10), (960, 22), (1000, 25), (1100, 27), (1900, 47), (9000, 49)] {
        let picture = world.picture(&packaged, png_at(time_ms)).await.unwrap();
        assert_eq!(closest(&frames(&picture)[0], &shown), Some(n), "at {time_ms} ms");
    }
}

#[tokio::test]
async fn pictures_that_lead_a_keyframe_are_found_too() {
    let world = World::new().await;
    let file = fixture::hevc();
    let packaged = world.store(file.clone()).await;
    let shown = frames(&file);
    assert_eq!(shown.len(), 100);
    for (time_ms, n) in [(0, 0), (800, 20), (900, 22), (1000, 25), (1100, 27), (1900, 47), (9000, 99)] {
        let picture = world.picture(&packaged, png_at(time_ms)).await.unwrap();
        assert_eq!(closest(&frames(&picture)[0], &shown), Some(n), "at {time_ms} ms");
    }
}

/// The edit begins while the 13th frame is shown, half a second into its group.
#[tokio::test]
async fn a_picture_that_an_edit_list_hides_is_none_of_the_media() {
    let world = World::new().await;
    let packaged = world.store(fixture::edit_list()).await;
    let whole = frames(&fixture::two_seconds());
    for (time_ms, n) in [(0, 12), (100, 15), (400, 22), (600, 27), (9000, 49)] {
        let picture = world.picture(&packaged, png_at(time_ms)).await.unwrap();
        assert_eq!(closest(&frames(&picture)[0], &whole), Some(n), "at {time_ms} ms");
    }
    let any = PictureRequest { time_ms: None, ..png_at(0) };
    let picture = world.picture(&packaged, any).await.unwrap();
    assert_eq!(closest(&frames(&picture)[0], &whole), Some(25), "the keyframe near the middle");
}

#[tokio::test]
async fn pictures_are_made_of_codecs_that_are_copied_and_of_others() {
    let world = World::new().await;
    // The sound of the last begins some milliseconds before its pictures.
    let sources = [
        ("HDR10", fixture::hevc_hdr10(), 35),
        ("AV1", fixture::av1_opus(), 35),
        ("VP9", fixture::vp9_webm(), 34),
    ];
    for (name, file, frame) in sources {
        let packaged = world.store(file.clone()).await;
        let shown = frames(&file);
        assert_eq!(shown.len(), 50, "{name}");
        let picture = world.picture(&packaged, png_at(1400)).await.unwrap();
        assert_eq!(closest(&frames(&picture)[0], &shown), Some(frame), "{name}");
        assert_eq!(world.packager.decode_first_gop(&packaged).await.unwrap(), Some(25), "{name}");
    }
}

#[tokio::test]
async fn a_picture_is_made_once_however_many_ask() {
    let world = World::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let ask = |time_ms| world.picture(&packaged, png_at(time_ms));
    let writes = world.writes_of(Box::pin(async {
        let (a, b, c, d) = tokio::join!(ask(400), ask(400), ask(400), ask(400));
        let pictures = [a, b, c, d].map(|picture| picture.unwrap());
        assert!(pictures.iter().all(|picture| *picture == pictures[0]));
        // Times are told apart to a tenth of a second.
        assert_eq!(ask(437).await.unwrap(), pictures[0]);
    }));
    assert_eq!(writes.await, 1);
    assert_eq!(
        world.writes_of(Box::pin(async { ask(500).await.map(drop).unwrap() })).await,
        1,
        "another moment, another picture"
    );
}

#[tokio::test]
async fn the_first_group_of_pictures_decodes() {
    let world = World::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    assert_eq!(world.packager.decode_first_gop(&packaged).await.unwrap(), Some(25));
}

#[tokio::test]
async fn a_group_of_pictures_that_was_overwritten_does_not_decode() {
    let world = World::new().await;
    let file = fixture::video_only();
    let samples = file.windows(4).position(|bytes| bytes == b"mdat").expect("there are samples") + 4;
    let mut damaged = file.to_vec();
    damaged[samples..].fill(0);
    let packaged = world.store(Bytes::from(damaged)).await;
    assert_eq!(world.packager.decode_first_gop(&packaged).await.unwrap(), Some(0));
}

/// A clip of pictures whose samples are each so many bytes longer by data that a decoder of H.264 skips.
async fn padded(world: &World, padding: usize) -> Arc<Packaged> {
    let file = fixture::video_only();
    let mut index = world.store(file.clone()).await.index().clone();
    let mut filler = u32::try_from(padding - 4).unwrap().to_be_bytes().to_vec();
    // ISO/IEC 14496-10, 7.3.2.7: filler data.
    filler.push(12);
    filler.resize(padding - 1, 0xff);
    filler.push(0x80);
    let mut longer = Vec::new();
    let samples = index.tracks[0].samples.iter().map(|mut sample| {
        let start = usize::try_from(sample.offset).unwrap();
        sample.offset = longer.len() as u64;
        longer.extend_from_slice(&file[start..start + sample.size as usize]);
        longer.extend_from_slice(&filler);
        sample.size += u32::try_from(padding).unwrap();
        sample
    });
    index.tracks[0].samples = samples.collect();
    index.source_len = longer.len() as u64;
    index.objects = vec![SampleObject::source(index.source_len)];
    world.store_index(world.source(), Bytes::from(longer), &index).await
}

#[tokio::test]
async fn a_group_of_pictures_that_is_too_large_for_memory_is_tried_in_part_and_shown_in_part() {
    let world = World::new().await;
    let shown = frames(&fixture::video_only());
    // 25 pictures with 3 MiB each.
    let packaged = padded(&world, 3 << 20).await;
    assert_eq!(world.packager.decode_first_gop(&packaged).await.unwrap(), Some(5));
    // What is near the keyframe is decoded, what is not is shown as that.
    for (time_ms, n) in [(0, 0), (200, 5), (900, 0), (1200, 30), (1900, 25)] {
        let picture = world.picture(&packaged, png_at(time_ms)).await.unwrap();
        assert_eq!(closest(&frames(&picture)[0], &shown), Some(n), "at {time_ms} ms");
    }
}

#[tokio::test]
async fn a_picture_that_is_too_large_is_not_read_and_says_nothing_about_the_media() {
    let world = World::new().await;
    let file = fixture::video_only();
    let mut index = world.store(file.clone()).await.index().clone();
    let samples = index.tracks[0].samples.iter().map(|sample| Sample { size: 49 << 20, ..sample });
    index.tracks[0].samples = samples.collect();
    index.source_len = 1 << 40;
    index.objects = vec![SampleObject::source(index.source_len)];
    // The bytes are not there: a try to read them would be another error.
    let packaged = world.store_index(world.source(), file, &index).await;
    assert_eq!(world.packager.decode_first_gop(&packaged).await.unwrap(), None);
    let error = world.picture(&packaged, png_at(0)).await.unwrap_err();
    assert!(matches!(error.root(), Error::NoPicture), "{error:?}");
}

/// Width and height of a PNG.
fn size(png: &[u8]) -> (u32, u32) {
    let be = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (be(16), be(20))
}

#[tokio::test]
async fn what_is_cut_cleverly_keeps_what_is_to_be_seen() {
    let world = World::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let ask = async |fit| {
        let square = PictureRequest { width: Some(90), height: Some(90), fit, ..png_at(0) };
        world.picture(&packaged, square).await.unwrap()
    };
    let (middle, clever) = (ask(FitMode::Crop).await, ask(FitMode::Smartcrop).await);
    assert_eq!((size(&middle), size(&clever)), ((90, 90), (90, 90)));
    let edges = |picture: &[u8]| -> u64 {
        let grey = grey(picture);
        grey.chunks(90).flat_map(|row| row.windows(2)).map(|pair| u64::from(pair[0].abs_diff(pair[1]))).sum()
    };
    let (middle, clever) = (edges(&middle), edges(&clever));
    assert!(middle * 100 <= clever * 101, "{middle} in the middle, {clever} in what was chosen");
}

#[tokio::test]
async fn an_exact_size_is_that_of_the_video_where_a_side_is_not_said() {
    let world = World::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let expected = [(FitMode::Stretch, (40, 90)), (FitMode::Pad, (40, 90)), (FitMode::Preserve, (40, 22))];
    for (fit, expected) in expected {
        let request = PictureRequest { width: Some(40), fit, ..png_at(0) };
        let picture = world.picture(&packaged, request).await.unwrap();
        assert_eq!(size(&picture), expected, "{fit:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_full_of_pictures_comes_to_one_address_and_to_one_that_is_not_known() {
    let world = World::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    for (address, width) in [(Some(IpAddr::from([192, 0, 2, 1])), 40), (None, 41)] {
        let ask = async |time_ms| {
            let request = PictureRequest { width: Some(width), ..png_at(time_ms) };
            let asker = Asker { address, ..asker() };
            until_made(async || world.packager.picture(&packaged, request, asker).await).await
        };
        // How many may wait is tested beside the queues.
        let answers = join_all((0..20).map(|n| ask(n * 100))).await;
        let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        assert!(refused.is_empty(), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pictures_that_stop_waiting_and_those_that_are_kept_hold_up_nobody() {
    let world = World::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let asker = Asker { address: Some(IpAddr::from([192, 0, 2, 1])), ..asker() };
    let ask = |time_ms| Box::pin(world.packager.picture(&packaged, png_at(time_ms), asker));
    drop(ask(0).await.unwrap());
    let mut waiting = join_all((1..19).map(|n| ask(n * 100)));
    while let Load { running, waiting: 0, .. } = world.engine.load()
        && running < 2
    {
        assert!((&mut waiting).now_or_never().is_none(), "the turns of its client are taken soon");
        yield_now().await;
    }
    // What is kept needs no turn.
    assert!(ask(0).await.is_ok());
    drop(waiting);
    let made = world.writes_of(async { assert!(ask(1900).await.is_ok()) }).await;
    assert!(made <= 3, "two that were begun, and this one: {made}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_is_told_when_the_packager_stops() {
    let world = World::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let asking = join_all((0..20).map(|n| world.picture(&packaged, png_at(n * 100))));
    let (answers, ()) = tokio::join!(asking, world.packager.stop());
    assert!(answers.iter().any(|answer| matches!(answer, Err(error) if matches!(error.root(), Error::Busy))));
}
