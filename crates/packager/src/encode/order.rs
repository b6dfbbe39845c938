//! What the engine is told of a run, and what it may use.

use std::ops::Range;
use std::time::Duration;

use kinora_engine::{
    self as engine, AUDIO_BITRATE_BPS, Downmix, EncodeLimits, FRAME_PIXELS_MAX, FRAME_STEP_MAX,
    FeedContainer, Priority, VideoEncode, VideoRung,
};
use kinora_formats::encode::{Feed, FeedFormat, StillFeed};
use kinora_index::{LAYOUT_CHANNELS_MAX, Rung, ToneMap, VideoTrack, codec::colour::Colour};

use crate::Packaged;

/// Threads of a run that somebody waits for. M-31.
const THREADS: u8 = 2;
/// Threads of a run that nobody waits for: two runs of one thread take less than one of two. M-31.
const THREADS_BACKGROUND: u8 = 1;

/// The longest silence of a run whose turn it is: some pictures of 4K take seconds, a process that hangs
/// takes for ever.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Processor time of every run beside that for its pictures: a start takes some 0.1 s.
const CPU_BASE: Duration = Duration::from_secs(30);
/// Pixels that are decoded in a second of processor time by the slowest decoder on a slow core.
const DECODED_A_SECOND: u64 = 10_000_000;
/// Pixels of a picture for which a run is always allowed to decode: those of 1080p in whole macroblocks. A
/// header may say less than the stream has, by mistake as well, and only the decoder finds out.
const DECODED_PIXELS_MIN: u64 = 1920 * 1088;
/// Pixels that are encoded in it. Of the 30 million a second that were measured, a fifth.
const ENCODED_A_SECOND: u64 = 5_000_000;
/// Memory of every run: the program, its libraries and stacks.
const MEMORY_BASE: u64 = 192 << 20;
/// Pictures that a decoder, its threads and the filters hold: 16 references of the largest DPB, and those on
/// their way.
const PICTURES_DECODED: u64 = 32;
/// Bytes of a decoded pixel: 4:2:2 with 10 bits.
const PIXEL_DECODED_BYTES: u64 = 4;
/// Pictures that an encoder holds: its look-ahead, references and threads.
const PICTURES_ENCODED: u64 = 48;
/// Bytes of a pixel that is encoded, with what is computed of it in several sizes.
const PIXEL_ENCODED_BYTES: u64 = 4;
/// Memory of a run of sound: it holds a few packets.
const MEMORY_OF_SOUND: u64 = 256 << 20;
/// Memory of each sound of a mix: its demuxer, its decoder and its filters.
const MEMORY_OF_MIXED: u64 = 12 << 20;
/// And of each second of it: its demuxer keeps where some fifty packets lie.
const MEMORY_OF_MIXED_SECOND: u64 = 4096;
/// Seconds of sound that are encoded in a second of processor time on a slow core. Of the 60 that were
/// measured, a sixth. M-40.
const SOUND_A_SECOND: u64 = 10;
/// Output of a run, beside what the rates of its rungs allow.
const OUTPUT_BASE: u64 = 8 << 20;

/// A run that is wanted.
pub(super) struct Order {
    /// Which segments of the encoded plan.
    pub(super) numbers: Range<u32>,
    /// Of which rungs.
    pub(super) rungs: Vec<Rung>,
    /// Who waits.
    pub(super) priority: Priority,
    /// An ordinary run gave nothing: its pictures are damaged.
    pub(super) is_tolerant: bool,
    /// Called when its process begins to read.
    pub(super) begun: Box<dyn FnOnce() + Send>,
}

/// What the engine is told. `keep_us` is a part of the feed's window; `pictures` is the number of those that
/// are fed, over `seconds`. `colours` has one for each rung, in their order; `None` leaves those of the
/// source as they are.
pub(super) fn spec(
    feed: &Feed,
    video: &VideoTrack,
    order: &Order,
    colours: &[Option<Colour>],
    keep_us: Range<i64>,
    seconds: u64,
) -> VideoEncode {
    let Order { rungs, priority, is_tolerant, .. } = order;
    let (priority, is_tolerant) = (*priority, *is_tolerant);
    let first = rungs.first();
    let positive = |time: i64| u64::try_from(time).unwrap_or(0);
    VideoEncode {
        container: container(feed.format()),
        rungs: rungs.iter().zip(colours).map(|(rung, colour)| rung_of(rung, *colour)).collect(),
        deinterlace: first.is_some_and(|rung| rung.deinterlace),
        tone_map: first.and_then(|rung| rung.tone_map).map(|tone_map| match tone_map {
            ToneMap::Pq => engine::ToneMap::Pq,
            ToneMap::Hlg => engine::ToneMap::Hlg,
        }),
        frame_step: first.map_or(1, |rung| rung.frame_step.min(FRAME_STEP_MAX)),
        key_frames_us: feed.keyframes_us().into_iter().map(positive).collect(),
        keep_us: positive(keep_us.start)..positive(keep_us.end),
        is_black: false,
        is_tolerant,
        threads: if priority == Priority::Background { THREADS_BACKGROUND } else { THREADS },
        priority,
        limits: limits(feed.samples().len() as u64, (video.width, video.height), rungs, seconds),
    }
}

/// What the engine is told of a picture of a rung that is to stand still; `is_black` leaves its size and
/// colours alone.
pub(super) fn spec_of_still(
    rung: &Rung,
    colour: Colour,
    feed: &StillFeed,
    is_black: bool,
    priority: Priority,
) -> VideoEncode {
    let rungs = std::slice::from_ref(rung);
    VideoEncode {
        container: FeedContainer::Mp4,
        rungs: vec![rung_of(rung, Some(colour))],
        deinterlace: false,
        tone_map: None,
        frame_step: 1,
        key_frames_us: Vec::new(),
        keep_us: feed.keep_us.clone(),
        is_black,
        is_tolerant: false,
        threads: THREADS_BACKGROUND,
        priority,
        limits: limits(feed.pictures, (rung.width, rung.height), rungs, 1),
    }
}

/// How the channels of an audio track, counted from 0 in the order of the index, become two.
pub(super) fn downmix(packaged: &Packaged, audio: u8) -> Downmix {
    match packaged.index().audio_tracks().nth(audio.into()) {
        Some((_, track)) if LAYOUT_CHANNELS_MAX < track.channels => Downmix::FirstTwo,
        _ => Downmix::Layout,
    }
}

pub(crate) fn container(format: FeedFormat) -> FeedContainer {
    match format {
        FeedFormat::Mp4 => FeedContainer::Mp4,
        FeedFormat::Matroska => FeedContainer::Matroska,
    }
}

/// What the engine needs for one black picture of a rung: the rung as it knows it, and the bytes of memory
/// that it may use.
pub(super) fn blank(rung: &Rung, colour: Colour) -> (VideoRung, u64) {
    let size = (rung.width, rung.height);
    (rung_of(rung, Some(colour)), limits(1, size, std::slice::from_ref(rung), 1).memory_bytes)
}

fn rung_of(rung: &Rung, colour: Option<Colour>) -> VideoRung {
    VideoRung {
        width: rung.width,
        height: rung.height,
        crf: rung.crf,
        maxrate_bps: rung.maxrate.into(),
        bufsize_bits: rung.bufsize.into(),
        level: level(&rung.level),
        bframes: rung.bframes,
        colour: colour.map(colour_of),
    }
}

/// What an init segment says may be anything that an older Kinora let through: what the engine cannot make is
/// left open.
fn colour_of(colour: Colour) -> engine::Colour {
    let Colour { primaries, transfer, matrix, .. } = colour;
    let narrow = |point: u16| u8::try_from(point).unwrap_or(u8::MAX);
    engine::Colour { primaries: narrow(primaries), transfer: narrow(transfer), matrix: narrow(matrix) }
        .known()
}

/// The levels of H.264 that a rung may have. ISO/IEC 14496-10, table A-1.
const LEVELS: [&str; 16] = [
    "1.0", "1.1", "1.2", "1.3", "2.0", "2.1", "2.2", "3.0", "3.1", "3.2", "4.0", "4.1", "4.2", "5.0", "5.1",
    "5.2",
];

fn level(name: &str) -> &'static str {
    LEVELS.into_iter().find(|level| *level == name).unwrap_or("6.2")
}

/// What a run of so many seconds of sound may use.
pub(super) fn limits_of_sound(seconds: u64) -> EncodeLimits {
    let rate = u64::from(AUDIO_BITRATE_BPS) / 8;
    EncodeLimits {
        deadline: SILENCE_MAX,
        cpu: CPU_BASE + Duration::from_secs(seconds / SOUND_A_SECOND),
        memory_bytes: MEMORY_OF_SOUND,
        // Twice the rate: what a container and a bit reservoir add is far less.
        output_max: OUTPUT_BASE + seconds.saturating_mul(2 * rate),
    }
}

/// What a run may use that mixes sounds of so many seconds each, for so many seconds.
pub(super) fn limits_of_mix(seconds: u64, parts: impl Iterator<Item = u64>) -> EncodeLimits {
    let one = limits_of_sound(seconds);
    // Each is decoded.
    let add = |limits: EncodeLimits, part: u64| EncodeLimits {
        cpu: limits.cpu + Duration::from_secs(part / SOUND_A_SECOND),
        memory_bytes: limits.memory_bytes + MEMORY_OF_MIXED + part * MEMORY_OF_MIXED_SECOND,
        ..limits
    };
    parts.fold(one, add)
}

/// What a run of so many pictures of this size, over so many seconds, may use.
fn limits(pictures: u64, (width, height): (u32, u32), rungs: &[Rung], seconds: u64) -> EncodeLimits {
    // What a source says of itself may be anything; larger pictures are not decoded.
    let source = (u64::from(width) * u64::from(height)).clamp(DECODED_PIXELS_MIN, FRAME_PIXELS_MAX.into());
    let pixels = |rung: &Rung| u64::from(rung.width) * u64::from(rung.height);
    let encoded: u64 = rungs.iter().map(pixels).sum();
    let rate: u64 = rungs.iter().map(|rung| u64::from(rung.maxrate)).sum();
    let cpu_s = pictures.saturating_mul(source) / DECODED_A_SECOND
        + pictures.saturating_mul(encoded) / ENCODED_A_SECOND;
    EncodeLimits {
        deadline: SILENCE_MAX,
        cpu: CPU_BASE + Duration::from_secs(cpu_s),
        memory_bytes: MEMORY_BASE
            + source.saturating_mul(PICTURES_DECODED * PIXEL_DECODED_BYTES)
            + encoded.saturating_mul(PICTURES_ENCODED * PIXEL_ENCODED_BYTES),
        // Twice what the rates allow, and a box for each picture.
        output_max: OUTPUT_BASE
            + rate.saturating_mul(seconds.saturating_add(1)) / 4
            + pictures.saturating_mul(1024),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_is_not_decoded_gives_a_run_no_more_than_the_largest_that_is() {
        let of = |width, height| limits(100, (width, height), &[], 4);
        assert_eq!(of(65535, 65535), of(8192, 4320));
        assert!(of(1920, 1088).memory_bytes < of(8192, 4320).memory_bytes);
    }

    #[test]
    fn a_size_that_may_be_a_lie_gives_a_run_no_less_than_pictures_of_1080p_take() {
        let of = |width, height| limits(100, (width, height), &[], 4);
        assert_eq!(of(16, 16), of(1920, 1088));
        assert_eq!(of(0, 0), of(1920, 1088));
        assert!(of(1920, 1088).cpu < of(2560, 1440).cpu);
    }
}
