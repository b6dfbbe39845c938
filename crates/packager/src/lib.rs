//! Maps (presentation, rendition, segment number) to bytes.
//!
//! Playlists and heads of copied segments are made from the sample index on request; the samples are read
//! from the stored sources. An edited presentation has samples of several sources (D-0131). The engine
//! makes segments of encoded renditions and images, which are stored as objects. Segments of subtitles are
//! made from their file. The crate has no workspaces and no routes: authorization comes before it. The only
//! rows it uses are those of renditions.
//!
//! Start reading at [`Packager`]. `manifest.rs` has the renditions that players are offered, `sequence.rs`
//! those of several sources in a row. `segment.rs` serves segments, `encode/` makes them, and `mp4_file.rs`
//! serves a media as one file.

mod added_audio;
mod derived_object;
mod encode;
mod error;
mod image;
mod manifest;
mod mp4_file;
mod overlay_image;
mod packaged;
mod rendition;
mod rendition_file;
mod samples;
mod segment;
mod sequence;
mod subtitles;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kinora_blob::{Blob, ObjectKey};
use kinora_domain::{Clock, PresentationId, SourceId};
use kinora_engine::Engine;
use kinora_store::Store;
use moka::future::Cache;

pub use added_audio::{AddedAudioName, AddedAudioSource};
pub use encode::{AudioMix, BackfillProgress, Overlay, PlaybackClient};
pub use error::Error;
pub use image::{ClipRequest, FitMode, Image, SpriteSheet, Storyboard, ThumbnailRequest, images_over_quota};
pub use kinora_engine::{CLIP_FPS_MAX, CLIP_WIDTH_MAX, ClipFormat, IMAGE_SIDE_MAX, ImageFormat};
pub use manifest::{AddedTracks, RenditionFilter, RenditionOrder};
pub use mp4_file::{Mp4File, Mp4FileLimits, Mp4FileReader};
pub use packaged::{Packaged, init_from_name, init_name, object_key};
pub use rendition::{EncodedAudio, Rendition};
pub use rendition_file::rendition_from_row_name;
pub use segment::Segment;
pub use sequence::{Sequence, SequenceItem};
pub use subtitles::{AddedSubtitlesSource, SubtitleName};

/// Memory for decoded indexes, in bytes. A 2 h media takes about 2 MB.
const INDEX_CACHE_BYTES: u64 = 128 << 20;
/// Memory for small segments that are requested often, mostly audio; in bytes.
const SEGMENT_CACHE_BYTES: u64 = 32 << 20;

/// Longest total wait of a request before it gets [`Error::Busy`]. Players that time out sooner, after 10 s
/// as hls.js does, request again and find the run that was started for them. D-0110.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Memory for subtitle files and their cues, in bytes. Those of a film take less than 1 MiB.
const SUBTITLE_CACHE_BYTES: u64 = 32 << 20;

/// Makes the playlists, segments and images that players request. Cheap to clone; clones share their caches.
#[derive(Clone)]
pub struct Packager {
    store: Store,
    blob: Blob,
    engine: Engine,
    clock: Arc<dyn Clock>,
    indexes: Cache<PresentationId, Arc<Packaged>>,
    segments: Cache<segment::CacheKey, bytes::Bytes>,
    heads: Cache<mp4_file::HeadKey, Option<Arc<kinora_isobmff::write::MovieFile>>>,
    rendition_files: Cache<kinora_domain::RenditionId, Arc<rendition_file::RenditionFile>>,
    subtitles: Cache<SourceId, Arc<subtitles::CachedSubtitles>>,
    /// Images of overlays.
    overlays: overlay_image::OverlayFiles,
    images: Arc<image::ImageCache>,
    encoders: encode::Encoders,
    /// The folder for input of the engine that must be in files: audio of several parts, for example.
    scratch: Arc<Path>,
}

impl Packager {
    /// A packager with its database of renditions, object store and engine.
    pub fn new(store: Store, blob: Blob, engine: Engine, clock: Arc<dyn Clock>) -> Self {
        let indexes = Cache::builder()
            .max_capacity(INDEX_CACHE_BYTES)
            .weigher(|_, packaged: &Arc<Packaged>| packaged.weight())
            .build();
        let segments = Cache::builder()
            .max_capacity(SEGMENT_CACHE_BYTES)
            .weigher(|_, bytes: &bytes::Bytes| u32::try_from(bytes.len()).unwrap_or(u32::MAX))
            .build();
        let heads = Cache::builder()
            .max_capacity(mp4_file::HEADS_BYTES_MAX)
            .weigher(|_, head: &Option<Arc<kinora_isobmff::write::MovieFile>>| {
                head.as_ref().map_or(1, |head| u32::try_from(head.weight()).unwrap_or(u32::MAX))
            })
            .build();
        let rendition_files = Cache::builder()
            .max_capacity(rendition_file::RENDITION_FILE_INDEXES_MAX)
            .weigher(|_, file: &Arc<rendition_file::RenditionFile>| file.weight())
            .build();
        let subtitles = Cache::builder()
            .max_capacity(SUBTITLE_CACHE_BYTES)
            .weigher(|_, cached: &Arc<subtitles::CachedSubtitles>| cached.weight())
            .build();
        let (images, encoders) = (Arc::new(image::ImageCache::new()), encode::Encoders::new());
        Self {
            store,
            blob,
            engine,
            clock,
            indexes,
            segments,
            heads,
            rendition_files,
            subtitles,
            overlays: overlay_image::overlay_files(),
            images,
            encoders,
            scratch: std::env::temp_dir().into(),
        }
    }

    /// Sets the folder for temporary files. Default: that of the operating system.
    #[must_use]
    pub fn with_scratch(self, scratch: Arc<Path>) -> Self {
        Self { scratch, ..self }
    }

    /// The index of a presentation with everything derived from it. Concurrent calls share one load; the
    /// result is cached while memory allows.
    ///
    /// Errors: [`Error::Gone`] without an index, [`Error::Damaged`], those of the store.
    pub async fn packaged(&self, presentation: PresentationId) -> Result<Arc<Packaged>, Error> {
        if let Some(packaged) = self.indexes.get(&presentation).await {
            return Ok(packaged);
        }
        // Boxed to keep the future of a cache hit small.
        let load = Box::pin(async {
            let bytes = self.blob.get(ObjectKey::Index(presentation)).await?.ok_or(Error::Gone)?;
            Packaged::read(presentation, &bytes).map(Arc::new)
        });
        self.indexes.try_get_with(presentation, load).await.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// The unchanged bytes of a source, as they were received.
    ///
    /// Errors: [`Error::Gone`] without them, those of the store.
    pub async fn source_reader(&self, source: SourceId) -> Result<kinora_blob::ObjectReader, Error> {
        self.blob.reader(ObjectKey::Source(source)).await?.ok_or(Error::Gone)
    }

    /// The clip that `kinora demo` ingests, if there is one.
    pub async fn demo_clip(&self) -> Result<Option<kinora_blob::ObjectReader>, Error> {
        Ok(self.blob.reader(ObjectKey::DemoClip).await?)
    }

    /// Evicts the caches of a source that is about to be removed.
    pub fn evict_source(&self, source: SourceId) {
        let presentation = PresentationId::of(source);
        self.stop_encodes(presentation);
        let (indexes, subtitles) = (self.indexes.clone(), self.subtitles.clone());
        let overlays = self.overlays.clone();
        // The cache is only memory, so a late invalidation does no harm.
        tokio::spawn(async move {
            indexes.invalidate(&presentation).await;
            subtitles.invalidate(&source).await;
            overlays.invalidate(&source).await;
        });
    }
}
