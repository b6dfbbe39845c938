//! Receives the bytes of a source: writes them to the store and feeds them to the scanner.

use bytes::Bytes;
use kinora_blob::{IdlePermit, ObjectKey, ObjectWriter};
use kinora_domain::{Failure, FailureCode, MediaId, PresentationId, SourceId, Timestamp, TrackId};
use kinora_fetch::{DownloadError, NextAttempt, Pause, Sink};
use kinora_formats::Scanned;
use kinora_index::Index;
use kinora_intake::{SPACE_CHECK_EVERY_BYTES, Scan, ScanPermit, ScanResult, SpilledIndex};
use kinora_store::{ClaimedJob, JobKind, NewJob, Tx};

use crate::claim::Claim;
use crate::error::JobError;
use crate::ingest::check_disk_space;
use crate::ingest::remux::{self, SourceToRemux};
use crate::reschedule;
use crate::{Context, Permit};

/// The row that refers to a source while it is downloaded.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Owner {
    /// A media with this source.
    Media(MediaId),
    /// A track that was added to a media.
    Track(MediaId, TrackId),
    /// No row that waits for it: only one attempt uses the source, and its job names it, or the sweep
    /// deletes it after a crash.
    Unreferenced,
}

impl Owner {
    /// Whether the job may restart from the first byte without losing other work.
    fn can_restart(self) -> bool {
        matches!(self, Self::Media(_) | Self::Track(..))
    }

    /// Replaces the source `before` in the row by another one.
    ///
    /// Errors: `LeaseLost` when the row is gone, or refers to another source by now.
    async fn replace_source(
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
            Self::Unreferenced => {}
            Self::Track(_, track) => {
                let media = media.begin_track_attempt(track, before, source).ok_or(JobError::LeaseLost)?;
                tx.save_track_attempt(&media, track).await?;
            }
        }
        Ok(())
    }
}

/// Receives the bytes of one attempt.
pub(crate) struct SourceSink<'a> {
    context: &'a Context,
    job: &'a Claim,
    owner: Owner,
    source: SourceId,
    writer: ObjectWriter,
    /// `None` until the first bytes arrive.
    scan: Option<Scan>,
    /// The permit of a running transfer; released between attempts.
    transfer: Option<Permit>,
    /// The permit between attempts, with the memory of the writer.
    paused: Option<(Permit, Option<IdlePermit>)>,
    /// Bytes written when disk space was last checked.
    space_checked_at: u64,
    /// The disk was full for an earlier attempt.
    had_disk_full: bool,
    /// The announced size of the whole source, until the first bytes arrive.
    announced: Option<u64>,
}

/// Why this side ended a download.
pub(crate) enum SinkError {
    /// The scanner failed; [`SourceSink::job_error_of`] returns its error.
    ScanFailed,
    /// An internal error.
    Job(JobError),
}

/// A complete, scanned source whose object is not finished, so that no reader finds it. Dropping it deletes
/// the data.
pub(crate) struct FetchedSource {
    source: SourceId,
    writer: ObjectWriter,
    scanned: Scanned,
    /// Limits the indexes in memory; released once the index is written.
    permit: ScanPermit,
}

impl<'a> SourceSink<'a> {
    pub(crate) async fn begin(
        context: &'a Context,
        job: &'a Claim,
        owner: Owner,
        source: SourceId,
    ) -> Result<Self, JobError> {
        let writer = context.blob.for_workspace(job.workspace).writer(ObjectKey::Source(source)).await?;
        Ok(Self {
            context,
            job,
            owner,
            source,
            writer,
            scan: None,
            transfer: None,
            paused: None,
            space_checked_at: 0,
            had_disk_full: context.disk_full_jobs.is_waiting(job.id),
            announced: None,
        })
    }

    /// Downloads a whole source from its URL.
    pub(crate) async fn download(&mut self, url: &str) -> Result<(), JobError> {
        let address = kinora_fetch::parse_source_url(url).map_err(|problem| {
            JobError::Fatal(Failure::new(FailureCode::SourceUnreachable, format!("the URL {problem}")))
        })?;
        let context = self.context;
        let budget = match self.owner.can_restart() {
            true => reschedule::retry_budget(context, self.job),
            false => context.fetcher.full_retry_budget(),
        };
        match context.fetcher.download(&address, self, &*context.random, budget).await {
            Ok(_) => Ok(()),
            Err(DownloadError::Fetch(error)) => Err(JobError::Fatal(error.failure())),
            Err(DownloadError::Sink(error)) => Err(self.job_error_of(error).await),
        }
    }

    /// Finishes the scan after the last byte.
    pub(crate) async fn finish(mut self) -> Result<FetchedSource, JobError> {
        let ScanResult { scanned, permit } = self.scanned().await?;
        Ok(FetchedSource { source: self.source, writer: self.writer, scanned, permit })
    }

    /// The error behind the end of a download.
    pub(crate) async fn job_error_of(&mut self, error: SinkError) -> JobError {
        match error {
            SinkError::Job(error) => error,
            SinkError::ScanFailed => match self.scanned().await {
                Err(error) => error,
                Ok(_) => JobError::Retry("the scanner gave up without a reason".into()),
            },
        }
    }

    async fn scanned(&mut self) -> Result<ScanResult, JobError> {
        let scan =
            self.scan.take().unwrap_or_else(|| Scan::begin(&self.context.scan_limits, self.job.workspace));
        Ok(scan.finish().await?)
    }

    /// Checks the announced size only after an attempt that found the disk full, to avoid repeated useless
    /// downloads. The first attempt ignores the announcement.
    async fn check_disk_space(&self, len: u64) -> Result<(), JobError> {
        check_disk_space(self.context, len.saturating_sub(self.writer.written())).await
    }

    /// Restarts from the first byte under a new source id: the content may have changed.
    async fn restart_source(&mut self) -> Result<(), JobError> {
        let (old_source, now) = (self.source, self.context.clock.now());
        let source = SourceId::new(now, &*self.context.random);
        let (owner, workspace) = (self.owner, self.job.workspace);
        self.context
            .store
            .write(async move |tx| {
                owner.replace_source(tx, old_source, source, now).await?;
                tx.enqueue(NewJob::due_now(JobKind::DeleteObjects { source: old_source }, workspace, now))
                    .await?;
                Ok::<_, JobError>(())
            })
            .await?;
        self.writer = self.context.blob.for_workspace(workspace).writer(ObjectKey::Source(source)).await?;
        self.scan = None;
        self.space_checked_at = 0;
        self.source = source;
        Ok(())
    }
}

impl Sink for SourceSink<'_> {
    type Error = SinkError;

    async fn restart(&mut self) -> Result<(), SinkError> {
        self.restart_source().await.map_err(SinkError::Job)
    }

    async fn write(&mut self, bytes: Bytes) -> Result<(), SinkError> {
        if let Some(len) = self.announced.take().filter(|_| self.had_disk_full) {
            self.check_disk_space(len).await.map_err(SinkError::Job)?;
        }
        if self.writer.written().saturating_sub(self.space_checked_at) >= SPACE_CHECK_EVERY_BYTES {
            self.space_checked_at = self.writer.written();
            self.check_disk_space(self.space_checked_at).await.map_err(SinkError::Job)?;
        }
        if self.transfer.is_none() {
            self.transfer = Some(self.context.transfers.acquire(self.job.workspace).await);
        }
        let begin = || Scan::begin(&self.context.scan_limits, self.job.workspace);
        let scan = self.scan.get_or_insert_with(begin);
        scan.push(bytes.clone()).await.map_err(|_| SinkError::ScanFailed)?;
        self.writer.write(bytes).await.map_err(|error| SinkError::Job(error.into()))
    }

    fn announce(&mut self, total: Option<u64>) {
        self.announced = total;
        self.writer.announce(total);
    }

    /// Pauses the download without a permit of its worker pool; its bytes stay. If they are useless, or no
    /// permit for a pause or no memory is free, the download ends, and a later run of its job starts at the
    /// first byte. A download of [`Owner::Unreferenced`] is a part of another job: it drops its bytes, and
    /// keeps the permit of its worker pool while no permit for a pause is free.
    async fn pause(&mut self, pause: Pause) -> Result<NextAttempt, SinkError> {
        self.transfer = None;
        if self.owner.can_restart() {
            self.job.record_progress(reschedule::progress(&pause));
        }
        let pause_permit = self.context.paused_downloads.try_acquire(self.job.workspace);
        let memory = self.writer.try_idle().filter(|_| pause_permit.is_some() && pause.is_resumable);
        let next = match (memory.is_some(), self.owner.can_restart()) {
            (true, _) => NextAttempt::Resume,
            (false, true) => return Err(SinkError::Job(JobError::SourceRetry(pause))),
            (false, false) => NextAttempt::FromStart,
        };
        match (next, &self.scan) {
            (NextAttempt::Resume, Some(scan)) => scan.spill().await,
            (NextAttempt::FromStart, Some(_)) => self.restart_source().await.map_err(SinkError::Job)?,
            (_, None) => {}
        }
        if pause_permit.is_some() {
            self.job.release_slot();
        }
        self.paused = pause_permit.map(|permit| (permit, memory));
        Ok(next)
    }

    async fn resume(&mut self) -> Result<(), SinkError> {
        self.job.acquire_slot().await;
        self.paused = None;
        Ok(())
    }
}

impl FetchedSource {
    pub(crate) fn source(&self) -> SourceId {
        self.source
    }

    /// Stores the source object and its index. Both survive a power loss once this returns.
    ///
    /// Returns the result of `inspect` on the index: the index itself may be large and does not stay in
    /// memory.
    pub(crate) async fn store<T>(
        self,
        context: &Context,
        job: &ClaimedJob,
        inspect: impl FnOnce(&Index) -> T,
    ) -> Result<T, JobError> {
        let Self { source, writer, scanned, permit } = self;
        match scanned {
            // Concurrently: no reader uses the bytes before both are stored.
            Scanned::Index(index) => {
                let inspected = inspect(&index);
                let put = put_index(context, source, index);
                if permit.has_large_permit() {
                    // The rest of the writer may wait for memory, whose owners may wait for this permit.
                    put.await?;
                    drop(permit);
                    writer.finish().await?;
                } else {
                    let (written, put) = tokio::join!(writer.finish(), put);
                    written?;
                    put?;
                }
                Ok(inspected)
            }
            needs_remux @ Scanned::NeedsRemux { .. } => {
                let fetched = Self { source, writer, scanned: needs_remux, permit };
                let load = async |spilled_index: SpilledIndex| {
                    Ok(spilled_index.load_limited(&context.scan_limits, job.workspace).await?)
                };
                fetched.store_with(context, job, load, inspect).await
            }
        }
    }

    /// As [`store`](Self::store), but stores the index that `build_index` makes from the index of the source,
    /// or from that of its remuxed copy. The source is stored before. `build_index` returns the index with
    /// the permit for its memory.
    pub(crate) async fn store_with<T>(
        self,
        context: &Context,
        job: &ClaimedJob,
        build_index: impl AsyncFnOnce(SpilledIndex) -> Result<(Index, ScanPermit), JobError>,
        inspect: impl FnOnce(&Index) -> T,
    ) -> Result<T, JobError> {
        let Self { source, writer, scanned, permit } = self;
        let spilled_index = match scanned {
            Scanned::Index(index) => {
                // The end of the writer may take seconds. The index is in a file for that time.
                let stored = context.scan_limits.spill_index(index).await?;
                drop(permit);
                writer.finish().await?;
                stored
            }
            Scanned::NeedsRemux { container, len, sha256, rejection, facts } => {
                drop(permit);
                writer.finish().await?;
                let workspace = job.workspace;
                let source_to_remux =
                    SourceToRemux { source, workspace, container, len, sha256, rejection, facts };
                remux::remux_and_store(context, job, &source_to_remux).await?
            }
        };
        let (index, _permit) = build_index(spilled_index).await?;
        let inspected = inspect(&index);
        put_index(context, source, index).await?;
        Ok(inspected)
    }
}

async fn put_index(context: &Context, source: SourceId, index: Index) -> Result<(), JobError> {
    let bytes = Bytes::from(index.to_bytes());
    drop(index);
    context.blob.put_once(ObjectKey::Index(PresentationId::of(source)), bytes).await?;
    Ok(())
}
