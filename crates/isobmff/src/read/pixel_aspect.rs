//! The display shape of a video if the sample entry and the track header disagree.
//!
//! Players differ. All of them apply a `pasp` box, or else the bitstream. Without either, QuickTime, Safari
//! and Chromium stretch the video to the size in the `tkhd` box, and others do not. A `clap` box crops in
//! QuickTime and Safari alone; the `tapt` box repeats the other boxes. The result is written into the sample
//! entry, so that all players show one shape.

use kinora_index::{SampleEntry, VideoTrack};

use super::{
    super::{
        boxes::{BoxRef, FourCc, children},
        error::ReadError,
    },
    sample_entry::build_sample_entry,
};

/// Bytes of a visual sample entry before its child boxes. ISO/IEC 14496-12, 12.1.3.
const FIELDS_LEN: usize = 78;
/// A relative difference below 1 / `DIFFERENCE_DIVISOR` is the rounding or the padding of a writer: 1088
/// lines for 1080.
const DIFFERENCE_DIVISOR: u64 = 32;
/// A larger stretch of pixels is damage.
const STRETCH_MAX: u64 = 4;

/// Applies the shape of the track header if no other box defines one, and removes cropping.
///
/// `size` is that of the `tkhd` box, 16.16.
pub(super) fn with_pixel_aspect(mut video: VideoTrack, size: (u32, u32)) -> Result<VideoTrack, ReadError> {
    let SampleEntry::Iso(entry) = &video.sample_entry else { return Ok(video) };
    let Some((head, boxes)) = entry.get(8..).and_then(|body| body.split_at_checked(FIELDS_LEN)) else {
        return Ok(video);
    };
    let has = |kind: &[u8; 4]| children(boxes).any(|child| &child.kind.0 == kind);
    let header_aspect = match video.pixel_aspect {
        (1, 1) if !has(b"pasp") => aspect_of_track_header((video.width, video.height), size),
        _ => None,
    };
    if header_aspect.is_none() && !has(b"clap") {
        return Ok(video);
    }

    let pasp = header_aspect
        .map(|(horizontal, vertical)| [horizontal.to_be_bytes(), vertical.to_be_bytes()].concat());
    let pasp = pasp.as_deref().map(|body| BoxRef { kind: FourCc(*b"pasp"), body });
    // If the track is not copied, a decoder reads the entry and gets the shape of its output separately.
    if video.not_copied.is_none() {
        let children_left = children(boxes).filter(|child| &child.kind.0 != b"clap").chain(pasp);
        let kind = entry[4..8].try_into().expect("four bytes");
        let entry = build_sample_entry(&kind, head, children_left)?;
        video.sample_entry = SampleEntry::Iso(entry);
    }
    video.pixel_aspect = header_aspect.unwrap_or(video.pixel_aspect);
    Ok(video)
}

/// The pixel aspect that shows a video of this many pixels in this size, if it differs from that of the
/// pixels.
fn aspect_of_track_header((width, height): (u32, u32), display_size: (u32, u32)) -> Option<(u32, u32)> {
    let (width, height) = (u64::from(width), u64::from(height));
    let (shown_width, shown_height) = (u64::from(display_size.0 >> 16), u64::from(display_size.1 >> 16));
    let (horizontal, vertical) = (shown_width * height, shown_height * width);
    let is_same = |one: u64, other: u64| one.abs_diff(other) * DIFFERENCE_DIVISOR < one.max(other);
    // Some writers rotate the size like the matrix.
    let is_rotated = is_same(shown_height * height, shown_width * width);
    let is_sane = horizontal < vertical.saturating_mul(STRETCH_MAX)
        && vertical < horizontal.saturating_mul(STRETCH_MAX);
    if !is_sane || is_rotated || is_same(horizontal, vertical) {
        return None;
    }
    let divisor = greatest_common_divisor(horizontal, vertical);
    Some(((horizontal / divisor).try_into().ok()?, (vertical / divisor).try_into().ok()?))
}

fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn track_header_size_gives_pixel_aspect() {
        fn check(pixels: (u32, u32), shown: (u32, u32), expected: Option<(u32, u32)>) {
            assert_eq!(
                aspect_of_track_header(pixels, (shown.0 << 16, shown.1 << 16)),
                expected,
                "{pixels:?} {shown:?}"
            );
        }
        check((720, 576), (1024, 576), Some((64, 45)));
        check((1440, 1080), (1920, 1080), Some((4, 3)));
        check((720, 480), (640, 480), Some((8, 9)));
        check((1920, 1080), (1920, 1080), None);
        check((1920, 1080), (960, 540), None);
        check((1920, 1088), (1920, 1080), None);
        check((1280, 720), (720, 1280), None);
        check((1280, 720), (0, 0), None);
        check((1280, 720), (1, 0), None);
        check((1280, 720), (65_535, 1), None);
        check((u32::MAX, u32::MAX), (65_535, 32_768), Some((65_535, 32_768)));
    }
}
