//! Tracks that are not copied reach a decoder unchanged: ffmpeg decodes the samples with the sample entry of
//! the index to the same output as the file. ffmpeg generates the clips while the tests run.

use std::io::Write as _;
use std::process::{Command, Stdio};

use kinora_formats::Scanner;
use kinora_index::{NotCopied, NotCopiedReason, Segment, Track, TrackMedia};
use kinora_isobmff::write::{init_segment, segment_head};

use crate::source::Source;

const VIDEO_INPUT: [&str; 4] = ["-f", "lavfi", "-i", "testsrc2=s=128x96:r=25:d=1"];
const AUDIO_INPUT: [&str; 4] = ["-f", "lavfi", "-i", "sine=f=440:r=48000:d=1"];

#[expect(clippy::disallowed_methods, reason = "makes the clips and checks the result")]
fn ffmpeg(args: &[&str]) -> Vec<u8> {
    let output = Command::new("ffmpeg")
        .args(["-v", "error", "-nostdin", "-y", "-fflags", "+bitexact"])
        .args(args)
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}");
    output.stdout
}

/// A clip of one track: its input, the arguments of ffmpeg, and the ending of the file name.
fn clip(input: &[&str], how: &str, ending: &str) -> Vec<u8> {
    let file = tempfile::Builder::new().suffix(ending).tempfile().unwrap();
    let how: Vec<&str> = how.split_whitespace().collect();
    ffmpeg(&[input, &how, &[file.path().to_str().unwrap()]].concat());
    std::fs::read(file.path()).unwrap()
}

/// The output of a decoder for a file: video frames with their times, or audio samples.
fn decoded(file: &[u8], is_video: bool) -> Vec<u8> {
    let mut source = tempfile::NamedTempFile::new().unwrap();
    source.write_all(file).unwrap();
    let path = source.path().to_str().unwrap();
    if is_video {
        ffmpeg(&[
            "-i",
            path,
            "-map",
            "0:v",
            "-fps_mode",
            "passthrough",
            "-f",
            "framehash",
            "-hash",
            "md5",
            "-",
        ])
    } else {
        ffmpeg(&["-i", path, "-map", "0:a", "-f", "s16le", "-"])
    }
}

/// The lines of a frame hash list without the clock and the sizes: time in units of the first distance, and
/// hash.
fn hashes(text: &[u8]) -> Vec<String> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit(',').next().unwrap().trim().to_owned()).collect()
}

/// The samples of a track with its sample entry, as one file.
fn fed(bytes: Vec<u8>) -> (Track, Vec<u8>) {
    let mut scanner = Scanner::new(None);
    scanner.push(&bytes).unwrap();
    let mut index = scanner.finish().unwrap().into_index().unwrap();
    let track = index.tracks[0].clone();
    let single = vec![Segment { samples: 0..track.samples.len(), start: 0, end: track.end }];
    match track.media {
        TrackMedia::Video(_) => index.plan.video = single,
        TrackMedia::Audio(_) => index.plan.audio[0] = single,
    }
    let source = Source { index, bytes };
    let init = init_segment(&source.index, &track, 0).unwrap();
    let segment = source.segment(&segment_head(&source.index, &track, 0).unwrap());
    (track, [init, segment].concat())
}

fn check_video(how: &str, ending: &str, detail: &str) {
    check_video_input(&VIDEO_INPUT, how, ending, NotCopied::new(NotCopiedReason::Codec, detail));
}

fn check_video_input(input: &[&str], how: &str, ending: &str, reason: NotCopied) -> Track {
    let file = clip(input, how, ending);
    let expected = hashes(&decoded(&file, true));
    let (track, feed) = fed(file);
    assert_eq!(track.media.not_copied(), Some(&reason), "{how}");
    let found = hashes(&decoded(&feed, true));
    assert!(!expected.is_empty(), "{how}");
    assert_eq!(found, expected, "{how}: the video");
    track
}

fn check_audio(how: &str, ending: &str, detail: &str) {
    let file = clip(&AUDIO_INPUT, how, ending);
    let expected = decoded(&file, false);
    let (track, feed) = fed(file);
    let reason = NotCopied::new(NotCopiedReason::Codec, detail);
    assert_eq!(track.media.not_copied(), Some(&reason), "{how}");
    let found = decoded(&feed, false);
    // If an edit list skips the priming, or the end is cut, the feed has slightly more.
    let is_there = found
        .windows(expected.len().min(found.len()).max(1))
        .step_by(2)
        .any(|part| expected.starts_with(part));
    let missing = expected.len().saturating_sub(found.len());
    assert!(
        is_there && missing <= expected.len() / 10,
        "{how}: {} bytes of audio, not {}",
        found.len(),
        expected.len()
    );
}

#[test]
fn feed_of_other_video_codecs_decodes() {
    for (how, ending, detail) in [
        ("-c:v prores_ks -profile:v 2", ".mov", "ProRes 422"),
        ("-c:v prores_ks -profile:v 4444 -pix_fmt yuva444p10le", ".mov", "ProRes 4444"),
        ("-c:v dnxhd -profile:v dnxhr_lb -pix_fmt yuv422p -s 256x128", ".mov", "DNxHR"),
        ("-c:v mpeg4 -bf 2", ".mp4", "MPEG-4 Visual"),
        ("-c:v mpeg2video -bf 2", ".mp4", "MPEG-2 video"),
        ("-c:v mpeg1video", ".mp4", "MPEG-1 video"),
        ("-c:v mjpeg -pix_fmt yuvj420p", ".mov", "Motion JPEG"),
        ("-c:v mjpeg -pix_fmt yuvj420p", ".mp4", "JPEG"),
        ("-c:v png", ".mov", "PNG"),
        ("-c:v qtrle", ".mov", "Animation"),
        ("-c:v v210", ".mov", "uncompressed video"),
        ("-c:v rawvideo -pix_fmt uyvy422 -tag:v 2vuy", ".mov", "uncompressed video"),
        ("-c:v rawvideo -pix_fmt rgb24", ".mov", "uncompressed video"),
        ("-c:v dvvideo -s 720x576 -pix_fmt yuv420p", ".mov", "DV"),
        ("-c:v cinepak", ".mov", "Cinepak"),
        ("-c:v svq1", ".mov", "Sorenson Video"),
        ("-c:v h263 -s 176x144", ".mov", "H.263"),
        ("-c:v libvpx-vp9 -cpu-used 8 -deadline realtime", ".mp4", "VP9"),
        ("-c:v cfhd -s 256x128", ".mov", "CineForm"),
    ] {
        check_video(how, ending, detail);
    }
}

#[test]
fn feed_of_video_not_copied_decodes() {
    use NotCopiedReason::{Interlaced, LongGop, OpenGop, PixelFormat};
    let check = |how: &str, reason, detail: &str| {
        check_video_input(&VIDEO_INPUT, how, ".mp4", NotCopied::new(reason, detail))
    };
    check("-c:v libx264 -pix_fmt yuv422p", PixelFormat, "H.264 High 4:2:2");
    check("-c:v libx264 -pix_fmt yuv444p", PixelFormat, "H.264 High 4:4:4 Predictive");
    check("-c:v libx264 -pix_fmt yuv420p10le", PixelFormat, "H.264 High 10 (10-bit)");
    let fields = check(
        "-c:v libx264 -pix_fmt yuv420p -flags +ilme+ildct -x264opts tff=1",
        Interlaced,
        "interlaced H.264",
    );
    assert!(matches!(fields.media, TrackMedia::Video(video) if video.is_interlaced));
    check(
        "-c:v libx264 -pix_fmt yuv420p -x264-params open-gop=1:keyint=10:min-keyint=10:bframes=3:b-adapt=0:scenecut=0",
        OpenGop,
        "open GOP",
    );
    let slides = ["-f", "lavfi", "-i", "testsrc2=s=128x96:r=1/30:d=120"];
    let long = NotCopied::new(LongGop, "120 s without a keyframe, from second 0 on");
    let slides = check_video_input(&slides, "-c:v libx264 -pix_fmt yuv420p -bf 0", ".mp4", long);
    assert_eq!(slides.samples.len(), 4);
}

#[test]
fn feed_of_other_audio_codecs_decodes() {
    for (how, ending, detail) in [
        ("-c:a pcm_s16le", ".mov", "PCM"),
        ("-c:a pcm_s16be -ac 2", ".mov", "PCM"),
        ("-c:a pcm_s24le", ".mov", "PCM"),
        ("-c:a pcm_s24be -ar 96000 -ac 2", ".mov", "PCM"),
        ("-c:a pcm_f32le -ac 6", ".mov", "PCM"),
        ("-c:a pcm_u8", ".mov", "PCM"),
        ("-c:a pcm_mulaw", ".mov", "G.711"),
        ("-c:a adpcm_ima_qt", ".mov", "IMA ADPCM"),
        ("-c:a alac", ".mov", "ALAC"),
        ("-c:a alac", ".m4a", "ALAC"),
        ("-c:a ac3", ".mov", "AC-3"),
        ("-c:a ac3 -ac 6", ".mp4", "AC-3"),
        ("-c:a eac3", ".mp4", "E-AC-3"),
        ("-c:a libmp3lame", ".mp4", "MPEG audio"),
        ("-c:a libmp3lame", ".mov", "MP3"),
        ("-c:a mp2", ".mp4", "MPEG audio"),
        ("-c:a flac -strict -2", ".mp4", "FLAC"),
    ] {
        check_audio(how, ending, detail);
    }
}
