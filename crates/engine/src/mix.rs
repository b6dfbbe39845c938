//! Mixes audio from files on one timeline and encodes it once.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;

use crate::audio_level::AudioLevel;
use crate::encode::EncodeLimits;
use crate::encode_audio::{
    AUDIO_BITRATE_BPS, AUDIO_SAMPLE_RATE, Downmix, PREROLL_SAMPLES, SAMPLES_MAX, resample_filters,
};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, input_arguments, push_input};
use crate::job::{Files, Job, push};
use crate::output_stream::OutputStream;
use crate::priority::Priority;
use crate::run::TimeoutKind;

/// Parts of one mix at most: a process may open 64 files, some of them libraries.
pub const MIX_PARTS_MAX: usize = 40;

/// Start of the mix in its output, in samples: later than the encoder's priming, because `tfdt` is unsigned.
pub const MIX_START_OFFSET_SAMPLES: u64 = 10 * AUDIO_SAMPLE_RATE as u64;

/// Duration of an output fragment.
const FRAGMENT: Duration = Duration::from_secs(4);

/// Filters that every mix needs.
const FILTERS: [&str; 5] = ["anullsrc", "adelay", "afade", "amix", "atrim"];

/// One part of a mix. Times are samples at 48 kHz.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MixPart {
    /// An absolute path to a file. Only its first audio track is read. Its content is as the input of
    /// [`Engine::encode_audio`].
    pub file: PathBuf,
    /// Container of the file.
    pub container: FeedContainer,
    /// Conversion of its channels to stereo.
    pub downmix: Downmix,
    /// The first sample that is heard, on its own timeline.
    pub start: u64,
    /// Number of samples that are heard. After the end of the file they are silent.
    pub len: u64,
    /// Start in the mix.
    pub start_in_mix: u64,
    /// Duration of the fade from silence.
    pub fade_in: u64,
    /// Duration of the fade to silence before its end.
    pub fade_out: u64,
}

/// One mix. Its output is AAC-LC, stereo, 48 kHz, 128 kbit/s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mix {
    /// At most [`MIX_PARTS_MAX`], none of them completely silent. A sum above full scale is clipped.
    pub parts: Vec<MixPart>,
    /// Number of output samples; later audio is left out.
    pub len: u64,
    /// A gain of the sum.
    pub level: Option<AudioLevel>,
    /// Samples of `len` at the beginning that are not output: a limiter reads them.
    pub lead: u64,
    /// Priority in the queue.
    pub priority: Priority,
    /// Limits of the run.
    pub limits: EncodeLimits,
}

impl Engine {
    /// Adds the samples of all parts.
    ///
    /// The output is one fragmented MP4 with one track of 48 000 ticks a second and no edit list. The packet
    /// of time [`MIX_START_OFFSET_SAMPLES`] decodes to the first samples of the mix; the one before it is
    /// the encoder's priming. The process can read the files of the parts and no other.
    ///
    /// Errors, as the last item: [`InvalidSpec`](EngineError::InvalidSpec),
    /// [`MissingFilter`](EngineError::MissingFilter), [`Failed`](EngineError::Failed) where a part does not
    /// decode, and those of every run.
    pub fn mix(&self, spec: &Mix) -> OutputStream {
        match self.mix_job(spec) {
            Ok(job) => self.runner().start(job, stream::empty(), TimeoutKind::Idle),
            Err(error) => OutputStream::failed(error),
        }
    }

    fn mix_job(&self, spec: &Mix) -> Result<Job, EngineError> {
        spec.check(self)?;
        self.require_encoder("aac")?;
        Ok(Job {
            kind: "mix",
            arguments: arguments(spec),
            input: Bytes::new(),
            files: spec.files(),
            limits: spec.limits.to_job_limits(),
            priority: spec.priority,
            is_probe: false,
        })
    }
}

impl Mix {
    pub(crate) fn check(&self, engine: &Engine) -> Result<(), EngineError> {
        let is_possible = (1..=SAMPLES_MAX).contains(&self.len)
            && self.lead < self.len
            && (1..=MIX_PARTS_MAX).contains(&self.parts.len())
            && self.parts.iter().all(MixPart::is_valid);
        if !is_possible {
            return Err(EngineError::InvalidSpec("the audio samples to mix"));
        }
        FILTERS.iter().try_for_each(|filter| engine.require_filter(filter))?;
        AudioLevel::check(self.level, engine)
    }

    /// The start of a command line that reads the files of its parts.
    pub(crate) fn input_arguments(&self) -> Vec<OsString> {
        let mut arguments = Vec::new();
        for part in &self.parts {
            let url = format!("file:{}", part.file.display());
            if arguments.is_empty() {
                arguments = input_arguments(&url, part.container.demuxer(), 1, &[]);
            } else {
                push_input(&mut arguments, &url, part.container.demuxer(), 1, &[]);
            }
        }
        arguments
    }

    pub(crate) fn files(&self) -> Files {
        Files { read: self.parts.iter().map(|part| part.file.clone()).collect(), write: None }
    }
}

impl MixPart {
    fn is_valid(&self) -> bool {
        let is_path_valid = self.file.is_absolute() && self.file.to_str().is_some();
        let times = [self.start, self.len, self.start_in_mix, self.fade_in, self.fade_out];
        is_path_valid && 0 < self.len && times.iter().all(|time| *time <= SAMPLES_MAX)
    }
}

/// The whole command line. The parts have been checked.
fn arguments(spec: &Mix) -> Vec<OsString> {
    let mut arguments = spec.input_arguments();
    let graph = format!("{},asetpts=PTS+{MIX_START_OFFSET_SAMPLES}[mix]", graph(spec));
    push(&mut arguments, ["-copyts", "-filter_complex", &graph, "-map", "[mix]", "-map_metadata", "-1"]);
    push(&mut arguments, ["-map_chapters", "-1", "-fflags", "+bitexact", "-flags:a", "+bitexact"]);
    push(&mut arguments, ["-c:a", "aac", "-profile:a", "aac_low", "-b:a", &AUDIO_BITRATE_BPS.to_string()]);
    push(&mut arguments, ["-avoid_negative_ts", "disabled", "-muxdelay", "0", "-use_editlist", "0"]);
    push(&mut arguments, ["-frag_duration", &FRAGMENT.as_micros().to_string()]);
    push(&mut arguments, ["-movflags", "+delay_moov+default_base_moof+frag_discont+skip_trailer"]);
    push(&mut arguments, ["-flush_packets", "1", "-f", "mp4", "pipe:1"]);
    arguments
}

/// The sum of the parts, levelled. Times begin at 0. The output of the graph has no name yet.
fn graph(spec: &Mix) -> String {
    let mut graph = sum_graph(spec);
    if let Some(level) = spec.level {
        level.push_filters(&mut graph);
    }
    push_trim(spec, &mut graph);
    graph
}

/// The same, for samples that are only measured.
pub(crate) fn measured_graph(spec: &Mix) -> String {
    let mut graph = sum_graph(spec);
    if let Some(level) = spec.level {
        level.push_measured_filters(&mut graph);
    }
    push_trim(spec, &mut graph);
    graph
}

/// Removes the samples that only a limiter reads.
fn push_trim(spec: &Mix, graph: &mut String) {
    if spec.lead > 0 {
        let _ = write!(graph, ",atrim=start_pts={},asetpts=PTS-STARTPTS", spec.lead);
    }
}

/// Silence of the length of the mix, with each part added at its time.
fn sum_graph(spec: &Mix) -> String {
    let mut graph =
        format!("anullsrc=r={AUDIO_SAMPLE_RATE}:cl=stereo,atrim=end_sample={}[silence]", spec.len);
    let mut mixed = String::from("[silence]");
    for (number, part) in spec.parts.iter().enumerate() {
        let MixPart { start, len, start_in_mix, fade_in, fade_out, .. } = *part;
        let resample = resample_filters(start, PREROLL_SAMPLES, part.downmix);
        let end = start + len;
        let _ = write!(graph, ";[{number}:a:0]{resample},apad,atrim=start_pts={start}:end_pts={end}");
        graph += ",asetpts=PTS-STARTPTS";
        if fade_in > 0 {
            let _ = write!(graph, ",afade=t=in:ss=0:ns={}", fade_in.min(len));
        }
        if fade_out > 0 {
            let fade_out = fade_out.min(len);
            let _ = write!(graph, ",afade=t=out:ss={}:ns={fade_out}", len - fade_out);
        }
        if start_in_mix > 0 {
            let _ = write!(graph, ",adelay=delays={start_in_mix}S:all=1");
        }
        let _ = write!(graph, "[part{number}]");
        let _ = write!(mixed, "[part{number}]");
    }
    // Without `normalize=0` every part would be attenuated by the number of parts.
    let _ = write!(
        graph,
        ";{mixed}amix=inputs={}:duration=first:dropout_transition=0:normalize=0",
        spec.parts.len() + 1
    );
    graph
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> MixPart {
        MixPart {
            file: "/tmp/a".into(),
            container: FeedContainer::Matroska,
            downmix: Downmix::Layout,
            start: 480_000,
            len: 96_000,
            start_in_mix: 0,
            fade_in: 0,
            fade_out: 0,
        }
    }

    fn mix(parts: Vec<MixPart>, len: u64) -> Mix {
        let limits = EncodeLimits {
            deadline: Duration::from_secs(1),
            cpu: Duration::from_secs(1),
            memory_bytes: 1,
            output_max: 1,
        };
        Mix { parts, len, level: None, lead: 0, priority: Priority::Prepare, limits }
    }

    #[test]
    fn mix_parts_are_trimmed_faded_and_delayed() {
        let over = MixPart { start_in_mix: 48_000, fade_in: 200_000, fade_out: 24_000, ..part() };
        assert_eq!(
            graph(&mix(vec![part(), over], 960_000)),
            "anullsrc=r=48000:cl=stereo,atrim=end_sample=960000[silence];\
             [0:a:0]atrim=start=9.880000,aresample=48000,aresample=48000:async=1:min_hard_comp=0.02:first_pts=474240,\
             aformat=sample_fmts=fltp:channel_layouts=stereo,apad,atrim=start_pts=480000:end_pts=576000,asetpts=PTS-STARTPTS[part0];\
             [1:a:0]atrim=start=9.880000,aresample=48000,aresample=48000:async=1:min_hard_comp=0.02:first_pts=474240,\
             aformat=sample_fmts=fltp:channel_layouts=stereo,apad,atrim=start_pts=480000:end_pts=576000,asetpts=PTS-STARTPTS,\
             afade=t=in:ss=0:ns=96000,afade=t=out:ss=72000:ns=24000,adelay=delays=48000S:all=1[part1];\
             [silence][part0][part1]amix=inputs=3:duration=first:dropout_transition=0:normalize=0"
        );
        let level = Some(AudioLevel { gain_centibels: 350, is_limited: true });
        let levelled = graph(&Mix { level, lead: 48_000, ..mix(vec![part()], 960_000) });
        let (_, filters) = levelled.split_once("normalize=0,").unwrap();
        assert_eq!(
            filters,
            "volume=volume=3.50dB:precision=float,aresample=192000,\
             alimiter=limit=0.7:attack=5:release=100:level=disabled:latency=1,aresample=48000,\
             aformat=sample_fmts=fltp:channel_layouts=stereo,atrim=start_pts=48000,asetpts=PTS-STARTPTS"
        );
    }

    #[test]
    fn invalid_mix_part_is_rejected() {
        let possible = [part(), MixPart { start_in_mix: SAMPLES_MAX, ..part() }];
        let impossible = [
            MixPart { len: 0, ..part() },
            MixPart { file: "a".into(), ..part() },
            MixPart { start: SAMPLES_MAX + 1, ..part() },
            MixPart { fade_in: u64::MAX, ..part() },
        ];
        assert!(possible.iter().all(MixPart::is_valid));
        assert!(!impossible.iter().any(MixPart::is_valid));
    }
}
