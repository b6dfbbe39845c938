//! Preview clips: a few seconds without audio as an animated image.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;

use crate::encode::EncodeLimits;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, stdin_arguments};
use crate::job::{Files, Job, push};
use crate::overlay::{self, FrameOverlay, OverlayColours};
use crate::priority::Priority;
use crate::run::TimeoutKind;
use crate::thumbnail::{Fit, ImageSize, RGB_INPUT_FLAG, SCALE_FLAGS, THUMBNAIL_OUTPUT_MAX, scale_filters};

/// Longest clip.
pub const CLIP_DURATION_MAX: Duration = Duration::from_secs(10);
/// Most frames a second.
pub const CLIP_FPS_MAX: u32 = 30;
/// Widest clip in pixels.
pub const CLIP_WIDTH_MAX: u32 = 640;
/// Largest height of a clip in pixels: 300 frames of it at the largest width take 370 MB, which are buffered
/// until their palette is chosen.
const HEIGHT_MAX: u32 = 1280;

/// The parameters of a clip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClipSpec {
    /// Container of the feed. Only its first video track is read.
    pub container: FeedContainer,
    /// Start on the feed's timeline.
    pub start: Duration,
    /// Duration, at most [`CLIP_DURATION_MAX`].
    pub duration: Duration,
    /// Largest width in pixels, 1 to [`CLIP_WIDTH_MAX`]; never wider than the video.
    pub width: u32,
    /// Frames a second, 1 to [`CLIP_FPS_MAX`].
    pub fps: u32,
    /// Image format.
    pub format: ClipFormat,
    /// An image over every frame, in the size of the clip.
    pub overlay: Option<FrameOverlay>,
    /// Limits of the run.
    pub limits: EncodeLimits,
}

/// The format of a clip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClipFormat {
    /// GIF with a palette of its own.
    Gif,
    /// Animated WebP, lossy. Needs an ffmpeg with libwebp.
    Webp,
}

impl Engine {
    /// A clip of `input` that loops for ever. It has the ratio of the video, and is rotated as its track
    /// states.
    ///
    /// `input` is a fragmented MP4 or a Matroska whose samples can be decoded in the order they come. The
    /// first frame is the one shown at the start; frames before it, and after the end, are only decoded. The
    /// last frame of `input` is repeated until the clip ends. The same arguments give the same bytes.
    ///
    /// Errors: [`NoFrame`](EngineError::NoFrame) or [`Failed`](EngineError::Failed) if nothing decodes,
    /// [`InvalidSpec`](EngineError::InvalidSpec) outside of the bounds,
    /// [`MissingEncoder`](EngineError::MissingEncoder), [`Input`](EngineError::Input), and those of every
    /// run.
    pub async fn clip(
        &self,
        spec: ClipSpec,
        input: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
    ) -> Result<Bytes, EngineError> {
        self.require_encoder(spec.format.encoder())?;
        check(&spec)?;
        if let Some(overlay) = &spec.overlay {
            self.require_overlay()?;
            overlay.check()?;
        }
        let clip = self.runner().start(job(&spec), input, TimeoutKind::Idle).collect().await?;
        if clip.is_empty() { Err(EngineError::NoFrame) } else { Ok(clip) }
    }
}

/// The size of a clip of a video of this display size, at most `width` pixels wide.
pub fn clip_size(video: ImageSize, width: u32) -> ImageSize {
    let [video_width, video_height] = [video.width, video.height].map(|side| f64::from(side.max(1)));
    let factor = (f64::from(width) / video_width).min(f64::from(HEIGHT_MAX) / video_height).min(1.0);
    // As in the filter: the thousandth prevents that 180 becomes 179.99... and then 179.
    let side = |side: f64| (side * factor + 0.001).trunc().max(1.0) as u32;
    ImageSize { width: side(video_width), height: side(video_height) }
}

fn check(spec: &ClipSpec) -> Result<(), EngineError> {
    let wrong = if spec.duration.is_zero() || CLIP_DURATION_MAX < spec.duration {
        "the length of a clip"
    } else if !(1..=CLIP_WIDTH_MAX).contains(&spec.width) {
        "the width of a clip"
    } else if !(1..=CLIP_FPS_MAX).contains(&spec.fps) {
        "the frames a second of a clip"
    } else {
        return Ok(());
    };
    Err(EngineError::InvalidSpec(wrong))
}

fn job(spec: &ClipSpec) -> Job {
    let mut arguments = stdin_arguments(spec.container, THREADS);
    if let Some(overlay) = &spec.overlay {
        overlay::push_image(&mut arguments, &overlay.file);
    }
    push(&mut arguments, ["-copyts", "-filter_complex_threads", "1"]);
    push(&mut arguments, ["-filter_complex", &graph(spec), "-map", "[clip]"]);
    push(&mut arguments, ["-an", "-sn", "-dn", "-map_metadata", "-1", "-fps_mode", "passthrough"]);
    push(&mut arguments, ["-flags:v", "+bitexact", "-fflags", "+bitexact", "-c:v", spec.format.encoder()]);
    push(&mut arguments, spec.format.options().iter().copied());
    push(&mut arguments, ["-loop", "0", "-f", spec.format.muxer(), "pipe:1"]);
    let mut limits = spec.limits.to_job_limits();
    limits.output_max = limits.output_max.min(THUMBNAIL_OUTPUT_MAX);
    Job {
        kind: "clip",
        arguments,
        input: Bytes::new(),
        files: Files { read: spec.overlay.iter().map(|overlay| overlay.file.clone()).collect(), write: None },
        limits,
        priority: Priority::Prepare,
        is_probe: false,
    }
}

/// Threads of the decoder.
const THREADS: u8 = 2;

/// A frame grid from the start on, with as many frames as the clip. Each shows the last frame that began by
/// then. Then their size and colours. A GIF has 256 colours, chosen from all frames before the first is
/// drawn.
fn graph(spec: &ClipSpec) -> String {
    let ClipSpec { start, duration, width, fps, format, .. } = spec;
    let frames = (duration.as_micros() * u128::from(*fps)).div_ceil(1_000_000);
    let (seconds, micros) = (start.as_secs(), start.subsec_micros());
    let size = Fit::Within { width: Some(*width), height: Some(HEIGHT_MAX) };
    let (colours, rest) = match format {
        ClipFormat::Gif => (
            "",
            ",split[seen][drawn];[seen]palettegen=stats_mode=diff[colours];\
             [drawn][colours]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle[clip]",
        ),
        ClipFormat::Webp => (":out_color_matrix=bt601:out_range=tv", "[clip]"),
    };
    let grid = format!(
        "[0:v:0]fps=fps={fps}:round=up:start_time={seconds}.{micros:06},tpad=stop={frames}:stop_mode=clone,\
         trim=end_frame={frames}"
    );
    let Some(overlay) = &spec.overlay else {
        let size = scale_filters(size, colours);
        return format!("{grid},{size},setsar=1,format=yuv420p{rest}");
    };
    // RGB: the matrix of the frames and that of the image format may differ.
    let size = scale_filters(size, "");
    let drawn = overlay::graph("[frames]", "[1:v:0]", 0, overlay.rectangle, OverlayColours::Rgb);
    let converted = match format {
        ClipFormat::Gif => String::new(),
        ClipFormat::Webp => format!(",scale={SCALE_FLAGS}{RGB_INPUT_FLAG}{colours},format=yuv420p"),
    };
    format!("{grid},{size},setsar=1,format=gbrp[frames];{drawn}{converted}{rest}")
}

impl ClipFormat {
    fn encoder(self) -> &'static str {
        match self {
            Self::Gif => "gif",
            Self::Webp => "libwebp_anim",
        }
    }

    fn muxer(self) -> &'static str {
        match self {
            Self::Gif => "gif",
            Self::Webp => "webp",
        }
    }

    /// Compared by eye; WebP takes a third of the size of a GIF.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Gif => &[],
            Self::Webp => &["-quality", "70", "-compression_level", "3"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(format: ClipFormat) -> ClipSpec {
        let limits = EncodeLimits {
            deadline: Duration::from_secs(1),
            cpu: Duration::from_secs(1),
            memory_bytes: 1,
            output_max: u64::MAX,
        };
        ClipSpec {
            container: FeedContainer::Matroska,
            start: Duration::from_millis(12_300),
            duration: Duration::from_millis(5050),
            width: 320,
            fps: 15,
            format,
            overlay: None,
            limits,
        }
    }

    #[test]
    fn command_line_is_constant_except_for_numbers() {
        let command_line = |format| {
            let job = job(&spec(format));
            assert_eq!(job.limits.output_max, THUMBNAIL_OUTPUT_MAX);
            let arguments: Vec<_> = job.arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
            let from = arguments.iter().position(|argument| *argument == "-i").unwrap();
            arguments[from..].join(" ")
        };
        let size = "tpad=stop=76:stop_mode=clone,trim=end_frame=76,scale=w=max(1\\,trunc(iw*sar*min(1\\,min(320/(iw*sar)\\,1280/ih))+0.001)):\
                    h=max(1\\,trunc(ih*min(1\\,min(320/(iw*sar)\\,1280/ih))+0.001)):flags=bicubic+accurate_rnd+full_chroma_int";
        let common =
            "-an -sn -dn -map_metadata -1 -fps_mode passthrough -flags:v +bitexact -fflags +bitexact";
        let head = "-i pipe:0 -copyts -filter_complex_threads 1 -filter_complex [0:v:0]fps=fps=15:round=up:start_time=12.300000";
        assert_eq!(
            command_line(ClipFormat::Gif),
            format!(
                "{head},{size},setsar=1,format=yuv420p,split[seen][drawn];[seen]palettegen=stats_mode=diff[colours];\
                 [drawn][colours]paletteuse=dither=bayer:bayer_scale=4:diff_mode=rectangle[clip] -map [clip] {common} \
                 -c:v gif -loop 0 -f gif pipe:1"
            )
        );
        assert_eq!(
            command_line(ClipFormat::Webp),
            format!(
                "{head},{size}:out_color_matrix=bt601:out_range=tv,setsar=1,format=yuv420p[clip] -map [clip] {common} \
                 -c:v libwebp_anim -quality 70 -compression_level 3 -loop 0 -f webp pipe:1"
            )
        );
    }

    #[test]
    fn duration_width_or_fps_out_of_bounds_is_rejected() {
        let gif = || spec(ClipFormat::Gif);
        assert!(check(&gif()).is_ok());
        let ms = Duration::from_millis;
        for wrong in [
            ClipSpec { duration: ms(0), ..gif() },
            ClipSpec { duration: ms(10_001), ..gif() },
            ClipSpec { width: 0, ..gif() },
            ClipSpec { width: 641, ..gif() },
            ClipSpec { fps: 0, ..gif() },
            ClipSpec { fps: 31, ..gif() },
        ] {
            assert!(matches!(check(&wrong), Err(EngineError::InvalidSpec(_))), "{wrong:?}");
        }
    }
}
