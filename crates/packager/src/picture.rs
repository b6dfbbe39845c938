//! Pictures: one frame of a source, made when somebody asks, then kept as an object.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use kinora_blob::{ObjectKey, PictureHash, Prefix};
use kinora_engine::{
    CropWindow, EncodeLimits, EngineError, Fit, PICTURE_OUTPUT_MAX, PictureFormat, PictureSize, PictureSpec,
    Priority,
};
use kinora_formats::encode::Feed;
use kinora_formats::index::{Track, VideoTrack};

use crate::encode::{Fed, of_engine, read};
use crate::{Asker, Error, Packaged, Packager, Rendition};
use moment::Moment;

mod blur;
mod clip;
mod crop;
mod flights;
mod input;
mod moment;
mod sheet;

pub use clip::ClipRequest;
pub(crate) use flights::Flights;
pub use sheet::{Sheet, Storyboard};

/// Pictures of one source that are kept; further ones are made anew each time, so that nobody fills the disk with sizes.
/// Decision 0022.
const KEPT_MAX: usize = 1000;
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
    /// The moment in milliseconds since the start, the very frame shown then; `None`: a frame near the middle.
    pub time_ms: Option<u64>,
    /// How wide, in pixels. `None`: as the video.
    pub width: Option<u32>,
    /// How high, in pixels. `None`: as the video.
    pub height: Option<u32>,
    /// What becomes of what does not fit.
    pub fit: FitMode,
    /// How it is encoded.
    pub format: PictureFormat,
}

/// What becomes of a picture that has another ratio than what was asked for (contract decision 17, decision 0081).
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
    /// The same picture asked for in one way only. One that keeps its ratio is never enlarged, so there a side that is as long as the
    /// video's or longer asks for nothing; any other has both sides.
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

/// What was made of a source.
struct Made {
    bytes: Bytes,
    /// The same request always gives the same bytes.
    is_kept: bool,
}

impl Packager {
    /// The picture, from the store or made now. Two nodes may race: the first writer wins and both serve that one.
    ///
    /// Errors: [`Error::NoPicture`] without video or for a frame that does not decode, [`Error::Busy`] when too many are asked
    /// for at once: of this source, by this address, or through this playback ID.
    pub async fn picture(
        &self,
        packaged: &Arc<Packaged>,
        request: PictureRequest,
        asker: Asker,
    ) -> Result<Bytes, Error> {
        let (track, video) = packaged.index().video().ok_or(Error::NoPicture)?;
        let moment = Moment::of(track, video, request.time_ms).ok_or(Error::NoPicture)?;
        let request = request.within(packaged);
        let make = async {
            match self.decode(packaged, track, &moment, request).await? {
                Ok(picture) => Ok(Made { bytes: picture, is_kept: true }),
                // The frame takes more than a picture may use. Its keyframe shows the same scene, and is not kept for it.
                Err(error) if is_limit(&error) => {
                    let picture = self.decode(packaged, track, &moment.keyframe(), request).await??;
                    Ok(Made { bytes: picture, is_kept: false })
                }
                Err(error) => Err(error.into()),
            }
        };
        self.made_once(packaged, moment.hash(request), asker, make).await
    }

    /// What is kept under this hash, or what `make` makes: once, however many ask.
    ///
    /// Errors: those of `make`, and [`Error::Busy`] when too many are asked for at once.
    async fn made_once(
        &self,
        packaged: &Packaged,
        hash: PictureHash,
        asker: Asker,
        make: impl Future<Output = Result<Made, Error>>,
    ) -> Result<Bytes, Error> {
        let flight = async {
            let key = ObjectKey::Picture(packaged.source, hash);
            if let Some(picture) = self.blob.get(key).await? {
                return Ok(picture);
            }
            let _cold = self.cold_place(asker)?;
            let _place = self.pictures.enter(packaged.source)?;
            let Made { bytes, is_kept } = make.await?;
            let kept = self.blob.list(Prefix::PicturesOf(packaged.source), None, KEPT_MAX).await?;
            if !is_kept || kept.len() >= KEPT_MAX {
                return Ok(bytes);
            }
            match self.blob.put_once(key, bytes.clone()).await {
                // Whoever asks gets it all the same.
                Err(kinora_blob::Error::Full) => return Ok(bytes),
                put => put.map(drop)?,
            }
            self.blob.get(key).await?.ok_or(Error::Gone)
        };
        let made = self.pictures.made.try_get_with((packaged.source, hash), flight).await;
        made.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// Lets the engine make a picture. What the engine says is the inner result.
    async fn decode(
        &self,
        packaged: &Packaged,
        track: &Track,
        moment: &Moment,
        request: PictureRequest,
    ) -> Result<Result<Bytes, EngineError>, Error> {
        if !moment.is_affordable(track) {
            return Err(Error::NoPicture);
        }
        let _memory = self.pictures.memory_for(moment.len(track)).await?;
        let input = self.input(packaged, track, moment).await?;
        let made = async {
            let fit = self.fit(&input, moment, request).await?;
            self.engine.picture(input, moment.in_gop, PictureSpec { fit, format: request.format }).await
        };
        Ok(made.await)
    }

    /// What the engine is told of the size of a picture that was asked for in [one way](PictureRequest::within). A clever crop looks at the
    /// picture first.
    async fn fit(&self, input: &Bytes, moment: &Moment, request: PictureRequest) -> Result<Fit, EngineError> {
        let PictureRequest { width, height, fit, .. } = request;
        let size = PictureSize { width: width.unwrap_or(1), height: height.unwrap_or(1) };
        Ok(match fit {
            FitMode::Preserve => Fit::Within { width, height },
            FitMode::Stretch => Fit::Stretch(size),
            FitMode::Crop => Fit::Crop(size, CropWindow::MIDDLE),
            FitMode::Pad => Fit::Pad(size),
            FitMode::Smartcrop => {
                let priority = Priority::Viewer;
                let small =
                    self.engine.small_picture(input.clone(), moment.in_gop, crop::SIDE, priority).await?;
                Fit::Crop(size, crop::window(&small, size))
            }
        })
    }

    /// Decodes the first pictures, as many as are cheap of the first GOP, and tells how many frames came out.
    ///
    /// `None` where that says nothing about the media: without video, and where a limit of ours ended the try or the decoder crashed.
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
            Err(error) if is_limit(&error) || matches!(error, EngineError::Failed { exit: None }) => {
                tracing::warn!(source.id = %packaged.source, error = %error, "a source could not be probed");
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
        let key = packaged.samples_key(Rendition::Video);
        read(self, key, fed, move |chunk, bytes| feed.wrap(chunk, bytes))
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

/// Whether a run was ended for what it used, whatever it would have given.
fn is_limit(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::InputTooLarge { .. }
            | EngineError::OutputTooLarge { .. }
            | EngineError::CpuExhausted(_)
            | EngineError::MemoryExhausted { .. }
            | EngineError::TimedOut(_)
    )
}
