//! Segments of encoded renditions: stored ones are read, others are encoded on request or a few ahead of it.
//!
//! | File | Contents |
//! |---|---|
//! | `rendition_state.rs` | the state of one rendition: stored segments, runs and waiting requests |
//! | `segment_request.rs` | one request, served from the store or through a run |
//! | `run_task.rs` | a run as a task: it stores its segments, then hands them to waiting requests |
//! | `run.rs` | one call of the engine: feed in, segments out |
//! | `audio.rs` | the same for audio, and for whole audio tracks |
//! | `mix.rs` | audio that is mixed before a media is ready |
//! | `loudness.rs` | the loudness of audio, and the gain that levels it |
//! | `placeholder.rs` | replacements for parts of the source that do not decode |
//! | `encode_spec.rs` | arguments and limits of the engine |
//! | `init.rs` | init segments of rungs |
//! | `client_encode_limit.rs` | limits on concurrent encodes for one viewer or one playback ID |
//! | `usage_buffer.rs` | usage of renditions, written in batches |
//! | `first_segment.rs`, `backfill.rs` | encodes ahead of any request |
//!
//! Start reading at `segment_request.rs`.

mod audio;
mod backfill;
mod client_encode_limit;
mod encode_spec;
mod first_segment;
mod init;
mod loudness;
mod mix;
mod placeholder;
mod rendition_state;
mod run;
mod run_task;
mod segment_request;
mod usage_buffer;

use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kinora_blob::{ObjectKey, Prefix};
use kinora_domain::{PresentationId, RenditionId, Timestamp, WorkspaceId};
use kinora_index::{Rung, codec::colour::Colour};
use kinora_store::{Store, Tx};
use moka::future::Cache;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::{EncodedAudio, Error, Packaged, Packager, Rendition};
use rendition_state::RenditionState;

pub use backfill::BackfillProgress;
pub(crate) use client_encode_limit::ClientEncodePermit;
pub use client_encode_limit::PlaybackClient;
pub(crate) use encode_spec::container;
pub use mix::{AudioMix, Overlay};
pub(crate) use run::{FeedInput, feed_stream, from_engine_error};

/// Renditions whose state is cached in memory, some KiB each.
const RENDITIONS_MAX: u64 = 10_000;
/// How long after the last request the state is cached.
const RENDITION_IDLE_MAX: Duration = Duration::from_secs(10 * 60);
/// How long one process may still list a rendition that another one found broken.
const BROKEN_CACHE_TTL: Duration = Duration::from_secs(60);
/// Init segments in memory, less than a KiB each.
const INITS_MAX: u64 = 10_000;
/// Configurations of rungs in memory, some 50 bytes each: one for each size, level and colour.
const CONFIGURATIONS_MAX: u64 = 10_000;
/// Objects in a page of a list.
const PAGE: usize = 1000;

/// State that all encodes share.
#[derive(Clone)]
pub(crate) struct Encoders {
    renditions: Cache<RenditionId, Arc<ActiveRendition>>,
    inits: Cache<RenditionId, init::Init>,
    configurations: Cache<init::ConfigurationKey, Arc<[u8]>>,
    /// Colours of presentations whose index does not state them.
    colours: Cache<PresentationId, Colour>,
    /// The broken encoded renditions of a presentation.
    broken: Cache<PresentationId, Arc<HashSet<Rendition>>>,
    client_encode_limit: client_encode_limit::ClientEncodeLimit,
    usage: usage_buffer::UsageBuffer,
    /// The tasks of runs.
    running: TaskTracker,
    /// Cancelled when every run must end.
    stop: CancellationToken,
}

/// One rendition with its current runs.
pub(crate) struct ActiveRendition {
    id: RenditionId,
    presentation: PresentationId,
    pub(crate) target: EncodeTarget,
    state: Mutex<RenditionState>,
    /// Its workspace, once its row was read or written; `None` inside if its media was deleted meanwhile.
    workspace: OnceCell<Option<WorkspaceId>>,
    /// Whether too much of it failed, so that no more is tried.
    is_broken: AtomicBool,
    /// Whether its row already states that parts of it could not be encoded.
    is_partial: AtomicBool,
}

/// The kind of output of a rendition.
#[derive(Debug, Clone)]
pub(crate) enum EncodeTarget {
    /// Video of a rung.
    Rung(Rung),
    /// An audio track.
    Audio(EncodedAudio),
}

impl EncodeTarget {
    fn rendition(&self) -> Rendition {
        match self {
            Self::Rung(rung) => Rendition::Rung(rung.name),
            Self::Audio(audio) => audio.rendition(),
        }
    }

    /// For each segment, the number of segments between it and the keyframe at which its decoder begins.
    /// Audio decodes from any segment.
    fn prerolls(&self, packaged: &Packaged) -> Vec<u32> {
        let Self::Rung(_) = self else { return Vec::new() };
        let (mut preroll, mut decode_start) = (0_u32, None);
        let segments = packaged.index().plan.encoded_video.iter();
        let prerolls = segments.map(|segment| {
            preroll = if decode_start == Some(segment.samples.start) { preroll.saturating_add(1) } else { 0 };
            decode_start = Some(segment.samples.start);
            preroll
        });
        prerolls.collect()
    }

    /// How many segments there are.
    pub(crate) fn segment_count(&self, packaged: &Packaged) -> u32 {
        match self {
            Self::Rung(_) => packaged.rung_segment_count(),
            Self::Audio(audio) => packaged.aac_segment_count(audio.track),
        }
    }
}

impl Encoders {
    pub(crate) fn new() -> Self {
        Self {
            renditions: Cache::builder()
                .max_capacity(RENDITIONS_MAX)
                .time_to_idle(RENDITION_IDLE_MAX)
                .build(),
            inits: Cache::builder().max_capacity(INITS_MAX).build(),
            configurations: Cache::builder().max_capacity(CONFIGURATIONS_MAX).build(),
            colours: Cache::builder().max_capacity(INITS_MAX).build(),
            broken: Cache::builder().max_capacity(RENDITIONS_MAX).time_to_live(BROKEN_CACHE_TTL).build(),
            client_encode_limit: client_encode_limit::ClientEncodeLimit::default(),
            usage: usage_buffer::UsageBuffer::default(),
            running: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }
}

impl ActiveRendition {
    fn state(&self) -> MutexGuard<'_, RenditionState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ensures that the rendition has a row before its first object, and returns its workspace.
    /// [`Error::Gone`] when no media names the presentation any more.
    async fn ensure_row(&self, store: &Store, now: Timestamp) -> Result<Option<WorkspaceId>, Error> {
        let begin = async || {
            let (id, presentation, name) = (self.id, self.presentation, self.target.rendition().to_string());
            let begin = async move |tx: &mut Tx| {
                let has_begun = tx.insert_rendition(id, presentation, &name, now).await?;
                Ok(if has_begun { Some(tx.workspace_of_presentation(presentation).await?) } else { None })
            };
            store
                .write(begin)
                .await
                .map_err(|error: kinora_store::Error| Error::from(error))?
                .ok_or(Error::Gone)
        };
        self.workspace.get_or_try_init(begin).await.copied()
    }

    fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }
}

impl Packager {
    /// The state of a rung of this presentation. The first call lists its stored segments.
    pub(crate) async fn active_rendition(
        &self,
        packaged: &Packaged,
        rung: &Rung,
    ) -> Result<Arc<ActiveRendition>, Error> {
        self.active_rendition_of(packaged, EncodeTarget::Rung(rung.clone())).await
    }

    /// The state of an encoded rendition of an audio track.
    pub(crate) async fn active_audio(
        &self,
        packaged: &Packaged,
        audio: EncodedAudio,
    ) -> Result<Arc<ActiveRendition>, Error> {
        self.active_rendition_of(packaged, EncodeTarget::Audio(audio)).await
    }

    async fn active_rendition_of(
        &self,
        packaged: &Packaged,
        target: EncodeTarget,
    ) -> Result<Arc<ActiveRendition>, Error> {
        let id = target.rendition().id(packaged.presentation).ok_or(Error::NotListed)?;
        if let Some(rendition) = self.encoders.renditions.get(&id).await {
            return Ok(rendition);
        }
        let look_up = Box::pin(async {
            let row = self.store.rendition(id).await?;
            let is_broken = row.as_ref().is_some_and(|row| row.broken_at.is_some());
            let workspace = match row {
                Some(_) => Some(self.store.workspace_of_presentation(packaged.presentation).await?),
                None => None,
            };
            let stored = if workspace.is_some() { self.stored_segments(id).await? } else { BTreeSet::new() };
            Ok(Arc::new(ActiveRendition {
                id,
                presentation: packaged.presentation,
                state: Mutex::new(RenditionState::new(stored).with_prerolls(target.prerolls(packaged))),
                target,
                workspace: OnceCell::new_with(workspace),
                is_broken: AtomicBool::new(is_broken),
                is_partial: AtomicBool::new(false),
            }))
        });
        let active = self.encoders.renditions.try_get_with(id, look_up).await;
        active.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// The encoded renditions of a presentation that are known to be broken.
    pub async fn broken(&self, presentation: PresentationId) -> Result<Arc<HashSet<Rendition>>, Error> {
        let look_up = Box::pin(async {
            let rows = self.store.renditions_of(presentation).await?;
            let broken = rows.iter().filter(|row| row.broken_at.is_some());
            Ok(Arc::new(broken.filter_map(|row| Rendition::from_text(&row.name)).collect()))
        });
        let broken = self.encoders.broken.try_get_with(presentation, look_up).await;
        broken.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// Whether the encode of a rendition has begun, and it was not evicted since.
    pub async fn is_encode_begun(&self, packaged: &Packaged, rendition: Rendition) -> Result<bool, Error> {
        let Some(id) = rendition.id(packaged.presentation) else { return Ok(false) };
        Ok(self.store.rendition(id).await?.is_some())
    }

    /// The numbers of the stored segments of a rendition.
    pub(crate) async fn stored_segments(&self, id: RenditionId) -> Result<BTreeSet<u32>, Error> {
        let (mut stored, mut after) = (BTreeSet::new(), None);
        loop {
            let page = self.blob.list(Prefix::SegmentsOf(id), after, PAGE).await?;
            stored.extend(page.iter().filter_map(|entry| match entry.key {
                ObjectKey::Segment(_, n) => Some(n),
                _ => None,
            }));
            after = page.last().map(|entry| entry.key);
            if page.len() < PAGE {
                return Ok(stored);
            }
        }
    }

    /// A permit for one encode of this requester: [`Error::Busy`] if there are too many at once.
    pub(crate) fn client_encode_permit(&self, client: PlaybackClient) -> Result<ClientEncodePermit, Error> {
        self.encoders.client_encode_limit.try_acquire(client).ok_or(Error::Busy)
    }

    /// Spawns a task that continues when the requester disconnects. [`stop`](Self::stop) waits for its end.
    /// The task must watch for the stop by [itself](Self::unless_stopped).
    pub(crate) fn spawn_run<T: Send + 'static>(
        &self,
        run: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.encoders.running.spawn(run)
    }

    /// The output of a run, or [`Error::Busy`] as soon as the packager stops.
    pub(crate) async fn unless_stopped<T>(&self, run: impl Future<Output = T>) -> Result<T, Error> {
        self.encoders.stop.run_until_cancelled(run).await.ok_or(Error::Busy)
    }

    /// Ends the runs of a presentation that is about to be removed.
    pub(crate) fn stop_encodes(&self, presentation: PresentationId) {
        let renditions =
            self.encoders.renditions.iter().filter(|(_, rendition)| rendition.presentation == presentation);
        for (id, active) in renditions.collect::<Vec<_>>() {
            active.state().stop();
            let cache = self.encoders.renditions.clone();
            // The cache is only memory, so a late invalidation does no harm.
            tokio::spawn(async move { cache.invalidate(&*id).await });
        }
    }

    /// Ends all runs that requests started, kills their processes, and starts no other.
    ///
    /// Returns when none of them writes any more. Waiting requests get [`Error::Busy`]. A backfill ends when
    /// its future is dropped.
    pub async fn stop(&self) {
        self.encoders.stop.cancel();
        self.encoders.running.close();
        self.encoders.running.wait().await;
    }

    /// Writes the usage since the last call. May run at any time; usage that could not be written is written
    /// the next time.
    pub async fn write_rendition_uses(&self) -> Result<(), kinora_store::Error> {
        let uses = self.encoders.usage.drain();
        if uses.is_empty() {
            return Ok(());
        }
        let batch = uses.clone();
        let written = self.store.write(async move |tx| tx.add_rendition_usage(&batch).await).await;
        if written.is_err() {
            // A commit with an unknown outcome is counted twice at worst: the sweep counts again.
            self.encoders.usage.restore(uses);
        }
        written
    }

    /// Removes the stored segments of a rendition, so that the next request encodes them again. May run
    /// twice, and concurrently with anything.
    pub async fn evict(&self, id: RenditionId) -> Result<(), Error> {
        // First, so that a segment encoded meanwhile makes the count at most too low.
        self.store.write(async move |tx| tx.reset_rendition(id).await).await?;
        loop {
            let page = self.blob.list(Prefix::SegmentsOf(id), None, PAGE).await?;
            for entry in &page {
                self.blob.delete(entry.key).await?;
            }
            if page.len() < PAGE {
                break;
            }
        }
        self.encoders.renditions.invalidate(&id).await;
        Ok(())
    }
}
