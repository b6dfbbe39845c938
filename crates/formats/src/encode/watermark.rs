//! The place of an overlay in a frame (M-46).

use kinora_index::{Overlay, OverlayAlign, OverlayLength};

/// Sides of the frame to which lengths in pixels refer, the longer one first.
const REFERENCE: (u64, u64) = (1920, 1080);
/// Lengths are computed in this fraction of a pixel.
const FRACTION: u64 = 1 << 16;

/// A part of a frame in pixels, at least one in each direction, inside of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rectangle {
    /// Columns at its left.
    pub left: u32,
    /// Rows above it.
    pub top: u32,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
}

/// The part of a frame of this size that an overlay covers. A pure function, so that every rendition of a
/// size has the same.
///
/// An overlay larger than the frame is scaled down with its aspect ratio, and one that would be partly
/// outside is moved inside.
pub fn overlay_rectangle(overlay: &Overlay, (frame_width, frame_height): (u32, u32)) -> Rectangle {
    let (frame_width, frame_height) = (frame_width.max(1), frame_height.max(1));
    let x = Axis::new(frame_width, (frame_width, frame_height));
    let y = Axis::new(frame_height, (frame_width, frame_height));
    let (image_width, image_height) =
        (u64::from(overlay.image_size.0.max(1)), u64::from(overlay.image_size.1.max(1)));
    let proportional = |side: u64, other: u64, own: u64| scaled(side, own, other);
    let (width, height) =
        match (overlay.width.map(|width| x.length(width)), overlay.height.map(|height| y.length(height))) {
            (Some(width), Some(height)) => (width, height),
            (Some(width), None) => (width, proportional(width, image_width, image_height)),
            (None, Some(height)) => (proportional(height, image_height, image_width), height),
            (None, None) => (x.pixels(image_width), y.pixels(image_height)),
        };
    let (width, height) = fitted((width, height), (x.frame(), y.frame()));
    let (width, height) = (x.side(width), y.side(height));
    Rectangle {
        left: x.start(width, overlay.x_align, overlay.x_margin),
        top: y.start(height, overlay.y_align, overlay.y_margin),
        width,
        height,
    }
}

/// One axis of a frame.
#[derive(Debug, Clone, Copy)]
struct Axis {
    /// Pixels of the frame on this axis.
    side: u32,
    /// The frame pixels of one pixel of the reference, as a fraction.
    scale: (u64, u64),
}

impl Axis {
    fn new(side: u32, (width, height): (u32, u32)) -> Self {
        let (width, height) = (u64::from(width), u64::from(height));
        let (longer, shorter) = (width.max(height), width.min(height));
        // The side that limits the size of the frame when it is scaled to fit the reference.
        let is_longer = shorter * REFERENCE.0 <= longer * REFERENCE.1;
        let scale = if is_longer { (longer, REFERENCE.0) } else { (shorter, REFERENCE.1) };
        Self { side, scale }
    }

    /// The whole side, in fractions of a pixel.
    fn frame(self) -> u64 {
        u64::from(self.side) * FRACTION
    }

    /// A number of reference pixels, in fractions of a pixel.
    fn pixels(self, pixels: u64) -> u64 {
        scaled(pixels * FRACTION, self.scale.0, self.scale.1)
    }

    fn length(self, length: OverlayLength) -> u64 {
        match length {
            OverlayLength::Percent(hundredths) => {
                scaled(self.frame(), hundredths.into(), OverlayLength::PERCENT_MAX.into())
            }
            OverlayLength::Pixels(pixels) => self.pixels(pixels.into()),
        }
    }

    /// A length in whole pixels: 1 to the side of the frame.
    fn side(self, length: u64) -> u32 {
        rounded(length).clamp(1, self.side)
    }

    /// The first pixel of something this long.
    fn start(self, len: u32, align: OverlayAlign, margin: OverlayLength) -> u32 {
        let free = u64::from(self.side - len) * FRACTION;
        let margin = self.length(margin);
        let start = match align {
            OverlayAlign::Start => margin,
            OverlayAlign::Middle => (free / 2).saturating_add(margin),
            OverlayAlign::End => free.saturating_sub(margin),
        };
        rounded(start).min(self.side - len)
    }
}

/// The size, scaled down to fit a frame.
fn fitted((width, height): (u64, u64), (frame_width, frame_height): (u64, u64)) -> (u64, u64) {
    if width <= frame_width && height <= frame_height {
        return (width, height);
    }
    let is_limited_by_width =
        u128::from(frame_width) * u128::from(height) <= u128::from(frame_height) * u128::from(width);
    if is_limited_by_width {
        (frame_width, scaled(height, frame_width, width))
    } else {
        (scaled(width, frame_height, height), frame_height)
    }
}

/// `value * numerator / denominator`, rounded down.
fn scaled(value: u64, numerator: u64, denominator: u64) -> u64 {
    let product = u128::from(value) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// The nearest number of whole pixels.
fn rounded(length: u64) -> u32 {
    u32::try_from(length.saturating_add(FRACTION / 2) / FRACTION).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use kinora_index::OverlayAlign::{End, Middle, Start};
    use kinora_index::OverlayLength::{Percent, Pixels};
    use proptest::prelude::*;

    use super::*;

    fn overlay(width: u16, height: u16) -> Overlay {
        Overlay {
            image: [0; 16],
            image_size: (width, height),
            x_align: Start,
            x_margin: OverlayLength::ZERO,
            y_align: Start,
            y_margin: OverlayLength::ZERO,
            width: None,
            height: None,
        }
    }

    /// Left, top, width and height.
    fn place(overlay: Overlay, frame: (u32, u32)) -> [u32; 4] {
        let Rectangle { left, top, width, height } = overlay_rectangle(&overlay, frame);
        [left, top, width, height]
    }

    #[test]
    fn alignment_and_margin_define_the_place() {
        let check = |x_align, y_align, expected: [u32; 2]| {
            let overlay = Overlay {
                x_align,
                y_align,
                x_margin: Percent(1000),
                y_margin: Pixels(27),
                ..overlay(301, 99)
            };
            // 10% of 1280 are 128 pixels, and 27 of 1080 lines are 18.
            assert_eq!(place(overlay, (1280, 720)), [expected[0], expected[1], 201, 66]);
        };
        let columns = [(Start, 128), (Middle, 668), (End, 1280 - 128 - 201)];
        let rows = [(Start, 18), (Middle, 345), (End, 720 - 18 - 66)];
        for (x_align, left) in columns {
            for (y_align, top) in rows {
                check(x_align, y_align, [left, top]);
            }
        }
    }

    #[test]
    fn own_size_is_that_at_1080p() {
        let check = |frame, size: [u32; 2]| {
            let [_, _, width, height] = place(overlay(240, 120), frame);
            assert_eq!([width, height], size, "{frame:?}");
        };
        check((1920, 1080), [240, 120]);
        check((1280, 720), [160, 80]);
        check((854, 480), [107, 53]);
        check((426, 240), [53, 27]);
        check((3840, 2160), [480, 240]);
        // As high as 1920 lines, as wide as 1080.
        check((1080, 1920), [240, 120]);
        check((406, 720), [90, 45]);
        // A square fits 1080p in height, a wide film in width.
        check((720, 720), [160, 80]);
        check((1920, 800), [240, 120]);
        check((1440, 1080), [240, 120]);
        check((2, 2), [1, 1]);
    }

    #[test]
    fn one_side_keeps_the_ratio_of_the_image() {
        let frame = (1280, 720);
        let of = |width, height| Overlay { width, height, ..overlay(400, 100) };
        assert_eq!(place(of(Some(Percent(2500)), None), frame), [0, 0, 320, 80]);
        assert_eq!(place(of(None, Some(Percent(2500))), frame), [0, 0, 720, 180]);
        assert_eq!(place(of(Some(Pixels(300)), None), frame), [0, 0, 200, 50]);
        assert_eq!(place(of(None, Some(Pixels(300))), frame), [0, 0, 800, 200]);
        assert_eq!(place(of(Some(Pixels(300)), Some(Percent(1250))), frame), [0, 0, 200, 90]);
    }

    #[test]
    fn overlay_is_never_larger_than_the_frame() {
        assert_eq!(place(overlay(4096, 1024), (1280, 720)), [0, 0, 1280, 320]);
        assert_eq!(place(overlay(1024, 4096), (1280, 720)), [0, 0, 180, 720]);
        assert_eq!(place(overlay(4096, 4096), (1280, 720)), [0, 0, 720, 720]);
        let all = Overlay { width: Some(Percent(10_000)), ..overlay(10, 10) };
        assert_eq!(place(all, (1280, 720)), [0, 0, 720, 720]);
        // 16:9 in a frame whose sides were rounded.
        assert_eq!(place(overlay(1920, 1080), (854, 480)), [0, 0, 853, 480]);
    }

    #[test]
    fn overlay_has_at_least_one_pixel() {
        assert_eq!(place(overlay(1, 1), (426, 240)), [0, 0, 1, 1]);
        assert_eq!(place(overlay(4096, 1), (426, 240)), [0, 0, 426, 1]);
        let none = Overlay { width: Some(Percent(0)), ..overlay(300, 80) };
        assert_eq!(place(none, (426, 240)), [0, 0, 1, 1]);
    }

    #[test]
    fn overlay_beyond_an_edge_is_moved_inside() {
        let of = |x_align| Overlay { x_align, x_margin: Percent(9500), ..overlay(300, 80) };
        assert_eq!(place(of(Start), (1920, 1080)), [1620, 0, 300, 80]);
        assert_eq!(place(of(Middle), (1920, 1080)), [1620, 0, 300, 80]);
        assert_eq!(place(of(End), (1920, 1080)), [0, 0, 300, 80]);
    }

    proptest! {
        #[test]
        fn rectangle_is_inside_the_frame(
            frame in (0_u32..=8192, 0_u32..=8192),
            image_size: (u16, u16),
            lengths in prop::array::uniform4((any::<bool>(), any::<u16>())),
            has_size: (bool, bool),
            aligns in prop::array::uniform2(prop::sample::select(vec![Start, Middle, End])),
        ) {
            let [x_margin, y_margin, width, height] = lengths
                .map(|(is_percent, value)| if is_percent { Percent(value % 10_001) } else { Pixels(value) });
            let [x_align, y_align] = aligns;
            let overlay = Overlay {
                image: [0; 16],
                image_size,
                x_align,
                x_margin,
                y_align,
                y_margin,
                width: has_size.0.then_some(width),
                height: has_size.1.then_some(height),
            };
            let [left, top, width, height] = place(overlay, frame);
            prop_assert!(1 <= width && left + width <= frame.0.max(1));
            prop_assert!(1 <= height && top + height <= frame.1.max(1));
        }
    }
}
