//! One frame of video as a few raw pixels, for analysis.

use std::time::Duration;

use bytes::Bytes;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::input::{FeedContainer, stdin_arguments};
use crate::job::{Job, Limits, push};
use crate::overlay::StillOverlay;
use crate::priority::Priority;
use crate::thumbnail::{Fit, FramePick, RGB_INPUT_FLAG, push_still, scale_filters, still_files};

/// Writes raw pixels after a header with their number.
const ENCODER: &str = "ppm";

/// Longest side of such an image, in pixels.
pub const RGB_FRAME_SIDE_MAX: u32 = 256;

/// An image as its pixels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RgbFrame {
    /// Pixels in a row, 1 or more.
    pub width: usize,
    /// Rows, 1 or more.
    pub height: usize,
    /// Red, green and blue of each pixel, row by row from the top, each row from the left: exactly 3 x width
    /// x height values.
    pub rgb: Vec<u8>,
}

impl Engine {
    /// One frame of `input`, rotated as the track states, with square pixels, in its ratio. No side is
    /// longer than `side_max`, which is 1 to [`RGB_FRAME_SIDE_MAX`].
    ///
    /// `input`, `at` and errors are as for [`thumbnail`](Engine::thumbnail). The same arguments give the same
    /// pixels.
    pub async fn rgb_frame(
        &self,
        input: Bytes,
        at: Option<Duration>,
        side_max: u32,
        priority: Priority,
    ) -> Result<RgbFrame, EngineError> {
        self.rgb_frame_with_overlay(input, at, side_max, priority, None).await
    }

    /// As [`rgb_frame`](Self::rgb_frame), with an image over the frame.
    pub async fn rgb_frame_with_overlay(
        &self,
        input: Bytes,
        at: Option<Duration>,
        side_max: u32,
        priority: Priority,
        overlay: Option<&StillOverlay>,
    ) -> Result<RgbFrame, EngineError> {
        self.require_encoder(ENCODER)?;
        self.check_still_overlay(overlay)?;
        let side = Some(side_max.clamp(1, RGB_FRAME_SIDE_MAX));
        let job = |input, pick, limits| job(input, pick, side, overlay, priority, limits);
        let ppm = self.one_frame(input, at, job).await?;
        parse_ppm(&ppm).ok_or(EngineError::NoFrame)
    }
}

fn job(
    input: Bytes,
    pick: FramePick,
    side: Option<u32>,
    overlay: Option<&StillOverlay>,
    priority: Priority,
    limits: Limits,
) -> Job {
    let mut arguments = stdin_arguments(FeedContainer::of(&input), 1);
    let options = if overlay.is_some() { RGB_INPUT_FLAG } else { "" };
    let size = scale_filters(Fit::Within { width: side, height: side }, options);
    push_still(&mut arguments, pick, overlay, &format!("{size},setsar=1,format=rgb24"), &[]);
    push(&mut arguments, ["-frames:v", "1", "-fps_mode", "passthrough", "-c:v", ENCODER]);
    push(&mut arguments, ["-f", "image2pipe", "pipe:1"]);
    Job {
        kind: "small_picture",
        arguments,
        input,
        files: still_files(overlay),
        limits,
        priority,
        is_probe: false,
    }
}

/// Parses `P6`, the width and the height, 255, and then the values, as ffmpeg's encoder writes them.
fn parse_ppm(ppm: &[u8]) -> Option<RgbFrame> {
    let mut parts = ppm.splitn(4, |byte| byte.is_ascii_whitespace());
    let (magic, width, height) = (parts.next()?, parts.next()?, parts.next()?);
    let rgb = parts.next()?.strip_prefix(b"255\n")?;
    let number = |text: &[u8]| std::str::from_utf8(text).ok()?.parse::<usize>().ok().filter(|side| 0 < *side);
    let (width, height) = (number(width)?, number(height)?);
    let is_whole = magic == b"P6" && width.checked_mul(height)?.checked_mul(3)? == rgb.len();
    is_whole.then(|| RgbFrame { width, height, rgb: rgb.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncated_ppm_is_rejected() {
        let whole = RgbFrame { width: 2, height: 1, rgb: vec![1, 2, 3, 10, 32, 6] };
        assert_eq!(parse_ppm(b"P6\n2 1\n255\n\x01\x02\x03\n \x06"), Some(whole));
        for broken in [
            &b""[..],
            b"P6\n2 1\n255\n12345",
            b"P6\n2 1\n255\n1234567",
            b"P6\n0 1\n255\n",
            b"P5\n2 1\n255\n123456",
            b"P6\n2 x\n255\n123456",
            b"P6\n2 1\n65535\n123456",
            b"P6\n99999999999 99999999999\n255\n1",
        ] {
            assert_eq!(parse_ppm(broken), None, "{broken:?}");
        }
    }
}
