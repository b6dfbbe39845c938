//! Pictures: one frame of a source, made when somebody asks, then kept as an object.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use kinora_engine::{
    CropWindow, EncodeLimits, EngineError, Fit, PICTURE_OUTPUT_MAX, PictureFormat, PictureSize, PictureSpec,
    Priority,
};
use kinora_formats::encode::Feed;
use kinora_index::VideoTrack;

use crate::encode::{Fed, of_engine, read};
use crate::{Asker, Error, Packaged, Packager};
use moment::Moment;

mod blur;
mod clip;
mod crop;
mod flights;
mod gop;
mod input;
mod made;
mod moment;
mod room;
mod sheet;
mod sought;
mod turns;
mod while_held;

pub use clip::ClipRequest;
pub(crate) use flights::Flights;
use made::Order;
pub use made::Picture;
pub use room::surplus_pictures;
pub use sheet::{Sheet, Storyboard};
use turns::Kind;

/// The longest silence of a run whose turn it is.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Processor time of a run beside that for its frames.
const CPU_BASE: Duration = Duration::from_secs(30);
/// Pixels that are decoded in a second of processor time by the slowest decoder on a slow core.
const DECODED_A_SECOND: u64 = 10_000_000;
/// Memory of a run: a decoder of 4K takes 0.3 GB, all frames of the largest clip as many.
const RUN_MEMORY_BYTES: u64 = 1 << 30;
/// Sheets are asked for by players that already play.
const SHEET_PRIORITY: Priority = Priority::Prepare;

/// Which picture of a media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureRequest {
    /// The moment in milliseconds since the start, the very frame shown then; `None`: a frame near the
    /// middle.
    pub time_ms: Option<u64>,
    /// How wide, in pixels. `None`: as the video.
    pub width: Option<u32>,
    /// How high, in pixels. `None`: as the video.
    pub height: Option<u32>,
    /// What becomes of what does not fit.
    pub fit: FitMode,
    /// How it is encoded.
    pub format: PictureFormat,
    /// It stands for the media where nothing else was asked for, and is kept whatever else is.
    pub is_poster: bool,
}

/// What becomes of a picture that has another ratio than what was asked for
/// (C-17, D-0081).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FitMode {
    /// It fits the box in its own ratio, and is never larger than the video.
    Preserve,
    /// It has exactly the size asked for, as all below, and is drawn out to it.
    Stretch,
    /// What is on either side of its middle is cut off.
    Crop,
    /// The same, but what is left is where most is to be seen.
    Smartcrop,
    /// Black is put around it.
    Pad,
}

impl PictureRequest {
    /// The same picture asked for in one way only. One that keeps its ratio is never enlarged, so there a
    /// side that is as long as the video's or longer asks for nothing; any other has both sides.
    fn within(self, packaged: &Packaged) -> Self {
        let Some((width, height)) = packaged.picture_size() else { return self };
        if self.fit == FitMode::Preserve {
            let shorter = |wanted: Option<u32>, side| wanted.filter(|wanted| *wanted < side);
            return Self { width: shorter(self.width, width), height: shorter(self.height, height), ..self };
        }
        let [width, height] = [self.width.unwrap_or(width), self.height.unwrap_or(height)];
        Self { width: Some(width), height: Some(height), ..self }
    }
}

impl Packager {
    /// The picture, from the store or made now. Where the very frame takes more than a picture may use, its
    /// keyframe, which shows the same scene and [says so](Picture::is_stand_in).
    ///
    /// Errors: [`Error::NoPicture`] without video or for a frame that does not decode, [`Error::Busy`] when
    /// too many are asked for at once, of this source, by this address, or through this playback ID, and
    /// where the machine is too slow for it now.
    pub async fn picture(
        &self,
        packaged: &Arc<Packaged>,
        request: PictureRequest,
        asker: Asker,
    ) -> Result<Picture, Error> {
        let (track, video) = packaged.index().video().ok_or(Error::NoPicture)?;
        let moment = Moment::of(track, video, request.time_ms).ok_or(Error::NoPicture)?;
        let request = request.within(packaged);
        match self.still(packaged, &moment, request, asker).await {
            Err(error) if matches!(error.root(), Error::TooMuch) => {
                let keyframe = self.still(packaged, &moment.keyframe(), request, asker).await?;
                Ok(keyframe.instead())
            }
            made => made,
        }
    }

    /// The frame of this moment. [`Error::TooMuch`] where its keyframe would take less.
    async fn still(
        &self,
        packaged: &Arc<Packaged>,
        moment: &Moment,
        request: PictureRequest,
        asker: Asker,
    ) -> Result<Picture, Error> {
        let hash = moment.hash(request);
        let order = Order { kind: Kind::Still, hash, is_always_kept: request.is_poster };
        let make = {
            let (packager, packaged, moment) = (self.clone(), Arc::clone(packaged), moment.clone());
            async move { packager.decode(&packaged, &moment, request).await }
        };
        self.made_once(packaged, order, asker, Box::pin(make)).await
    }

    /// Lets the engine make a picture.
    async fn decode(
        &self,
        packaged: &Packaged,
        moment: &Moment,
        request: PictureRequest,
    ) -> Result<Bytes, Error> {
        let (track, _) = packaged.index().video().ok_or(Error::NoPicture)?;
        if !moment.is_affordable(track) {
            return Err(Error::NoPicture);
        }
        let _memory = self.pictures.memory_for(moment.len(track)).await?;
        let input = self.input(packaged, track, moment).await?;
        let made = async {
            let fit = self.fit(&input, moment, request).await?;
            self.engine.picture(input, moment.in_gop, PictureSpec { fit, format: request.format }).await
        };
        made.await.map_err(|error| of_still(error, moment))
    }

    /// What the engine is told of the size of a picture that was asked for in [one
    /// way](PictureRequest::within). A clever crop looks at the picture first.
    async fn fit(&self, input: &Bytes, moment: &Moment, request: PictureRequest) -> Result<Fit, EngineError> {
        let PictureRequest { width, height, fit, .. } = request;
        let size = PictureSize { width: width.unwrap_or(1), height: height.unwrap_or(1) };
        Ok(match fit {
            FitMode::Preserve => Fit::Within { width, height },
            FitMode::Stretch => Fit::Stretch(size),
            FitMode::Crop => Fit::Crop(size, CropWindow::MIDDLE),
            FitMode::Pad => Fit::Pad(size),
            FitMode::Smartcrop => {
                let priority = Priority::Prefetch;
                let small =
                    self.engine.small_picture(input.clone(), moment.in_gop, crop::SIDE, priority).await?;
                Fit::Crop(size, crop::window(&small, size))
            }
        })
    }

    /// Decodes the first pictures, as many as are cheap of the first GOP, and tells how many frames came out.
    ///
    /// `None` where that says nothing about the media: without video, and where a limit of ours ended the try
    /// or the decoder crashed.
    pub async fn decode_first_gop(&self, packaged: &Arc<Packaged>) -> Result<Option<u64>, Error> {
        let Some((track, video)) = packaged.index().video() else { return Ok(None) };
        let moment = Moment::first_few(track, video);
        if !moment.is_affordable(track) {
            return Ok(None);
        }
        let _memory = self.pictures.memory_for(moment.len(track)).await?;
        let input = self.input(packaged, track, &moment).await?;
        match self.engine.probe_decode(input).await {
            Ok(report) => Ok(Some(report.frames)),
            Err(EngineError::NoPicture | EngineError::Failed { exit: Some(_) }) => Ok(Some(0)),
            // What grows beyond its memory may crash in place of saying so.
            Err(error) if is_cut_short(&error) || matches!(error, EngineError::Failed { exit: None }) => {
                tracing::warn!(presentation.id = %packaged.presentation, error = %error, "a source could not be probed");
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Packager {
    /// The bytes of a feed of selected samples, each read when the engine has room for it.
    fn selected(
        &self,
        packaged: &Packaged,
        feed: Feed,
    ) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
        let fed = Fed { header: Bytes::from(feed.header()), chunks: feed.chunks(), begun: Box::new(|| {}) };
        read(self, packaged, fed, move |chunk, bytes| feed.wrap(chunk, bytes))
    }
}

/// What a run that decodes so many frames may use.
fn limits(frames: u64, video: &VideoTrack) -> EncodeLimits {
    let pixels = frames.saturating_mul(u64::from(video.width) * u64::from(video.height));
    EncodeLimits {
        deadline: SILENCE_MAX,
        cpu: CPU_BASE.saturating_add(Duration::from_secs(pixels / DECODED_A_SECOND)),
        memory_bytes: RUN_MEMORY_BYTES,
        output_max: PICTURE_OUTPUT_MAX,
    }
}

/// What a run says of its input where its store failed, else of its output.
fn of_run(error: EngineError) -> Error {
    match error {
        input @ EngineError::Input(_) => of_engine(input),
        other => other.into(),
    }
}

/// What a run says of a still picture: that a keyframe would take less, where it was another frame.
fn of_still(error: EngineError, moment: &Moment) -> Error {
    if !moment.is_keyframe() && is_cut_short(&error) { Error::TooMuch } else { error.into() }
}

/// Whether a run was ended for what it used, whatever it would have given.
fn is_limit(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::InputTooLarge { .. }
            | EngineError::OutputTooLarge { .. }
            | EngineError::CpuExhausted(_)
            | EngineError::MemoryExhausted { .. }
    )
}

/// The same, or because the machine was too slow for it.
fn is_cut_short(error: &EngineError) -> bool {
    is_limit(error) || matches!(error, EngineError::TimedOut(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_that_takes_too_much_gives_way_to_its_keyframe_and_a_slow_machine_is_busy() {
        let exact = Moment { samples: 0..30, in_gop: Some(Duration::from_secs(1)) };
        let check = |error: fn() -> EngineError, of_frame: &str, of_keyframe: &str| {
            let found = [&exact, &exact.keyframe()].map(|moment| format!("{:?}", of_still(error(), moment)));
            assert_eq!(found, [of_frame, of_keyframe]);
        };
        check(|| EngineError::CpuExhausted(SILENCE_MAX), "TooMuch", "NoPicture");
        check(|| EngineError::MemoryExhausted { max_bytes: 1 }, "TooMuch", "NoPicture");
        check(|| EngineError::OutputTooLarge { max_bytes: 1 }, "TooMuch", "NoPicture");
        check(|| EngineError::TimedOut(SILENCE_MAX), "TooMuch", "Busy");
        check(|| EngineError::NoPicture, "NoPicture", "NoPicture");
        check(|| EngineError::Failed { exit: Some(1) }, "NoPicture", "NoPicture");
        check(|| EngineError::Busy, "Busy", "Busy");
    }

    #[test]
    fn what_the_machine_lacks_is_not_told_of_a_clip_or_a_sheet() {
        assert!(matches!(of_run(EngineError::TimedOut(SILENCE_MAX)), Error::Busy));
        assert!(!is_limit(&EngineError::TimedOut(SILENCE_MAX)), "a shorter clip may take as long");
        assert!(of_run(EngineError::NoRoom).is_full());
    }
}
