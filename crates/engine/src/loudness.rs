//! Measures the loudness of audio by EBU R 128: integrated loudness, range and true peak.
//!
//! ffmpeg's `ebur128` computes the loudness of overlapping windows. Gates and percentiles are computed here,
//! so that several runs can be combined to one result.

use std::ffi::OsString;
use std::io;
use std::ops::{AddAssign, Range};

use bytes::Bytes;
use futures_util::{Stream, stream};

use crate::audio_level::AudioLevel;
use crate::encode::EncodeLimits;
use crate::encode_audio::{Downmix, SAMPLES_MAX, resample_filters};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, stdin_arguments};
use crate::job::{Files, Job, push};
use crate::mix::{self, Mix};
use crate::output_stream::OutputStream;
use crate::priority::Priority;
use crate::run::TimeoutKind;

/// Filters that every measurement needs.
const FILTERS: [&str; 4] = ["ebur128", "ametadata", "volume", "asetpts"];

/// Added before the measurement and subtracted from its result, in decibels. ffmpeg prints true peaks as
/// linear values with three decimals, which is too coarse for quiet audio.
const OFFSET_DB: f64 = 60.0;
/// The same for a command line.
const OFFSET: &str = "volume=volume=60dB:precision=double";

/// A window ends every 100 ms. ITU-R BS.1770-4, annex 1.
const STEP_SAMPLES: u64 = 4800;
/// Samples of the longest window, of 3 s. A run that continues another one begins this much earlier and
/// skips it.
pub const LOUDNESS_WINDOW_SAMPLES: u64 = 30 * STEP_SAMPLES;

/// Bytes of the output for a window.
pub const LOUDNESS_WINDOW_BYTES: u64 = 512;

/// One measurement. Positions are samples at 48 kHz on the timeline of the feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoudnessMeasure {
    /// Container of the feed. Only its first audio track is read, as by
    /// [`encode_audio`](Engine::encode_audio).
    pub container: FeedContainer,
    /// Conversion of its channels to stereo.
    pub downmix: Downmix,
    /// The samples to read; fewer if the feed ends before.
    pub samples: Range<u64>,
    /// Windows that end in this many of the first samples are not counted.
    pub skip: u64,
    /// A gain in front of the measurement. Behind a limiter no true peak is measured: it is known.
    pub level: Option<AudioLevel>,
    /// Priority in the queue.
    pub priority: Priority,
    /// Limits of the run. Its output has [`LOUDNESS_WINDOW_BYTES`] for each 100 ms.
    pub limits: EncodeLimits,
}

/// The loudness of the windows of one or several runs.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredLoudness {
    /// Windows of 400 ms.
    momentary: Histogram,
    /// Windows of 3 s.
    short_term: Histogram,
    /// Linear; 1 is full scale.
    peak: f64,
}

impl Engine {
    /// Decodes the audio of `input` to the stereo samples that [`encode_audio`](Self::encode_audio) encodes,
    /// and measures their loudness.
    ///
    /// Errors: as for [`encode_audio`](Self::encode_audio).
    pub async fn measure_loudness(
        &self,
        spec: &LoudnessMeasure,
        input: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Result<MeasuredLoudness, EngineError> {
        if spec.samples.is_empty() || SAMPLES_MAX < spec.samples.end {
            return Err(EngineError::InvalidSpec("the samples to measure"));
        }
        AudioLevel::check(spec.level, self)?;
        let job = self.measure_job(arguments(spec), Files::default(), spec.limits, spec.priority)?;
        read(self.runner().start(job, input, TimeoutKind::Idle), spec.skip).await
    }

    /// Measures the loudness of a mix. Windows that end in the first `skip` samples of its output are not
    /// counted.
    ///
    /// Errors: as for [`mix`](Self::mix).
    pub async fn measure_mix_loudness(&self, spec: &Mix, skip: u64) -> Result<MeasuredLoudness, EngineError> {
        spec.check(self)?;
        let mut arguments = spec.input_arguments();
        let graph = format!("{},{}[measured]", mix::measured_graph(spec), measure_filters(spec.level));
        push(&mut arguments, ["-copyts", "-filter_complex", &graph, "-map", "[measured]"]);
        push_output(&mut arguments);
        let job = self.measure_job(arguments, spec.files(), spec.limits, spec.priority)?;
        read(self.runner().start(job, stream::empty(), TimeoutKind::Idle), skip).await
    }

    fn measure_job(
        &self,
        arguments: Vec<OsString>,
        files: Files,
        limits: EncodeLimits,
        priority: Priority,
    ) -> Result<Job, EngineError> {
        FILTERS.iter().try_for_each(|filter| self.require_filter(filter))?;
        let limits = limits.to_job_limits();
        let (kind, input) = ("measure_loudness", Bytes::new());
        Ok(Job { kind, arguments, input, files, limits, priority, is_probe: false })
    }
}

/// The whole command line. The samples have been checked.
fn arguments(spec: &LoudnessMeasure) -> Vec<OsString> {
    let LoudnessMeasure { samples: Range { start, end }, downmix, level, .. } = spec;
    let mut filters = resample_filters(*start, level.map_or(0, AudioLevel::lead), *downmix);
    if let Some(level) = level {
        level.push_measured_filters(&mut filters);
    }
    filters += &format!(",atrim=start_pts={start}:end_pts={end},{}", measure_filters(*level));
    let mut arguments = stdin_arguments(spec.container, 1);
    push(&mut arguments, ["-copyts", "-map", "0:a:0", "-vn", "-sn", "-dn", "-af", &filters]);
    push_output(&mut arguments);
    arguments
}

/// Prints the loudness of the windows to standard output.
fn measure_filters(level: Option<AudioLevel>) -> String {
    let peak = if level.is_some_and(|level| level.is_limited) { "none" } else { "true" };
    format!("asetpts=PTS-STARTPTS,{OFFSET},ebur128=peak={peak}:metadata=1,ametadata=mode=print:file=-")
}

/// The samples themselves are discarded.
fn push_output(arguments: &mut Vec<OsString>) {
    push(arguments, ["-c:a", "pcm_f64le", "-f", "null", "-"]);
}

/// Reads the output of a run.
async fn read(mut output: OutputStream, skip: u64) -> Result<MeasuredLoudness, EngineError> {
    let mut reader = WindowReader::new(skip);
    while let Some(bytes) = output.chunk().await {
        reader.push(&bytes?);
    }
    Ok(reader.measured)
}

/// Reads lines such as `lavfi.r128.M=-23.012`, cut anywhere.
struct WindowReader {
    skip: u64,
    windows: u64,
    /// The beginning of a line.
    line: Vec<u8>,
    measured: MeasuredLoudness,
}

impl WindowReader {
    fn new(skip: u64) -> Self {
        Self { skip, windows: 0, line: Vec::new(), measured: MeasuredLoudness::default() }
    }

    fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.read_line(&String::from_utf8_lossy(&line));
            }
        }
    }

    fn read_line(&mut self, line: &str) {
        let Some((key, value)) =
            line.trim().strip_prefix("lavfi.r128.").and_then(|line| line.split_once('='))
        else {
            return;
        };
        let Ok(value) = value.parse::<f64>() else { return };
        match key {
            // The first value of a window.
            "M" => {
                self.windows += 1;
                if self.is_counted() {
                    self.measured.momentary.add(value - OFFSET_DB);
                }
            }
            "S" if self.is_counted() => self.measured.short_term.add(value - OFFSET_DB),
            _ if key.starts_with("true_peaks_ch") && value.is_finite() => {
                let peak = value * 10_f64.powf(-OFFSET_DB / 20.0);
                self.measured.peak = self.measured.peak.max(peak);
            }
            _ => {}
        }
    }

    fn is_counted(&self) -> bool {
        self.skip < self.windows * STEP_SAMPLES
    }
}

/// Silence.
impl Default for MeasuredLoudness {
    fn default() -> Self {
        Self { momentary: Histogram::new(), short_term: Histogram::new(), peak: 0.0 }
    }
}

/// Combines two measurements of one track.
impl AddAssign for MeasuredLoudness {
    fn add_assign(&mut self, other: Self) {
        self.momentary += other.momentary;
        self.short_term += other.short_term;
        self.peak = self.peak.max(other.peak);
    }
}

impl MeasuredLoudness {
    /// Integrated loudness in LUFS. `None`: no window is louder than -70 LUFS.
    ///
    /// The mean of all windows that are at most 10 LU quieter than the mean of all. BS.1770-4, annex 1.
    pub fn integrated(&self) -> Option<f64> {
        let ungated = self.momentary.mean_from(Histogram::MIN)?;
        self.momentary.mean_from(ungated - 10.0)
    }

    /// Loudness range in LU; 0 without windows of 3 s.
    ///
    /// From the 10th to the 95th percentile of all windows that are at most 20 LU quieter than the mean.
    /// EBU Tech 3342.
    pub fn range(&self) -> f64 {
        let Some(mean) = self.short_term.mean_from(Histogram::MIN) else { return 0.0 };
        let percentile = |percent| self.short_term.percentile_from(mean - 20.0, percent);
        percentile(95).zip(percentile(10)).map_or(0.0, |(high, low)| high - low)
    }

    /// True peak in dBTP; `None` for digital silence, and behind a limiter.
    pub fn true_peak(&self) -> Option<f64> {
        (0.0 < self.peak).then(|| 20.0 * self.peak.log10())
    }
}

/// How many windows have each loudness, in steps of 0.01 LU.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Histogram {
    counts: Vec<u32>,
}

impl Histogram {
    /// The absolute gate: quieter windows are not counted. In LUFS.
    const MIN: f64 = -70.0;
    const STEPS_PER_LU: f64 = 100.0;
    /// Up to 30 LUFS; louder windows count as such.
    const STEPS: usize = 10_001;

    fn new() -> Self {
        Self { counts: vec![0; Self::STEPS] }
    }

    fn add(&mut self, lufs: f64) {
        if Self::MIN <= lufs
            && let Some(count) = self.counts.get_mut(Self::step(lufs))
        {
            *count = count.saturating_add(1);
        }
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the steps")]
    fn step(lufs: f64) -> usize {
        let last = f64::from(u16::try_from(Self::STEPS - 1).unwrap_or(u16::MAX));
        ((lufs - Self::MIN) * Self::STEPS_PER_LU).round().clamp(0.0, last) as usize
    }

    /// The loudness of each step with the number of its windows, from `lufs` on.
    fn from(&self, lufs: f64) -> impl Iterator<Item = (f64, u32)> + '_ {
        let first = Self::step(lufs);
        let steps = self.counts.iter().enumerate().skip(first).filter(|(_, count)| 0 < **count);
        steps.map(|(step, count)| {
            let step = f64::from(u16::try_from(step).unwrap_or(u16::MAX));
            (Self::MIN + step / Self::STEPS_PER_LU, *count)
        })
    }

    /// The loudness of the mean power of all windows from `lufs` on; `None` without any.
    fn mean_from(&self, lufs: f64) -> Option<f64> {
        let add = |(power, total): (f64, f64), (loudness, count): (f64, u32)| {
            (power + 10_f64.powf(loudness / 10.0) * f64::from(count), total + f64::from(count))
        };
        let (power, total) = self.from(lufs).fold((0.0, 0.0), add);
        (0.0 < total).then(|| 10.0 * (power / total).log10())
    }

    /// The loudness that `percent` of the windows from `lufs` on do not exceed.
    fn percentile_from(&self, lufs: f64, percent: u64) -> Option<f64> {
        let total: u64 = self.from(lufs).map(|(_, count)| u64::from(count)).sum();
        // The index of the window in sorted order, rounded to the nearest.
        let index = (total.checked_sub(1)? * percent + 50) / 100;
        let mut before = 0;
        self.from(lufs).find_map(|(loudness, count)| {
            before += u64::from(count);
            (index < before).then_some(loudness)
        })
    }
}

impl AddAssign for Histogram {
    fn add_assign(&mut self, other: Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count = count.saturating_add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(windows: &[(f64, u32)]) -> MeasuredLoudness {
        let mut measured = MeasuredLoudness::default();
        for (lufs, count) in windows {
            for _ in 0..*count {
                measured.momentary.add(*lufs);
                measured.short_term.add(*lufs);
            }
        }
        measured
    }

    fn is_near(value: f64, expected: f64) -> bool {
        (value - expected).abs() < 0.011
    }

    #[test]
    fn quiet_windows_are_gated() {
        // EBU Tech 3341, case 3: 10 s at -36, 60 s at -23, 10 s at -36 LUFS.
        assert!(is_near(of(&[(-36.0, 200), (-23.0, 600)]).integrated().unwrap(), -23.0));
        // Case 5: 20 s at -26, 20.1 s at -20, 20 s at -26 LUFS.
        assert!(is_near(of(&[(-26.0, 400), (-20.0, 201)]).integrated().unwrap(), -23.0));
        assert!(is_near(of(&[(-80.0, 500), (-69.99, 1)]).integrated().unwrap(), -69.99));
        assert_eq!(of(&[(-70.01, 500), (f64::NEG_INFINITY, 1), (f64::NAN, 1)]).integrated(), None);
        assert_eq!(MeasuredLoudness::default().true_peak(), None);
    }

    #[test]
    fn range_is_between_percentiles() {
        // EBU Tech 3342, cases 1 and 3: two tones of 20 s each.
        assert!(is_near(of(&[(-20.0, 200), (-30.0, 200)]).range(), 10.0));
        assert!(is_near(of(&[(-40.0, 200), (-20.0, 200)]).range(), 20.0));
        // The outermost windows are ignored, and those 20 LU below the mean.
        assert!(is_near(of(&[(-10.0, 4), (-20.0, 92), (-25.0, 4)]).range(), 0.0));
        assert!(is_near(of(&[(-20.0, 80), (-60.0, 20)]).range(), 0.0));
        assert!(is_near(of(&[]).range(), 0.0));
    }

    #[test]
    fn runs_combine_to_one_measurement() {
        let mut sum = of(&[(-26.0, 400)]);
        sum.peak = 0.25;
        sum += MeasuredLoudness { peak: 0.5, ..of(&[(-20.0, 201)]) };
        assert!(is_near(sum.integrated().unwrap(), -23.0));
        assert!(is_near(sum.true_peak().unwrap(), -6.02));
    }

    #[test]
    fn windows_are_read_from_output_cut_anywhere() {
        let window = |m: &str, s: &str, peak: &str| {
            format!(
                "frame:1    pts:4800    pts_time:0.1\nlavfi.r128.M={m}\nlavfi.r128.S={s}\nlavfi.r128.I=10.0\n\
                 lavfi.r128.LRA=0.0\nlavfi.r128.true_peaks_ch0=0.0\nlavfi.r128.true_peaks_ch1={peak}\n"
            )
        };
        let output = [window("-60.691", "-inf", "0.000"), window("37.0", "nan", "500.0")].concat()
            + &window("47.0", "36.0", "100.0");
        let mut whole = WindowReader::new(STEP_SAMPLES);
        whole.push(output.as_bytes());
        let mut pieces = WindowReader::new(STEP_SAMPLES);
        output.as_bytes().chunks(7).for_each(|piece| pieces.push(piece));
        assert_eq!(pieces.measured, whole.measured);
        let mut expected = MeasuredLoudness { peak: 0.5, ..MeasuredLoudness::default() };
        expected.momentary.add(-23.0);
        expected.momentary.add(-13.0);
        expected.short_term.add(-24.0);
        assert_eq!(whole.measured, expected);
        // The second window ends with the skipped samples.
        let mut later = WindowReader::new(2 * STEP_SAMPLES);
        later.push(output.as_bytes());
        assert_eq!(later.measured.momentary.counts.iter().sum::<u32>(), 1);
    }
}
