//! What an independent ffmpeg decodes from a file.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use kinora_testkit::fixture::numbered::NUMBER_BITS;

/// A frame of a numbered fixture.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    /// When it is shown, in microseconds.
    pub(super) at_us: i64,
    /// Hash of its pixels.
    pub(super) hash: String,
    /// The number that it shows.
    pub(super) number: usize,
}

/// Size of the decoded frames.
const WIDTH: usize = 160;
const HEIGHT: usize = 90;

#[allow(clippy::disallowed_methods, reason = "an independent decoder of the result")]
fn ffmpeg(folder: &Path, file: &[u8], arguments: &[&str]) {
    fs::write(folder.join("input"), file).unwrap();
    let output = Command::new("ffmpeg")
        .current_dir(folder)
        .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-copyts", "-i", "input"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// All frames of a file.
pub(super) fn frames(file: &[u8]) -> Vec<Frame> {
    filtered_frames(file, "null")
}

/// The frames of a file that ffmpeg's `trim` leaves for a range of its timeline.
pub(super) fn trimmed_frames(file: &[u8], range_us: &Range<u64>) -> Vec<Frame> {
    let text = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    // The filter rounds both ends to a tick. With ticks of a nanosecond that does no harm.
    let (start, end) = (text(range_us.start), text(range_us.end));
    filtered_frames(file, &format!("settb=1/1000000000,trim=start={start}:end={end}"))
}

fn filtered_frames(file: &[u8], filter: &str) -> Vec<Frame> {
    let folder = tempfile::tempdir().unwrap();
    let graph =
        format!("[0:v]{filter},split[all][copy];[copy]scale={WIDTH}:{HEIGHT}:flags=area,format=gray[grey]");
    let passthrough = ["-fps_mode", "passthrough"];
    let hashes = ["-enc_time_base", "1:1000000", "-f", "framehash", "-hash", "md5", "hashes"];
    let arguments = [
        &["-filter_complex", &graph, "-map", "[all]"],
        &passthrough[..],
        &hashes,
        &["-map", "[grey]"],
        &passthrough,
        &["-f", "rawvideo", "grey"],
    ];
    ffmpeg(folder.path(), file, &arguments.concat());
    let grey = fs::read(folder.path().join("grey")).unwrap();
    let text = fs::read_to_string(folder.path().join("hashes")).unwrap();
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(grey.len(), lines.len() * WIDTH * HEIGHT);
    let frame = |(line, pixels): (&&str, &[u8])| {
        let fields: Vec<_> = line.split(',').map(str::trim).collect();
        Frame { at_us: fields[2].parse().unwrap(), hash: fields[5].to_owned(), number: number(pixels) }
    };
    lines.iter().zip(grey.chunks(WIDTH * HEIGHT)).map(frame).collect()
}

/// The number that a grey frame of the decoded size shows.
pub(super) fn number(grey: &[u8]) -> usize {
    let bar = WIDTH / NUMBER_BITS;
    let bit = |n: usize| usize::from(grey[HEIGHT / 2 * WIDTH + n * bar + bar / 2] > 127) << n;
    (0..NUMBER_BITS).map(bit).sum()
}

/// The left channel of a file at this rate, from 0 of its timeline on.
pub(super) fn audio(file: &[u8], rate: u32) -> Vec<f64> {
    let folder = tempfile::tempdir().unwrap();
    let filters = format!(
        "aresample={rate},aresample={rate}:async=1:min_hard_comp=0.01:first_pts=0,aformat=channel_layouts=stereo"
    );
    ffmpeg(folder.path(), file, &["-map", "0:a:0", "-af", &filters, "-f", "s16le", "samples"]);
    let samples = fs::read(folder.path().join("samples")).unwrap();
    samples.chunks_exact(4).map(|frame| f64::from(i16::from_le_bytes([frame[0], frame[1]]))).collect()
}

/// Signal-to-noise ratio of `found` against the start of `expected`, in dB.
pub(super) fn snr(expected: &[f64], found: &[f64]) -> f64 {
    let signal: f64 = expected.iter().map(|value| value * value).sum();
    let noise: f64 = expected.iter().zip(found).map(|(one, other)| (one - other).powi(2)).sum();
    10.0 * (signal / noise.max(1.0)).log10()
}

/// Number of samples by which `found` is late around a position: the one with the least difference, up to
/// `reach`.
pub(super) fn lag(expected: &[f64], found: &[f64], at: usize, len: usize, reach: i64) -> i64 {
    let difference = |lag: i64| -> f64 {
        let pairs = (at..at + len).map(|n| {
            let late = usize::try_from(i64::try_from(n).unwrap() + lag).ok();
            (expected[n], late.and_then(|late| found.get(late)).copied().unwrap_or(0.0))
        });
        pairs.map(|(one, other)| (one - other).powi(2)).sum()
    };
    (-reach..=reach).min_by(|a, b| difference(*a).total_cmp(&difference(*b))).unwrap()
}

/// The duration of a file, in seconds.
#[allow(clippy::disallowed_methods, reason = "an independent reader of the result")]
pub(super) fn duration(file: &[u8]) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    fs::write(&path, file).unwrap();
    let output = Command::new("ffprobe")
        .args(["-v", "error", "-of", "csv=p=0", "-show_entries", "format=duration"])
        .arg(&path)
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}
