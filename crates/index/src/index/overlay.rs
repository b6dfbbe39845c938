//! An image over the video of a presentation.

use super::SourceName;

/// Longest side of the image of an overlay in pixels.
pub const OVERLAY_SIDE_MAX: u16 = 4096;

/// An image that is drawn over every frame of the video. Encoded renditions, thumbnails and everything else
/// that is made from frames have it; the copy and its keyframes are not offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlay {
    /// The source whose bytes are the image: a PNG, RGBA with 8 bits, with the opacity in its alpha channel.
    pub image: SourceName,
    /// Width and height of the image in pixels: 1 to [`OVERLAY_SIDE_MAX`].
    pub image_size: (u16, u16),
    /// Horizontal alignment.
    pub x_align: OverlayAlign,
    /// Distance from the left or the right edge; with `Middle`, to the right of the middle.
    pub x_margin: OverlayLength,
    /// Vertical alignment.
    pub y_align: OverlayAlign,
    /// Distance from the upper or the lower edge; with `Middle`, below the middle.
    pub y_margin: OverlayLength,
    /// Width in the frame. Without one, the aspect ratio of the image and the height define it.
    pub width: Option<OverlayLength>,
    /// Height in the frame. Without one, the aspect ratio of the image and the width define it. Without both,
    /// the image has its own size.
    pub height: Option<OverlayLength>,
}

/// The edge or the middle of the frame from which a margin counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OverlayAlign {
    /// Left or top.
    Start,
    /// Center or middle.
    Middle,
    /// Right or bottom.
    End,
}

/// A length on one axis of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OverlayLength {
    /// Hundredths of a percent of the frame's side on this axis: 0 to [`PERCENT_MAX`](Self::PERCENT_MAX).
    Percent(u16),
    /// Pixels of the video when it is scaled to fit 1920x1080, or 1080x1920 if it is higher than wide.
    Pixels(u16),
}

impl OverlayLength {
    /// Hundredths of a percent of a whole side.
    pub const PERCENT_MAX: u16 = 10_000;
    /// No distance.
    pub const ZERO: Self = Self::Pixels(0);
}
