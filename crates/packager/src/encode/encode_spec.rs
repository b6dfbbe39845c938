//! Arguments and limits of the runs of the engine.

use std::ops::Range;
use std::time::Duration;

use kinora_domain::AudioGain;
use kinora_engine::{
    self as engine, AUDIO_BITRATE_BPS, AudioLevel, Downmix, EncodeLimits, FRAME_PIXELS_MAX, FRAME_STEP_MAX,
    FeedContainer, LIMITER_LEAD_SAMPLES, LOUDNESS_WINDOW_BYTES, Priority, VideoEncode, VideoRung,
};
use kinora_formats::encode::{Feed, FeedFormat, FreezeFrameFeed, frame_step_of, image_size, tone_map};
use kinora_index::{
    ENCODED_AUDIO_FRAME, LAYOUT_CHANNELS_MAX, Rung, ToneMap, VideoTrack, codec::colour::Colour,
};

use crate::overlay_image::OverlayImage;

/// Threads of a run that a request waits for. M-31.
const THREADS: u8 = 2;
/// Threads of a run that no request waits for: two runs of one thread take less than one of two. M-31.
const THREADS_BACKGROUND: u8 = 1;

/// Longest time without output of a running process: some 4K frames take seconds, a hung process takes for
/// ever.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Processor time of every run, in addition to that for its frames: a start takes some 0.1 s.
const CPU_BASE: Duration = Duration::from_secs(30);
/// Pixels that are decoded in a second of processor time by the slowest decoder on a slow core.
const DECODE_PIXELS_PER_SECOND: u64 = 10_000_000;
/// Pixels of a frame that a run may always decode: those of 1080p in whole macroblocks. A header may state
/// less than the stream has, also by mistake, and only the decoder finds out.
const DECODED_PIXELS_MIN: u64 = 1920 * 1088;
/// Pixels that are encoded in a second of processor time. A fifth of the 30 million that were measured.
const ENCODE_PIXELS_PER_SECOND: u64 = 5_000_000;
/// Memory of every run: the program, its libraries and stacks.
const MEMORY_BASE: u64 = 192 << 20;
/// Frames in memory in a decoder, its threads and the filters: 16 references of the largest DPB, and those
/// in transit.
const DECODER_FRAMES: u64 = 32;
/// Bytes of a decoded pixel: 4:2:2 with 10 bits.
const PIXEL_DECODED_BYTES: u64 = 4;
/// Frames in memory in an encoder: its look-ahead, references and threads.
const ENCODER_FRAMES: u64 = 48;
/// Bytes of an encoded pixel, with its scaled copies and analysis data.
const PIXEL_ENCODED_BYTES: u64 = 4;
/// Memory of a run of audio, which buffers a few packets.
const AUDIO_MEMORY: u64 = 256 << 20;
/// Memory of each input of a mix: its demuxer, its decoder and its filters.
const MIX_PART_MEMORY: u64 = 12 << 20;
/// Memory for each second of such an input: its demuxer stores the positions of some fifty packets.
const MIX_SECOND_MEMORY: u64 = 4096;
/// Seconds of audio that are encoded in a second of processor time on a slow core. A sixth of the 60 that
/// were measured. M-40.
const AUDIO_SECONDS_PER_CPU_SECOND: u64 = 10;
/// Output of a run in addition to the limit from the rates of its rungs.
const OUTPUT_BASE: u64 = 8 << 20;

/// The parameters of a run.
pub(super) struct EncodeSpec {
    /// Segments of the encoded plan.
    pub(super) numbers: Range<u32>,
    /// The rungs to encode.
    pub(super) rungs: Vec<Rung>,
    /// Priority in the queue of the engine.
    pub(super) priority: Priority,
    /// Whether the decoder shows damaged frames, after an ordinary run gave nothing.
    pub(super) tolerates_damage: bool,
    /// Called when its process begins to read.
    pub(super) on_start: Box<dyn FnOnce() + Send>,
}

/// The video that a run decodes.
#[derive(Clone, Copy)]
pub(super) struct RunVideo<'a> {
    /// The video of the part that the samples are from.
    pub(super) part: &'a VideoTrack,
    /// The video of the base, which the sizes of the rungs follow.
    pub(super) base: &'a VideoTrack,
    /// The image that is drawn over it.
    pub(super) overlay: Option<&'a OverlayImage>,
}

/// Arguments of the engine for a video run. `keep_us` is a part of the feed's window; `seconds` is the
/// duration of the feed. `colours` has one entry for each rung, in their order; `None` leaves the colours of
/// the source.
pub(super) fn video_encode(
    feed: &Feed,
    video: RunVideo<'_>,
    spec: &EncodeSpec,
    colours: &[Option<Colour>],
    keep_us: Range<i64>,
    seconds: u64,
) -> VideoEncode {
    let EncodeSpec { rungs, priority, tolerates_damage, .. } = spec;
    let (priority, tolerates_damage) = (*priority, *tolerates_damage);
    let RunVideo { part, base, overlay } = video;
    let positive = |time: i64| u64::try_from(time).unwrap_or(0);
    let rung_of = |(rung, colour): (&Rung, &Option<Colour>)| VideoRung {
        image: image_size((rung.width, rung.height), base, part),
        ..engine_rung(rung, *colour)
    };
    VideoEncode {
        container: container(feed.format()),
        rungs: rungs.iter().zip(colours).map(rung_of).collect(),
        deinterlace: part.is_interlaced,
        tone_map: tone_map(part).map(|tone_map| match tone_map {
            ToneMap::Pq => engine::ToneMap::Pq,
            ToneMap::Hlg => engine::ToneMap::Hlg,
        }),
        frame_step: frame_step_of(part).min(FRAME_STEP_MAX),
        key_frames_us: feed.keyframes_us().into_iter().map(positive).collect(),
        keep_us: positive(keep_us.start)..positive(keep_us.end),
        is_black: false,
        overlay: overlay.map(|image| image.of_rungs(rungs)),
        tolerates_damage,
        threads: if priority == Priority::Background { THREADS_BACKGROUND } else { THREADS },
        priority,
        limits: with_overlay(
            limits(feed.samples().len() as u64, (part.width, part.height), rungs, seconds),
            overlay,
        ),
    }
}

/// Arguments of the engine for a still frame of a rung. `is_black` replaces the frame by black in its size
/// and colours. The frame of a rung has its overlay already, so only a black one gets it.
pub(super) fn placeholder_encode(
    rung: &Rung,
    colour: Colour,
    feed: &FreezeFrameFeed,
    is_black: bool,
    overlay: Option<&OverlayImage>,
    priority: Priority,
) -> VideoEncode {
    let rungs = std::slice::from_ref(rung);
    let overlay = overlay.filter(|_| is_black);
    VideoEncode {
        container: FeedContainer::Mp4,
        rungs: vec![engine_rung(rung, Some(colour))],
        deinterlace: false,
        tone_map: None,
        frame_step: 1,
        key_frames_us: Vec::new(),
        keep_us: feed.keep_us.clone(),
        is_black,
        overlay: overlay.map(|image| image.of_rungs(rungs)),
        tolerates_damage: false,
        threads: THREADS_BACKGROUND,
        priority,
        limits: with_overlay(limits(feed.frames, (rung.width, rung.height), rungs, 1), overlay),
    }
}

/// The downmix of this many channels to stereo.
pub(super) fn downmix(channels: u32) -> Downmix {
    if LAYOUT_CHANNELS_MAX < channels { Downmix::FirstTwo } else { Downmix::Layout }
}

pub(crate) fn container(format: FeedFormat) -> FeedContainer {
    match format {
        FeedFormat::Mp4 => FeedContainer::Mp4,
        FeedFormat::Matroska => FeedContainer::Matroska,
    }
}

/// Arguments for one black frame of a rung: the rung in the engine's terms, and its memory limit in bytes.
pub(super) fn black_frame_spec(rung: &Rung, colour: Colour) -> (VideoRung, u64) {
    let size = (rung.width, rung.height);
    (engine_rung(rung, Some(colour)), limits(1, size, std::slice::from_ref(rung), 1).memory_bytes)
}

fn engine_rung(rung: &Rung, colour: Option<Colour>) -> VideoRung {
    VideoRung {
        width: rung.width,
        height: rung.height,
        crf: rung.crf,
        maxrate_bps: rung.maxrate.into(),
        bufsize_bits: rung.bufsize.into(),
        level: level(&rung.level),
        bframes: rung.bframes,
        image: None,
        colour: colour.map(engine_colour),
    }
}

/// The colours in the engine's type. Values that the engine cannot encode become unspecified: an init
/// segment of an older Kinora may state any.
fn engine_colour(colour: Colour) -> engine::Colour {
    let Colour { primaries, transfer, matrix, .. } = colour;
    let narrow = |point: u16| u8::try_from(point).unwrap_or(u8::MAX);
    engine::Colour { primaries: narrow(primaries), transfer: narrow(transfer), matrix: narrow(matrix) }
        .without_unsupported()
}

/// The H.264 levels that a rung may have. ISO/IEC 14496-10, table A-1.
const LEVELS: [&str; 16] = [
    "1.0", "1.1", "1.2", "1.3", "2.0", "2.1", "2.2", "3.0", "3.1", "3.2", "4.0", "4.1", "4.2", "5.0", "5.1",
    "5.2",
];

fn level(name: &str) -> &'static str {
    LEVELS.into_iter().find(|level| *level == name).unwrap_or("6.2")
}

/// Limits of a run for this many seconds of audio.
pub(super) fn audio_limits(seconds: u64) -> EncodeLimits {
    let rate = u64::from(AUDIO_BITRATE_BPS) / 8;
    EncodeLimits {
        deadline: STALL_TIMEOUT,
        cpu: CPU_BASE + Duration::from_secs(seconds / AUDIO_SECONDS_PER_CPU_SECOND),
        memory_bytes: AUDIO_MEMORY,
        // Twice the rate: the container and the bit reservoir add far less.
        output_max: OUTPUT_BASE + seconds.saturating_mul(2 * rate),
    }
}

/// A gain as the engine takes it.
pub(super) fn audio_level(gain: AudioGain) -> AudioLevel {
    AudioLevel { gain_centibels: gain.centibels, is_limited: gain.is_limited }
}

/// Frames in front of the segments that a run with this gain reads.
pub(super) fn lead(gain: Option<AudioGain>) -> u64 {
    let is_limited = gain.is_some_and(|gain| gain.is_limited);
    if is_limited { LIMITER_LEAD_SAMPLES.div_ceil(ENCODED_AUDIO_FRAME.into()) } else { 0 }
}

/// Limits of a measurement of `seconds`.
pub(super) fn measure_limits(limits: EncodeLimits, seconds: u64) -> EncodeLimits {
    EncodeLimits { output_max: OUTPUT_BASE + seconds.saturating_mul(10 * LOUDNESS_WINDOW_BYTES), ..limits }
}

/// Limits of a mix of `seconds`, with inputs of the given lengths in seconds.
pub(super) fn mix_limits(seconds: u64, parts: impl Iterator<Item = u64>) -> EncodeLimits {
    let base = audio_limits(seconds);
    // Each input is decoded.
    let add = |limits: EncodeLimits, part: u64| EncodeLimits {
        cpu: limits.cpu + Duration::from_secs(part / AUDIO_SECONDS_PER_CPU_SECOND),
        memory_bytes: limits.memory_bytes + MIX_PART_MEMORY + part * MIX_SECOND_MEMORY,
        ..limits
    };
    parts.fold(base, add)
}

/// Limits of a run that also scales this image.
fn with_overlay(limits: EncodeLimits, overlay: Option<&OverlayImage>) -> EncodeLimits {
    let memory_bytes = limits.memory_bytes.saturating_add(overlay.map_or(0, OverlayImage::memory_bytes));
    EncodeLimits { memory_bytes, ..limits }
}

/// Limits of a run of this many frames of this size, over this many seconds.
fn limits(frames: u64, (width, height): (u32, u32), rungs: &[Rung], seconds: u64) -> EncodeLimits {
    // A source may state any size; larger frames are not decoded.
    let source_pixels =
        (u64::from(width) * u64::from(height)).clamp(DECODED_PIXELS_MIN, FRAME_PIXELS_MAX.into());
    let pixels = |rung: &Rung| u64::from(rung.width) * u64::from(rung.height);
    let encoded_pixels: u64 = rungs.iter().map(pixels).sum();
    let rate_bps: u64 = rungs.iter().map(|rung| u64::from(rung.maxrate)).sum();
    let cpu_s = frames.saturating_mul(source_pixels) / DECODE_PIXELS_PER_SECOND
        + frames.saturating_mul(encoded_pixels) / ENCODE_PIXELS_PER_SECOND;
    EncodeLimits {
        deadline: STALL_TIMEOUT,
        cpu: CPU_BASE + Duration::from_secs(cpu_s),
        memory_bytes: MEMORY_BASE
            + source_pixels.saturating_mul(DECODER_FRAMES * PIXEL_DECODED_BYTES)
            + encoded_pixels.saturating_mul(ENCODER_FRAMES * PIXEL_ENCODED_BYTES),
        // Twice the rates, and a box for each frame.
        output_max: OUTPUT_BASE
            + rate_bps.saturating_mul(seconds.saturating_add(1)) / 4
            + frames.saturating_mul(1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oversized_source_gets_limits_of_largest_supported_size() {
        let of = |width, height| limits(100, (width, height), &[], 4);
        assert_eq!(of(65535, 65535), of(8192, 4320));
        assert!(of(1920, 1088).memory_bytes < of(8192, 4320).memory_bytes);
    }

    #[test]
    fn limits_are_at_least_those_of_1080p() {
        let of = |width, height| limits(100, (width, height), &[], 4);
        assert_eq!(of(16, 16), of(1920, 1088));
        assert_eq!(of(0, 0), of(1920, 1088));
        assert!(of(1920, 1088).cpu < of(2560, 1440).cpu);
    }
}
