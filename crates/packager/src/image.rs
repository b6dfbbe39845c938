//! Thumbnails: one frame of a source, encoded on request, then stored as an object.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use kinora_engine::{
    CropWindow, EncodeLimits, EngineError, Fit, IMAGE_SIDE_MAX, ImageFormat, ImageSize, Priority,
    StillOverlay, THUMBNAIL_OUTPUT_MAX, ThumbnailSpec,
};
use kinora_formats::encode::{Feed, image_size};
use kinora_index::{Track, TrackMedia, VideoTrack};

use crate::encode::{FeedInput, feed_stream, from_engine_error};
use crate::{Error, Packaged, Packager, PlaybackClient};
use target_frame::TargetFrame;

mod blurhash;
mod clip;
mod crop;
mod gop;
mod image_cache;
mod image_quota;
mod in_flight;
mod input;
mod queue;
mod single_flight;
mod sprite_sheet;
mod target_frame;
mod weak_map;

pub use clip::ClipRequest;
pub(crate) use image_cache::ImageCache;
pub use image_quota::images_over_quota;
use queue::ImageCost;
pub use single_flight::Image;
use single_flight::ImageTask;
pub use sprite_sheet::{SpriteSheet, Storyboard};

/// Longest time without output of a running process.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);
/// Processor time of a run, in addition to that for its frames.
const CPU_BASE: Duration = Duration::from_secs(30);
/// Pixels that are decoded in a second of processor time by the slowest decoder on a slow core.
const DECODE_PIXELS_PER_SECOND: u64 = 10_000_000;
/// Memory of a run: a 4K decoder takes 0.3 GB, all frames of the largest clip as much.
const RUN_MEMORY_BYTES: u64 = 1 << 30;
/// Players request sheets while they already play.
const SHEET_PRIORITY: Priority = Priority::Prepare;

/// The parameters of a thumbnail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThumbnailRequest {
    /// Time of the exact frame in milliseconds since the start; `None`: a frame near the middle.
    pub time_ms: Option<u64>,
    /// Width in pixels. `None`: as the video.
    pub width: Option<u32>,
    /// Height in pixels. `None`: as the video.
    pub height: Option<u32>,
    /// How it fits a box of another ratio.
    pub fit: FitMode,
    /// Image format.
    pub format: ImageFormat,
    /// Whether it is the default poster of the media, which is stored regardless of other images.
    pub is_poster: bool,
}

/// How an image fits a box of another ratio (C-17, D-0081).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FitMode {
    /// It fits into the box in its own ratio, and is never larger than the video.
    Preserve,
    /// It is stretched to the exact size of the box, which all modes below have too.
    Stretch,
    /// Both sides around its middle are cut off.
    Crop,
    /// As `Crop`, but the remaining part is the one with most detail.
    Smartcrop,
    /// Black bars fill the box.
    Pad,
}

impl ThumbnailRequest {
    /// Normalizes the request, so that equal images have one form. An image that keeps its ratio is never
    /// enlarged, so a side as long as the video's or longer has no effect and is removed. Any other mode
    /// gets both sides.
    fn normalized(self, packaged: &Packaged) -> Self {
        let Some((width, height)) = packaged.default_image_size() else { return self };
        if self.fit == FitMode::Preserve {
            let shorter = |requested: Option<u32>, side| requested.filter(|wanted| *wanted < side);
            return Self { width: shorter(self.width, width), height: shorter(self.height, height), ..self };
        }
        let [width, height] = [self.width.unwrap_or(width), self.height.unwrap_or(height)];
        Self { width: Some(width), height: Some(height), ..self }
    }
}

impl Packager {
    /// The thumbnail, from the store or encoded now. If the exact frame exceeds a limit, its keyframe, which
    /// shows the same scene and is marked by [`is_placeholder`](Image::is_placeholder).
    ///
    /// Errors: [`Error::NoImage`] without video or for a frame that does not decode; [`Error::Busy`] for
    /// too many requests at once of this source, client address or playback ID, or if the machine is too
    /// slow now.
    pub async fn thumbnail(
        &self,
        packaged: &Arc<Packaged>,
        request: ThumbnailRequest,
        client: PlaybackClient,
    ) -> Result<Image, Error> {
        let (track, video) = packaged.index().video().ok_or(Error::NoImage)?;
        let target = TargetFrame::of(track, video, request.time_ms).ok_or(Error::NoImage)?;
        let request = request.normalized(packaged);
        match self.decode_thumbnail(packaged, &target, request, client).await {
            Err(error) if matches!(error.root(), Error::LimitExceeded) => {
                let keyframe = self.decode_thumbnail(packaged, &target.keyframe(), request, client).await?;
                Ok(keyframe.into_placeholder())
            }
            result => result,
        }
    }

    /// The frame at this time. [`Error::LimitExceeded`] if its keyframe would take less.
    async fn decode_thumbnail(
        &self,
        packaged: &Arc<Packaged>,
        target: &TargetFrame,
        request: ThumbnailRequest,
        client: PlaybackClient,
    ) -> Result<Image, Error> {
        let hash = target.hash(request);
        let task = ImageTask { cost: ImageCost::Still, hash, is_quota_exempt: request.is_poster };
        let make = {
            let (packager, packaged, moment) = (self.clone(), Arc::clone(packaged), target.clone());
            async move { packager.make_thumbnail(&packaged, &moment, request).await }
        };
        self.get_or_make(packaged, task, client, Box::pin(make)).await
    }

    /// Runs the engine for a thumbnail.
    async fn make_thumbnail(
        &self,
        packaged: &Packaged,
        target: &TargetFrame,
        request: ThumbnailRequest,
    ) -> Result<Bytes, Error> {
        let (track, _) = packaged.index().video().ok_or(Error::NoImage)?;
        if !target.is_within_byte_limit(track) {
            return Err(Error::NoImage);
        }
        let _memory = self.images.reserve_memory(target.input_len(track)).await?;
        let input = self.thumbnail_input(packaged, track, target).await?;
        let image = self.overlay_image(packaged).await?;
        let result = async {
            let still = image.as_ref().and_then(|image| image.of_still(packaged, target.samples.start));
            // A frame with an overlay has its bars already.
            let request =
                if still.is_some() { request } else { with_bars_of_part(packaged, target, request) };
            let fit = self.engine_fit(&input, target, request, still.as_ref()).await?;
            let spec = ThumbnailSpec { fit, format: request.format };
            self.engine.thumbnail_with_overlay(input, target.time_in_gop, spec, still.as_ref()).await
        };
        result.await.map_err(|error| thumbnail_error(error, target))
    }

    /// The size argument of the engine for a [normalized](ThumbnailRequest::normalized) request. A smart crop
    /// analyzes the frame first.
    async fn engine_fit(
        &self,
        input: &Bytes,
        target: &TargetFrame,
        request: ThumbnailRequest,
        still: Option<&StillOverlay>,
    ) -> Result<Fit, EngineError> {
        let ThumbnailRequest { width, height, fit, .. } = request;
        let size = ImageSize { width: width.unwrap_or(1), height: height.unwrap_or(1) };
        Ok(match fit {
            FitMode::Preserve => Fit::Within { width, height },
            FitMode::Stretch => Fit::Stretch(size),
            FitMode::Crop => Fit::Crop(size, CropWindow::MIDDLE),
            FitMode::Pad => Fit::Pad(size),
            FitMode::Smartcrop => {
                let priority = Priority::Prefetch;
                // Analyzed without the overlay, which has more detail than most videos; but with its bars.
                let barred = still.filter(|still| still.frame.is_some());
                let (input, at, side) = (input.clone(), target.time_in_gop, crop::ANALYZED_SIDE_MAX);
                let small = self.engine.rgb_frame_with_overlay(input, at, side, priority, barred).await?;
                Fit::Crop(size, crop::find_crop_window(&small, size))
            }
        })
    }

    /// Decodes the first frames of the first GOP, as many as are cheap, and returns the number that decoded.
    ///
    /// `None` if the result says nothing about the media: without video, or if a limit of ours ended the run
    /// or the decoder crashed.
    pub async fn decode_first_gop(&self, packaged: &Arc<Packaged>) -> Result<Option<u64>, Error> {
        let Some((track, video)) = packaged.index().video() else { return Ok(None) };
        let target = TargetFrame::first_few(track, video);
        if !target.is_within_byte_limit(track) {
            return Ok(None);
        }
        let _memory = self.images.reserve_memory(target.input_len(track)).await?;
        let input = self.thumbnail_input(packaged, track, &target).await?;
        match self.engine.probe_decode(input).await {
            Ok(report) => Ok(Some(report.frames)),
            Err(EngineError::NoFrame | EngineError::Failed { exit: Some(_) }) => Ok(Some(0)),
            // A process that exceeds its memory may crash without an error.
            Err(error) if is_cut_short(&error) || matches!(error, EngineError::Failed { exit: None }) => {
                tracing::warn!(presentation.id = %packaged.presentation, error = %error, "a source could not be probed");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Packager {
    /// The bytes of a feed of selected samples, each read when the engine can take it.
    fn sample_stream(
        &self,
        packaged: &Packaged,
        feed: Feed,
    ) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        let input = FeedInput {
            header: Bytes::from(feed.header()),
            chunks: feed.chunks(),
            on_start: Box::new(|| {}),
        };
        feed_stream(self, packaged, input, move |chunk, bytes| feed.wrap(chunk, bytes))
    }
}

/// The request, with bars if the frame is from a part of another shape than the base: the same bars as in
/// encoded renditions.
fn with_bars_of_part(
    packaged: &Packaged,
    target: &TargetFrame,
    request: ThumbnailRequest,
) -> ThumbnailRequest {
    let Some((track, base)) = packaged.index().video().filter(|_| request.fit == FitMode::Preserve) else {
        return request;
    };
    let Some((width, height)) = packaged.default_image_size() else { return request };
    let TrackMedia::Video(part) = track.media_at(target.samples.start) else { return request };
    if part.display_size() == base.display_size() || image_size((width, height), base, part).is_none() {
        return request;
    }
    // The largest box of the ratio of the base that both sides allow.
    let (w, h) = (u64::from(width.max(1)), u64::from(height.max(1)));
    let box_width =
        request.width.map_or(w, u64::from).min(request.height.map_or(w, |most| u64::from(most) * w / h));
    let side = |side: u64| u32::try_from(side.max(1)).unwrap_or(IMAGE_SIDE_MAX);
    let (width, height) = (Some(side(box_width)), Some(side(box_width * h / w)));
    ThumbnailRequest { width, height, fit: FitMode::Pad, ..request }
}

/// The video of a track with the most pixels among those of all parts: the limits of a run of several.
fn largest_video<'a>(track: &'a Track, video: &'a VideoTrack) -> &'a VideoTrack {
    let others = track.configurations.iter().filter_map(|media| match media {
        TrackMedia::Video(video) => Some(video),
        TrackMedia::Audio(_) => None,
    });
    let pixels = |video: &&VideoTrack| u64::from(video.width) * u64::from(video.height);
    std::iter::once(video).chain(others).max_by_key(pixels).unwrap_or(video)
}

/// Limits of a run that decodes this many frames.
fn limits(frames: u64, video: &VideoTrack) -> EncodeLimits {
    let pixels = frames.saturating_mul(u64::from(video.width) * u64::from(video.height));
    EncodeLimits {
        deadline: STALL_TIMEOUT,
        cpu: CPU_BASE.saturating_add(Duration::from_secs(pixels / DECODE_PIXELS_PER_SECOND)),
        memory_bytes: RUN_MEMORY_BYTES,
        output_max: THUMBNAIL_OUTPUT_MAX,
    }
}

/// Maps the error of a run: that of the store if its input failed, else that of its output.
fn run_error(error: EngineError) -> Error {
    match error {
        input @ EngineError::Input(_) => from_engine_error(input),
        other => other.into(),
    }
}

/// Maps the error of a still: [`Error::LimitExceeded`] if a keyframe would take less.
fn thumbnail_error(error: EngineError, target: &TargetFrame) -> Error {
    if !target.is_keyframe() && is_cut_short(&error) { Error::LimitExceeded } else { error.into() }
}

/// Whether a run was ended by a limit, regardless of its output.
fn is_limit_error(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::InputTooLarge { .. }
            | EngineError::OutputTooLarge { .. }
            | EngineError::CpuExhausted(_)
            | EngineError::MemoryExhausted { .. }
    )
}

/// Whether a run was ended by a limit, or because the machine was too slow.
fn is_cut_short(error: &EngineError) -> bool {
    is_limit_error(error) || matches!(error, EngineError::TimedOut(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costly_frame_falls_back_to_keyframe() {
        let exact = TargetFrame { samples: 0..30, time_in_gop: Some(Duration::from_secs(1)) };
        let check = |error: fn() -> EngineError, of_frame: &str, of_keyframe: &str| {
            let found =
                [&exact, &exact.keyframe()].map(|target| format!("{:?}", thumbnail_error(error(), target)));
            assert_eq!(found, [of_frame, of_keyframe]);
        };
        check(|| EngineError::CpuExhausted(STALL_TIMEOUT), "LimitExceeded", "NoImage");
        check(|| EngineError::MemoryExhausted { max_bytes: 1 }, "LimitExceeded", "NoImage");
        check(|| EngineError::OutputTooLarge { max_bytes: 1 }, "LimitExceeded", "NoImage");
        check(|| EngineError::TimedOut(STALL_TIMEOUT), "LimitExceeded", "Busy");
        check(|| EngineError::NoFrame, "NoImage", "NoImage");
        check(|| EngineError::Failed { exit: Some(1) }, "NoImage", "NoImage");
        check(|| EngineError::Busy, "Busy", "Busy");
    }

    #[test]
    fn machine_limit_is_no_clip_error() {
        assert!(matches!(run_error(EngineError::TimedOut(STALL_TIMEOUT)), Error::Busy));
        assert!(!is_limit_error(&EngineError::TimedOut(STALL_TIMEOUT)), "a shorter clip may take as long");
        assert!(run_error(EngineError::DiskFull).is_disk_full());
    }
}
