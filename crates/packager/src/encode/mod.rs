//! Segments of encoded renditions: kept ones are read, others made when somebody asks, and a few before
//! anybody does.
//!
//! | File | Holds |
//! |---|---|
//! | `line.rs` | what is made, being made and waited for, of one rendition |
//! | `flight.rs` | a request, from the store or through a run |
//! | `head.rs` | a run as a task: what it makes is kept, then handed to those who wait |
//! | `run.rs` | one call of the engine: feed in, segments out |
//! | `audio.rs` | the same of sound, and whole tracks of it |
//! | `mix.rs` | sound that is put together before a media is ready |
//! | `still.rs` | what stands where the source does not decode |
//! | `order.rs` | what the engine is told and allowed |
//! | `init.rs` | init segments of rungs |
//! | `cold.rs` | how many segments are made at once for one viewer or one playback ID |
//! | `notes.rs` | what is to be written down of renditions, now and then |
//! | `first.rs`, `fill.rs` | making some before anybody asks |
//!
//! Begin with `flight.rs`.

mod audio;
mod cold;
mod fill;
mod first;
mod flight;
mod head;
mod init;
mod line;
mod mix;
mod notes;
mod order;
mod run;
mod still;

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

use crate::{Error, Packaged, Packager, Rendition};
use line::Line;

pub use cold::Asker;
pub(crate) use cold::Place;
pub use fill::FillProgress;
pub use mix::{Overlay, SoundMix};
pub(crate) use order::container;
pub(crate) use run::{Fed, of_engine, read};

/// Renditions whose state is kept in memory, some KiB each.
const LINES_MAX: u64 = 10_000;
/// How long after the last request it is kept.
const LINE_IDLE: Duration = Duration::from_secs(10 * 60);
/// How long it takes at most until one process lists no more what another one found broken.
const BROKEN_KNOWN_FOR: Duration = Duration::from_secs(60);
/// Init segments in memory, less than a KiB each.
const INITS_MAX: u64 = 10_000;
/// Configurations of rungs in memory, some 50 bytes each: one for each size, level and colour.
const CONFIGURATIONS_MAX: u64 = 10_000;
/// Objects a page of a list.
const PAGE: usize = 1000;

/// What all encodes share.
#[derive(Clone)]
pub(crate) struct Encoders {
    lines: Cache<RenditionId, Arc<RungLine>>,
    inits: Cache<RenditionId, init::Init>,
    configurations: Cache<init::Shape, Arc<[u8]>>,
    /// Of presentations whose index does not say.
    colours: Cache<PresentationId, Colour>,
    /// The encoded renditions of a presentation that cannot be made.
    broken: Cache<PresentationId, Arc<HashSet<Rendition>>>,
    cold: cold::Cold,
    notes: notes::Notes,
    /// The tasks of runs.
    running: TaskTracker,
    /// Cancelled when no run may go on.
    stop: CancellationToken,
}

/// One rendition at work.
pub(crate) struct RungLine {
    id: RenditionId,
    presentation: PresentationId,
    work: Work,
    state: Mutex<Line>,
    /// Whose it is, once its row was seen or written; nobody's where its media was deleted meanwhile.
    owner: OnceCell<Option<WorkspaceId>>,
    /// So much of it failed that no more is tried.
    is_broken: AtomicBool,
    /// It was written down that parts of it could not be made.
    is_in_part: AtomicBool,
}

/// What a line makes.
#[derive(Debug, Clone)]
pub(crate) enum Work {
    /// The pictures.
    Rung(Rung),
    /// The sound of an audio track, counted from 0 in the order of the source.
    Aac(u8),
}

impl Work {
    fn rendition(&self) -> Rendition {
        match self {
            Self::Rung(rung) => Rendition::Rung(rung.name),
            Self::Aac(audio) => Rendition::Aac(*audio),
        }
    }

    /// For each segment, how many lie between it and the keyframe at which its decoder begins. Sound begins
    /// anywhere.
    fn leads(&self, packaged: &Packaged) -> Vec<u32> {
        let Self::Rung(_) = self else { return Vec::new() };
        let (mut lead, mut begins) = (0_u32, None);
        let segments = packaged.index().plan.encoded_video.iter();
        let leads = segments.map(|segment| {
            lead = if begins == Some(segment.samples.start) { lead.saturating_add(1) } else { 0 };
            begins = Some(segment.samples.start);
            lead
        });
        leads.collect()
    }

    /// How many segments there are.
    fn count(&self, packaged: &Packaged) -> u32 {
        match self {
            Self::Rung(_) => packaged.encoded_count(),
            Self::Aac(audio) => packaged.encoded_audio_count(*audio),
        }
    }
}

impl Encoders {
    pub(crate) fn new() -> Self {
        Self {
            lines: Cache::builder().max_capacity(LINES_MAX).time_to_idle(LINE_IDLE).build(),
            inits: Cache::builder().max_capacity(INITS_MAX).build(),
            configurations: Cache::builder().max_capacity(CONFIGURATIONS_MAX).build(),
            colours: Cache::builder().max_capacity(INITS_MAX).build(),
            broken: Cache::builder().max_capacity(LINES_MAX).time_to_live(BROKEN_KNOWN_FOR).build(),
            cold: cold::Cold::default(),
            notes: notes::Notes::default(),
            running: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }
}

impl RungLine {
    fn state(&self) -> MutexGuard<'_, Line> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sees to it that the rendition has a row, before its first object, and answers whose it is.
    /// [`Error::Gone`] when no media names the presentation any more.
    async fn begin(&self, store: &Store, now: Timestamp) -> Result<Option<WorkspaceId>, Error> {
        let begin = async || {
            let (id, presentation, name) = (self.id, self.presentation, self.work.rendition().to_string());
            let begin = async move |tx: &mut Tx| {
                let has_begun = tx.begin_rendition(id, presentation, &name, now).await?;
                Ok(if has_begun { Some(tx.workspace_of_presentation(presentation).await?) } else { None })
            };
            store
                .write(begin)
                .await
                .map_err(|error: kinora_store::Error| Error::from(error))?
                .ok_or(Error::Gone)
        };
        self.owner.get_or_try_init(begin).await.copied()
    }

    fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Acquire)
    }
}

impl Packager {
    /// The line of a rung of this presentation. What is kept of it is looked up the first time.
    pub(crate) async fn line(&self, packaged: &Packaged, rung: &Rung) -> Result<Arc<RungLine>, Error> {
        self.line_of(packaged, Work::Rung(rung.clone())).await
    }

    /// The same of the sound of an audio track.
    pub(crate) async fn audio_line(&self, packaged: &Packaged, audio: u8) -> Result<Arc<RungLine>, Error> {
        self.line_of(packaged, Work::Aac(audio)).await
    }

    async fn line_of(&self, packaged: &Packaged, work: Work) -> Result<Arc<RungLine>, Error> {
        let id = work.rendition().id(packaged.presentation).ok_or(Error::NotInPlan)?;
        if let Some(line) = self.encoders.lines.get(&id).await {
            return Ok(line);
        }
        let look_up = Box::pin(async {
            let row = self.store.rendition(id).await?;
            let is_broken = row.as_ref().is_some_and(|row| row.broken_at.is_some());
            let owner = match row {
                Some(_) => Some(self.store.workspace_of_presentation(packaged.presentation).await?),
                None => None,
            };
            let made = if owner.is_some() { self.kept(id).await? } else { BTreeSet::new() };
            Ok(Arc::new(RungLine {
                id,
                presentation: packaged.presentation,
                state: Mutex::new(Line::new(made).with_leads(work.leads(packaged))),
                work,
                owner: OnceCell::new_with(owner),
                is_broken: AtomicBool::new(is_broken),
                is_in_part: AtomicBool::new(false),
            }))
        });
        let line = self.encoders.lines.try_get_with(id, look_up).await;
        line.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// The encoded renditions of a presentation that cannot be made, as far as it is known.
    pub async fn broken(&self, presentation: PresentationId) -> Result<Arc<HashSet<Rendition>>, Error> {
        let look_up = Box::pin(async {
            let rows = self.store.renditions_of(presentation).await?;
            let broken = rows.iter().filter(|row| row.broken_at.is_some());
            Ok(Arc::new(broken.filter_map(|row| Rendition::from_text(&row.name)).collect()))
        });
        let broken = self.encoders.broken.try_get_with(presentation, look_up).await;
        broken.map_err(|error: Arc<Error>| Error::Shared(error))
    }

    /// The numbers of the segments of a rendition that are kept.
    pub(crate) async fn kept(&self, id: RenditionId) -> Result<BTreeSet<u32>, Error> {
        let (mut kept, mut after) = (BTreeSet::new(), None);
        loop {
            let page = self.blob.list(Prefix::SegmentsOf(id), after, PAGE).await?;
            kept.extend(page.iter().filter_map(|entry| match entry.key {
                ObjectKey::Segment(_, n) => Some(n),
                _ => None,
            }));
            after = page.last().map(|entry| entry.key);
            if page.len() < PAGE {
                return Ok(kept);
            }
        }
    }

    /// A place for something that is made because this one asks: [`Error::Busy`] where that would be too much
    /// at once.
    pub(crate) fn cold_place(&self, asker: Asker) -> Result<Place, Error> {
        self.encoders.cold.try_enter(asker).ok_or(Error::Busy)
    }

    /// Begins what goes on when whoever asked for it leaves; [`stop`](Self::stop) waits for its end. It has
    /// to look out for that by [itself](Self::unless_stopped).
    pub(crate) fn spawn_run<T: Send + 'static>(
        &self,
        run: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.encoders.running.spawn(run)
    }

    /// What a run gives, or [`Error::Busy`] as soon as the packager stops.
    pub(crate) async fn unless_stopped<T>(&self, run: impl Future<Output = T>) -> Result<T, Error> {
        self.encoders.stop.run_until_cancelled(run).await.ok_or(Error::Busy)
    }

    /// Ends what is being made of a presentation that is about to be removed.
    pub(crate) fn stop_encodes(&self, presentation: PresentationId) {
        let lines = self.encoders.lines.iter().filter(|(_, line)| line.presentation == presentation);
        for (id, line) in lines.collect::<Vec<_>>() {
            line.state().stop();
            let lines = self.encoders.lines.clone();
            // The cache is only memory: that it is emptied a moment later does no harm.
            tokio::spawn(async move { lines.invalidate(&*id).await });
        }
    }

    /// Ends all runs that were begun because somebody asked, kills their processes, and begins no other.
    /// Returns when nothing of them writes any more; whoever still waits is told [`Error::Busy`]. A fill ends
    /// when its future is dropped.
    pub async fn stop(&self) {
        self.encoders.stop.cancel();
        self.encoders.running.close();
        self.encoders.running.wait().await;
    }

    /// Writes down what was made and watched since the last call. May run at any time; what could not be
    /// written is written the next time.
    pub async fn write_rendition_uses(&self) -> Result<(), kinora_store::Error> {
        let uses = self.encoders.notes.take();
        if uses.is_empty() {
            return Ok(());
        }
        let noted = uses.clone();
        let written = self.store.write(async move |tx| tx.note_renditions(&noted).await).await;
        if written.is_err() {
            // A commit of which nobody knows is counted twice at worst: the sweep counts anew.
            self.encoders.notes.put_back(uses);
        }
        written
    }

    /// Removes what is kept of a rendition, so that it is made anew when somebody asks. May run twice, and
    /// beside anything.
    pub async fn evict(&self, id: RenditionId) -> Result<(), Error> {
        // First, so that what is made meanwhile is at most counted too low.
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
        self.encoders.lines.invalidate(&id).await;
        Ok(())
    }
}
