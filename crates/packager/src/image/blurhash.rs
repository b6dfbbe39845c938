//! BlurHash of a thumbnail (github.com/woltapp/blurhash): some thirty characters that pages draw as a
//! placeholder until they have the image.

use std::sync::Arc;

use kinora_engine::{Priority, RgbFrame};

use super::is_limit_error;
use super::target_frame::TargetFrame;
use crate::{Error, Packaged, Packager};

/// Longest side of the analyzed image: a hash has at most four components, so a larger image adds nothing.
const ANALYZED_SIDE_MAX: u32 = 64;
/// Components along the longer side and along the shorter one, as the authors of BlurHash recommend.
const COMPONENTS: (u32, u32) = (4, 3);

/// Priority of a BlurHash: it takes a tenth of a second, and clients that list new media need it soon.
const PRIORITY: Priority = Priority::Prefetch;

impl Packager {
    /// The BlurHash of the thumbnail at a time, as [`thumbnail`](Self::thumbnail) returns it. Equal images
    /// give equal hashes; nothing is stored.
    ///
    /// Errors: as of [`thumbnail`](Self::thumbnail), but [`Error::Busy`] only if memory or the engine is busy
    /// for too long.
    pub async fn blur_hash(&self, packaged: &Arc<Packaged>, time_ms: Option<u64>) -> Result<String, Error> {
        let (track, video) = packaged.index().video().ok_or(Error::NoImage)?;
        let target = TargetFrame::of(track, video, time_ms).ok_or(Error::NoImage)?;
        let frame = match self.rgb_frame(packaged, &target).await {
            // The thumbnail falls back to its keyframe in this case too.
            Err(Error::Engine(error)) if is_limit_error(&error) => {
                self.rgb_frame(packaged, &target.keyframe()).await?
            }
            result => result?,
        };
        hash(&frame).ok_or(Error::NoImage)
    }

    async fn rgb_frame(&self, packaged: &Arc<Packaged>, target: &TargetFrame) -> Result<RgbFrame, Error> {
        let (track, _) = packaged.index().video().ok_or(Error::NoImage)?;
        if !target.is_within_byte_limit(track) {
            return Err(Error::NoImage);
        }
        let _memory = self.images.reserve_memory(target.input_len(track)).await?;
        let input = self.thumbnail_input(packaged, track, target).await?;
        let image = self.overlay_image(packaged).await?;
        let still = image.as_ref().and_then(|image| image.of_still(packaged, target.samples.start));
        let (at, side) = (target.time_in_gop, ANALYZED_SIDE_MAX);
        Ok(self.engine.rgb_frame_with_overlay(input, at, side, PRIORITY, still.as_ref()).await?)
    }
}

/// Computes the hash, with more components along the longer side.
fn hash(frame: &RgbFrame) -> Option<String> {
    let RgbFrame { width, height, rgb } = frame;
    let (components_x, components_y) = if width < height { (COMPONENTS.1, COMPONENTS.0) } else { COMPONENTS };
    let rgba: Vec<u8> =
        rgb.chunks_exact(3).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], u8::MAX]).collect();
    let [width, height] = [*width, *height].map(u32::try_from);
    blurhash::encode(components_x, components_y, width.ok()?, height.ok()?, &rgba).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waves of three colours, 32 x 18 pixels or rotated.
    fn frame(is_turned: bool) -> RgbFrame {
        let (width, height) = if is_turned { (18, 32) } else { (32, 18) };
        let pixel = |x: usize, y: usize| {
            let (x, y) = if is_turned { (y, x) } else { (x, y) };
            [x * 255 / 31, y * 255 / 17, (x * y * 7 + x * x * 3) % 256]
        };
        let rgb = (0..width * height).flat_map(|n| pixel(n % width, n / width));
        RgbFrame { width, height, rgb: rgb.map(|value| u8::try_from(value).unwrap()).collect() }
    }

    #[test]
    fn blurhash_equals_reference_encoder() {
        let check = |is_turned, expected: &str, other: &str| {
            let hash = hash(&frame(is_turned)).unwrap();
            assert_eq!(hash, expected);
            // Output of the PyPI package `blurhash` 1.1.5 for the same pixels. Ours rounds up the mean
            // colour, four characters after the first two.
            assert_eq!((&hash[..2], &hash[6..]), (&other[..2], &other[6..]));
        };
        check(false, "L$HoL82owuX4qQWCjraegHfifRfk", "L$Hezf2owuX4qQWCjraegHfifRfk");
        check(true, "T$HoL8qQgH2oWCfiwujrfRX4aefk", "T$HezfqQgH2oWCfiwujrfRX4aefk");
    }
}
