//! An image that is drawn over the frames of a run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::push_input;
use crate::thumbnail::ImageSize;

/// Largest side of a frame, and so of a rectangle in it.
const SIDE_MAX: u32 = 8192;

/// Filters that every overlay needs and a build may lack.
const FILTERS: [&str; 4] = ["overlay", "pad", "premultiply", "unpremultiply"];

/// The demuxer of the image.
const DEMUXER: &str = "png_pipe";

/// The part of a frame that an image covers, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OverlayRectangle {
    /// Columns at its left.
    pub left: u32,
    /// Rows above it.
    pub top: u32,
    /// Width to which the image is scaled; at least 1.
    pub width: u32,
    /// Height to which the image is scaled; at least 1.
    pub height: u32,
}

/// An image over every frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameOverlay {
    /// An absolute path to a PNG whose colours are not multiplied by its alpha channel.
    pub file: PathBuf,
    /// Its place in the frame.
    pub rectangle: OverlayRectangle,
}

/// An image over every frame of several rungs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VideoOverlay {
    /// As [`FrameOverlay::file`].
    pub file: PathBuf,
    /// Its place in each rung, in their order.
    pub rectangles: Vec<OverlayRectangle>,
}

/// An image over the frame of a still. It is drawn before the frame is fitted to the size of the still, so
/// that a crop shows what it shows of the video.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StillOverlay {
    /// The image, and its place in the canvas.
    pub overlay: FrameOverlay,
    /// The size of the video in square pixels.
    pub canvas: ImageSize,
    /// The size to which the frame is scaled, with black bars around it. `None`: the whole canvas.
    pub frame: Option<ImageSize>,
}

/// The colours in which an image is drawn: those of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OverlayColours {
    /// Planar RGB.
    Rgb,
    /// 4:2:0 with this matrix and range, both as ffmpeg's scaler names them.
    Yuv { matrix: &'static str, range: &'static str },
}

impl Engine {
    /// Errors: [`MissingFilter`](EngineError::MissingFilter).
    pub(crate) fn require_overlay(&self) -> Result<(), EngineError> {
        FILTERS.iter().try_for_each(|filter| self.require_filter(filter))
    }
}

impl FrameOverlay {
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        check(&self.file, &[self.rectangle])
    }
}

/// Rejects a path that is not absolute, and an impossible rectangle.
pub(crate) fn check(file: &Path, rectangles: &[OverlayRectangle]) -> Result<(), EngineError> {
    let is_possible = |rectangle: &OverlayRectangle| {
        let OverlayRectangle { left, top, width, height } = *rectangle;
        let is_side = |side: u32| (1..=SIDE_MAX).contains(&side);
        left <= SIDE_MAX && top <= SIDE_MAX && is_side(width) && is_side(height)
    };
    let is_path = file.is_absolute() && file.to_str().is_some();
    if is_path && rectangles.iter().all(is_possible) {
        Ok(())
    } else {
        Err(EngineError::InvalidSpec("the place of an image in a frame"))
    }
}

/// Adds the image as one more input. It decodes to one frame, which stays until the run ends.
pub(crate) fn push_image(arguments: &mut Vec<OsString>, file: &Path) {
    push_input(arguments, &format!("file:{}", file.display()), DEMUXER, 1, &[]);
}

/// The graph that draws the image of `source` over the frames of `frames`, up to an output without a label.
/// `id` makes its labels unique.
pub(crate) fn graph(
    frames: &str,
    source: &str,
    id: usize,
    rectangle: OverlayRectangle,
    colours: OverlayColours,
) -> String {
    let image = image_filters(rectangle, colours);
    let OverlayRectangle { left, top, .. } = rectangle;
    let (left, top, format) = match colours {
        OverlayColours::Rgb => (left, top, "gbrp"),
        OverlayColours::Yuv { .. } => (left - left % 2, top - top % 2, "yuv420"),
    };
    format!("{source}{image}[image{id}];{frames}[image{id}]overlay=x={left}:y={top}:format={format}")
}

/// Scales the image and converts its colours.
///
/// It is scaled with its colours multiplied by alpha: transparent pixels would tint the pixels at their
/// edges. Its time is before that of every frame, else the first ones would be without it.
fn image_filters(rectangle: OverlayRectangle, colours: OverlayColours) -> String {
    const FLAGS: &str = "flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp";
    let OverlayRectangle { left, top, width, height } = rectangle;
    let scaled = format!(
        "setpts=PTS-100/TB,format=gbrap,premultiply=inplace=1,scale=w={width}:h={height}:{FLAGS},\
         unpremultiply=inplace=1"
    );
    match colours {
        OverlayColours::Rgb => scaled,
        // The filter rounds odd offsets down, because chroma is subsampled. A transparent row or column in
        // front of the image moves it to its place.
        OverlayColours::Yuv { matrix, range } => {
            let (x, y) = (left % 2, top % 2);
            let pad = if (x, y) == (0, 0) {
                String::new()
            } else {
                format!(",pad={}:{}:{x}:{y}:black@0", width + x, height + y)
            };
            format!("{scaled}{pad},scale={FLAGS}:out_color_matrix={matrix}:out_range={range},format=yuva420p")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECTANGLE: OverlayRectangle = OverlayRectangle { left: 33, top: 20, width: 51, height: 1 };

    #[test]
    fn odd_offset_is_transparent_padding() {
        let yuv = OverlayColours::Yuv { matrix: "bt709", range: "tv" };
        assert_eq!(
            graph("[f]", "[1:v:0]", 3, RECTANGLE, yuv),
            "[1:v:0]setpts=PTS-100/TB,format=gbrap,premultiply=inplace=1,\
             scale=w=51:h=1:flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp,unpremultiply=inplace=1,\
             pad=52:1:1:0:black@0,\
             scale=flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp:out_color_matrix=bt709:out_range=tv,\
             format=yuva420p[image3];[f][image3]overlay=x=32:y=20:format=yuv420"
        );
        assert_eq!(
            graph("[f]", "[1:v:0]", 0, RECTANGLE, OverlayColours::Rgb),
            "[1:v:0]setpts=PTS-100/TB,format=gbrap,premultiply=inplace=1,\
             scale=w=51:h=1:flags=bicubic+accurate_rnd+full_chroma_int+full_chroma_inp,unpremultiply=inplace=1\
             [image0];[f][image0]overlay=x=33:y=20:format=gbrp"
        );
    }

    #[test]
    fn image_is_a_png_that_can_name_no_other_file() {
        let mut arguments = Vec::new();
        push_image(&mut arguments, Path::new("/tmp/a"));
        let arguments: Vec<_> = arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
        assert_eq!(
            arguments.join(" "),
            "-threads 1 -max_pixels 35389440 -protocol_whitelist file -format_whitelist png_pipe \
             -codec_whitelist DECODERS -f png_pipe -i file:/tmp/a"
        );
    }

    #[test]
    fn impossible_rectangle_or_path_is_rejected() {
        let file = Path::new("/tmp/a");
        assert!(check(file, &[RECTANGLE]).is_ok());
        assert!(check(Path::new("a"), &[RECTANGLE]).is_err());
        for rectangle in [
            OverlayRectangle { width: 0, ..RECTANGLE },
            OverlayRectangle { height: SIDE_MAX + 1, ..RECTANGLE },
            OverlayRectangle { left: SIDE_MAX + 1, ..RECTANGLE },
            OverlayRectangle { top: u32::MAX, ..RECTANGLE },
        ] {
            assert!(check(file, &[RECTANGLE, rectangle]).is_err(), "{rectangle:?}");
        }
    }
}
