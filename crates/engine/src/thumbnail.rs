//! Encodes one thumbnail from a few frames of video.

use std::ffi::OsString;
use std::time::Duration;

use bytes::Bytes;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, stdin_arguments};
use crate::job::{Files, Job, Limits, push};
use crate::overlay::{self, OverlayColours, StillOverlay};
use crate::priority::Priority;

/// Largest input: 20 s of video (the longest GOP that is copied) at 25 Mbit/s.
pub const THUMBNAIL_INPUT_MAX: u64 = 64 << 20;

/// Largest side of an image in pixels, for any request and any video: the width of cinema 4K.
pub const IMAGE_SIDE_MAX: u32 = 4096;

/// Largest image in bytes: a PNG of noise at the largest size of 16:9 (4096 x 2304 x 3 bytes) just fits.
pub const THUMBNAIL_OUTPUT_MAX: u64 = 32 << 20;

/// Private memory of the decoder, one frame and the encoder. A 4K GOP takes 0.3 GB.
const MEMORY_BYTES: u64 = 1 << 30;

/// Processor time for any input, and more for each MiB of it. Decoding takes about 0.2 s a MiB of H.264 at
/// usual rates; ten times that is a fault.
const CPU_BASE: Duration = Duration::from_secs(10);
const CPU_PER_MIB: Duration = Duration::from_secs(2);
/// Wall time for each second of processor time: a child gets more than this share of a processor even on an
/// overloaded machine, and a hung child ends.
const DEADLINE_PER_CPU: u32 = 6;

/// Steps a second of the grid on which frames are selected.
const GRID_PER_S: u32 = 1000;

/// The parameters of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThumbnailSpec {
    /// Its size, and how the frame fits.
    pub fit: Fit,
    /// Image format.
    pub format: ImageFormat,
}

/// How a frame is fitted to the size of an image. Sides are 1 to [`IMAGE_SIDE_MAX`]; others are clamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fit {
    /// Keeps the ratio of the video, fits the box, sides rounded down: 200x200 gives 200x112 for 16:9. Never
    /// larger than the video.
    Within {
        /// Largest width in pixels. `None`: as the video.
        width: Option<u32>,
        /// Largest height in pixels. `None`: as the video.
        height: Option<u32>,
    },
    /// Exactly this size, stretched.
    Stretch(ImageSize),
    /// Exactly this size: fills all of it, and cuts off the excess width or height.
    Crop(ImageSize, CropWindow),
    /// Exactly this size: the full frame in the middle, with black bars.
    Pad(ImageSize),
}

/// Size of an image in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ImageSize {
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
}

/// Position of a crop: thousandths of the cut-off part that are on its left and above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CropWindow {
    /// 0: the left edge, 1000: the right one.
    pub left: u16,
    /// 0: the upper edge, 1000: the lower one.
    pub top: u16,
}

impl CropWindow {
    /// The same on either side.
    pub const MIDDLE: Self = Self { left: 500, top: 500 };
}

/// The format of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageFormat {
    /// JPEG (JFIF), 4:2:0.
    Jpg,
    /// PNG, 8-bit RGB.
    Png,
    /// WebP, lossy. Needs an ffmpeg with libwebp.
    Webp,
}

impl Engine {
    /// One frame of `input` as an image.
    ///
    /// `input` is an MP4 that can be read from front to back (`moov` first, or fragments), or a Matroska,
    /// with one video track, beginning with a sync sample: a single keyframe or a GOP. `at` is a time since
    /// its first shown frame. The image is the last frame that begins at or before it, to the millisecond.
    /// `None` selects the first frame; so does an input with only one.
    ///
    /// The image is rotated as the track's matrix states, has square pixels and the size of `spec`; no side
    /// is longer than [`IMAGE_SIDE_MAX`]. The same arguments give the same bytes; it may be called any
    /// number of times.
    ///
    /// Errors: [`NoFrame`](EngineError::NoFrame) or [`Failed`](EngineError::Failed) if nothing decodes,
    /// and those of every run.
    pub async fn thumbnail(
        &self,
        input: Bytes,
        at: Option<Duration>,
        spec: ThumbnailSpec,
    ) -> Result<Bytes, EngineError> {
        self.thumbnail_with_overlay(input, at, spec, None).await
    }

    /// As [`thumbnail`](Self::thumbnail), with an image over the frame.
    pub async fn thumbnail_with_overlay(
        &self,
        input: Bytes,
        at: Option<Duration>,
        spec: ThumbnailSpec,
        overlay: Option<&StillOverlay>,
    ) -> Result<Bytes, EngineError> {
        self.require_encoder(spec.format.encoder())?;
        self.check_still_overlay(overlay)?;
        self.one_frame(input, at, |input, pick, limits| job(input, pick, spec, overlay, limits)).await
    }

    /// Errors: [`InvalidSpec`](EngineError::InvalidSpec), [`MissingFilter`](EngineError::MissingFilter).
    pub(crate) fn check_still_overlay(&self, overlay: Option<&StillOverlay>) -> Result<(), EngineError> {
        let Some(StillOverlay { overlay, canvas, frame }) = overlay else { return Ok(()) };
        self.require_overlay()?;
        overlay.check()?;
        let is_side = |side: u32, most: u32| (1..=most).contains(&side);
        let ImageSize { width, height } = frame.unwrap_or(*canvas);
        let is_possible = is_side(canvas.width, IMAGE_SIDE_MAX)
            && is_side(canvas.height, IMAGE_SIDE_MAX)
            && is_side(width, canvas.width)
            && is_side(height, canvas.height);
        if is_possible { Ok(()) } else { Err(EngineError::InvalidSpec("the canvas of a still")) }
    }

    /// The output of `job` for the frame at a time; past the end, for the last frame.
    pub(crate) async fn one_frame(
        &self,
        input: Bytes,
        at: Option<Duration>,
        job: impl Fn(Bytes, FramePick, Limits) -> Job,
    ) -> Result<Bytes, EngineError> {
        let limits = limits(&input)?;
        let pick = at.map_or(FramePick::First, FramePick::ShownAt);
        let image = self.run(job(input.clone(), pick, limits)).await?;
        if !image.is_empty() {
            return Ok(image);
        }
        if at.is_none() {
            return Err(EngineError::NoFrame);
        }
        // No frame is shown at that time: the last frame is used. Only decoding shows where it begins.
        let last = self.probe_decode(input.clone()).await?.last_frame_at.ok_or(EngineError::NoFrame)?;
        let last_image = self.run(job(input, FramePick::BeginsAt(last), limits)).await?;
        if last_image.is_empty() { Err(EngineError::NoFrame) } else { Ok(last_image) }
    }
}

/// Limits of decoding `input`. Errors with [`EngineError::InputTooLarge`].
pub(crate) fn limits(input: &Bytes) -> Result<Limits, EngineError> {
    let size_bytes = input.len() as u64;
    if THUMBNAIL_INPUT_MAX < size_bytes {
        return Err(EngineError::InputTooLarge { size_bytes, max_bytes: THUMBNAIL_INPUT_MAX });
    }
    let mib = u32::try_from(size_bytes >> 20).unwrap_or(u32::MAX);
    let cpu = CPU_BASE.saturating_add(CPU_PER_MIB.saturating_mul(mib));
    Ok(Limits {
        deadline: cpu.saturating_mul(DEADLINE_PER_CPU),
        cpu,
        memory_bytes: MEMORY_BYTES,
        output_max: THUMBNAIL_OUTPUT_MAX,
        file_max: 0,
    })
}

fn job(
    input: Bytes,
    pick: FramePick,
    spec: ThumbnailSpec,
    overlay: Option<&StillOverlay>,
    limits: Limits,
) -> Job {
    let mut arguments = stdin_arguments(FeedContainer::of(&input), 1);
    let filters = filters(spec, overlay.is_some());
    push_still(&mut arguments, pick, overlay, &filters, &["-map_metadata", "-1"]);
    push(&mut arguments, ["-frames:v", "1", "-fps_mode", "passthrough"]);
    push(&mut arguments, ["-flags:v", "+bitexact", "-fflags", "+bitexact", "-c:v", spec.format.encoder()]);
    push(&mut arguments, spec.format.quality_options().iter().copied());
    push(&mut arguments, ["-f", "image2pipe", "pipe:1"]);
    Job {
        kind: "picture",
        arguments,
        input,
        files: still_files(overlay),
        limits,
        priority: Priority::Prefetch,
        is_probe: false,
    }
}

/// Scales a frame and converts it to the colours of its format. With an overlay the frame is RGB.
fn filters(spec: ThumbnailSpec, is_rgb: bool) -> String {
    let colours = spec.format.pixel_format_filter();
    let rgb = if is_rgb { RGB_INPUT_FLAG } else { "" };
    let options = format!("{rgb}{}", scale_colour_options(spec.format));
    format!("{},setsar=1,{colours}", scale_filters(spec.fit, &options))
}

/// The files that a still needs.
pub(crate) fn still_files(overlay: Option<&StillOverlay>) -> Files {
    Files { read: overlay.iter().map(|still| still.overlay.file.clone()).collect(), write: None }
}

/// Appends the arguments that select a frame, draw an overlay over it, and then apply `filters`. ffmpeg
/// rotates it before. `options` are those of the output.
pub(crate) fn push_still(
    arguments: &mut Vec<OsString>,
    pick: FramePick,
    overlay: Option<&StillOverlay>,
    filters: &str,
    options: &[&str],
) {
    let Some(StillOverlay { overlay, canvas, frame }) = overlay else {
        push(arguments, ["-map", "0:v:0", "-an", "-sn", "-dn"]);
        push(arguments, options.iter().copied());
        push(arguments, ["-vf", &format!("{},{filters}", pick.filters())]);
        return;
    };
    overlay::push_image(arguments, &overlay.file);
    let ImageSize { width, height } = frame.unwrap_or(*canvas);
    let bars = match frame {
        Some(_) => format!(",pad={}:{}:(ow-iw)/2:(oh-ih)/2:black", canvas.width, canvas.height),
        None => String::new(),
    };
    // RGB: the matrix of the frame and that of the image format may differ.
    let canvas = format!(
        "[0:v:0]{},scale=w={width}:h={height}:{SCALE_FLAGS},setsar=1,format=gbrp{bars}[frame]",
        pick.filters()
    );
    let drawn = overlay::graph("[frame]", "[1:v:0]", 0, overlay.rectangle, OverlayColours::Rgb);
    push(arguments, ["-filter_complex", &format!("{canvas};{drawn},{filters}[still]"), "-map", "[still]"]);
    push(arguments, ["-an", "-sn", "-dn"]);
    push(arguments, options.iter().copied());
}

/// The selected frame, by times since the first shown one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FramePick {
    /// The first one.
    First,
    /// The one that is shown at a time.
    ShownAt(Duration),
    /// The one that begins at a time, to the millisecond. It may have no duration, as the last one in some
    /// files.
    BeginsAt(Duration),
}

impl FramePick {
    /// The filters that select only this frame.
    pub(crate) fn filters(self) -> String {
        let text = |at: Duration| format!("{}.{:06}", at.as_secs(), at.subsec_micros());
        let before = match self {
            Self::First => String::new(),
            // The grid begins at the wanted time, and shows the last frame that began at or before it.
            Self::ShownAt(at) => format!("fps=fps={GRID_PER_S}:round=near:start_time={},", text(at)),
            // A step earlier, because times are rounded.
            Self::BeginsAt(at) => {
                format!("trim=start={},", text(at.saturating_sub(Duration::from_secs(1) / GRID_PER_S)))
            }
        };
        format!("{before}trim=end_frame=1")
    }
}

/// Options of the scaler for images.
pub(crate) const SCALE_FLAGS: &str = "flags=bicubic+accurate_rnd+full_chroma_int";

/// Appended to [`SCALE_FLAGS`] for RGB frames. Without it the scaler reads beyond the last column of an odd
/// width.
pub(crate) const RGB_INPUT_FLAG: &str = "+full_chroma_inp";

/// The frame in its size, with square pixels.
///
/// The flags make greys exact and edges of colours clean; without the last one RGB is too dark by a
/// hundredth. `iw*sar` is the width in square pixels. The thousandth prevents that 180 becomes 179.99... and
/// then 179.
pub(crate) fn scale_filters(fit: Fit, colours: &str) -> String {
    const FLAGS: &str = SCALE_FLAGS;
    let factor = |ImageSize { width, height }| format!("min({width}/(iw*sar)\\,{height}/ih)");
    match fit {
        Fit::Within { width, height } => {
            let [width, height] = [width, height].map(|side| side.unwrap_or(IMAGE_SIDE_MAX));
            let size = ImageSize { width, height }.clamped();
            let factor = format!("min(1\\,{})", factor(size));
            format!(
                "scale=w=max(1\\,trunc(iw*sar*{factor}+0.001)):h=max(1\\,trunc(ih*{factor}+0.001)):{FLAGS}{colours}"
            )
        }
        Fit::Stretch(size) => {
            let ImageSize { width, height } = size.clamped();
            format!("scale=w={width}:h={height}:{FLAGS}{colours}")
        }
        // Cut before it is scaled: a very wide video scaled to a high box would have more pixels than fit in
        // memory.
        Fit::Crop(size, CropWindow { left, top }) => {
            let ImageSize { width, height } = size.clamped();
            let [left, top] = [left, top].map(|thousandths| thousandths.min(1000));
            format!(
                "crop=w=min(iw\\,max(2\\,ih*{width}/({height}*sar))):h=min(ih\\,max(2\\,iw*sar*{height}/{width})):\
                 x=(iw-ow)*{left}/1000:y=(ih-oh)*{top}/1000,scale=w={width}:h={height}:{FLAGS}{colours}"
            )
        }
        // Padded as RGB pixels: those of a format with subsampled chroma come in pairs.
        Fit::Pad(size) => {
            let size @ ImageSize { width, height } = size.clamped();
            let factor = factor(size);
            format!(
                "scale=w=min({width}\\,max(1\\,round(iw*sar*{factor}))):h=min({height}\\,max(1\\,round(ih*{factor}))):{FLAGS},\
                 format=rgb24,pad={width}:{height}:(ow-iw)/2:(oh-ih)/2:black,scale={FLAGS}{colours}"
            )
        }
    }
}

impl ImageSize {
    /// The nearest allowed size.
    fn clamped(self) -> Self {
        let side = |side: u32| side.clamp(1, IMAGE_SIDE_MAX);
        Self { width: side(self.width), height: side(self.height) }
    }
}

/// JFIF and WebP have one matrix, that of BT.601; JFIF uses the full range of values.
fn scale_colour_options(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Jpg => ":out_color_matrix=bt601:out_range=pc",
        ImageFormat::Png => "",
        ImageFormat::Webp => ":out_color_matrix=bt601:out_range=tv",
    }
}

impl ImageFormat {
    fn encoder(self) -> &'static str {
        match self {
            Self::Jpg => "mjpeg",
            Self::Png => "png",
            Self::Webp => "libwebp",
        }
    }

    fn pixel_format_filter(self) -> &'static str {
        match self {
            Self::Jpg => "format=yuvj420p",
            Self::Png => "format=rgb24",
            Self::Webp => "format=yuv420p",
        }
    }

    /// Compared by eye on photographs and drawings: no visible blocks, a tenth of a megabyte at 720p.
    fn quality_options(self) -> &'static [&'static str] {
        match self {
            Self::Jpg => &["-q:v", "3", "-huffman", "optimal"],
            Self::Png => &["-pred", "mixed"],
            Self::Webp => &["-quality", "82", "-compression_level", "4"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_input_gets_more_time_up_to_the_limit() {
        let small = limits(&Bytes::from(vec![0; 10])).unwrap();
        let large = limits(&Bytes::from(vec![0; 4 << 20])).unwrap();
        assert_eq!((small.cpu, large.cpu), (Duration::from_secs(10), Duration::from_secs(18)));
        assert_eq!((small.deadline, large.deadline), (Duration::from_secs(60), Duration::from_secs(108)));
        let rejected = limits(&Bytes::from(vec![0; (THUMBNAIL_INPUT_MAX + 1) as usize])).unwrap_err();
        assert!(matches!(
            rejected,
            EngineError::InputTooLarge { size_bytes: 67_108_865, max_bytes: 67_108_864 }
        ));
    }

    #[test]
    fn command_line_is_constant_except_for_numbers() {
        let fit = Fit::Within { width: Some(0), height: Some(u32::MAX) };
        let spec = ThumbnailSpec { fit, format: ImageFormat::Webp };
        let limits = limits(&Bytes::new()).unwrap();
        let at = FramePick::ShownAt(Duration::from_micros(1_500_001));
        let job = job(Bytes::new(), at, spec, None, limits);
        let arguments: Vec<_> = job.arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
        assert_eq!(
            arguments.join(" "),
            "-hide_banner -nostdin -loglevel error -filter_threads 1 -threads 1 -max_pixels 35389440 -protocol_whitelist pipe \
             -format_whitelist mov -codec_whitelist DECODERS -enable_drefs 0 -f mov -i pipe:0 -map 0:v:0 -an -sn -dn -map_metadata -1 -vf \
             fps=fps=1000:round=near:start_time=1.500001,trim=end_frame=1,\
             scale=w=max(1\\,trunc(iw*sar*min(1\\,min(1/(iw*sar)\\,4096/ih))+0.001)):\
             h=max(1\\,trunc(ih*min(1\\,min(1/(iw*sar)\\,4096/ih))+0.001)):flags=bicubic+accurate_rnd+full_chroma_int\
             :out_color_matrix=bt601:out_range=tv,setsar=1,format=yuv420p -frames:v 1 -fps_mode passthrough -flags:v +bitexact \
             -fflags +bitexact -c:v libwebp -quality 82 -compression_level 4 -f image2pipe pipe:1"
        );
    }
}
