//! Thumbnails: the exact frame of a time, encoded once.

use std::net::IpAddr;
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::future::join_all;
use kinora_engine::Load;
use kinora_index::{Sample, SampleObject};
use kinora_packager::{Error, FitMode, ImageFormat, Packaged, PlaybackClient, ThumbnailRequest};
use kinora_testkit::fixture;
use tokio::task::yield_now;

use crate::world::{TestServer, on_demand_client, until_made};

pub(crate) fn png_at(time_ms: u64) -> ThumbnailRequest {
    ThumbnailRequest {
        time_ms: Some(time_ms),
        width: None,
        height: None,
        fit: FitMode::Preserve,
        format: ImageFormat::Png,
        is_poster: false,
    }
}

/// Width times height of the fixtures.
const PIXELS: usize = 160 * 90;

/// Every frame that ffmpeg decodes from a fixture, in grey.
pub(crate) fn frames(file: &[u8]) -> Vec<Vec<u8>> {
    grey(file).chunks(PIXELS).map(<[u8]>::to_vec).collect()
}

/// All frames that ffmpeg decodes from a file, in grey.
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

/// The frame that an image shows: the closest one, because colours are converted in more than one way.
pub(crate) fn closest(image: &[u8], frames: &[Vec<u8>]) -> Option<usize> {
    let distance = |frame: &[u8]| -> u64 {
        let differences = frame.iter().zip(image).map(|(one, other)| u64::from(one.abs_diff(*other)));
        differences.map(|difference| difference * difference).sum()
    };
    (0..frames.len()).min_by_key(|n| distance(&frames[*n]))
}

#[tokio::test]
async fn thumbnail_is_the_exact_frame_at_its_time() {
    let world = TestServer::new().await;
    let file = fixture::two_seconds();
    let packaged = world.store(file.clone()).await;
    let shown = frames(&file);
    assert_eq!(shown.len(), 50);
    // 25 frames a second, times rounded down to tenths; a time past the end gives the last frame.
    for (time_ms, n) in [(0, 0), (400, 10), (960, 22), (1000, 25), (1100, 27), (1900, 47), (9000, 49)] {
        let image = world.thumbnail(&packaged, png_at(time_ms)).await.unwrap();
        assert_eq!(closest(&frames(&image)[0], &shown), Some(n), "at {time_ms} ms");
    }
}

#[tokio::test]
async fn leading_frames_of_a_keyframe_are_found() {
    let world = TestServer::new().await;
    let file = fixture::hevc();
    let packaged = world.store(file.clone()).await;
    let shown = frames(&file);
    assert_eq!(shown.len(), 100);
    for (time_ms, n) in [(0, 0), (800, 20), (900, 22), (1000, 25), (1100, 27), (1900, 47), (9000, 99)] {
        let image = world.thumbnail(&packaged, png_at(time_ms)).await.unwrap();
        assert_eq!(closest(&frames(&image)[0], &shown), Some(n), "at {time_ms} ms");
    }
}

/// The edit begins during the 13th frame, half a second into its group.
#[tokio::test]
async fn frame_outside_edit_list_is_never_shown() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::edit_list()).await;
    let all_frames = frames(&fixture::two_seconds());
    for (time_ms, n) in [(0, 12), (100, 15), (400, 22), (600, 27), (9000, 49)] {
        let image = world.thumbnail(&packaged, png_at(time_ms)).await.unwrap();
        assert_eq!(closest(&frames(&image)[0], &all_frames), Some(n), "at {time_ms} ms");
    }
    let any = ThumbnailRequest { time_ms: None, ..png_at(0) };
    let image = world.thumbnail(&packaged, any).await.unwrap();
    assert_eq!(closest(&frames(&image)[0], &all_frames), Some(25), "the keyframe near the middle");
}

#[tokio::test]
async fn thumbnails_support_copied_and_encoded_codecs() {
    let world = TestServer::new().await;
    // The audio of the last source begins some milliseconds before its video.
    let sources = [
        ("HDR10", fixture::hevc_hdr10(), 35),
        ("AV1", fixture::av1_opus(), 35),
        ("VP9", fixture::vp9_webm(), 34),
    ];
    for (name, file, frame) in sources {
        let packaged = world.store(file.clone()).await;
        let shown = frames(&file);
        assert_eq!(shown.len(), 50, "{name}");
        let image = world.thumbnail(&packaged, png_at(1400)).await.unwrap();
        assert_eq!(closest(&frames(&image)[0], &shown), Some(frame), "{name}");
        assert_eq!(world.packager.decode_first_gop(&packaged).await.unwrap(), Some(25), "{name}");
    }
}

#[tokio::test]
async fn thumbnail_is_single_flight() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let fetch = |time_ms| world.thumbnail(&packaged, png_at(time_ms));
    let writes = world.writes_of(Box::pin(async {
        let (a, b, c, d) = tokio::join!(fetch(400), fetch(400), fetch(400), fetch(400));
        let images = [a, b, c, d].map(|image| image.unwrap());
        assert!(images.iter().all(|image| *image == images[0]));
        // Times are rounded down to a tenth of a second.
        assert_eq!(fetch(437).await.unwrap(), images[0]);
    }));
    assert_eq!(writes.await, 1);
    assert_eq!(
        world.writes_of(Box::pin(async { fetch(500).await.map(drop).unwrap() })).await,
        1,
        "another time, another image"
    );
}

#[tokio::test]
async fn first_gop_decodes() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    assert_eq!(world.packager.decode_first_gop(&packaged).await.unwrap(), Some(25));
}

#[tokio::test]
async fn overwritten_gop_does_not_decode() {
    let world = TestServer::new().await;
    let file = fixture::video_only();
    let samples = file.windows(4).position(|bytes| bytes == b"mdat").expect("there are samples") + 4;
    let mut damaged = file.to_vec();
    damaged[samples..].fill(0);
    let packaged = world.store(Bytes::from(damaged)).await;
    assert_eq!(world.packager.decode_first_gop(&packaged).await.unwrap(), Some(0));
}

/// A clip whose samples are each `padding` bytes longer, with data that an H.264 decoder skips.
async fn padded(world: &TestServer, padding: usize) -> Arc<Packaged> {
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
async fn large_gop_is_probed_in_part() {
    let world = TestServer::new().await;
    let shown = frames(&fixture::video_only());
    // 25 samples of 3 MiB each.
    let packaged = padded(&world, 3 << 20).await;
    assert_eq!(world.packager.decode_first_gop(&packaged).await.unwrap(), Some(5));
    // Frames near the keyframe are decoded; for the others the keyframe is shown.
    for (time_ms, n) in [(0, 0), (200, 5), (900, 0), (1200, 30), (1900, 25)] {
        let image = world.thumbnail(&packaged, png_at(time_ms)).await.unwrap();
        assert_eq!(closest(&frames(&image)[0], &shown), Some(n), "at {time_ms} ms");
    }
}

#[tokio::test]
async fn oversized_frame_is_not_read_and_not_probed() {
    let world = TestServer::new().await;
    let file = fixture::video_only();
    let mut index = world.store(file.clone()).await.index().clone();
    let samples = index.tracks[0].samples.iter().map(|sample| Sample { size: 49 << 20, ..sample });
    index.tracks[0].samples = samples.collect();
    index.source_len = 1 << 40;
    index.objects = vec![SampleObject::source(index.source_len)];
    // The bytes are missing: reading them would be another error.
    let packaged = world.store_index(world.source(), file, &index).await;
    assert_eq!(world.packager.decode_first_gop(&packaged).await.unwrap(), None);
    let error = world.thumbnail(&packaged, png_at(0)).await.unwrap_err();
    assert!(matches!(error.root(), Error::NoImage), "{error:?}");
}

/// Width and height of a PNG.
fn size(png: &[u8]) -> (u32, u32) {
    let be = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (be(16), be(20))
}

#[tokio::test]
async fn smartcrop_keeps_detail() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let fetch = async |fit| {
        let square = ThumbnailRequest { width: Some(90), height: Some(90), fit, ..png_at(0) };
        world.thumbnail(&packaged, square).await.unwrap()
    };
    let (middle, clever) = (fetch(FitMode::Crop).await, fetch(FitMode::Smartcrop).await);
    assert_eq!((size(&middle), size(&clever)), ((90, 90), (90, 90)));
    let edges = |image: &[u8]| -> u64 {
        let grey = grey(image);
        grey.chunks(90).flat_map(|row| row.windows(2)).map(|pair| u64::from(pair[0].abs_diff(pair[1]))).sum()
    };
    let (middle, clever) = (edges(&middle), edges(&clever));
    assert!(middle * 100 <= clever * 101, "{middle} in the middle, {clever} in the chosen frame");
}

#[tokio::test]
async fn exact_size_takes_a_missing_side_from_the_video() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let expected = [(FitMode::Stretch, (40, 90)), (FitMode::Pad, (40, 90)), (FitMode::Preserve, (40, 22))];
    for (fit, expected) in expected {
        let request = ThumbnailRequest { width: Some(40), fit, ..png_at(0) };
        let image = world.thumbnail(&packaged, request).await.unwrap();
        assert_eq!(size(&image), expected, "{fit:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn page_of_thumbnails_is_served_to_one_address() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    for (address, width) in [(Some(IpAddr::from([192, 0, 2, 1])), 40), (None, 41)] {
        let fetch = async |time_ms| {
            let request = ThumbnailRequest { width: Some(width), ..png_at(time_ms) };
            let client = PlaybackClient { address, ..on_demand_client() };
            until_made(async || world.packager.thumbnail(&packaged, request, client).await).await
        };
        // The limit of waiting requests is tested with the queues.
        let answers = join_all((0..20).map(|n| fetch(n * 100))).await;
        let refused: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().err()).collect();
        assert!(refused.is_empty(), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelled_and_stored_thumbnails_occupy_no_slot() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let client = PlaybackClient { address: Some(IpAddr::from([192, 0, 2, 1])), ..on_demand_client() };
    let fetch = |time_ms| Box::pin(world.packager.thumbnail(&packaged, png_at(time_ms), client));
    drop(fetch(0).await.unwrap());
    let mut waiting = join_all((1..19).map(|n| fetch(n * 100)));
    while let Load { running, waiting: 0, .. } = world.engine.load()
        && running < 2
    {
        assert!((&mut waiting).now_or_never().is_none(), "the turns of its client are taken soon");
        yield_now().await;
    }
    // A stored image needs no permit.
    assert!(fetch(0).await.is_ok());
    drop(waiting);
    let writes = world.writes_of(async { assert!(fetch(1900).await.is_ok()) }).await;
    assert!(writes <= 3, "two that were begun, and this one: {writes}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn packager_stop_ends_waiting_requests() {
    let world = TestServer::new().await;
    let packaged = world.store(fixture::two_seconds()).await;
    let requests = join_all((0..20).map(|n| world.thumbnail(&packaged, png_at(n * 100))));
    let (answers, ()) = tokio::join!(requests, world.packager.stop());
    assert!(answers.iter().any(|answer| matches!(answer, Err(error) if matches!(error.root(), Error::Busy))));
}
