//! Decodes an image file of a client to a PNG.

use std::time::Duration;

use bytes::Bytes;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::push_image_input;
use crate::job::{Files, Job, Limits, push, quiet_arguments};
use crate::priority::Priority;
use crate::thumbnail::IMAGE_SIDE_MAX;

/// Largest image file.
pub const IMAGE_FILE_BYTES_MAX: u64 = 10 << 20;
/// Most pixels of an image file, which the caller checks.
pub const IMAGE_FILE_PIXELS_MAX: u32 = 50_000_000;
/// The limit of the decoder, which rounds the width up to a multiple of 64.
const DECODER_PIXELS_MAX: u32 = IMAGE_FILE_PIXELS_MAX / 10 * 11;

/// Largest output: a PNG of noise with the longest sides takes 4 bytes a pixel, and some for each row.
const OUTPUT_MAX: u64 = 72 << 20;

/// 50 megapixels with 16 bits a channel take 0.56 GB, decoded and scaled.
const MEMORY_BYTES: u64 = 1 << 30;
/// The same image takes 7 s. Eight times that is a fault.
const CPU: Duration = Duration::from_secs(60);
const DEADLINE: Duration = Duration::from_secs(360);

/// The format of an image file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ImageFileFormat {
    /// PNG. Of an animated one, the image that viewers without animation show.
    Png,
    /// JPEG, rotated as its EXIF orientation states.
    Jpeg,
    /// WebP that is not animated.
    Webp,
    /// GIF: its first frame.
    Gif,
}

/// A decoded image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PngImage {
    /// Width in pixels: 1 to [`IMAGE_SIDE_MAX`].
    pub width: u32,
    /// Height in pixels: 1 to [`IMAGE_SIDE_MAX`].
    pub height: u32,
    /// The PNG file: RGBA, 8 bits a channel.
    pub png: Bytes,
}

impl Engine {
    /// The image of a file, as a PNG whose alpha is multiplied by `opacity_percent`.
    ///
    /// An image with a side above [`IMAGE_SIDE_MAX`] is scaled down in its ratio. A file with more than 1.1
    /// times [`IMAGE_FILE_PIXELS_MAX`] pixels is an error. The same arguments give the same bytes.
    ///
    /// Errors: [`NoFrame`](EngineError::NoFrame) or [`Failed`](EngineError::Failed) if it does not decode,
    /// [`InputTooLarge`](EngineError::InputTooLarge), and those of every run.
    pub async fn image_to_png(
        &self,
        file: Bytes,
        format: ImageFileFormat,
        opacity_percent: u8,
    ) -> Result<PngImage, EngineError> {
        self.require_encoder("png")?;
        let size_bytes = file.len() as u64;
        if IMAGE_FILE_BYTES_MAX < size_bytes {
            return Err(EngineError::InputTooLarge { size_bytes, max_bytes: IMAGE_FILE_BYTES_MAX });
        }
        let png = self.run(job(file, format, opacity_percent)).await?;
        let (width, height) = png_size(&png).ok_or(EngineError::NoFrame)?;
        Ok(PngImage { width, height, png })
    }
}

fn job(input: Bytes, format: ImageFileFormat, opacity_percent: u8) -> Job {
    let mut arguments = quiet_arguments();
    push(&mut arguments, ["-filter_threads", "1"]);
    push_image_input(&mut arguments, format.demuxer(), format.decoder(), DECODER_PIXELS_MAX);
    push(&mut arguments, ["-map", "0:v:0", "-an", "-sn", "-dn", "-map_metadata", "-1"]);
    push(&mut arguments, ["-vf", &filters(opacity_percent), "-frames:v", "1", "-fps_mode", "passthrough"]);
    push(&mut arguments, ["-flags:v", "+bitexact", "-fflags", "+bitexact", "-c:v", "png"]);
    push(&mut arguments, ["-pred", "mixed", "-f", "image2pipe", "pipe:1"]);
    let limits = Limits {
        deadline: DEADLINE,
        cpu: CPU,
        memory_bytes: MEMORY_BYTES,
        output_max: OUTPUT_MAX,
        file_max: 0,
    };
    let priority = Priority::Prepare;
    Job { kind: "image", arguments, input, files: Files::default(), limits, priority, is_probe: true }
}

/// Scales a large image, and multiplies its alpha. Pixels count as square ones.
fn filters(opacity_percent: u8) -> String {
    let factor = format!("min(1\\,{IMAGE_SIDE_MAX}/max(iw\\,ih))");
    let size = format!(
        "scale=w=max(1\\,trunc(iw*{factor}+0.001)):h=max(1\\,trunc(ih*{factor}+0.001)):flags=bicubic+accurate_rnd+full_chroma_int"
    );
    let opacity = opacity_percent.min(100);
    let (whole, hundredths) = (opacity / 100, opacity % 100);
    format!("{size},setsar=1,format=rgba,colorchannelmixer=aa={whole}.{hundredths:02}")
}

/// Bytes at the start of a PNG that contain its size.
pub const PNG_HEAD_LEN: u64 = 24;

/// Width and height of a PNG, from its first [`PNG_HEAD_LEN`] bytes. PNG, 11.2.2.
pub fn png_size(png: &[u8]) -> Option<(u32, u32)> {
    let header = png.strip_prefix(b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR")?;
    let side = |at: usize| Some(u32::from_be_bytes(header.get(at..at + 4)?.try_into().ok()?));
    Some((side(0)?, side(4)?))
}

impl ImageFileFormat {
    /// A demuxer of one image: it takes no pattern of file names.
    fn demuxer(self) -> &'static str {
        match self {
            Self::Png => "png_pipe",
            Self::Jpeg => "jpeg_pipe",
            Self::Webp => "webp_pipe",
            Self::Gif => "gif",
        }
    }

    /// The decoders of the format. A lossy WebP is decoded as VP8.
    fn decoder(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "mjpeg",
            Self::Webp => "webp,vp8",
            Self::Gif => "gif",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_is_constant_except_for_numbers() {
        let job = job(Bytes::new(), ImageFileFormat::Webp, 7);
        let arguments: Vec<_> = job.arguments.iter().map(|argument| argument.to_str().unwrap()).collect();
        assert_eq!(
            arguments.join(" "),
            "-hide_banner -nostdin -loglevel error -filter_threads 1 -threads 1 -max_pixels 55000000 -protocol_whitelist pipe \
             -format_whitelist webp_pipe -codec_whitelist webp,vp8 -f webp_pipe -i pipe:0 -map 0:v:0 -an -sn -dn -map_metadata -1 -vf \
             scale=w=max(1\\,trunc(iw*min(1\\,4096/max(iw\\,ih))+0.001)):h=max(1\\,trunc(ih*min(1\\,4096/max(iw\\,ih))+0.001)):\
             flags=bicubic+accurate_rnd+full_chroma_int,setsar=1,format=rgba,colorchannelmixer=aa=0.07 -frames:v 1 \
             -fps_mode passthrough -flags:v +bitexact -fflags +bitexact -c:v png -pred mixed -f image2pipe pipe:1"
        );
        assert!(filters(100).ends_with("aa=1.00"));
    }

    #[test]
    fn png_size_is_that_of_the_header() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x10\0\0\0\0\x07\x08";
        assert_eq!(png_size(png), Some((4096, 7)));
        assert_eq!(png_size(&png[..23]), None);
        assert_eq!(png_size(b"GIF89a"), None);
    }
}
