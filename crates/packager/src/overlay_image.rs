//! The image of an overlay, in a file that the engine reads.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use kinora_blob::ObjectKey;
use kinora_domain::SourceId;
use kinora_engine::{FrameOverlay, ImageSize, OverlayRectangle, StillOverlay, VideoOverlay};
use kinora_formats::encode::{image_size, overlay_rectangle};
use kinora_index::{Overlay, Rung, TrackMedia};
use moka::future::Cache;
use tempfile::NamedTempFile;

use crate::{Error, Packaged, Packager};

/// Bytes of all cached files: some thousand watermarks of a usual size.
const FILES_BYTES_MAX: u64 = 256 << 20;
/// How long a file is cached. Programs that tidy folders for temporary files remove only older ones.
const FILE_TTL: Duration = Duration::from_secs(60 * 60);
/// Memory of a run for each pixel of the image: decoded, with its colours converted, and being scaled.
const PIXEL_BYTES: u64 = 16;

/// The files of images, by the source that they are the bytes of.
pub(crate) type OverlayFiles = Cache<SourceId, Arc<OverlayFile>>;

/// The file is removed with its last user.
#[derive(Debug)]
pub(crate) struct OverlayFile {
    file: NamedTempFile,
    len: usize,
}

/// A cache without files.
pub(crate) fn overlay_files() -> OverlayFiles {
    Cache::builder()
        .max_capacity(FILES_BYTES_MAX)
        .time_to_live(FILE_TTL)
        .weigher(|_, image: &Arc<OverlayFile>| u32::try_from(image.len).unwrap_or(u32::MAX))
        .build()
}

/// An overlay with its image. A run needs it until its process ends.
#[derive(Debug, Clone)]
pub(crate) struct OverlayImage {
    overlay: Overlay,
    file: Arc<OverlayFile>,
}

impl Packager {
    /// The overlay of a presentation; `None` without one. Concurrent calls share one read of its image.
    ///
    /// Errors: [`Error::Gone`] without the image, those of the store and of the folder for temporary files.
    pub(crate) async fn overlay_image(&self, packaged: &Packaged) -> Result<Option<OverlayImage>, Error> {
        let Some(overlay) = packaged.index().overlay else { return Ok(None) };
        let source = SourceId::from_bytes(overlay.image);
        let read = Box::pin(async {
            let bytes = self.blob.get(ObjectKey::Source(source)).await?.ok_or(Error::Gone)?;
            let len = bytes.len();
            let file = self.write_scratch(stream::iter([Ok::<Bytes, _>(bytes)]), &self.scratch).await?;
            Ok(Arc::new(OverlayFile { file, len }))
        });
        let file = self.overlays.try_get_with(source, read).await;
        let file = file.map_err(|error: Arc<Error>| Error::Shared(error))?;
        Ok(Some(OverlayImage { overlay, file }))
    }
}

impl OverlayImage {
    /// Memory that a run needs in addition.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let (width, height) = self.overlay.image_size;
        u64::from(width) * u64::from(height) * PIXEL_BYTES
    }

    /// The overlay of these rungs.
    pub(crate) fn of_rungs(&self, rungs: &[Rung]) -> VideoOverlay {
        let rectangles = rungs.iter().map(|rung| self.rectangle((rung.width, rung.height))).collect();
        VideoOverlay { file: self.path().to_owned(), rectangles }
    }

    /// The overlay of frames of this size.
    pub(crate) fn of_frame(&self, frame: ImageSize) -> FrameOverlay {
        let rectangle = self.rectangle((frame.width, frame.height));
        FrameOverlay { file: self.path().to_owned(), rectangle }
    }

    /// The overlay of a still of the frame that sample `sample` is decoded to. `None` for audio only.
    ///
    /// A frame of a part of another shape than the base has the same bars as in encoded renditions.
    pub(crate) fn of_still(&self, packaged: &Packaged, sample: u32) -> Option<StillOverlay> {
        let (track, base) = packaged.index().video()?;
        let (width, height) = packaged.default_image_size()?;
        let bars = match track.media_at(sample) {
            TrackMedia::Video(part) => image_size((width, height), base, part),
            TrackMedia::Audio(_) => None,
        };
        let canvas = ImageSize { width, height };
        let frame = bars
            .map(|(width, height)| ImageSize { width, height })
            .filter(|frame| frame.width <= width && frame.height <= height);
        Some(StillOverlay { overlay: self.of_frame(canvas), canvas, frame })
    }

    fn path(&self) -> &Path {
        self.file.file.path()
    }

    fn rectangle(&self, frame: (u32, u32)) -> OverlayRectangle {
        let rectangle = overlay_rectangle(&self.overlay, frame);
        OverlayRectangle {
            left: rectangle.left,
            top: rectangle.top,
            width: rectangle.width,
            height: rectangle.height,
        }
    }
}
