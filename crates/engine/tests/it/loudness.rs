//! Measured loudness equals that of ffmpeg's own summary.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use kinora_engine::{
    AudioLevel, Downmix, EncodeLimits, Engine, FeedContainer, LoudnessMeasure, MeasuredLoudness, Priority,
};
use tempfile::TempDir;

use crate::fixture::{engine, ffmpeg};

/// Start of the audio of every feed here on its timeline: second 10.
const START: u64 = 480_000;

/// Audio made by ffmpeg, 16 s from second 10 on, in QuickTime.
fn feed(graph: &str) -> Bytes {
    let folder = TempDir::new().unwrap();
    let command = format!(
        "-f lavfi -i {graph} -t 16 -af asetpts=PTS+10/TB -c:a pcm_f32le -avoid_negative_ts disabled \
         -use_editlist 0 -frag_duration 500000 -movflags +delay_moov+default_base_moof+frag_discont -f mov feed"
    );
    let output = ffmpeg(folder.path(), &command);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.path().join("feed")).unwrap().into()
}

/// Integrated loudness, range and true peak in ffmpeg's summary.
fn summary(feed: &Bytes) -> [f64; 3] {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("feed"), feed).unwrap();
    let graph = "aresample=48000,aformat=channel_layouts=stereo,ebur128=peak=true:framelog=verbose";
    let output = ffmpeg(folder.path(), &format!("-loglevel info -i feed -af {graph} -f null -"));
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    ["I:", "LRA:", "Peak:"].map(|name| {
        let line = log.lines().rev().find_map(|line| line.trim().strip_prefix(name)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    })
}

fn measure(skip: u64, samples: std::ops::Range<u64>) -> LoudnessMeasure {
    let limits = EncodeLimits {
        deadline: Duration::from_secs(600),
        cpu: Duration::from_secs(600),
        memory_bytes: 512 << 20,
        output_max: 8 << 20,
    };
    LoudnessMeasure {
        container: FeedContainer::Mp4,
        downmix: Downmix::Layout,
        samples,
        skip,
        level: None,
        priority: Priority::Background,
        limits,
    }
}

async fn loudness(engine: &Engine, spec: &LoudnessMeasure, feed: &Bytes) -> MeasuredLoudness {
    let pieces: Vec<io::Result<Bytes>> = feed.chunks(10_000).map(Bytes::copy_from_slice).map(Ok).collect();
    engine.measure_loudness(spec, stream::iter(pieces)).await.unwrap()
}

fn figures(measured: &MeasuredLoudness) -> [f64; 3] {
    [measured.integrated().unwrap(), measured.range(), measured.true_peak().unwrap()]
}

/// The range may differ by a window: ffmpeg rounds its percentiles in another way.
const TOLERANCES: [f64; 3] = [0.1, 0.25, 0.1];

fn assert_near(found: [f64; 3], expected: [f64; 3], what: &str) {
    let mut figures = found.iter().zip(expected).zip(TOLERANCES);
    let is_near = figures.all(|((a, b), tolerance)| (a - b).abs() <= tolerance);
    assert!(is_near, "{what}: {found:?} instead of {expected:?}");
}

/// Passages of different loudness.
const VARIED: &str =
    "aevalsrc=0.4*sin(2*PI*440*t)*(0.1+0.9*lt(mod(t\\,7)\\,3))+0.01*random(0)|0.3*sin(2*PI*997*t):s=48000";

#[tokio::test]
async fn figures_equal_the_summary_of_ffmpeg() {
    let engine = engine().await;
    let quiet = "aevalsrc=0.002*sin(2*PI*440*t)*(0.1+lt(mod(t\\,5)\\,3))|0.002*sin(2*PI*3000*t):s=44100";
    let mono = "aevalsrc=0.5*sin(2*PI*300*t)*lt(mod(t\\,4)\\,3):s=8000";
    for graph in [VARIED, quiet, mono] {
        let feed = feed(graph);
        let measured = loudness(&engine, &measure(0, START..START + 16 * 48_000), &feed).await;
        assert_near(figures(&measured), summary(&feed), graph);
    }
}

#[tokio::test]
async fn runs_with_a_lead_combine_to_one_measurement() {
    let (engine, feed) = (engine().await, feed(VARIED));
    let whole = loudness(&engine, &measure(0, START..START + 16 * 48_000), &feed).await;
    let cut = START + 7 * 48_000;
    let mut joined = loudness(&engine, &measure(0, START..cut), &feed).await;
    let lead = 4 * 48_000;
    joined += loudness(&engine, &measure(lead, cut - lead..START + 16 * 48_000), &feed).await;
    assert_eq!(figures(&joined), figures(&whole));
}

#[tokio::test]
async fn gain_shifts_the_measured_loudness() {
    let (engine, feed) = (engine().await, feed(VARIED));
    let samples = START..START + 16 * 48_000;
    let [integrated, range, peak] = figures(&loudness(&engine, &measure(0, samples.clone()), &feed).await);
    let level = Some(AudioLevel { gain_centibels: -1000, is_limited: false });
    let levelled = loudness(&engine, &LoudnessMeasure { level, ..measure(0, samples.clone()) }, &feed).await;
    assert_near(figures(&levelled), [integrated - 10.0, range, peak - 10.0], "with a gain");
    let level = Some(AudioLevel { gain_centibels: 1500, is_limited: true });
    let limited = loudness(&engine, &LoudnessMeasure { level, ..measure(0, samples) }, &feed).await;
    // One limiter for both channels: tones of 0.7 and 0.53 of full scale have -4.9 LUFS. A part is quieter.
    let limited_loudness = limited.integrated().unwrap();
    assert!((-6.0..-4.9).contains(&limited_loudness), "{limited_loudness}");
    assert_eq!(limited.true_peak(), None, "it is not measured");
}

#[tokio::test]
async fn silence_has_no_loudness() {
    let feed = feed("anullsrc=r=48000:cl=mono");
    let measured = loudness(&engine().await, &measure(0, START..START + 16 * 48_000), &feed).await;
    assert_eq!((measured.integrated(), measured.range(), measured.true_peak()), (None, 0.0, None));
}
