//! An image over the video of a presentation.

use crate::index::{Index, NotCopied, NotCopiedReason, Overlay, TrackMedia};
use crate::plan::{PlanError, plan_playable};
use crate::rung::DECODED_PIXELS_MAX;

/// Why a presentation cannot have an overlay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OverlayError {
    /// It has no video.
    #[error("there is no video to draw over")]
    NoVideo,
    /// Its frames are too large to be encoded.
    #[error("frames of {width}x{height} are too large to be encoded")]
    TooLarge {
        /// Width of a frame.
        width: u32,
        /// Height of a frame.
        height: u32,
    },
    /// Its video cannot be cut into encoded segments.
    #[error(transparent)]
    Plan(#[from] PlanError),
}

impl Index {
    /// The same presentation with this image over its video, which then has no copy (M-46).
    ///
    /// Cuts the video and the audio again, because the cuts of a copy would be far apart for encoding. So
    /// audio that is cut along with the video, such as audio that replaces its own, is planned afterwards.
    /// Same arguments, same index.
    pub fn with_overlay(mut self, overlay: Overlay) -> Result<Self, OverlayError> {
        let mut videos = self.tracks.iter_mut().filter_map(|track| match &mut track.media {
            TrackMedia::Video(video) => Some(video),
            TrackMedia::Audio(_) => None,
        });
        let video = videos.next().ok_or(OverlayError::NoVideo)?;
        if DECODED_PIXELS_MAX < u64::from(video.width) * u64::from(video.height) {
            return Err(OverlayError::TooLarge { width: video.width, height: video.height });
        }
        let why = || NotCopied::new(NotCopiedReason::Watermark, "watermark");
        video.not_copied = video.not_copied.take().or_else(|| Some(why()));
        self.plan = plan_playable(&mut self.tracks)?;
        self.overlay = Some(overlay);
        Ok(self)
    }
}
