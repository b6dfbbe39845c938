//! Sources that differ in size, rate, codec and container.

use bytes::Bytes;
use kinora_testkit::fixture;

use super::scene::Scene;

/// A chirp, so that a lag is found, and some noise.
fn chirp(rate_hz: u32, from_hz: u32, seconds: u32, layout: &str) -> String {
    format!(
        "-f lavfi -i aevalsrc=0.3*sin(2*PI*({from_hz}+300*t)*t)+0.02*random(0):s={rate_hz}:d={seconds}:c={layout}"
    )
}

pub(super) const EBML_MAGIC: [u8; 4] = [0x1a, 0x45, 0xdf, 0xa3];
const H264: &str = "-c:v libx264 -preset ultrafast -bf 2 -pix_fmt yuv420p -threads 1";

/// 12 s of the size of small sources, with another decoder configuration, mono at 44.1 kHz.
pub(super) fn other_encoder() -> Bytes {
    let audio = chirp(44_100, 300, 12, "mono");
    let recipe = format!(
        "-f lavfi -i testsrc2=s=160x90:r=25:d=12 {audio} -g 50 -c:v libx264 -profile:v main \
        -preset veryfast -bf 2 -pix_fmt yuv420p -threads 1 -c:a aac -b:a 96k"
    );
    fixture::containers::of_recipe("other-encoder", "mp4", &recipe)
}

/// 6 s of 320x180 with 25 frames a second, in GOPs of a second.
pub(super) fn base() -> Bytes {
    let audio = chirp(48_000, 300, 6, "stereo");
    let recipe = format!("-f lavfi -i testsrc2=s=320x180:r=25:d=6 {audio} -g 25 {H264} -c:a aac -b:a 128k");
    fixture::containers::of_recipe("base", "mp4", &recipe)
}

/// 2 s of a white square with 30 frames a second, and mono audio at 44.1 kHz.
fn white_square() -> Bytes {
    let audio = chirp(44_100, 700, 2, "mono");
    let recipe = format!("-f lavfi -i color=white:s=240x240:r=30:d=2 {audio} -g 30 {H264} -c:a aac -b:a 96k");
    fixture::containers::of_recipe("white-square", "mp4", &recipe)
}

/// 3 s of a wide white frame without audio, in a codec that is not copied.
fn wide_and_silent() -> Bytes {
    let recipe = "-f lavfi -i color=white:s=480x180:r=24000/1001:d=3 -c:v mpeg4 -q:v 2 -g 12";
    fixture::containers::of_recipe("wide", "mkv", recipe)
}

/// 2 s of an upright white frame with Vorbis, whose configuration only a Matroska file has.
fn upright_webm() -> Bytes {
    let audio = chirp(44_100, 1100, 2, "stereo");
    let recipe = format!(
        "-f lavfi -i color=white:s=120x240:r=25:d=2 {audio} -g 25 -c:v libvpx -c:a libvorbis -b:a 128k"
    );
    fixture::containers::of_recipe("upright", "webm", &recipe)
}

/// 8 s of an upright frame without audio, with a pause of 0.6 s in each second: between them are 13 frames,
/// so that the pauses fall between B-frames of every level.
pub(super) fn pauses() -> Bytes {
    let recipe = format!(
        "-f lavfi -i testsrc2=s=90x160:r=30:d=8 -vf select=lt(mod(n\\,30)\\,13) -fps_mode vfr -g 130 {H264} \
        -video_track_timescale 90000"
    );
    fixture::containers::of_recipe("pauses", "mp4", &recipe)
}

/// Base with an intro, an insertion and an outro that all differ from it.
pub(super) async fn edited() -> Scene {
    let parts = [
        (white_square(), 0..u64::MAX),
        (base(), 0..2_990_000),
        (upright_webm(), 500_000..u64::MAX),
        (base(), 2_990_000..u64::MAX),
        (wide_and_silent(), 0..2_000_000),
    ];
    Scene::of_parts(parts, 1).await
}
