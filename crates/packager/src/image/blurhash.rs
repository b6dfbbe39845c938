//! BlurHash of a thumbnail (github.com/woltapp/blurhash): some thirty characters that pages draw as a
//! placeholder until they have the image.

use std::sync::Arc;

use kinora_engine::{Priority, RgbFrame};

use super::is_limit;
use super::target_frame::TargetFrame;
use crate::{Error, Packaged, Packager};

/// Longest side of the analyzed image: a hash has at most four waves, so a larger one adds nothing.
const SIDE: u32 = 64;
/// Waves along the longer side and along the shorter one, as its authors recommend.
const WAVES: (u32, u32) = (4, 3);

/// It takes a tenth of a second, and clients that list new media need it soon.
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
            Err(Error::Engine(error)) if is_limit(&error) => {
                self.rgb_frame(packaged, &target.keyframe()).await?
            }
            picture => picture?,
        };
        hash(&frame).ok_or(Error::NoImage)
    }

    async fn rgb_frame(&self, packaged: &Arc<Packaged>, target: &TargetFrame) -> Result<RgbFrame, Error> {
        let (track, _) = packaged.index().video().ok_or(Error::NoImage)?;
        if !target.is_affordable(track) {
            return Err(Error::NoImage);
        }
        let _memory = self.images.reserve_memory(target.len(track)).await?;
        let input = self.input(packaged, track, target).await?;
        Ok(self.engine.rgb_frame(input, target.in_gop, SIDE, PRIORITY).await?)
    }
}

/// Computes the hash, with more waves along the longer side.
fn hash(frame: &RgbFrame) -> Option<String> {
    let RgbFrame { width, height, rgb } = frame;
    let (along, down) = if width < height { (WAVES.1, WAVES.0) } else { WAVES };
    let rgba: Vec<u8> =
        rgb.chunks_exact(3).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], u8::MAX]).collect();
    let [width, height] = [*width, *height].map(u32::try_from);
    blurhash::encode(along, down, width.ok()?, height.ok()?, &rgba).ok()
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
