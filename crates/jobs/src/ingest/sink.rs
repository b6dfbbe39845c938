//! Where the bytes of a source go: into the store and past the scanner.

use bytes::Bytes;
use kinora_blob::{ObjectKey, ObjectWriter};
use kinora_domain::{Failure, FailureCode, MediaId, SourceId, Timestamp, TrackId};
use kinora_fetch::{DownloadError, Sink};
use kinora_formats::Scanned;
use kinora_formats::index::Index;
use kinora_intake::{ROOM_EVERY_BYTES, Scan, failure_of};
use kinora_store::{ClaimedJob, JobKind, NewJob, Tx};
use tokio::sync::OwnedSemaphorePermit;

use crate::Context;
use crate::error::JobError;
use crate::ingest::check_room;
use crate::ingest::remux::{self, Foreign};

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
    owner: Owner,
    source: SourceId,
    writer: ObjectWriter,
    /// `None` until the first bytes come.
    scan: Option<Scan>,
    /// Held while bytes come, given back between attempts.
    place: Option<OwnedSemaphorePermit>,
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
}

impl<'a> SourceSink<'a> {
    pub(crate) async fn begin(
        context: &'a Context,
        owner: Owner,
        source: SourceId,
        lacked_room: bool,
    ) -> Result<Self, JobError> {
        let writer = context.blob.writer(ObjectKey::Source(source)).await?;
        Ok(Self {
            context,
            owner,
            source,
            writer,
            scan: None,
            place: None,
            looked_at: 0,
            lacked_room,
            announced: None,
        })
    }

    /// Reads all of a source from its address.
    pub(crate) async fn download(&mut self, url: &str) -> Result<(), JobError> {
        let address = kinora_fetch::parse_source_url(url).map_err(|problem| {
            JobError::Fatal(Failure::new(FailureCode::SourceUnreachable, format!("the address {problem}")))
        })?;
        let context = self.context;
        match context.fetcher.download(&address, self, &*context.random).await {
            Ok(_) => Ok(()),
            Err(DownloadError::Fetch(error)) => Err(JobError::Fatal(error.failure())),
            Err(DownloadError::Sink(error)) => Err(self.explain(error).await),
        }
    }

    /// All bytes are there: what are they?
    pub(crate) async fn arrive(mut self) -> Result<Arrived, JobError> {
        let scanned = self.scanned().await?;
        Ok(Arrived { source: self.source, writer: self.writer, scanned })
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

    async fn scanned(&mut self) -> Result<Scanned, JobError> {
        match self.scan.take().unwrap_or_else(Scan::begin).finish().await {
            Ok(Ok(scanned)) => Ok(scanned),
            Ok(Err(error)) => Err(JobError::Fatal(failure_of(&error))),
            Err(panic) => Err(JobError::Retry(Box::new(panic))),
        }
    }

    /// A source that did not fit before is not read in vain again and again. The first attempt believes no announcement.
    async fn check_room(&self, len: u64) -> Result<(), JobError> {
        check_room(self.context, len.saturating_sub(self.writer.written())).await
    }

    /// The source begins again, perhaps as another one: nothing of it may lie under the id of the first attempt.
    async fn begin_again(&mut self) -> Result<(), JobError> {
        let (left_behind, now) = (self.source, self.context.clock.now());
        let source = SourceId::new(now, &*self.context.random);
        let owner = self.owner;
        self.context
            .store
            .write(async move |tx| {
                owner.move_on(tx, left_behind, source, now).await?;
                tx.enqueue(NewJob::soon(JobKind::DeleteObjects { source: left_behind }, now)).await?;
                Ok::<_, JobError>(())
            })
            .await?;
        self.writer = self.context.blob.writer(ObjectKey::Source(source)).await?;
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
        if self.place.is_none() {
            let place = self.context.transfers.clone().acquire_owned().await;
            self.place = Some(place.expect("the semaphore is never closed"));
        }
        let scan = self.scan.get_or_insert_with(Scan::begin);
        scan.push(bytes.clone()).await.map_err(|_| SinkError::Hopeless)?;
        self.writer.write(bytes).await.map_err(|error| SinkError::Ours(error.into()))
    }

    fn announce(&mut self, total: Option<u64>) {
        self.announced = total;
        self.writer.announce(total);
    }

    fn pause(&mut self) {
        self.place = None;
    }
}

impl Arrived {
    pub(crate) fn source(&self) -> SourceId {
        self.source
    }

    /// Gives the source its name, and its index. All of them outlive a power cut afterwards.
    pub(crate) async fn keep(self, context: &Context, job: &ClaimedJob) -> Result<Index, JobError> {
        match self.scanned {
            // Beside each other: nothing looks at the bytes before both are there.
            Scanned::Index(index) => {
                let (source, put) = tokio::join!(self.writer.finish(), put(context, self.source, &index));
                source?;
                put?;
                Ok(index)
            }
            foreign @ Scanned::Foreign { .. } => {
                let arrived = Self { scanned: foreign, ..self };
                arrived.keep_as(context, job, async |index| Ok(index)).await
            }
        }
    }

    /// The same, with the index as `shape` makes it of the source's own, or of that of a copy which can be read. The bytes are there by then.
    pub(crate) async fn keep_as(
        self,
        context: &Context,
        job: &ClaimedJob,
        shape: impl AsyncFnOnce(Index) -> Result<Index, JobError>,
    ) -> Result<Index, JobError> {
        self.writer.finish().await?;
        let index = match self.scanned {
            Scanned::Index(index) => index,
            Scanned::Foreign { container, len, sha256, refusal, facts } => {
                let foreign = Foreign { source: self.source, container, len, sha256, refusal, facts };
                remux::normalise(context, job, &foreign).await?
            }
        };
        let index = shape(index).await?;
        put(context, self.source, &index).await?;
        Ok(index)
    }
}

async fn put(context: &Context, source: SourceId, index: &Index) -> Result<(), JobError> {
    context.blob.put_once(ObjectKey::Index(source), Bytes::from(index.to_bytes())).await?;
    Ok(())
}
