//! What an independent ffmpeg decodes from a file, and checks of it.

use std::fs;
use std::ops::Range;

use kinora_isobmff::boxes::{FieldReader, children};

/// The time of each frame in microseconds, and the hash of its pixels.
#[allow(clippy::disallowed_methods, reason = "an independent decoder of the result")]
pub(super) fn frames(file: &[u8]) -> Vec<(i64, String)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("video.mp4");
    fs::write(&path, file).unwrap();
    let decoder = std::process::Command::new("ffmpeg")
        .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-copyts", "-i"])
        .arg(&path)
        .args(["-map", "0:v", "-fps_mode", "passthrough", "-enc_time_base", "1:1000000"])
        .args(["-f", "framehash", "-hash", "md5", "-"])
        .output()
        .unwrap();
    assert!(decoder.status.success(), "{}", String::from_utf8_lossy(&decoder.stderr));
    let text = String::from_utf8(decoder.stdout).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fields = lines.map(|line| line.split(',').map(str::trim).collect::<Vec<_>>());
    fields.map(|fields| (fields[2].parse().unwrap(), fields[5].to_owned())).collect()
}

/// What ffmpeg or ffprobe writes about a file.
#[allow(clippy::disallowed_methods, reason = "an independent decoder of the result")]
fn output_of(program: &str, file: &[u8], arguments: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.mp4");
    fs::write(&path, file).unwrap();
    let mut command = std::process::Command::new(program);
    command.args(["-hide_banner", "-loglevel", "error"]);
    for word in arguments.split(' ') {
        if word == "FILE" {
            command.arg(&path)
        } else {
            command.arg(word)
        };
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

pub(super) fn has_audio(file: &[u8]) -> bool {
    !output_of("ffprobe", file, "-select_streams a -show_entries stream=index -of csv=p=0 FILE").is_empty()
}

/// The luma of all frames of a file, scaled to this size.
pub(super) fn luma(file: &[u8], (width, height): (usize, usize)) -> Vec<Vec<u8>> {
    let output = output_of(
        "ffmpeg",
        file,
        &format!(
            "-nostdin -i FILE -fps_mode passthrough -s {width}x{height} -f rawvideo -pix_fmt gray pipe:1"
        ),
    );
    output.chunks_exact(width * height).map(<[u8]>::to_vec).collect()
}

/// Checks that each fragment begins where the one before it ends, and that each sample lasts at least a
/// microsecond, the unit of browsers: players have one buffered range.
pub(super) fn assert_no_gap(file: &[u8]) {
    let mdhd = children(file).find(|part| &part.kind.0 == b"moov").unwrap();
    let mdhd = mdhd.descend(&[b"trak", b"mdia", b"mdhd"]).unwrap();
    let mut mdhd = FieldReader::new(mdhd.body);
    // ISO/IEC 14496-12, 8.4.2: version 1 has times of 64 bits.
    let (version, _) = mdhd.version_and_flags().unwrap();
    mdhd.bytes(if version == 1 { 16 } else { 8 }).unwrap();
    let timescale = u64::from(mdhd.u32().unwrap());
    let fragments = children(file).filter(|part| &part.kind.0 == b"moof");
    let spans: Vec<(u64, u64)> = fragments
        .map(|moof| {
            let traf = moof.child(b"traf").unwrap();
            let mut tfdt = FieldReader::new(traf.child(b"tfdt").unwrap().body);
            let (version, _) = tfdt.version_and_flags().unwrap();
            let start = if version == 1 { tfdt.u64().unwrap() } else { tfdt.u32().unwrap().into() };
            // ISO/IEC 14496-12, 8.8.7 and 8.8.8: a duration that all samples share is in the header.
            let mut tfhd = FieldReader::new(traf.child(b"tfhd").unwrap().body);
            let (_, head_flags) = tfhd.version_and_flags().unwrap();
            assert_eq!(head_flags & 0x03, 0);
            let shared = tfhd.u32().and_then(|_| tfhd.u32()).filter(|_| head_flags & 0x08 != 0);
            let mut trun = FieldReader::new(traf.child(b"trun").unwrap().body);
            let (_, flags) = trun.version_and_flags().unwrap();
            let (count, _) = (trun.u32().unwrap(), trun.u32().unwrap());
            trun.bytes(if flags & 0x04 == 0 { 0 } else { 4 }).unwrap();
            let later_fields = (flags & 0xe00).count_ones() as usize * 4;
            let duration = (0..count).map(|_| {
                let duration = if flags & 0x100 == 0 { shared.unwrap() } else { trun.u32().unwrap() };
                trun.bytes(later_fields).unwrap();
                assert!(timescale <= u64::from(duration) * 1_000_000, "{duration} of {timescale} a second");
                u64::from(duration)
            });
            (start, start + duration.sum::<u64>())
        })
        .collect();
    assert!(1 < spans.len());
    assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0), "{spans:?}");
}

pub(super) fn assert_times(
    found: impl IntoIterator<Item = i64>,
    expected: impl IntoIterator<Item = i64>,
    slack_us: i64,
) {
    let (found, wanted): (Vec<_>, Vec<_>) = (found.into_iter().collect(), expected.into_iter().collect());
    assert_eq!(found.len(), wanted.len());
    for (frame, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
        assert!((found - wanted).abs() <= slack_us, "frame {frame} at {found} us, not {wanted}");
    }
}

pub(super) fn hashes(frames: &[(i64, String)]) -> Vec<&str> {
    frames.iter().map(|(_, hash)| hash.as_str()).collect()
}

/// Checks that the image is this box of the frame, and black outside of it.
pub(super) fn assert_bars(frame: &[u8], across: Range<usize>, down: Range<usize>, what: &str) {
    for (row, line) in frame.chunks_exact(320).enumerate() {
        for (column, luma) in line.iter().enumerate() {
            // The edge of an image is blurred by the encoder.
            let distance =
                |at: usize, range: &Range<usize>| at.abs_diff(range.start).min(at.abs_diff(range.end));
            if distance(column, &across).min(distance(row, &down)) < 4 {
                continue;
            }
            let is_image = across.contains(&column) && down.contains(&row);
            let is_right = if is_image { 200 < *luma } else { *luma < 30 };
            assert!(is_right, "{what}: luma {luma} at {column}, {row}");
        }
    }
}
