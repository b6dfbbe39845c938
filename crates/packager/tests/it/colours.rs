//! Sources whose colour description changes. All segments use one init segment and look like the source.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use kinora_blob::ObjectKey;
use kinora_domain::{PresentationId, Resolution, SourceId};
use kinora_formats::encode::RungInit;
use kinora_index::Rung;
use kinora_packager::{Packaged, Rendition};

use crate::world::{TestServer, on_demand_client};

const BT709: &str = "-color_primaries bt709 -color_trc bt709 -colorspace bt709";
const BT601: &str = "-color_primaries smpte170m -color_trc smpte170m -colorspace smpte170m";
const UNTAGGED: &str = "";

/// Frames of each of the two parts.
const FRAMES: usize = 100;

#[expect(clippy::disallowed_methods, reason = "an independent encoder and decoder")]
fn ffmpeg(folder: &Path, arguments: &str) -> Vec<u8> {
    let run = Command::new("ffmpeg")
        .current_dir(folder)
        .args(["-v", "error", "-nostdin", "-y"])
        .args(arguments.split(' ').filter(|argument| !argument.is_empty()))
        .output()
        .unwrap();
    assert!(run.status.success(), "{arguments}: {}", String::from_utf8_lossy(&run.stderr));
    run.stdout
}

/// A file with four seconds of each of two colour descriptions, in sequence.
fn joined(extension: &str, codec: &str, size: &str, parts: [&str; 2]) -> Bytes {
    let folder = tempfile::tempdir().unwrap();
    for (n, tags) in parts.iter().enumerate() {
        let source = format!("-f lavfi -i testsrc2=s={size}:r=25:d=4");
        ffmpeg(folder.path(), &format!("{source} {codec} {tags} {n}.{extension}"));
    }
    std::fs::write(folder.path().join("list"), format!("file 0.{extension}\nfile 1.{extension}\n")).unwrap();
    ffmpeg(folder.path(), &format!("-f concat -i list -c copy all.{extension}"));
    std::fs::read(folder.path().join(format!("all.{extension}"))).unwrap().into()
}

/// Every frame of a file, small, in RGB.
fn frames(file: &[u8]) -> Vec<Vec<u8>> {
    const SIZE: (usize, usize) = (32, 18);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), file).unwrap();
    let (width, height) = SIZE;
    let small = format!("-vf format=gbrp,scale={width}:{height}:flags=area,format=rgb24");
    let all = ffmpeg(folder.path(), &format!("-i file -fps_mode passthrough {small} -f rawvideo -"));
    all.chunks_exact(width * height * 3).map(<[u8]>::to_vec).collect()
}

/// Mean difference of the values of two frames, in hundredths.
fn difference(one: &[u8], other: &[u8]) -> usize {
    let sum: usize = one.iter().zip(other).map(|(a, b)| usize::from(a.abs_diff(*b))).sum();
    100 * sum / one.len()
}

/// Largest difference of a rung to its source. With the wrong colour description frames differ by 600 and
/// more.
const LIKE_MAX: usize = 250;

struct Scene {
    world: TestServer,
    source: SourceId,
    packaged: Arc<Packaged>,
    rung: Rung,
}

impl Scene {
    async fn of(file: Bytes) -> Self {
        let world = TestServer::new().await;
        let source = world.source();
        world.media_of(source).await;
        let packaged = world.store_as(source, file).await;
        let rung = packaged.rungs(Resolution::P1080).remove(0);
        Self { world, source, packaged, rung }
    }

    async fn init(&self) -> Bytes {
        self.world.packager.encoded_init(&self.packaged, &self.rung).await.unwrap()
    }

    async fn segment(&self, number: u32) -> Vec<u8> {
        let packager = &self.world.packager;
        let segment =
            packager.encoded_segment(&self.packaged, &self.rung, number, on_demand_client()).await.unwrap();
        let len = segment.total_len();
        segment.stream(0..len).map(|part| part.unwrap()).collect::<Vec<_>>().await.concat()
    }

    fn count(&self) -> u32 {
        u32::try_from(self.packaged.index().plan.encoded_video.len()).unwrap()
    }

    /// The init segment and every segment, requested in this order.
    async fn encoded_file(&self, order: impl Iterator<Item = u32>) -> Vec<u8> {
        let mut segments = std::collections::BTreeMap::new();
        for number in order {
            segments.insert(number, self.segment(number).await);
        }
        let parts = std::iter::once(self.init().await.to_vec()).chain(segments.into_values());
        parts.collect::<Vec<_>>().concat()
    }
}

async fn check(file: Bytes) {
    check_frames(file, 2 * FRAMES).await;
}

async fn check_frames(file: Bytes, count: usize) {
    let source = frames(&file);
    assert_eq!(source.len(), count);
    let scene = Scene::of(file).await;
    // The last segments first, each by a run of its own: a segment does not depend on the start of its run.
    let encoded = scene.encoded_file((0..scene.count()).rev()).await;
    let encoded_frames = frames(&encoded);
    assert_eq!(encoded_frames.len(), source.len());
    let differences: Vec<_> = encoded_frames
        .iter()
        .zip(&source)
        .map(|(encoded_frame, source)| difference(encoded_frame, source))
        .collect();
    let largest = differences.iter().max().unwrap();
    assert!(*largest < LIKE_MAX, "{largest}: {differences:?}");
}

const MPEG2: &str = "-c:v mpeg2video -g 12 -b:v 2M";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mpeg2_bt709_to_bt601_change_preserves_colours() {
    check(joined("mkv", MPEG2, "320x180", [BT709, BT601])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mpeg2_untagged_to_bt709_change_preserves_colours() {
    check(joined("mkv", MPEG2, "320x180", [UNTAGGED, BT709])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn vp9_colour_change_preserves_colours() {
    let codec = "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 1M -g 25";
    check(joined("webm", codec, "426x240", [BT601, BT709])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_bit_h264_colour_change_preserves_colours() {
    let codec = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p10le -g 25 -x264-params repeat-headers=1";
    check(joined("mkv", codec, "320x180", [BT709, BT601])).await;
}

/// HEVC decoders ignore the colours of a container, and frames without a description must not be converted
/// to the default of their size.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_untagged_hevc_and_vp9_preserve_colours() {
    for (extension, codec) in [
        ("mkv", "-c:v libx265 -preset ultrafast -x265-params log-level=none -pix_fmt yuv420p10le"),
        ("webm", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 3M -color_primaries bt709"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        ffmpeg(folder.path(), &format!("-f lavfi -i testsrc2=s=1280x720:r=25:d=1 {codec} a.{extension}"));
        let file = std::fs::read(folder.path().join(format!("a.{extension}"))).unwrap();
        check_frames(file.into(), 25).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn init_segment_of_tagged_source_reads_no_source_bytes() {
    let codec = "-c:v libx264 -preset ultrafast -pix_fmt yuv420p10le -g 25";
    let scene = Scene::of(joined("mkv", codec, "320x180", [BT709, BT709])).await;
    scene.world.blob.delete(ObjectKey::Source(scene.source)).await.unwrap();
    let parsed = RungInit::parse(&scene.init().await).unwrap();
    let colour = parsed.colour;
    assert_eq!([colour.primaries, colour.transfer, colour.matrix], [1, 1, 1]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn segments_of_another_encoder_carry_their_parameter_sets() {
    let file = joined("mkv", MPEG2, "320x180", [BT709, BT709]);
    let scene = Scene::of(file.clone()).await;
    // An init segment as an encoder of another version may have written it.
    let init = scene.init().await;
    let parsed = RungInit::parse(&init).unwrap();
    let id = Rendition::Rung(scene.rung.name).id(PresentationId::of(scene.source)).unwrap();
    let other = other_parameter_set(&parsed.avcc);
    let other_init =
        kinora_formats::encode::init_of_rung(scene.packaged.index(), &scene.rung, &other).unwrap();
    assert_ne!(other_init, init);
    scene.world.blob.delete(ObjectKey::Init(id)).await.unwrap();
    scene.world.blob.put_once(ObjectKey::Init(id), other_init.clone().into()).await.unwrap();
    // A process that has not read the first one.
    let mut scene = scene;
    scene.world.packager = scene.world.another_packager().await;
    let encoded = scene.encoded_file(0..scene.count()).await;
    assert!(encoded.starts_with(&other_init));
    assert_eq!(frames(&encoded).len(), 2 * FRAMES);
}

/// An `avcC` body that decodes no frame of this encoder: its picture parameter set has another entropy
/// coding.
fn other_parameter_set(avcc: &[u8]) -> Vec<u8> {
    let mut other = avcc.to_vec();
    let sps_len = usize::from(u16::from_be_bytes([avcc[6], avcc[7]]));
    // After the sequence parameter set: the number of picture parameter sets, the length of the first, its
    // header byte. Then the ids of both sets, one bit each, and `entropy_coding_mode_flag`. ISO/IEC
    // 14496-10, 7.3.2.2.
    other[8 + sps_len + 4] ^= 0x20;
    other
}
