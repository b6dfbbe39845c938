//! What a picture looks like from afar: a BlurHash (github.com/woltapp/blurhash), some thirty signs that
//! pages draw until they have the picture.

use std::sync::Arc;

use kinora_engine::{Priority, SmallPicture};

use super::is_limit;
use super::moment::Moment;
use crate::{Error, Packaged, Packager};

/// Longest side of what is looked at: a hash has four waves at most, and sees no more of a larger one.
const SIDE: u32 = 64;
/// Waves along the longer side and along the shorter one: what its makers advise.
const WAVES: (u32, u32) = (4, 3);

/// It takes a tenth of a second, and whoever lists what is new wants it soon.
const PRIORITY: Priority = Priority::Prefetch;

impl Packager {
    /// The BlurHash of the picture at a moment, as [`picture`](Self::picture) shows it. The same one gives
    /// the same hash; nothing is kept.
    ///
    /// Errors: as of [`picture`](Self::picture), but [`Error::Busy`].
    pub async fn blur_hash(&self, packaged: &Arc<Packaged>, time_ms: Option<u64>) -> Result<String, Error> {
        let (track, video) = packaged.index().video().ok_or(Error::NoPicture)?;
        let moment = Moment::of(track, video, time_ms).ok_or(Error::NoPicture)?;
        let picture = match self.small(packaged, &moment).await {
            // Its keyframe stands for it there, too.
            Err(Error::Engine(error)) if is_limit(&error) => self.small(packaged, &moment.keyframe()).await?,
            picture => picture?,
        };
        hash(&picture).ok_or(Error::NoPicture)
    }

    async fn small(&self, packaged: &Arc<Packaged>, moment: &Moment) -> Result<SmallPicture, Error> {
        let (track, _) = packaged.index().video().ok_or(Error::NoPicture)?;
        if !moment.is_affordable(track) {
            return Err(Error::NoPicture);
        }
        let _memory = self.pictures.memory_for(moment.len(track)).await?;
        let input = self.input(packaged, track, moment).await?;
        Ok(self.engine.small_picture(input, moment.in_gop, SIDE, PRIORITY).await?)
    }
}

/// The more waves along its longer side.
fn hash(picture: &SmallPicture) -> Option<String> {
    let SmallPicture { width, height, rgb } = picture;
    let (along, down) = if width < height { (WAVES.1, WAVES.0) } else { WAVES };
    let rgba: Vec<u8> =
        rgb.chunks_exact(3).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], u8::MAX]).collect();
    let [width, height] = [*width, *height].map(u32::try_from);
    blurhash::encode(along, down, width.ok()?, height.ok()?, &rgba).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Waves of three colours, 32 x 18 pixels or turned.
    fn picture(is_turned: bool) -> SmallPicture {
        let (width, height) = if is_turned { (18, 32) } else { (32, 18) };
        let pixel = |x: usize, y: usize| {
            let (x, y) = if is_turned { (y, x) } else { (x, y) };
            [x * 255 / 31, y * 255 / 17, (x * y * 7 + x * x * 3) % 256]
        };
        let rgb = (0..width * height).flat_map(|n| pixel(n % width, n / width));
        SmallPicture { width, height, rgb: rgb.map(|value| u8::try_from(value).unwrap()).collect() }
    }

    #[test]
    fn a_hash_is_that_of_another_encoder_but_for_the_last_bit_of_its_mean_colour() {
        let check = |is_turned, expected: &str, other: &str| {
            let hash = hash(&picture(is_turned)).unwrap();
            assert_eq!(hash, expected);
            // What the PyPI package `blurhash` 1.1.5 gives for the same pixels. The mean colour, four signs
            // behind two, is rounded up by ours.
            assert_eq!((&hash[..2], &hash[6..]), (&other[..2], &other[6..]));
        };
        check(false, "L$HoL82owuX4qQWCjraegHfifRfk", "L$Hezf2owuX4qQWCjraegHfifRfk");
        check(true, "T$HoL8qQgH2oWCfiwujrfRX4aefk", "T$HezfqQgH2oWCfiwujrfRX4aefk");
    }
}
