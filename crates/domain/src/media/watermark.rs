//! An image over the video of a media, in every rendition and thumbnail of it (C-200).

/// A watermark that a client requests. Each media has one at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watermark {
    /// The address of the image.
    pub url: String,
    /// Its position in the frame.
    pub placement: WatermarkPlacement,
    /// Its size; without one, its own size in a frame of 1080p.
    pub size: WatermarkSize,
    /// Opacity of its opaque pixels in percent: 0 to [`OPACITY_MAX`](Self::OPACITY_MAX).
    pub opacity_percent: u8,
}

impl Watermark {
    /// Opaque.
    pub const OPACITY_MAX: u8 = 100;
    /// Largest image file (C-200).
    pub const FILE_BYTES_MAX: u64 = 10 << 20;
    /// Most pixels of the image (C-200).
    pub const PIXELS_MAX: u64 = 50_000_000;
}

/// The edges or the middle of the frame from which margins count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatermarkPlacement {
    /// Horizontal alignment.
    pub x_align: WatermarkAlign,
    /// Distance from the left or the right edge; with `Middle`, to the right of the middle.
    pub x_margin: WatermarkLength,
    /// Vertical alignment.
    pub y_align: WatermarkAlign,
    /// Distance from the upper or the lower edge; with `Middle`, below the middle.
    pub y_margin: WatermarkLength,
}

/// An alignment on one axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatermarkAlign {
    /// Left or top.
    Start,
    /// Center or middle.
    Middle,
    /// Right or bottom.
    End,
}

/// The size of a watermark. One side alone keeps the aspect ratio of the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WatermarkSize {
    /// Width.
    pub width: Option<WatermarkLength>,
    /// Height.
    pub height: Option<WatermarkLength>,
}

/// A length on one axis of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatermarkLength {
    /// Hundredths of a percent of the frame's side on this axis: 0 to 10,000.
    Percent(u16),
    /// Pixels of the video when it is scaled to fit 1920x1080, or 1080x1920 if it is higher than wide: 0 to
    /// [`PIXELS_MAX`](Self::PIXELS_MAX).
    Pixels(u16),
}

impl WatermarkLength {
    /// Hundredths of a percent of a whole side.
    pub const PERCENT_MAX: u16 = 10_000;
    /// Most pixels of a length: the longer side of the frame that lengths in pixels refer to.
    pub const PIXELS_MAX: u16 = 1920;
    /// No distance.
    pub const ZERO: Self = Self::Pixels(0);
}
