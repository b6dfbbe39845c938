//! Turns (presentation, rendition, segment number) into bytes.
//!
//! Playlists and heads of copied segments are made from the sample index when somebody asks; the samples come
//! from the source as it is stored. Segments of encoded renditions, and pictures, are made by the engine and
//! kept as objects; those of subtitles are made of their file. Knows no workspace and no route: whether
//! somebody may watch was decided before. Of rows it knows those of renditions alone.
//!
//! Begin with [`Packager`]; `manifest.rs` is what players are offered, `sequence.rs` what of several sources
//! in a row, `segment.rs` what they get, `encode/` how it is made. `file.rs` is all of it in one file.

mod added_sound;
mod encode;
mod error;
mod file;
mod leftover;
mod manifest;
mod packaged;
mod picture;
mod rendition;
mod samples;
mod segment;
mod sequence;
mod subtitles;
mod whole;

use std::sync::Arc;
use std::time::Duration;

use kinora_blob::{Blob, ObjectKey};
use kinora_domain::{Clock, PresentationId, SourceId};
use kinora_engine::Engine;
use kinora_store::Store;
use moka::future::Cache;

pub use added_sound::{OfferedSound, SoundName};
pub use encode::{Asker, FillProgress, Overlay, SoundMix};
pub use error::Error;
pub use file::{FileBounds, FileReader, MediaFile};
pub use kinora_engine::{CLIP_FPS_MAX, CLIP_WIDTH_MAX, ClipFormat, PICTURE_SIDE_MAX, PictureFormat};
pub use manifest::{Added, Order, Wanted};
pub use packaged::{Packaged, init_from_name, init_name, key_of};
pub use picture::{ClipRequest, FitMode, Picture, PictureRequest, Sheet, Storyboard, surplus_pictures};
pub use rendition::Rendition;
pub use segment::Segment;
pub use sequence::{Sequence, SequenceItem};
pub use subtitles::{OfferedSubtitles, SubtitleName};
pub use whole::whole_of;

/// Memory for decoded indexes. A 2 h media takes about 2 MB.
const INDEX_CACHE_BYTES: u64 = 128 << 20;
/// Memory for whole small segments that are asked for often: audio, above all.
const SEGMENT_CACHE_BYTES: u64 = 32 << 20;

/// How long a request for something that is made waits in all before it is told to come back. Players that
/// give up sooner, after 10 s as hls.js does, ask again and find what was begun for them. D-0110.
pub const REQUEST_WAIT_MAX: Duration = Duration::from_secs(60);

/// Memory for files of subtitles and their cues. Those of a film take less than 1 MiB.
const SUBTITLE_CACHE_BYTES: u64 = 32 << 20;

/// Makes what players ask for. Cheap to clone; clones share their caches.
#[derive(Clone)]
pub struct Packager {
    store: Store,
    blob: Blob,
    engine: Engine,
    clock: Arc<dyn Clock>,
    indexes: Cache<PresentationId, Arc<Packaged>>,
    segments: Cache<segment::Key, bytes::Bytes>,
    heads: Cache<file::HeadKey, Option<Arc<kinora_isobmff::write::MovieFile>>>,
    wholes: Cache<kinora_domain::RenditionId, Arc<whole::Whole>>,
    subtitles: Cache<SourceId, Arc<subtitles::Kept>>,
    pictures: Arc<picture::Flights>,
    encoders: encode::Encoders,
}

impl Packager {
    /// A packager over the rows of renditions, a store of objects and an engine.
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
            .max_capacity(file::HEADS_BYTES_MAX)
            .weigher(|_, head: &Option<Arc<kinora_isobmff::write::MovieFile>>| {
                head.as_ref().map_or(1, |head| u32::try_from(head.weight()).unwrap_or(u32::MAX))
            })
            .build();
        let wholes = Cache::builder()
            .max_capacity(whole::WHOLES_BYTES_MAX)
            .weigher(|_, whole: &Arc<whole::Whole>| whole.weight())
            .build();
        let subtitles = Cache::builder()
            .max_capacity(SUBTITLE_CACHE_BYTES)
            .weigher(|_, kept: &Arc<subtitles::Kept>| kept.weight())
            .build();
        let (pictures, encoders) = (Arc::new(picture::Flights::new()), encode::Encoders::new());
        Self { store, blob, engine, clock, indexes, segments, heads, wholes, subtitles, pictures, encoders }
    }

    /// Everything that can be served of a presentation. Loaded once, however many ask; kept while memory
    /// allows.
    ///
    /// Errors: [`Error::Gone`] without an index, [`Error::Damaged`], those of the store.
    pub async fn packaged(&self, presentation: PresentationId) -> Result<Arc<Packaged>, Error> {
        if let Some(packaged) = self.indexes.get(&presentation).await {
            return Ok(packaged);
        }
        // Boxed: a future is as large as all that it may come to, and most come to nothing of this.
        let load = Box::pin(async {
            let bytes = self.blob.get(ObjectKey::Index(presentation)).await?.ok_or(Error::Gone)?;
            Packaged::read(presentation, &bytes).map(Arc::new)
        });
        self.indexes.try_get_with(presentation, load).await.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// The bytes of a source as they came.
    ///
    /// Errors: [`Error::Gone`] without them, those of the store.
    pub async fn original(&self, source: SourceId) -> Result<kinora_blob::ObjectReader, Error> {
        self.blob.reader(ObjectKey::Source(source)).await?.ok_or(Error::Gone)
    }

    /// The clip that `kinora demo` takes in, while there is one.
    pub async fn demo_clip(&self) -> Result<Option<kinora_blob::ObjectReader>, Error> {
        Ok(self.blob.reader(ObjectKey::DemoClip).await?)
    }

    /// Drops what is kept of a source that is about to be removed.
    pub fn forget(&self, source: SourceId) {
        let presentation = PresentationId::of(source);
        self.stop_encodes(presentation);
        let (indexes, subtitles) = (self.indexes.clone(), self.subtitles.clone());
        // The cache is only memory: that it is emptied a moment later does no harm.
        tokio::spawn(async move {
            indexes.invalidate(&presentation).await;
            subtitles.invalidate(&source).await;
        });
    }
}
