//! Audio encoded while it is fed: AAC-LC on one grid of frames, whole or piece by piece.

use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;

use crate::audio_level::AudioLevel;
use crate::encode::EncodeLimits;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, stdin_arguments};
use crate::job::{Files, Job, push};
use crate::output_stream::OutputStream;
use crate::priority::Priority;
use crate::run::TimeoutKind;

/// Samples a second of encoded audio.
pub const AUDIO_SAMPLE_RATE: u32 = 48_000;

/// Samples of one AAC frame, and so of one packet. ISO/IEC 14496-3, 4.5.2.1.1.
pub const AUDIO_FRAME_SAMPLES: u64 = 1024;

/// Bits a second of encoded audio.
pub const AUDIO_BITRATE_BPS: u32 = 128_000;

/// Frames encoded on both sides of a piece and dropped by the caller: each frame overlaps its neighbours,
/// and the encoder needs two to settle. With fewer there is a click at the cut; more change nothing.
const MARGIN_FRAMES: u64 = 2;

/// Samples of the source decoded before the first needed one: a resampler and a decoder need them to settle,
/// 80 ms for Opus (RFC 7845, 4.6).
pub(crate) const PREROLL_SAMPLES: u64 = AUDIO_SAMPLE_RATE as u64 / 10;

/// Resampling of a piece begins on a grid of 40 ms. On the grid the source's and the encoded samples begin
/// together at every usual rate (1/75 s is enough for the multiples of 8000 and 11 025 Hz), so every run has
/// its samples at the same positions. It also is a whole number of microseconds, the unit in which ffmpeg
/// reads times.
const GRID_SAMPLES: u64 = AUDIO_SAMPLE_RATE as u64 / 25;
const GRID_US: u64 = 40_000;

/// Later than any real time: 11 days.
pub(crate) const SAMPLES_MAX: u64 = 1_000_000 * AUDIO_SAMPLE_RATE as u64;

/// The part of a track that one run encodes. All positions are samples at 48 kHz on the feed's timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AudioSpan {
    /// Everything from this sample on.
    Whole {
        /// Start of the first packet after the encoder's priming.
        start: u64,
        /// Duration of an output fragment, 100 ms or more.
        fragment: Duration,
    },
    /// These samples. Their number is a multiple of 1024.
    Piece(Range<u64>),
}

/// The conversion of the channels of a track to stereo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Downmix {
    /// By the layout of the track; ffmpeg assumes one for up to 8 channels without a layout.
    Layout,
    /// Selects the first two and drops the others: for more channels, whose layout ffmpeg cannot mix.
    FirstTwo,
}

/// One run of the audio encoder. Its output is AAC-LC, stereo, 48 kHz, 128 kbit/s.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AudioEncode {
    /// Container of the feed. Only its first audio track is read.
    pub container: FeedContainer,
    /// The part to encode.
    pub span: AudioSpan,
    /// Conversion of its channels to stereo.
    pub downmix: Downmix,
    /// A gain. With a limiter the input begins [`LIMITER_LEAD_SAMPLES`](crate::LIMITER_LEAD_SAMPLES) earlier.
    pub level: Option<AudioLevel>,
    /// Priority in the queue.
    pub priority: Priority,
    /// Limits of the run.
    pub limits: EncodeLimits,
}

impl Engine {
    /// Decodes the audio of `input` and encodes the part in `spec`, while it streams.
    ///
    /// Times in the feed are exact to less than half a sample: Matroska needs a `TimestampScale` of a
    /// microsecond or less. Its timeline begins at a second or later, and all feeds of one track have the
    /// same one. A piece needs packets from 150 ms before its first sample to 50 ms after its last. Missing
    /// audio becomes silence: before a track that begins late, in a gap of more than 20 ms, or after the end
    /// of a piece's track. Overlaps are dropped.
    ///
    /// The output is one fragmented MP4 with one track of 48 000 ticks a second and no edit list. The packet
    /// of time `t` decodes to the samples `t..t + 1024`, after the one before it. A piece comes with packets
    /// on both sides of it: use those whose time is in it. The packet 1024 before the first is the encoder's
    /// priming; use it at the very start of a track only. A feed without any audio before the end of its
    /// piece gives no usable output. Pieces of one track, cut anywhere on one grid of 1024 samples, can be
    /// joined to each other and to parts of the whole.
    ///
    /// Errors, as the last item: as for [`encode_video`](Self::encode_video).
    pub fn encode_audio(
        &self,
        spec: AudioEncode,
        input: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> OutputStream {
        match self.audio_job(&spec) {
            Ok(job) => self.runner().start(job, input, TimeoutKind::Idle),
            Err(error) => OutputStream::failed(error),
        }
    }

    fn audio_job(&self, spec: &AudioEncode) -> Result<Job, EngineError> {
        spec.span.check()?;
        self.require_encoder("aac")?;
        AudioLevel::check(spec.level, self)?;
        let limits = spec.limits.to_job_limits();
        let (input, files, arguments) = (Bytes::new(), Files::default(), arguments(spec));
        Ok(Job {
            kind: "encode_audio",
            arguments,
            input,
            files,
            limits,
            priority: spec.priority,
            is_probe: false,
        })
    }
}

impl AudioSpan {
    fn check(&self) -> Result<(), EngineError> {
        let is_possible = match self {
            Self::Whole { start, fragment } => {
                *start <= SAMPLES_MAX
                    && (Duration::from_millis(100)..=Duration::from_secs(60)).contains(fragment)
            }
            Self::Piece(samples) => {
                !samples.is_empty()
                    && samples.end <= SAMPLES_MAX
                    && (samples.end - samples.start).is_multiple_of(AUDIO_FRAME_SAMPLES)
            }
        };
        if is_possible { Ok(()) } else { Err(EngineError::InvalidSpec("the samples to encode")) }
    }

    /// The range of samples for the encoder; without an end for all samples.
    fn encoder_range(&self) -> (u64, Option<u64>) {
        const MARGIN: u64 = MARGIN_FRAMES * AUDIO_FRAME_SAMPLES;
        match self {
            Self::Whole { start, .. } => (*start, None),
            Self::Piece(samples) => (samples.start.saturating_sub(MARGIN), Some(samples.end + MARGIN)),
        }
    }

    fn fragment_us(&self) -> u128 {
        match self {
            Self::Whole { fragment, .. } => fragment.as_micros(),
            // One fragment: half an hour, the maximum of the option.
            Self::Piece(_) => 1_800_000_000,
        }
    }
}

/// The whole command line. The span has been checked.
fn arguments(spec: &AudioEncode) -> Vec<OsString> {
    let mut arguments = stdin_arguments(spec.container, 1);
    push(&mut arguments, ["-copyts", "-map", "0:a:0", "-vn", "-sn", "-dn", "-map_metadata", "-1"]);
    push(&mut arguments, ["-map_chapters", "-1", "-fflags", "+bitexact", "-flags:a", "+bitexact"]);
    push(
        &mut arguments,
        ["-af", &filters(&spec.span, spec.downmix, spec.level), "-c:a", "aac", "-profile:a", "aac_low"],
    );
    push(&mut arguments, ["-b:a", &AUDIO_BITRATE_BPS.to_string(), "-ar", &AUDIO_SAMPLE_RATE.to_string()]);
    push(&mut arguments, ["-ac", "2", "-avoid_negative_ts", "disabled", "-muxdelay", "0"]);
    push(&mut arguments, ["-use_editlist", "0", "-frag_duration", &spec.span.fragment_us().to_string()]);
    push(&mut arguments, ["-movflags", "+delay_moov+default_base_moof+frag_discont+skip_trailer"]);
    push(&mut arguments, ["-flush_packets", "1", "-f", "mp4", "pipe:1"]);
    arguments
}

/// Drops samples long before the start, resamples from the common grid, levels, and cuts to the exact sample.
fn filters(span: &AudioSpan, downmix: Downmix, level: Option<AudioLevel>) -> String {
    let (start, end) = span.encoder_range();
    let preroll = if end.is_some() { PREROLL_SAMPLES } else { 0 } + level.map_or(0, AudioLevel::lead);
    let mut filters = resample_filters(start, preroll, downmix);
    if let Some(level) = level {
        level.push_filters(&mut filters);
    }
    match end {
        Some(end) => format!("{filters},apad,atrim=start_pts={start}:end_pts={end}"),
        None => format!("{filters},atrim=start_pts={start}"),
    }
}

/// The filters that output stereo samples at their positions, from a position of the grid at least `preroll`
/// samples before `start`.
///
/// Resamples twice, because the second one counts `first_pts` in samples of its input, whose rate the first
/// one sets. There `async=1` fills gaps of more than `min_hard_comp` seconds with silence, drops overlaps,
/// and counts samples otherwise.
pub(crate) fn resample_filters(start: u64, preroll: u64, downmix: Downmix) -> String {
    let grid = start.saturating_sub(preroll) / GRID_SAMPLES;
    let (begin_us, begin) = (grid * GRID_US, grid * GRID_SAMPLES);
    let begin_s = format!("{}.{:06}", begin_us / 1_000_000, begin_us % 1_000_000);
    let first_two = match downmix {
        Downmix::Layout => "",
        Downmix::FirstTwo => "pan=stereo|c0=c0|c1=c1,",
    };
    format!(
        "{first_two}atrim=start={begin_s},aresample={AUDIO_SAMPLE_RATE},\
         aresample={AUDIO_SAMPLE_RATE}:async=1:min_hard_comp=0.02:first_pts={begin},aformat=sample_fmts=fltp:channel_layouts=stereo"
    )
}

#[cfg(test)]
mod tests;
