//! Foreign containers remuxed into ours: no content is lost or changed, and times are complete.

use std::io;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use kinora_engine::RemuxInput::{self, Aac, Asf, Avi, Flac, Flv, Mov, Mp3, MpegPs, MpegTs, Mxf, Ogg, Wav};
use kinora_engine::RemuxOutput::{self, Matroska, Mp4, Mp4FromAdts};
use kinora_engine::{EncodeLimits, Engine, EngineError, OutputStream, Priority, Remux, RemuxTracks};
use tempfile::TempDir;

use crate::fixture::{engine, ffmpeg, ffprobe};

const VIDEO: &str = "-f lavfi -i testsrc2=s=160x90:r=25:d=1";
const AUDIO: &str = "-f lavfi -i sine=f=440:r=48000:d=1";

/// A source in a folder of its own, as the file `source`.
fn source(arguments: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let output = ffmpeg(folder.path(), &format!("{arguments} source"));
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    folder
}

fn spec(input: RemuxInput, output: RemuxOutput, scratch: &Path) -> Remux {
    let limits = EncodeLimits {
        deadline: Duration::from_secs(600),
        cpu: Duration::from_secs(600),
        memory_bytes: 512 << 20,
        output_max: 64 << 20,
    };
    Remux {
        input,
        output,
        tracks: RemuxTracks::All,
        scratch: scratch.to_owned(),
        priority: Priority::Background,
        limits,
    }
}

async fn all(mut run: OutputStream) -> Result<Vec<u8>, EngineError> {
    let mut output = Vec::new();
    while let Some(chunk) = run.next().await {
        output.extend_from_slice(&chunk?);
    }
    Ok(output)
}

/// Remuxes the source in `folder` from a stream.
async fn remux(
    engine: &Engine,
    folder: &TempDir,
    input: RemuxInput,
    output: RemuxOutput,
) -> Result<Vec<u8>, EngineError> {
    let bytes = Bytes::from(std::fs::read(folder.path().join("source")).unwrap());
    let pieces: Vec<io::Result<Bytes>> = bytes.chunks(50_000).map(Bytes::copy_from_slice).map(Ok).collect();
    all(engine.remux(spec(input, output, folder.path()), stream::iter(pieces))).await
}

/// Checksums of every decoded frame and of all decoded audio of `media` in `folder`, as lines of the
/// existing tracks.
fn content(folder: &TempDir, media: &str) -> Vec<String> {
    let hash = |map: &str| {
        let output = ffmpeg(
            folder.path(),
            &format!("-i {media} -map {map} -fps_mode passthrough -f streamhash -hash md5 pipe:1"),
        );
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    ["0:V:0", "0:a:0", "0:a:1"].into_iter().filter_map(hash).collect()
}

/// Display times of the frames of the first video track, in order, in milliseconds since the first.
fn times_ms(folder: &TempDir, media: &str) -> Vec<i64> {
    let output =
        ffmpeg(folder.path(), &format!("-copyts -i {media} -map 0:V:0 -c copy -copyts -f framehash pipe:1"));
    let text = String::from_utf8(output.stdout).unwrap();
    let base = text.lines().find_map(|line| line.strip_prefix("#tb 0: ")).unwrap().split_once('/').unwrap();
    let (num, den): (i64, i64) = (base.0.parse().unwrap(), base.1.parse().unwrap());
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let mut times: Vec<i64> = lines
        .map(|line| line.split(',').nth(2).unwrap().trim().parse::<i64>().unwrap() * 1000 * num / den)
        .collect();
    times.sort_unstable();
    times.iter().map(|time| time - times[0]).collect()
}

/// Remuxes the output of `arguments` to every kind of output, and compares tracks, frames and times with the
/// source. Only `outputs` support it.
async fn check(input: RemuxInput, arguments: &str, outputs: &[RemuxOutput]) {
    let engine = engine().await;
    let folder = source(arguments);
    let source_hashes = content(&folder, "source");
    assert!(!source_hashes.is_empty());
    for output in [Mp4, Mp4FromAdts, Matroska] {
        let result = remux(&engine, &folder, input, output).await;
        if !outputs.contains(&output) {
            // The audio of some codecs is not ADTS, that of others has no MP4 codec name. Without audio,
            // either output works.
            assert!(matches!(result, Err(EngineError::Failed { .. })), "{arguments} to {output:?}");
            continue;
        }
        std::fs::write(folder.path().join("output"), result.unwrap()).unwrap();
        let found = content(&folder, "output");
        assert_eq!(found.len(), source_hashes.len(), "{arguments} to {output:?}");
        // The padding samples at both ends are marked neither for MP3, nor in an MP4 that begins at zero for
        // Opus.
        let loses_ends =
            arguments.ends_with("-f mp3") || (arguments.contains("libopus") && output != Matroska);
        if !loses_ends {
            assert_eq!(found[0], source_hashes[0], "{arguments} to {output:?}");
        }
        if arguments.contains(VIDEO) {
            let expected: Vec<_> = (0..25).map(|n| n * 40).collect();
            assert_eq!(times_ms(&folder, "output"), expected, "{arguments} to {output:?}");
        }
    }
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 2, "the source and the output of this test");
}

#[tokio::test]
async fn start_offset_between_tracks_is_preserved() {
    let engine = engine().await;
    let begins_ms = |media: &[u8]| {
        let start_times = ffprobe(media, "stream=start_time");
        let times: Vec<f64> = start_times.split([',', '\n']).filter_map(|time| time.parse().ok()).collect();
        ((times[1] - times[0]) * 1000.0).round()
    };
    let late = "-f lavfi -i testsrc2=s=160x90:r=25:d=1 -itsoffset 0.3 -f lavfi -i sine=f=440:r=48000:d=1";
    for (input, container, output) in
        [(MpegTs, "mpegts", Mp4FromAdts), (Flv, "flv", Mp4), (Flv, "flv", Matroska)]
    {
        let folder = source(&format!("{late} {H264} -c:a aac -f {container}"));
        let copy = remux(&engine, &folder, input, output).await.unwrap();
        let source = std::fs::read(folder.path().join("source")).unwrap();
        let (expected, found) = (begins_ms(&source), begins_ms(&copy));
        assert!((expected - found).abs() <= 2.0, "{container} to {output:?}: {found} ms, not {expected}");
    }
}

const H264: &str = "-c:v libx264 -preset ultrafast -bf 2 -g 25 -pix_fmt yuv420p";

#[tokio::test]
async fn remux_keeps_tracks_of_mpeg_ts_ps_and_mxf() {
    let both = format!("{VIDEO} {AUDIO}");
    check(MpegTs, &format!("{both} {H264} -c:a aac -f mpegts"), &[Mp4FromAdts, Matroska]).await;
    let mixed = format!("{both} {AUDIO} -map 0 -map 1 -map 2 {H264} -c:a:0 aac -c:a:1 ac3 -f mpegts");
    check(MpegTs, &mixed, &[Matroska]).await;
    check(MpegTs, &format!("{both} -c:v mpeg2video -bf 2 -c:a mp2 -f mpegts"), &[Mp4, Matroska]).await;
    check(MpegPs, &format!("{both} -c:v mpeg2video -bf 2 -c:a ac3 -f vob"), &[Mp4, Matroska]).await;
    check(Mxf, &format!("{both} -c:v mpeg2video -c:a pcm_s16le -f mxf"), &[Matroska]).await;
}

#[tokio::test]
async fn remux_keeps_tracks_of_avi_and_asf() {
    let both = format!("{VIDEO} {AUDIO}");
    check(Avi, &format!("{both} -c:v mpeg4 -bf 2 -c:a mp3 -f avi"), &[Mp4, Matroska]).await;
    check(Avi, &format!("{both} -c:v mjpeg -pix_fmt yuvj420p -c:a pcm_s16le -f avi"), &[Matroska]).await;
    check(Asf, &format!("{both} -c:v wmv2 -c:a wmav2 -f asf"), &[Matroska]).await;
}

#[tokio::test]
async fn remux_keeps_tracks_of_flv_and_ogg() {
    let both = format!("{VIDEO} {AUDIO}");
    check(Flv, &format!("{both} {H264} -c:a aac -f flv"), &[Mp4, Mp4FromAdts, Matroska]).await;
    check(Flv, &format!("{both} -c:v flv1 -ar 44100 -c:a mp3 -f flv"), &[Matroska]).await;
    check(Ogg, &format!("{both} -c:v libtheora -c:a libvorbis -f ogg"), &[Matroska]).await;
}

#[tokio::test]
async fn remux_keeps_audio_only_sources() {
    check(Ogg, &format!("{AUDIO} -c:a libopus -f ogg"), &[Mp4, Matroska]).await;
    check(Wav, &format!("{AUDIO} -c:a pcm_s24le -f wav"), &[Matroska]).await;
    check(Mp3, &format!("{AUDIO} -c:a mp3 -f mp3"), &[Mp4, Matroska]).await;
    check(Flac, &format!("{AUDIO} -c:a flac -f flac"), &[Mp4, Matroska]).await;
    check(Aac, &format!("{AUDIO} -c:a aac -f adts"), &[Mp4FromAdts, Matroska]).await;
}

#[tokio::test]
async fn remux_preserves_language_and_removes_title() {
    let engine = engine().await;
    let folder =
        source(&format!("{AUDIO} -metadata title=secret -metadata:s:a:0 language=fra -c:a mp2 -f mpegts"));
    for output in [Mp4, Matroska] {
        let bytes = remux(&engine, &folder, MpegTs, output).await.unwrap();
        assert!(ffprobe(&bytes, "stream_tags=language").contains("fra"), "{output:?}");
        assert_eq!(ffprobe(&bytes, "format_tags=title").trim(), "", "{output:?}");
    }
}

#[tokio::test]
async fn matroska_and_mov_are_remuxed() {
    let both = format!("{VIDEO} {AUDIO} {H264}");
    let all = [Mp4, Mp4FromAdts, Matroska];
    check(RemuxInput::Matroska, &format!("{both} -c:a aac -f matroska"), &all).await;
    check(Mov, &format!("{both} -c:a aac -movflags +faststart -f mov"), &all).await;
}

#[tokio::test]
async fn moov_at_end_is_read_from_a_seekable_file() {
    let engine = engine().await;
    let folder = source(&format!("{VIDEO} {AUDIO} -c:v libx264 -bf 2 -c:a aac -f mov"));
    let path = folder.path().join("source");
    for output in [Mp4, Matroska] {
        let bytes = all(engine.remux_file(spec(Mov, output, folder.path()), &path)).await.unwrap();
        std::fs::write(folder.path().join("output"), bytes).unwrap();
        assert_eq!(content(&folder, "output")[0], content(&folder, "source")[0], "{output:?}");
        assert_eq!(times_ms(&folder, "output").len(), 25, "{output:?}");
    }
}

#[tokio::test]
async fn wrong_container_fails_and_leaves_no_files() {
    let engine = engine().await;
    let folder = source(&format!("{AUDIO} -f wav"));
    for input in [MpegTs, MpegPs, Avi, Flv, Asf, Mxf, Ogg, Flac, RemuxInput::Matroska, Mov] {
        for output in [Mp4, Matroska] {
            let end = remux(&engine, &folder, input, output).await;
            assert!(matches!(end, Err(EngineError::Failed { .. })), "{input:?} to {output:?}");
        }
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let relative = engine.remux_file(spec(Wav, Matroska, folder.path()), Path::new("source"));
    assert!(matches!(all(relative).await, Err(EngineError::InvalidSpec("the path of the source"))));
}

#[tokio::test]
async fn oversized_output_is_output_too_large_for_every_container() {
    let engine = engine().await;
    let folder = source(&format!("{VIDEO} {AUDIO} -c:v mpeg2video -q:v 1 -c:a ac3 -f vob"));
    let bytes = Bytes::from(std::fs::read(folder.path().join("source")).unwrap());
    for output in [Mp4, Matroska] {
        let mut spec = spec(MpegPs, output, folder.path());
        spec.limits.output_max = 50_000;
        let end = all(engine.remux(spec, stream::iter([Ok(bytes.clone())]))).await;
        assert!(
            matches!(end, Err(EngineError::OutputTooLarge { max_bytes: 50_000 })),
            "{output:?}: {:?}",
            end.err()
        );
    }
}

#[tokio::test]
async fn cover_art_is_not_a_video_track() {
    let engine = engine().await;
    let folder = TempDir::new().unwrap();
    assert!(ffmpeg(folder.path(), "-f lavfi -i testsrc2=s=64x64 -frames:v 1 cover.png").status.success());
    let song = format!("{AUDIO} -i cover.png -map 0 -map 1 -c:a mp3 -c:v copy -f mp3 source");
    assert!(ffmpeg(folder.path(), &song).status.success());
    for output in [Mp4, Matroska] {
        std::fs::write(folder.path().join("output"), remux(&engine, &folder, Mp3, output).await.unwrap())
            .unwrap();
        assert_eq!(content(&folder, "output").len(), 1, "{output:?}");
    }
}
