//! Letterboxing: parts of another shape than the base are shown whole, with black bars (C-196).

use kinora_index::VideoTrack;

/// Bars of fewer pixels in total come from rounding, and are left out.
const BARS_MIN: u32 = 4;

/// The size of the image of a part inside frames of this size, in square pixels, both sides even; `None` if
/// it fills them. `base` is the video that the size of the frames follows.
pub fn image_size(
    (frame_width, frame_height): (u32, u32),
    base: &VideoTrack,
    part: &VideoTrack,
) -> Option<(u32, u32)> {
    let (width, height) = part.display_size();
    if (width, height) == base.display_size() {
        return None;
    }
    let [w, h, frame_w, frame_h] = [width.max(1), height.max(1), frame_width, frame_height].map(u64::from);
    let even = |numerator: u64, denominator: u64, most: u32| {
        // Rounded to the nearest even number.
        let side = (numerator + denominator) / (2 * denominator) * 2;
        u32::try_from(side).unwrap_or(most).clamp(2, most)
    };
    let image = if frame_w * h <= frame_h * w {
        (frame_width, even(frame_w * h, w, frame_height))
    } else {
        (even(frame_h * w, h, frame_width), frame_height)
    };
    let bars = (frame_width - image.0).max(frame_height - image.1);
    (BARS_MIN <= bars).then_some(image)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::ladder::tests::source;

    #[test]
    fn image_keeps_its_shape_inside_the_frame() {
        let base = source((1280, 720), |_| {});
        let (_, base_video) = base.video().unwrap();
        let check = |size, change: fn(&mut VideoTrack), expected| {
            let mut part = base_video.clone();
            (part.width, part.height) = size;
            change(&mut part);
            assert_eq!(image_size((854, 480), base_video, &part), expected, "{size:?}");
        };
        check((1280, 720), |_| {}, None);
        check((640, 360), |_| {}, None);
        check((1920, 1080), |_| {}, None);
        check((640, 480), |_| {}, Some((640, 480)));
        check((720, 576), |part| part.pixel_aspect = (16, 15), Some((640, 480)));
        check((720, 576), |part| part.pixel_aspect = (64, 45), None);
        check((720, 1280), |_| {}, Some((270, 480)));
        check((720, 1280), |part| part.rotation = 90, None);
        check((2048, 858), |_| {}, Some((854, 358)));
        check((4000, 2), |_| {}, Some((854, 2)));
        check((2, 4000), |_| {}, Some((2, 480)));
    }
}
