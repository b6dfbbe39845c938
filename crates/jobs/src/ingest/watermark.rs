//! Fetches the watermark of a media before it is ready, and adds it to the index (C-200).
//!
//! The image is a source of its own, a PNG. The index names it, and a row of `source_use` keeps it.

use std::time::Duration;

use bytes::Bytes;
use kinora_blob::ObjectKey;
use kinora_domain::{
    Failure, FailureCode, SourceId, Watermark, WatermarkAlign, WatermarkLength, WatermarkPlacement,
    WatermarkSize, error_chain,
};
use kinora_engine::{
    EngineError, IMAGE_FILE_BYTES_MAX, IMAGE_FILE_PIXELS_MAX, IMAGE_SIDE_MAX, PNG_HEAD_LEN, PngImage,
    png_size,
};
use kinora_fetch::{DownloadError, NextAttempt, Pause, RetryBudget, Sink};
use kinora_index::{Index, OVERLAY_SIDE_MAX, Overlay, OverlayAlign, OverlayError, OverlayLength};
use kinora_intake::SpilledIndex;

use super::audio_edit::with_field_name;
use super::check_disk_space;
use super::image_file::image_file_format;
use crate::claim::Claim;
use crate::delete_objects;
use crate::error::JobError;
use crate::{Context, Permit};

/// The field of the image's URL, for failures.
const FIELD: &str = "url of the watermark";

/// Time limit of the download with all its attempts: the video waits for it.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(15 * 60);

const _: () = {
    assert!(Watermark::FILE_BYTES_MAX == IMAGE_FILE_BYTES_MAX);
    assert!(Watermark::PIXELS_MAX == IMAGE_FILE_PIXELS_MAX as u64);
    assert!(IMAGE_SIDE_MAX == OVERLAY_SIDE_MAX as u32);
};

/// The index with the watermark over its video, in a file, and the source of the image. Audio alone plays
/// without it, and nothing is fetched.
///
/// The audio is edited afterwards: this cuts the video again.
///
/// Errors: `Fatal` with the field; those of a download. The image is stored only without an error, and no row
/// refers to it.
pub(crate) async fn add_watermark(
    context: &Context,
    job: &Claim,
    watermark: &Watermark,
    source_index: SpilledIndex,
) -> Result<(SpilledIndex, Option<SourceId>), JobError> {
    let (index, permit) = source_index.load_limited(&context.scan_limits, job.workspace).await?;
    let has_video = index.video().is_some();
    // The download may be slow, and no index is in memory in the meantime.
    let source_index = context.scan_limits.spill_index(index).await?;
    drop(permit);
    if !has_video {
        return Ok((source_index, None));
    }
    let overlay = store_image(context, job, watermark).await?;
    let image = image_source(&overlay);
    let drawn = async {
        let (index, _permit) = source_index.load_limited(&context.scan_limits, job.workspace).await?;
        Ok(context.scan_limits.spill_index(draw(index, overlay)?).await?)
    };
    match drawn.await {
        Ok(index) => Ok((index, Some(image))),
        Err(error) => {
            remove_image(context, image).await;
            Err(error)
        }
    }
}

/// The index with the overlay. Errors: `Fatal` if it cannot have one.
pub(crate) fn draw(index: Index, overlay: Overlay) -> Result<Index, JobError> {
    if index.overlay.is_some() {
        let sentence = "the media that is cut has a watermark already; one is allowed";
        return Err(failure(FailureCode::WatermarkNotImage, sentence));
    }
    index.with_overlay(overlay).map_err(|error| match error {
        OverlayError::TooLarge { .. } | OverlayError::NoVideo => {
            failure(FailureCode::CodecUnsupported, format!("the video cannot have a watermark: {error}"))
        }
        OverlayError::Plan(_) => failure(FailureCode::NotMedia, error.to_string()),
    })
}

/// Downloads and decodes the image, and stores it as a source that no row refers to.
///
/// Errors: `Fatal` with the field; those of a download.
pub(crate) async fn store_image(
    context: &Context,
    job: &Claim,
    watermark: &Watermark,
) -> Result<Overlay, JobError> {
    let stored = async {
        let file = download(context, job, &watermark.url).await?;
        let image = decode(context, job, file, watermark.opacity_percent).await?;
        check_disk_space(context, image.png.len() as u64).await?;
        let source = SourceId::new(context.clock.now(), &*context.random);
        let overlay = overlay(watermark, source, (image.width, image.height))
            .ok_or_else(|| JobError::Retry("a decoded image has sides out of bounds".into()))?;
        let blob = context.blob.for_workspace(job.workspace);
        blob.put_once(ObjectKey::Source(source), image.png).await?;
        Ok(overlay)
    };
    stored.await.map_err(|error| with_field_name(error, FIELD))
}

/// The overlay of a watermark whose image is stored already.
///
/// Errors: `Fatal` if the image is missing.
pub(crate) async fn stored_image_overlay(
    context: &Context,
    watermark: &Watermark,
    image: SourceId,
) -> Result<Overlay, JobError> {
    let missing = || failure(FailureCode::Internal, "the image of the watermark is missing");
    let reader = context.blob.reader(ObjectKey::Source(image)).await?.ok_or_else(missing)?;
    let head = reader.read_at(0..PNG_HEAD_LEN.min(reader.len())).await?;
    let size = png_size(&head).ok_or_else(missing)?;
    overlay(watermark, image, size).ok_or_else(missing)
}

/// Deletes the image of an index that was not stored, so that no row and no index refers to it.
pub(crate) async fn remove_image(context: &Context, image: SourceId) {
    if let Err(error) = delete_objects::remove(context, image).await {
        // The sweep deletes it later.
        tracing::warn!(source.id = %image, error = %error_chain(&error), "an unused watermark was not removed");
    }
}

/// The source of the image of an overlay.
pub(crate) fn image_source(overlay: &Overlay) -> SourceId {
    SourceId::from_bytes(overlay.image)
}

/// The overlay of a watermark whose decoded image is stored. `None` if the size is out of bounds.
pub(crate) fn overlay(watermark: &Watermark, source: SourceId, size: (u32, u32)) -> Option<Overlay> {
    let WatermarkPlacement { x_align, x_margin, y_align, y_margin } = watermark.placement;
    let WatermarkSize { width, height } = watermark.size;
    let side = |side: u32| u16::try_from(side).ok().filter(|side| (1..=OVERLAY_SIDE_MAX).contains(side));
    Some(Overlay {
        image: *source.as_uuid().as_bytes(),
        image_size: (side(size.0)?, side(size.1)?),
        x_align: align(x_align),
        x_margin: length(x_margin),
        y_align: align(y_align),
        y_margin: length(y_margin),
        width: width.map(length),
        height: height.map(length),
    })
}

fn align(align: WatermarkAlign) -> OverlayAlign {
    match align {
        WatermarkAlign::Start => OverlayAlign::Start,
        WatermarkAlign::Middle => OverlayAlign::Middle,
        WatermarkAlign::End => OverlayAlign::End,
    }
}

fn length(length: WatermarkLength) -> OverlayLength {
    match length {
        WatermarkLength::Percent(hundredths) => OverlayLength::Percent(hundredths),
        WatermarkLength::Pixels(pixels) => OverlayLength::Pixels(pixels),
    }
}

/// The file at the URL.
async fn download(context: &Context, job: &Claim, url: &str) -> Result<Bytes, JobError> {
    let address = kinora_fetch::parse_source_url(url)
        .map_err(|problem| failure(FailureCode::SourceUnreachable, format!("the URL {problem}")))?;
    let full = context.fetcher.full_retry_budget();
    let budget = RetryBudget { time_left: full.time_left.min(TOTAL_TIMEOUT), ..full };
    let mut file = ImageFile { context, job, bytes: Vec::new(), paused: None };
    let downloaded = context.fetcher.download(&address, &mut file, &*context.random, budget).await;
    job.acquire_slot().await;
    match downloaded {
        Ok(_) => Ok(file.bytes.into()),
        Err(DownloadError::Fetch(error)) => Err(JobError::Fatal(error.failure())),
        Err(DownloadError::Sink(TooLarge)) => {
            let sentence = format!("the image file is larger than {} bytes", Watermark::FILE_BYTES_MAX);
            Err(failure(FailureCode::SourceTooLarge, sentence))
        }
    }
}

/// Decodes an image file in the engine.
async fn decode(
    context: &Context,
    job: &Claim,
    file: Bytes,
    opacity_percent: u8,
) -> Result<PngImage, JobError> {
    let not_image = |sentence| failure(FailureCode::WatermarkNotImage, sentence);
    let format = image_file_format(&file).map_err(|error| not_image(format!("the file {error}")))?;
    let _permit = context.ingest_engine_permits.acquire(job.workspace).await;
    match context.engine.image_to_png(file, format, opacity_percent).await {
        Ok(image) => Ok(image),
        Err(error) if error.is_input_fault() => {
            tracing::info!(error = %error_chain(&error), ?format, "a watermark does not decode");
            Err(not_image("the image does not decode".to_owned()))
        }
        Err(EngineError::Busy) => Err(JobError::Unavailable(Box::new(EngineError::Busy))),
        Err(error) if error.is_machine_fault() => Err(error.into()),
        Err(error) => Err(JobError::Retry(Box::new(error))),
    }
}

fn failure(code: FailureCode, sentence: impl Into<String>) -> JobError {
    JobError::Fatal(Failure::new(code, sentence))
}

/// The file is too large.
struct TooLarge;

/// An image file in memory. A pause releases the permit of the job's worker pool while there is a permit for
/// the pause.
struct ImageFile<'a> {
    context: &'a Context,
    job: &'a Claim,
    bytes: Vec<u8>,
    paused: Option<Permit>,
}

impl Sink for ImageFile<'_> {
    type Error = TooLarge;

    async fn restart(&mut self) -> Result<(), TooLarge> {
        self.bytes.clear();
        Ok(())
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), TooLarge> {
        if Watermark::FILE_BYTES_MAX < (self.bytes.len() + bytes.len()) as u64 {
            return Err(TooLarge);
        }
        self.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    async fn pause(&mut self, _: Pause) -> Result<NextAttempt, TooLarge> {
        self.bytes = Vec::new();
        self.paused = self.context.paused_downloads.try_acquire(self.job.workspace);
        if self.paused.is_some() {
            self.job.release_slot();
        }
        Ok(NextAttempt::FromStart)
    }

    async fn resume(&mut self) -> Result<(), TooLarge> {
        self.job.acquire_slot().await;
        self.paused = None;
        Ok(())
    }
}
