//! The encoded renditions of a source. M-25, D-0038.

use kinora_index::{
    DECODED_PIXELS_MAX, FrameSize, Index, Rung, RungName, Timeline, ToneMap, Track, TrackMedia, VideoTrack,
    codec::colour::Colour,
};

use super::{
    colour::rung_colour_from_sample_entry,
    level::{LevelDemand, level},
};

/// Bits per second of each name. M-25; those of the two largest are our choice.
const BITRATES: [(RungName, u32); 7] = [
    (RungName::P240, 400_000),
    (RungName::P360, 800_000),
    (RungName::P480, 1_400_000),
    (RungName::P720, 2_800_000),
    (RungName::P1080, 5_000_000),
    (RungName::P1440, 9_000_000),
    (RungName::P2160, 16_000_000),
];
/// The bitrate of a rung is at most that of a copy that every player decodes, divided by this. Players prefer
/// the highest announced bitrate, and a rung announces up to twice its bitrate. D-0045.
const COPY_BITRATE_DIVISOR: u64 = 2;
/// Minimum bitrate of a rung in bits per second.
const BITRATE_MIN: u32 = 64_000;
/// The fill rate of the decoder's buffer, in tenths of the bitrate. M-25.
const MAXRATE_TENTHS: u32 = 12;
/// The quality if the rate allows it. M-24.
const CRF: u8 = 23;
/// Maximum number of consecutive B-frames; the composition shift of an index allows for them. M-11.
const B_FRAMES: u8 = 3;
/// Ticks of composition shift that reordering with a pyramid of B-frames needs: a frame is decoded at most
/// two positions late.
const B_FRAMES_SHIFT_MIN: i64 = 2;
/// Higher frame rates are halved. M-26.
const FRAME_RATE_MAX: u64 = 60;
/// Percent by which a measured rate may exceed it.
const FRAME_RATE_TOLERANCE_PERCENT: u64 = 1;
/// The assumed frame rate for the level, if it is unknown.
const FRAME_RATE_UNKNOWN: (u32, u32) = (30, 1);
/// The largest rung if there is a copy that only some players decode: larger ones cost more than they bring
/// to the few other players. M-25.
const LINES_WITH_COPY_MAX: u32 = 1080;
/// The largest rung of HDR video: tone mapping is slow while a viewer waits. M-27.
const LINES_TONE_MAPPED_MAX: u32 = 480;
/// The rungs of a source, largest first; none without video.
///
/// `max_p` is the largest p-number, at least 240. With a copy that every player decodes (H.264), all rungs
/// are smaller than it, unless it is of several parts. With a copy that some players decode (HEVC, AV1), and
/// without a copy, the first rung is as large as the source and the limits allow. No rung is larger than the
/// source.
pub fn ladder(index: &Index, max_p: u32) -> Vec<Rung> {
    rungs(index, max_p, true)
}

/// As [`ladder`](fn@ladder), if there is a copy that is not offered, for instance because it does not
/// decode.
pub fn ladder_without_copy(index: &Index, max_p: u32) -> Vec<Rung> {
    rungs(index, max_p, false)
}

fn rungs(index: &Index, max_p: u32, is_copy_offered: bool) -> Vec<Rung> {
    let Some((track, video)) = index.video() else { return Vec::new() };
    if DECODED_PIXELS_MAX < u64::from(video.width) * u64::from(video.height) {
        return Vec::new();
    }
    let size = FrameSize::of(video);
    let has_copy = is_copy_offered && video.not_copied.is_none() && size.is_within(max_p);
    let has_h264_copy = has_copy && video.codec.starts_with("avc1.");
    // A file in one piece cannot have the copy of several parts: it has the rung of that size.
    let is_in_one_piece = track.configurations.is_empty() && track.edit_points.is_empty();
    let has_same_size = !(has_h264_copy && is_in_one_piece);

    let tone_map = tone_map(video);
    let mut lines_max = max_p.max(RungName::P240.lines());
    if has_copy {
        lines_max = lines_max.min(LINES_WITH_COPY_MAX);
    }
    if tone_map.is_some() {
        lines_max = lines_max.min(LINES_TONE_MAPPED_MAX);
    }

    let source_name = size.name();
    let names = RungName::ALL.into_iter().rev().filter(|name| name.lines() <= lines_max);
    let names = names
        .filter(|name| source_name.is_none_or(|own| if has_same_size { *name <= own } else { *name < own }));
    let names: Vec<_> = names.collect();
    let copy = if has_h264_copy { track.bitrate_average } else { 0 };
    let bitrate = |name| names.first().map_or(0, |largest| rung_bitrate(copy, name, *largest));
    names
        .iter()
        .map(|name| rung(index, track, video, (*name, bitrate(*name)), size.scaled_to(*name), tone_map))
        .collect()
}

/// The tone mapping that frames of this video need: all rungs have the standard range.
pub fn tone_map(video: &VideoTrack) -> Option<ToneMap> {
    match video.transfer {
        Some(16) => Some(ToneMap::Pq),
        Some(18) => Some(ToneMap::Hlg),
        _ => None,
    }
}

/// The bitrate of a rung if `largest` is the largest rung. `copy` is the bitrate of the copy in bits per
/// second; 0 if there is none or it is unknown.
fn rung_bitrate(copy: u64, name: RungName, largest: RungName) -> u32 {
    let table_bitrate =
        |name| BITRATES.iter().find(|row| row.0 == name).expect("every name is in the table").1;
    let (usual, largest_bitrate) = (table_bitrate(name), table_bitrate(largest));
    if copy == 0 {
        return usual;
    }
    let share = u128::from(copy / COPY_BITRATE_DIVISOR) * u128::from(usual) / u128::from(largest_bitrate);
    u32::try_from(share).map_or(usual, |share| usual.min(share.max(BITRATE_MIN)))
}

fn rung(
    index: &Index,
    track: &Track,
    video: &VideoTrack,
    (name, bitrate): (RungName, u32),
    (width, height): (u32, u32),
    tone_map: Option<ToneMap>,
) -> Rung {
    let maxrate = bitrate / 10 * MAXRATE_TENTHS;
    let frame_step = frame_step_of(video);
    let frame_rate = video.frame_rate.map(|rate| divided(rate, frame_step));
    let demand = LevelDemand { width, height, frame_rate: frame_rate_max(track), maxrate, bufsize: maxrate };
    let level = level(demand);
    let allows_b_frames = B_FRAMES_SHIFT_MIN <= Timeline::of(index, track).media_time;
    Rung {
        name,
        width,
        height,
        bitrate,
        maxrate,
        bufsize: maxrate,
        crf: CRF,
        level: format!("{}.{}", level / 10, level % 10),
        bframes: if allows_b_frames { B_FRAMES } else { 0 },
        frame_step,
        frame_rate,
        // High profile, no constraints. ISO/IEC 14496-15, 5.3.3.1; RFC 6381, 3.3.
        codec: format!("avc1.6400{level:02x}"),
        colour: if tone_map.is_some() { Some(Colour::BT709) } else { rung_colour_from_sample_entry(video) },
        tone_map,
        deinterlace: video.is_interlaced,
    }
}

/// The frame rate for the level: that of the part of the presentation with the most frames.
fn frame_rate_max(track: &Track) -> (u32, u32) {
    let videos = std::iter::once(&track.media).chain(&track.configurations).filter_map(|media| match media {
        TrackMedia::Video(video) => Some(video),
        TrackMedia::Audio(_) => None,
    });
    let rates = videos.map(|video| match video.frame_rate {
        Some(rate) => divided(rate, frame_step(rate)),
        None => FRAME_RATE_UNKNOWN,
    });
    let is_less = |one: &(u32, u32), other: &(u32, u32)| {
        (u64::from(one.0) * u64::from(other.1)).cmp(&(u64::from(other.0) * u64::from(one.1)))
    };
    rates.max_by(is_less).unwrap_or(FRAME_RATE_UNKNOWN)
}

/// One of this many frames of a video is encoded.
pub fn frame_step_of(video: &VideoTrack) -> u32 {
    video.frame_rate.map_or(1, frame_step)
}

/// One of this many frames is encoded: the smallest power of two that reduces the rate to 60.
fn frame_step((frames, seconds): (u32, u32)) -> u32 {
    let holds = |step: &u32| {
        let limit = u64::from(seconds) * FRAME_RATE_MAX * u64::from(*step);
        u64::from(frames) * 100 <= limit * (100 + FRAME_RATE_TOLERANCE_PERCENT)
    };
    (0..31).map(|power| 1 << power).find(holds).unwrap_or(1)
}

fn divided((frames, seconds): (u32, u32), step: u32) -> (u32, u32) {
    match seconds.checked_mul(step) {
        _ if frames.is_multiple_of(step) => (frames / step, seconds),
        Some(seconds) => (frames, seconds),
        None => (frames / step, seconds),
    }
}

#[cfg(test)]
pub(super) mod tests;
