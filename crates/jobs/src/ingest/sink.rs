//! Where the bytes of a source go: into the store and past the scanner.

use bytes::Bytes;
use kinora_blob::{ObjectKey, ObjectWriter, Parked};
use kinora_domain::{Failure, FailureCode, MediaId, PresentationId, SourceId, Timestamp, TrackId};
use kinora_fetch::{DownloadError, NextAttempt, Pause, Sink};
use kinora_formats::Scanned;
use kinora_index::Index;
use kinora_intake::{ROOM_EVERY_BYTES, Scan, ScanTurn, StoredIndex, Whole};
use kinora_store::{ClaimedJob, JobKind, NewJob, Tx};

use crate::claim::Claim;
use crate::error::JobError;
use crate::ingest::check_room;
use crate::ingest::remux::{self, Foreign};
use crate::later;
use crate::{Context, Permit};

/// What a source is brought in for: whose row names it while it comes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner {
    /// A media of its own.
    Media(MediaId),
    /// A track that was added to one.
    Track(MediaId, TrackId),
    /// No row: it is of use to one attempt alone, and what a crash leaves of it is swept.
    Nobody,
}

impl Owner {
    /// Whether nothing but this download is lost when its job begins anew.
    fn can_begin_anew(self) -> bool {
        matches!(self, Self::Media(_) | Self::Track(..))
    }

    /// Has the row name another source than `before`, which is given up.
    ///
    /// Errors: `LeaseLost` when the row is gone, or names another one by now.
    async fn move_on(
        self,
        tx: &mut Tx,
        before: SourceId,
        source: SourceId,
        now: Timestamp,
    ) -> Result<(), JobError> {
        let (Self::Media(id) | Self::Track(id, _)) = self else { return Ok(()) };
        let media = tx.media_by_id(id).await?.ok_or(JobError::LeaseLost)?;
        match self {
            Self::Media(_) => {
                if media.source() != Some(before) {
                    return Err(JobError::LeaseLost);
                }
                tx.save_media(&media.start_download(source, now)?).await?;
            }
            Self::Nobody => {}
            Self::Track(_, track) => {
                let media = media.track_attempt(track, before, source).ok_or(JobError::LeaseLost)?;
                tx.save_track_attempt(&media, track).await?;
            }
        }
        Ok(())
    }
}

/// Takes the bytes of one attempt.
pub(crate) struct SourceSink<'a> {
    context: &'a Context,
    job: &'a Claim,
    owner: Owner,
    source: SourceId,
    writer: ObjectWriter,
    /// `None` until the first bytes come.
    scan: Option<Scan>,
    /// Held while bytes come, given back between attempts.
    transfer: Option<Permit>,
    /// Held between attempts, with the memory of the writer.
    parked: Option<(Permit, Option<Parked>)>,
    /// Bytes written when the room was last looked at.
    looked_at: u64,
    /// The disk was full for an earlier attempt.
    lacked_room: bool,
    /// The size of the whole source, as its server says, until the first bytes come.
    announced: Option<u64>,
}

/// What ended a download from our side.
pub(crate) enum SinkError {
    /// The scanner gave up; [`SourceSink::explain`] asks it why.
    Hopeless,
    /// Something of ours.
    Ours(JobError),
}

/// A source that is whole and known for what it is, and has no name yet. Dropped, it leaves nothing.
pub(crate) struct Arrived {
    source: SourceId,
    writer: ObjectWriter,
    scanned: Scanned,
    /// Held until the index is written.
    turn: ScanTurn,
}

impl<'a> SourceSink<'a> {
    pub(crate) async fn begin(
        context: &'a Context,
        job: &'a Claim,
        owner: Owner,
        source: SourceId,
    ) -> Result<Self, JobError> {
        let writer = context.blob.of_workspace(job.workspace).writer(ObjectKey::Source(source)).await?;
        Ok(Self {
            context,
            job,
            owner,
            source,
            writer,
            scan: None,
            transfer: None,
            parked: None,
            looked_at: 0,
            lacked_room: context.room.is_wanted_by(job.id),
            announced: None,
        })
    }

    /// Reads all of a source from its address.
    pub(crate) async fn download(&mut self, url: &str) -> Result<(), JobError> {
        let address = kinora_fetch::parse_source_url(url).map_err(|problem| {
            JobError::Fatal(Failure::new(FailureCode::SourceUnreachable, format!("the address {problem}")))
        })?;
        let context = self.context;
        let tries = match self.owner.can_begin_anew() {
            true => later::tries(context, self.job),
            false => context.fetcher.all_tries(),
        };
        match context.fetcher.download(&address, self, &*context.random, tries).await {
            Ok(_) => Ok(()),
            Err(DownloadError::Fetch(error)) => Err(JobError::Fatal(error.failure())),
            Err(DownloadError::Sink(error)) => Err(self.explain(error).await),
        }
    }

    /// All bytes are there: what are they?
    pub(crate) async fn arrive(mut self) -> Result<Arrived, JobError> {
        let Whole { scanned, turn } = self.scanned().await?;
        Ok(Arrived { source: self.source, writer: self.writer, scanned, turn })
    }

    /// Why a download was ended.
    pub(crate) async fn explain(&mut self, error: SinkError) -> JobError {
        match error {
            SinkError::Ours(error) => error,
            SinkError::Hopeless => match self.scanned().await {
                Err(error) => error,
                Ok(_) => JobError::Retry("the scanner gave up without a reason".into()),
            },
        }
    }

    async fn scanned(&mut self) -> Result<Whole, JobError> {
        let scan = self.scan.take().unwrap_or_else(|| Scan::begin(&self.context.scans, self.job.workspace));
        Ok(scan.finish().await?)
    }

    /// A source that did not fit before is not read in vain again and again. The first attempt believes no
    /// announcement.
    async fn check_room(&self, len: u64) -> Result<(), JobError> {
        check_room(self.context, len.saturating_sub(self.writer.written())).await
    }

    /// The source begins again, perhaps as another one: nothing of it may lie under the id of the first
    /// attempt.
    async fn begin_again(&mut self) -> Result<(), JobError> {
        let (left_behind, now) = (self.source, self.context.clock.now());
        let source = SourceId::new(now, &*self.context.random);
        let (owner, workspace) = (self.owner, self.job.workspace);
        self.context
            .store
            .write(async move |tx| {
                owner.move_on(tx, left_behind, source, now).await?;
                tx.enqueue(NewJob::soon(JobKind::DeleteObjects { source: left_behind }, workspace, now))
                    .await?;
                Ok::<_, JobError>(())
            })
            .await?;
        self.writer = self.context.blob.of_workspace(workspace).writer(ObjectKey::Source(source)).await?;
        self.scan = None;
        self.looked_at = 0;
        self.source = source;
        Ok(())
    }
}

impl Sink for SourceSink<'_> {
    type Error = SinkError;

    async fn restart(&mut self) -> Result<(), SinkError> {
        self.begin_again().await.map_err(SinkError::Ours)
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), SinkError> {
        if let Some(len) = self.announced.take().filter(|_| self.lacked_room) {
            self.check_room(len).await.map_err(SinkError::Ours)?;
        }
        if self.writer.written().saturating_sub(self.looked_at) >= ROOM_EVERY_BYTES {
            self.looked_at = self.writer.written();
            self.check_room(self.looked_at).await.map_err(SinkError::Ours)?;
        }
        if self.transfer.is_none() {
            self.transfer = Some(self.context.transfers.acquire(self.job.workspace).await);
        }
        let begin = || Scan::begin(&self.context.scans, self.job.workspace);
        let scan = self.scan.get_or_insert_with(begin);
        scan.push(bytes.clone()).await.map_err(|_| SinkError::Hopeless)?;
        self.writer.write(bytes).await.map_err(|error| SinkError::Ours(error.into()))
    }

    fn announce(&mut self, total: Option<u64>) {
        self.announced = total;
        self.writer.announce(total);
    }

    /// A parked download waits outside of the lane and keeps its bytes. If its bytes are of no use, or no
    /// parked place or memory is free, the download ends, and a later run of its job begins at the first
    /// byte. A download of [`Owner::Nobody`] is a part of another job: it drops its bytes, and stays in the
    /// lane while no parked place is free.
    async fn pause(&mut self, pause: Pause) -> Result<NextAttempt, SinkError> {
        self.transfer = None;
        if self.owner.can_begin_anew() {
            self.job.note_progress(later::progress(&pause));
        }
        let parked = self.context.parked.try_acquire(self.job.workspace);
        let memory = self.writer.try_park().filter(|_| parked.is_some() && pause.is_resumable);
        let next = match (memory.is_some(), self.owner.can_begin_anew()) {
            (true, _) => NextAttempt::Continue,
            (false, true) => return Err(SinkError::Ours(JobError::Later(pause))),
            (false, false) => NextAttempt::FromStart,
        };
        match (next, &self.scan) {
            (NextAttempt::Continue, Some(scan)) => scan.rest().await,
            (NextAttempt::FromStart, Some(_)) => self.begin_again().await.map_err(SinkError::Ours)?,
            (_, None) => {}
        }
        if parked.is_some() {
            self.job.leave_place();
        }
        self.parked = parked.map(|place| (place, memory));
        Ok(next)
    }

    async fn resume(&mut self) -> Result<(), SinkError> {
        self.job.take_place().await;
        self.parked = None;
        Ok(())
    }
}

impl Arrived {
    pub(crate) fn source(&self) -> SourceId {
        self.source
    }

    /// Stores the source under its name, and its index. Both survive a power cut once this returns.
    ///
    /// Returns what `look` takes from the index: the index itself may be large and does not stay in memory.
    pub(crate) async fn keep<T>(
        self,
        context: &Context,
        job: &ClaimedJob,
        look: impl FnOnce(&Index) -> T,
    ) -> Result<T, JobError> {
        let Self { source, writer, scanned, turn } = self;
        match scanned {
            // Beside each other: nothing looks at the bytes before both are there.
            Scanned::Index(index) => {
                let seen = look(&index);
                let put = put(context, source, index);
                if turn.holds_place() {
                    // What is left of the source may wait for memory, whose holders may wait for this turn.
                    put.await?;
                    drop(turn);
                    writer.finish().await?;
                } else {
                    let (written, put) = tokio::join!(writer.finish(), put);
                    written?;
                    put?;
                }
                Ok(seen)
            }
            foreign @ Scanned::Foreign { .. } => {
                let arrived = Self { source, writer, scanned: foreign, turn };
                let in_turn = async |stored: StoredIndex| {
                    Ok(stored.load_in_turn(&context.scans, job.workspace).await?)
                };
                arrived.keep_as(context, job, in_turn, look).await
            }
        }
    }

    /// As [`keep`](Self::keep), but stores the index that `shape` makes from the index of the source, or from
    /// that of its copy in another container. The source is stored before. `shape` returns the index with the
    /// turn in which it is in memory.
    pub(crate) async fn keep_as<T>(
        self,
        context: &Context,
        job: &ClaimedJob,
        shape: impl AsyncFnOnce(StoredIndex) -> Result<(Index, ScanTurn), JobError>,
        look: impl FnOnce(&Index) -> T,
    ) -> Result<T, JobError> {
        let Self { source, writer, scanned, turn } = self;
        let stored = match scanned {
            Scanned::Index(index) => {
                // The end of the writer may take seconds. The index is in a file for that time.
                let stored = context.scans.store_index(index).await?;
                drop(turn);
                writer.finish().await?;
                stored
            }
            Scanned::Foreign { container, len, sha256, refusal, facts } => {
                drop(turn);
                writer.finish().await?;
                let workspace = job.workspace;
                let foreign = Foreign { source, workspace, container, len, sha256, refusal, facts };
                remux::normalise(context, job, &foreign).await?
            }
        };
        let (index, _turn) = shape(stored).await?;
        let seen = look(&index);
        put(context, source, index).await?;
        Ok(seen)
    }
}

async fn put(context: &Context, source: SourceId, index: Index) -> Result<(), JobError> {
    let bytes = Bytes::from(index.to_bytes());
    drop(index);
    context.blob.put_once(ObjectKey::Index(PresentationId::of(source)), bytes).await?;
    Ok(())
}
