//! One still picture out of a few frames of video.

use std::time::Duration;

use bytes::Bytes;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, read_from_stdin};
use crate::job::{Files, Job, Limits, push};
use crate::priority::Priority;

/// Largest input: 20 s of video (the longest GOP that is copied as it is) at 25 Mbit/s.
pub const PICTURE_INPUT_MAX: u64 = 64 << 20;

/// Largest side of a picture in pixels, whatever is asked for and whatever the video has: the width of cinema
/// 4K.
pub const PICTURE_SIDE_MAX: u32 = 4096;

/// Largest picture in bytes: a PNG of noise at the largest size of 16:9 (4096 x 2304 x 3 bytes) just fits.
pub const PICTURE_OUTPUT_MAX: u64 = 32 << 20;

/// Private memory of the decoder, one picture and the encoder. A 4K GOP takes 0.3 GB.
const MEMORY_BYTES: u64 = 1 << 30;

/// Processor time for any input, and more for each MiB of it. Decoding takes about 0.2 s a MiB of H.264 at
/// usual rates; ten times that is a fault.
const CPU_BASE: Duration = Duration::from_secs(10);
const CPU_PER_MIB: Duration = Duration::from_secs(2);
/// Real time for the same: more than this part of a processor is there for a child also on a machine that is
/// much too busy, and a child that hangs ends.
const DEADLINE_PER_CPU: u32 = 6;

/// Frames are picked on a grid of so many steps a second.
const GRID_PER_S: u32 = 1000;

/// Which picture is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureSpec {
    /// How large it is, and what becomes of the rest.
    pub fit: Fit,
    /// How it is encoded.
    pub format: PictureFormat,
}

/// How a picture comes to its size. Sides are 1 to [`PICTURE_SIDE_MAX`]; others are taken for the nearest of
/// these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fit {
    /// Keeps the ratio of the video, fits the box, sides rounded down: 200x200 gives 200x112 for 16:9. Never
    /// larger than the video.
    Within {
        /// At most so many pixels wide. `None`: as the video.
        width: Option<u32>,
        /// At most so many pixels high. `None`: as the video.
        height: Option<u32>,
    },
    /// Exactly so large, whatever that does to shapes.
    Stretch(PictureSize),
    /// Exactly so large: fills all of it, and what is too wide or too high for that is cut off.
    Crop(PictureSize, CropWindow),
    /// Exactly so large: all of the picture in the middle, and black around it.
    Pad(PictureSize),
}

/// How large a picture is, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureSize {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// Which part of a picture is left by a crop: of what is cut off, so many thousandths lie on its left and
/// above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CropWindow {
    /// 0: the left end, 1000: the right one.
    pub left: u16,
    /// 0: the upper end, 1000: the lower one.
    pub top: u16,
}

impl CropWindow {
    /// As much on either side.
    pub const MIDDLE: Self = Self { left: 500, top: 500 };
}

/// How a picture is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PictureFormat {
    /// JPEG (JFIF), 4:2:0.
    Jpg,
    /// PNG, 8-bit RGB.
    Png,
    /// WebP, lossy. Needs an ffmpeg with libwebp.
    Webp,
}

impl Engine {
    /// One frame of `input` as a picture.
    ///
    /// `input` is an MP4 that can be read from front to back (`moov` first, or fragments), or a Matroska,
    /// with one video track, beginning with a sync sample: a single keyframe or a GOP. `at` is a time since
    /// its first shown frame: the picture is the last frame that begins at or before it, to the millisecond.
    /// `None` takes the first frame; so does an input that holds only one.
    ///
    /// The picture is turned as the track's matrix says, has square pixels and the size of `spec`; no side is
    /// longer than [`PICTURE_SIDE_MAX`]. The same arguments give the same bytes; it may be called any number
    /// of times.
    ///
    /// Errors: [`NoPicture`](EngineError::NoPicture) or [`Failed`](EngineError::Failed) when nothing can be
    /// decoded, and those of every run.
    pub async fn picture(
        &self,
        input: Bytes,
        at: Option<Duration>,
        spec: PictureSpec,
    ) -> Result<Bytes, EngineError> {
        self.require_encoder(spec.format.encoder())?;
        self.one_frame(input, at, |input, pick, limits| job(input, pick, spec, limits)).await
    }

    /// What `job` makes of the frame at a time; past the end of the last one.
    pub(crate) async fn one_frame(
        &self,
        input: Bytes,
        at: Option<Duration>,
        job: impl Fn(Bytes, Pick, Limits) -> Job,
    ) -> Result<Bytes, EngineError> {
        let limits = limits(&input)?;
        let pick = at.map_or(Pick::First, Pick::ShownAt);
        let picture = self.run(job(input.clone(), pick, limits)).await?;
        if !picture.is_empty() {
            return Ok(picture);
        }
        if at.is_none() {
            return Err(EngineError::NoPicture);
        }
        // Nothing is shown at that time any more: the last frame is meant. Where it begins, only decoding
        // tells.
        let last = self.probe_decode(input.clone()).await?.last_frame_at.ok_or(EngineError::NoPicture)?;
        let picture = self.run(job(input, Pick::BeginsAt(last), limits)).await?;
        if picture.is_empty() { Err(EngineError::NoPicture) } else { Ok(picture) }
    }
}

/// What decoding `input` may use. Errors with [`EngineError::InputTooLarge`].
pub(crate) fn limits(input: &Bytes) -> Result<Limits, EngineError> {
    let size_bytes = input.len() as u64;
    if PICTURE_INPUT_MAX < size_bytes {
        return Err(EngineError::InputTooLarge { size_bytes, max_bytes: PICTURE_INPUT_MAX });
    }
    let mib = u32::try_from(size_bytes >> 20).unwrap_or(u32::MAX);
    let cpu = CPU_BASE.saturating_add(CPU_PER_MIB.saturating_mul(mib));
    Ok(Limits {
        deadline: cpu.saturating_mul(DEADLINE_PER_CPU),
        cpu,
        memory_bytes: MEMORY_BYTES,
        output_max: PICTURE_OUTPUT_MAX,
        file_max: 0,
    })
}

fn job(input: Bytes, pick: Pick, spec: PictureSpec, limits: Limits) -> Job {
    let mut arguments = read_from_stdin(FeedContainer::of(&input), 1);
    push(&mut arguments, ["-map", "0:v:0", "-an", "-sn", "-dn", "-map_metadata", "-1"]);
    push(&mut arguments, ["-vf", &filters(pick, spec), "-frames:v", "1", "-fps_mode", "passthrough"]);
    push(&mut arguments, ["-flags:v", "+bitexact", "-fflags", "+bitexact", "-c:v", spec.format.encoder()]);
    push(&mut arguments, spec.format.quality().iter().copied());
    push(&mut arguments, ["-f", "image2pipe", "pipe:1"]);
    Job {
        kind: "picture",
        arguments,
        input,
        files: Files::default(),
        limits,
        priority: Priority::Prefetch,
        is_try: false,
    }
}

/// The filters: pick a frame, size it, give it the colours of its format. Turning comes before them by
/// itself.
fn filters(pick: Pick, spec: PictureSpec) -> String {
    let colours = spec.format.colours();
    format!("{},{},setsar=1,{colours}", pick.filters(), sized(spec.fit, colours_of_scale(spec.format)))
}

/// The one frame that is wanted, by times since the first shown one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    /// The first one.
    First,
    /// The one that is shown at a time.
    ShownAt(Duration),
    /// The one that begins at a time, to the millisecond. It may last no time at all, as the last one of some
    /// files says of itself.
    BeginsAt(Duration),
}

impl Pick {
    /// Leaves this frame alone.
    pub(crate) fn filters(self) -> String {
        let text = |at: Duration| format!("{}.{:06}", at.as_secs(), at.subsec_micros());
        let before = match self {
            Self::First => String::new(),
            // The grid begins at the wanted time, and shows there the last frame that began before or on it.
            Self::ShownAt(at) => format!("fps=fps={GRID_PER_S}:round=near:start_time={},", text(at)),
            // A step earlier, for times are rounded.
            Self::BeginsAt(at) => {
                format!("trim=start={},", text(at.saturating_sub(Duration::from_secs(1) / GRID_PER_S)))
            }
        };
        format!("{before}trim=end_frame=1")
    }
}

/// The frame in its size, with square pixels.
///
/// The flags make greys exact and edges of colours clean; without the last one RGB comes out too dark by a
/// hundredth. `iw*sar` is the width in square pixels. The thousandth keeps 180 from becoming 179.99... and
/// then 179.
pub(crate) fn sized(fit: Fit, colours: &str) -> String {
    const FLAGS: &str = "flags=bicubic+accurate_rnd+full_chroma_int";
    let factor = |PictureSize { width, height }| format!("min({width}/(iw*sar)\\,{height}/ih)");
    match fit {
        Fit::Within { width, height } => {
            let [width, height] = [width, height].map(|side| side.unwrap_or(PICTURE_SIDE_MAX));
            let size = PictureSize { width, height }.clamped();
            let factor = format!("min(1\\,{})", factor(size));
            format!(
                "scale=w=max(1\\,trunc(iw*sar*{factor}+0.001)):h=max(1\\,trunc(ih*{factor}+0.001)):{FLAGS}{colours}"
            )
        }
        Fit::Stretch(size) => {
            let PictureSize { width, height } = size.clamped();
            format!("scale=w={width}:h={height}:{FLAGS}{colours}")
        }
        // Cut before it is scaled: of a very wide video, one that fills a high box would have more pixels
        // than there is memory.
        Fit::Crop(size, CropWindow { left, top }) => {
            let PictureSize { width, height } = size.clamped();
            let [left, top] = [left, top].map(|thousandths| thousandths.min(1000));
            format!(
                "crop=w=min(iw\\,max(2\\,ih*{width}/({height}*sar))):h=min(ih\\,max(2\\,iw*sar*{height}/{width})):\
                 x=(iw-ow)*{left}/1000:y=(ih-oh)*{top}/1000,scale=w={width}:h={height}:{FLAGS}{colours}"
            )
        }
        // Put around pixels of RGB: those of a format with halved colours come in pairs.
        Fit::Pad(size) => {
            let size @ PictureSize { width, height } = size.clamped();
            let factor = factor(size);
            format!(
                "scale=w=min({width}\\,max(1\\,round(iw*sar*{factor}))):h=min({height}\\,max(1\\,round(ih*{factor}))):{FLAGS},\
                 format=rgb24,pad={width}:{height}:(ow-iw)/2:(oh-ih)/2:black,scale={FLAGS}{colours}"
            )
        }
    }
}

impl PictureSize {
    /// As near as a picture may come.
    fn clamped(self) -> Self {
        let side = |side: u32| side.clamp(1, PICTURE_SIDE_MAX);
        Self { width: side(self.width), height: side(self.height) }
    }
}

/// JFIF and WebP know one matrix, that of BT.601; JFIF uses the full range of values.
fn colours_of_scale(format: PictureFormat) -> &'static str {
    match format {
        PictureFormat::Jpg => ":out_color_matrix=bt601:out_range=pc",
        PictureFormat::Png => "",
        PictureFormat::Webp => ":out_color_matrix=bt601:out_range=tv",
    }
}

impl PictureFormat {
    fn encoder(self) -> &'static str {
        match self {
            Self::Jpg => "mjpeg",
            Self::Png => "png",
            Self::Webp => "libwebp",
        }
    }

    fn colours(self) -> &'static str {
        match self {
            Self::Jpg => "format=yuvj420p",
            Self::Png => "format=rgb24",
            Self::Webp => "format=yuv420p",
        }
    }

    /// Looked at on photographs and drawings: no visible blocks, a tenth of a megabyte at 720p.
    fn quality(self) -> &'static [&'static str] {
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
        let refused = limits(&Bytes::from(vec![0; (PICTURE_INPUT_MAX + 1) as usize])).unwrap_err();
        assert!(matches!(
            refused,
            EngineError::InputTooLarge { size_bytes: 67_108_865, max_bytes: 67_108_864 }
        ));
    }

    #[test]
    fn the_whole_command_line_is_constant_but_for_numbers() {
        let fit = Fit::Within { width: Some(0), height: Some(u32::MAX) };
        let spec = PictureSpec { fit, format: PictureFormat::Webp };
        let limits = limits(&Bytes::new()).unwrap();
        let at = Pick::ShownAt(Duration::from_micros(1_500_001));
        let job = job(Bytes::new(), at, spec, limits);
        let line: Vec<_> = job.arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
        assert_eq!(
            line.join(" "),
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
