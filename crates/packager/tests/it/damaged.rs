//! Sources that decode in part, or not at all.

use std::fs;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_domain::{PlaybackId, PresentationId, Resolution, SourceId};
use kinora_index::Track;
use kinora_packager::{
    AddedTracks, Error, Packaged, Packager, PlaybackClient, Rendition, RenditionFilter, Segment,
};
use kinora_testkit::{SeededRandom, fixture};

use crate::world::TestServer;

fn on_demand_client() -> PlaybackClient {
    PlaybackClient { playback: PlaybackId::new(&SeededRandom::default()), address: None }
}

/// The clip with the bytes of these video samples overwritten.
async fn damaged(world: &TestServer, samples: impl FnOnce(&Packaged) -> Range<u32>) -> Arc<Packaged> {
    damaged_as(world, world.source(), samples).await
}

/// As [`damaged`], under this id.
async fn damaged_as(
    world: &TestServer,
    source: SourceId,
    samples: impl FnOnce(&Packaged) -> Range<u32>,
) -> Arc<Packaged> {
    let intact = world.store(fixture::large_two_tracks()).await;
    let (track, _) = intact.index().video().expect("it has video");
    let file = overwritten(fixture::large_two_tracks(), track, samples(&intact));
    world.media_of(source).await;
    world.store_as(source, file).await
}

/// The file with zeros in these samples of a track.
pub(crate) fn overwritten(file: Bytes, track: &Track, samples: Range<u32>) -> Bytes {
    let mut file = file.to_vec();
    for sample in track.samples.range(samples) {
        let start = usize::try_from(sample.offset).unwrap();
        file[start..start + sample.size as usize].fill(0);
    }
    Bytes::from(file)
}

/// Twelve segments of a source that is never copied. In the segments with these numbers neither video nor
/// audio decodes.
async fn long(world: &TestServer, numbers: Range<usize>) -> (SourceId, Arc<Packaged>) {
    let intact = world.store(fixture::not_copied_long()).await;
    let (video, _) = intact.index().video().expect("it has video");
    let segments = &intact.index().plan.encoded_video[numbers.clone()];
    let (start, end) = (segments[0].start, segments[segments.len() - 1].end);
    let file = fixture::not_copied_long();
    let file = overwritten(file, video, segments[0].samples.start..segments[segments.len() - 1].samples.end);
    let (audio, _) = intact.index().audio().expect("it has audio");
    let at = |ticks: i64| ticks * i64::from(audio.timescale) / i64::from(video.timescale);
    let packets = audio.samples.range(0..audio.samples.len());
    let audio_packets: Vec<_> =
        (0..).zip(packets).filter(|(_, packet)| (at(start)..at(end)).contains(&packet.pts)).collect();
    let (first, last) = (audio_packets[0].0, audio_packets[audio_packets.len() - 1].0);
    let file = overwritten(file, audio, first..last + 1);
    let source = world.source();
    world.media_of(source).await;
    (source, world.store_as(source, file).await)
}

async fn bytes(segment: Segment) -> Bytes {
    let len = segment.total_len();
    segment.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat().into()
}

/// The init segment and segment `number` of the only rung.
async fn file(packager: &Packager, packaged: &Arc<Packaged>, number: u32) -> Result<Vec<u8>, Error> {
    let rung = packaged.rungs(Resolution::P1080).remove(0);
    let segment = bytes(packager.encoded_segment(packaged, &rung, number, on_demand_client()).await?).await;
    Ok([packager.encoded_init(packaged, &rung).await?, segment].concat())
}

/// The output of an independent decoder for a file.
#[allow(clippy::disallowed_methods, reason = "an independent decoder of the result")]
fn decoded(file: &[u8], arguments: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.mp4");
    fs::write(&path, file).unwrap();
    let decoder = std::process::Command::new("ffmpeg")
        .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-xerror", "-i"])
        .arg(&path)
        .args(arguments.split(' '))
        .output()
        .unwrap();
    assert!(decoder.status.success(), "{}", String::from_utf8_lossy(&decoder.stderr));
    decoder.stdout
}

const SMALL: usize = 32 * 18;

/// Its frames, small and grey.
fn frames(file: &[u8]) -> Vec<Vec<u8>> {
    let all =
        decoded(file, "-fps_mode passthrough -vf scale=32:18:flags=area,format=gray -f rawvideo pipe:1");
    all.chunks_exact(SMALL).map(<[u8]>::to_vec).collect()
}

/// Mean difference of the pixels of two frames.
fn difference(one: &[u8], other: &[u8]) -> usize {
    let sum: usize = one.iter().zip(other).map(|(a, b)| usize::from(a.abs_diff(*b))).sum();
    sum / one.len()
}

/// In grey levels: less than the difference of two frames of the fixtures one second apart.
const LIKE_MAX: usize = 4;

async fn segment(world: &TestServer, packaged: &Arc<Packaged>, number: u32) -> Result<u64, Error> {
    let rung = packaged.rungs(Resolution::P1080).remove(0);
    let segment = world.packager.encoded_segment(packaged, &rung, number, on_demand_client()).await?;
    Ok(segment.total_len())
}

async fn manifest(world: &TestServer, packaged: &Packaged) -> String {
    let manifest = world
        .packager
        .multivariant(
            packaged,
            "",
            Resolution::P1080,
            RenditionFilter::default(),
            AddedTracks::default(),
            &[],
        )
        .await;
    manifest.unwrap().expect("something is offered")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn undecodable_segment_repeats_previous_frame() {
    let world = TestServer::new().await;
    let packaged = damaged(&world, |packaged| packaged.index().plan.encoded_video[1].samples.clone()).await;
    let still = frames(&file(&world.packager, &packaged, 1).await.unwrap());
    let previous = frames(&file(&world.packager, &packaged, 0).await.unwrap());
    assert_eq!(still.len(), 1);
    let [first, .., last] = previous.as_slice() else { panic!("it has many") };
    assert!(difference(&still[0], last) < LIKE_MAX, "{}", difference(&still[0], last));
    assert!(difference(first, last) >= LIKE_MAX, "they differ enough to be distinguished");
    assert!(frames(&file(&world.packager, &packaged, 2).await.unwrap()).len() > 1, "behind it all goes on");
    assert!(manifest(&world, &packaged).await.contains("240p/playlist.m3u8"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn undecodable_first_segment_is_black() {
    let world = TestServer::new().await;
    let packaged = damaged(&world, |packaged| {
        let segments = &packaged.index().plan.encoded_video;
        segments[0].samples.start..segments[1].samples.end
    });
    let packaged = packaged.await;
    let [rung] = packaged.rungs(Resolution::P1080).try_into().expect("one rung");
    world.packager.first_segment(&packaged, &rung).await.unwrap();
    for number in [1, 0] {
        let found = frames(&file(&world.packager, &packaged, number).await.unwrap());
        assert_eq!(found.len(), 1, "segment {number}");
        assert!(found[0].iter().all(|pixel| *pixel < 4), "segment {number}: {:?}", found[0]);
    }
    let shown = frames(&file(&world.packager, &packaged, 2).await.unwrap());
    assert!(shown.len() > 1 && shown[0].iter().any(|pixel| *pixel > 100));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partial_rendition_stays_listed_and_is_recorded() {
    const DAMAGED: Range<u32> = 3..8;
    let world = TestServer::new().await;
    let (source, packaged) = long(&world, DAMAGED.start as usize..DAMAGED.end as usize).await;
    let of = async |packager: &Packager, n| frames(&file(packager, &packaged, n).await.unwrap());
    // A seek to its end, ordinary playback, and a repeated request.
    for number in [7, 3, 4, 5, 6, 7, 6] {
        assert_eq!(of(&world.packager, number).await.len(), 1, "segment {number}");
    }
    let previous = of(&world.packager, 2).await;
    for number in DAMAGED {
        let still = of(&world.packager, number).await;
        assert!(difference(&still[0], previous.last().unwrap()) < LIKE_MAX, "segment {number}");
    }
    assert!(of(&world.packager, 8).await.len() > 1);

    let audible_samples = async |number| {
        let init = packaged.init(Rendition::Aac(0), 0).unwrap();
        let segment =
            world.packager.encoded_audio_segment(&packaged, 0, number, on_demand_client()).await.unwrap();
        let samples = decoded(&[&init[..], &bytes(segment).await].concat(), "-ac 1 -f s16le pipe:1");
        samples
            .chunks_exact(2)
            .filter(|sample| i16::from_le_bytes([sample[0], sample[1]]).abs() > 100)
            .count()
    };
    for number in [5, 6, 7] {
        assert_eq!(audible_samples(number).await, 0, "segment {number}");
    }
    assert!(audible_samples(1).await > 0);

    let other = world.another_packager().await;
    assert!(other.broken(PresentationId::of(source)).await.unwrap().is_empty());
    let rows = world.store.renditions_of(PresentationId::of(source)).await.unwrap();
    let broken: Vec<_> =
        rows.iter().filter(|row| row.broken_at.is_some()).map(|row| row.name.as_str()).collect();
    assert_eq!(broken, ["240p in part", "aac in part"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audio_backfill_passes_damaged_segments() {
    let world = TestServer::new().await;
    let (_, packaged) = long(&world, 2..9).await;
    let mut done = None;
    world.packager.backfill_audio(&packaged, 0, |progress| done = Some(progress)).await.unwrap();
    assert!(done.is_some_and(|done| done.done == done.total && done.total > 1), "{done:?}");

    let (_, packaged) = long(&world, 0..12).await;
    let error = world.packager.first_audio_segment(&packaged, 0).await.unwrap_err();
    assert!(matches!(error.root(), Error::NoFrame), "{error:?}");
    let error = world.packager.backfill_audio(&packaged, 0, |_| {}).await.unwrap_err();
    assert!(error.is_run_failure(), "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn partly_decodable_segment_is_served() {
    let world = TestServer::new().await;
    let packaged = damaged(&world, |packaged| {
        let samples = packaged.index().plan.encoded_video[1].samples.clone();
        samples.start + 20..samples.end
    });
    assert!(segment(&world, &packaged.await, 1).await.unwrap() > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn undecodable_rendition_leaves_manifest() {
    let world = TestServer::new().await;
    let packaged = damaged(&world, |packaged| 0..packaged.index().video().unwrap().0.samples.len()).await;
    assert!(manifest(&world, &packaged).await.contains("240p/playlist.m3u8"), "it was not encoded yet");
    for number in 0..3 {
        assert!(segment(&world, &packaged, number).await.is_err(), "segment {number}");
    }
    let left = manifest(&world, &packaged).await;
    assert!(left.contains("video/playlist.m3u8") && !left.contains("240p/playlist.m3u8"), "{left}");
    let other = world.another_packager().await;
    let left = other
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
    assert!(left.is_some_and(|left| !left.contains("240p/playlist.m3u8")), "another process knows it, too");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_segment_needs_no_decodable_frame() {
    let world = TestServer::new().await;
    let (source, all) =
        (world.source(), |packaged: &Packaged| 0..packaged.index().video().unwrap().0.samples.len());
    let packaged = damaged_as(&world, source, all).await;
    let rung = packaged.rungs(Resolution::P1080).remove(0);
    assert!(!world.packager.encoded_init(&packaged, &rung).await.unwrap().is_empty());
}
