//! Smart crop: selects the part of a frame with the most detail. Pure. D-0081.

use kinora_engine::{CropWindow, ImageSize, RgbFrame};

/// Longest side of the analyzed image, in pixels: enough to tell a face from a wall.
pub(super) const ANALYZED_SIDE_MAX: u32 = 96;
/// Part of the highest edge sum, in thousandths, from which another window counts as equal. The equal window
/// nearest to the middle wins, so a uniform image is cut in its middle.
const NEAR_BEST_PERMILLE: u64 = 990;

/// Position of the largest window with the ratio of `size` that has the highest edge sum: brightness changes
/// most in focused parts, faces and letters, and not in skies, walls and blurred backgrounds.
pub(super) fn find_crop_window(frame: &RgbFrame, size: ImageSize) -> CropWindow {
    let (width, height) = (frame.width as u64, frame.height as u64);
    let (target_width, target_height) = (u64::from(size.width.max(1)), u64::from(size.height.max(1)));
    let edges = edges(frame);
    // One of the two sides keeps its full length.
    let window_columns = (height * target_width / target_height).clamp(1, width);
    let window_rows = (width * target_height / target_width).clamp(1, height);
    let columns: Vec<u64> =
        (0..frame.width).map(|x| edges.iter().skip(x).step_by(frame.width).sum()).collect();
    let rows: Vec<u64> = edges.chunks(frame.width).map(|row| row.iter().sum()).collect();
    CropWindow { left: best_offset(&columns, window_columns), top: best_offset(&rows, window_rows) }
}

/// How much the brightness changes at each pixel, to its right and below.
fn edges(frame: &RgbFrame) -> Vec<u64> {
    let RgbFrame { width, height, rgb } = frame;
    // ITU-R BT.601, 2.5.1, in 256ths.
    let luma: Vec<u64> = rgb
        .chunks_exact(3)
        .map(|pixel| 77 * u64::from(pixel[0]) + 150 * u64::from(pixel[1]) + 29 * u64::from(pixel[2]))
        .collect();
    let at = |x: usize, y: usize| luma.get(y * width + x).copied().unwrap_or(0);
    let edge = |x: usize, y: usize| {
        let here = at(x, y);
        at((x + 1).min(width - 1), y).abs_diff(here) + at(x, (y + 1).min(height - 1)).abs_diff(here)
    };
    (0..*height).flat_map(|y| (0..*width).map(move |x| (x, y))).map(|(x, y)| edge(x, y)).collect()
}

/// Position of the best window of this length, in thousandths of the cut-off length.
fn best_offset(edges: &[u64], length: u64) -> u16 {
    let length = usize::try_from(length).unwrap_or(usize::MAX).clamp(1, edges.len().max(1));
    let cut_off = edges.len().saturating_sub(length);
    if cut_off == 0 {
        return CropWindow::MIDDLE.left;
    }
    let sums: Vec<u64> = edges.windows(length).map(|window| window.iter().sum()).collect();
    let best = sums.iter().max().copied().unwrap_or(0);
    let is_good = |start: &usize| best * NEAR_BEST_PERMILLE <= sums[*start] * 1000;
    let from_middle = |start: &usize| (2 * start).abs_diff(cut_off);
    let start = (0..sums.len()).filter(is_good).min_by_key(from_middle).unwrap_or(cut_off / 2);
    if 2 * start == cut_off || sums.len() < 2 {
        return CropWindow::MIDDLE.left;
    }
    u16::try_from(start * 1000 / cut_off).unwrap_or(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Grey, with a pattern of fine squares where `is_rich` says so.
    fn frame(width: usize, height: usize, is_rich: impl Fn(usize, usize) -> bool) -> RgbFrame {
        let pixels = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let value = |(x, y)| if is_rich(x, y) && (x / 2 + y / 2) % 2 == 0 { 220 } else { 100 };
        RgbFrame { width, height, rgb: pixels.flat_map(|pixel| [value(pixel); 3]).collect() }
    }

    #[test]
    fn smartcrop_window_covers_detail() {
        let check = |what: &str, image: &RgbFrame, (width, height): (u32, u32), expected: (u16, u16)| {
            let CropWindow { left, top } = find_crop_window(image, ImageSize { width, height });
            assert_eq!((left, top), expected, "{what}");
        };
        let (left, top) = (frame(96, 54, |x, _| x < 20), frame(54, 96, |_, y| y < 20));
        let right = frame(96, 54, |x, y| 76 <= x && y < 40);
        check("at the left end", &left, (100, 100), (0, 500));
        check("one column of those at the left end", &left, (10, 1000), (178, 500));
        check("at the upper end", &top, (300, 300), (500, 0));
        check("at the right end", &right, (100, 100), (1000, 500));
        check("nothing anywhere", &frame(96, 54, |_, _| false), (100, 100), (500, 500));
        check("the same everywhere", &frame(96, 54, |_, _| true), (100, 100), (500, 500));
        check("nothing is cut", &left, (960, 540), (500, 500));
        check("one row of those at the upper end", &top, (4096, 1), (500, 178));
        check("one pixel", &frame(1, 1, |_, _| true), (7, 300), (500, 500));
    }

    #[test]
    fn smartcrop_prefers_the_middle() {
        let two = frame(96, 54, |x, _| (30..50).contains(&x));
        let CropWindow { left, .. } = find_crop_window(&two, ImageSize { width: 54, height: 54 });
        assert!((300..=500).contains(&left), "{left}");
    }
}
