//! Writes one growing object: takes bytes, fills parts, stores pieces, finishes.

mod part;
mod piece_writes;
mod read;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use kinora_domain::SourceId;
use object_store::multipart::PartId;
use tokio::sync::mpsc;
use tokio::task::JoinError;
use tokio::time::{Instant, sleep_until};
use tokio_util::task::AbortOnDropHandle;

use self::part::PartUpload;
use self::piece_writes::PendingPiece;
use super::part_buffer::PartBuffer;
use super::pieces::{FoundPieces, Piece};
use crate::grow::{Command, Progress};
use crate::s3::S3Store;
use crate::s3::limits::PARTS_MAX;
use crate::s3::upload::Upload;
use crate::{Error, MultipartLog, MultipartState, ObjectKey, PutOutcome, RecordedPart, Result, WriteKind};

const ACTION: &str = "write to a growing object";

/// The result of one of our tasks.
type Joined<T> = std::result::Result<Result<T>, JoinError>;

pub(super) struct Writer {
    store: S3Store,
    source: SourceId,
    lease: u32,
    ledger: Arc<dyn MultipartLog>,
    progress: Arc<Progress>,
    announced: Option<u64>,
    /// All bytes taken, from the start of the object.
    written: u64,
    upload: Option<Upload>,
    /// Recorded, in order.
    parts: Vec<RecordedPart>,
    recorded: u64,
    sending: Option<PendingPart>,
    filling: Option<PartBuffer>,
    /// Taken, without memory in a part yet.
    incoming: VecDeque<Bytes>,
    /// The end of the bytes in pieces that must be read back before new bytes can follow.
    reload_end: u64,
    reloaded: Bytes,
    /// The pieces that continue the recorded parts, in order.
    pieces: Vec<Piece>,
    /// Unused pieces of other writers.
    orphans: Vec<Piece>,
    putting: Option<PendingPiece>,
    /// The end of the pieces, those that are being sent included.
    put_end: u64,
    /// When the first byte after `put_end` arrived.
    unsynced_since: Option<Instant>,
}

/// A part that is being sent.
struct PendingPart {
    start: u64,
    bytes: Vec<Bytes>,
    task: AbortOnDropHandle<Result<(Upload, RecordedPart)>>,
}

/// Events without a command.
enum Event {
    Sent(Joined<(Upload, RecordedPart)>),
    Put(Joined<()>),
    PieceDue,
}

impl Writer {
    pub(super) fn new(
        store: S3Store,
        source: SourceId,
        lease: u32,
        grown: MultipartState,
        ledger: Arc<dyn MultipartLog>,
        progress: &Arc<Progress>,
        found: FoundPieces,
    ) -> Self {
        let synced = progress.synced();
        Self {
            store,
            source,
            lease,
            ledger,
            progress: Arc::clone(progress),
            announced: None,
            written: synced,
            upload: grown.multipart.map(|id| Upload::from_id(ObjectKey::Source(source), id)),
            parts: grown.parts,
            recorded: progress.readable_from(),
            sending: None,
            filling: None,
            incoming: VecDeque::new(),
            reload_end: synced,
            reloaded: Bytes::new(),
            pieces: found.chosen,
            orphans: found.orphans,
            putting: None,
            put_end: synced,
            unsynced_since: None,
        }
    }

    pub(super) async fn work(mut self, mut commands: mpsc::Receiver<Command>) -> Result<u64> {
        loop {
            let command = tokio::select! {
                command = commands.recv() => command,
                event = self.event() => {
                    self.handle(event).await?;
                    continue;
                }
            };
            match command {
                None => return Err(Error::Stopped), // no receiver is left
                Some(Command::Announce(len)) => self.announced = len,
                Some(Command::Write(bytes)) => {
                    self.written += bytes.len() as u64;
                    self.incoming.push_back(bytes);
                    self.take().await?;
                }
                Some(Command::Sync(answer)) => {
                    self.sync().await?;
                    let _ = answer.send(self.progress.synced()); // the receiver may be gone
                }
                Some(Command::Read(range, answer)) => {
                    let _ = answer.send(self.read(range).await);
                }
                Some(Command::Finish) => return self.finish().await,
            }
        }
    }

    /// Waits for the next event. Cancel safe.
    async fn event(&mut self) -> Event {
        let due = self.piece_due();
        let sent = async {
            match &mut self.sending {
                Some(sending) => (&mut sending.task).await,
                None => std::future::pending().await,
            }
        };
        let put = async {
            match &mut self.putting {
                Some(putting) => (&mut putting.task).await,
                None => std::future::pending().await,
            }
        };
        let due = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            sent = sent => Event::Sent(sent),
            put = put => Event::Put(put),
            () = due => Event::PieceDue,
        }
    }

    async fn handle(&mut self, event: Event) -> Result<()> {
        match event {
            Event::Sent(sent) => self.sent(sent),
            Event::Put(put) => self.put(put),
            Event::PieceDue => self.sync_part_buffer().await,
        }
    }

    /// Moves the waiting bytes into parts.
    async fn take(&mut self) -> Result<()> {
        if let Some(announced) = self.announced.filter(|len| *len < self.written) {
            return Err(internal(format!("more bytes came than the {announced} announced")));
        }
        loop {
            if self.reloaded.is_empty() && self.filled_end() < self.reload_end {
                self.reloaded = self.piece_at(self.filled_end(), self.reload_end).await?;
            }
            while self.incoming.front().is_some_and(Bytes::is_empty) {
                self.incoming.pop_front();
            }
            if self.reloaded.is_empty() && self.incoming.is_empty() {
                return Ok(());
            }
            match &self.filling {
                None => {
                    if !self.store.may_fill_ahead() {
                        self.join_sending().await?;
                    }
                    self.filling = Some(self.reserve().await?);
                }
                // Not before more bytes come: an object of exactly one part is put as a whole.
                Some(filling) if filling.is_full() => self.send().await?,
                Some(_) => self.fill(),
            }
        }
    }

    fn fill(&mut self) {
        let Some(filling) = &mut self.filling else { return };
        if !self.reloaded.is_empty() {
            return filling.take(&mut self.reloaded);
        }
        if let Some(bytes) = self.incoming.front_mut() {
            filling.take(bytes);
            self.unsynced_since.get_or_insert_with(Instant::now);
        }
    }

    /// The end of the parts, the filling one included.
    fn filled_end(&self) -> u64 {
        self.filling.as_ref().map_or(self.sent_end(), PartBuffer::end)
    }

    fn sent_end(&self) -> u64 {
        self.sending.as_ref().map_or(self.recorded, |sending| sending.start + len_of(&sending.bytes))
    }

    /// Waits for the memory of a whole part, or of the rest if it is shorter.
    async fn reserve(&self) -> Result<PartBuffer> {
        let shared = &self.store.shared;
        let start = self.sent_end();
        let before = match &self.sending {
            Some(sending) => len_of(&sending.bytes),
            None => self.parts.last().map_or(0, |part| part.len),
        };
        let number =
            u64::try_from(self.parts.len() + usize::from(self.sending.is_some())).unwrap_or(u64::MAX);
        if number >= PARTS_MAX {
            return Err(internal(format!(
                "it is longer than {PARTS_MAX} parts of those lengths that memory holds"
            )));
        }
        let part_len = shared.limits.grown_part_len(number, start, before, self.announced);
        let to_come = self.announced.map_or(part_len, |len| len.saturating_sub(start));
        let len_max = part_len.min(to_come.max(1));
        let memory = self.store.part_memory(len_max).await;
        let len_max = usize::try_from(len_max).map_err(|_| Error::TooLong { len: len_max })?;
        Ok(PartBuffer::new(start, len_max, memory))
    }

    /// Sends the filling part after the previous one.
    async fn send(&mut self) -> Result<()> {
        self.join_sending().await?;
        let Some(filling) = self.filling.take() else { return Ok(()) };
        let start = filling.start();
        self.put_end = self.put_end.max(filling.end());
        self.unsynced_since = None;
        let (bytes, memory) = filling.into_bytes();
        let part = PartUpload {
            store: self.store.clone(),
            source: self.source,
            ledger: Arc::clone(&self.ledger),
            number: self.parts.len(),
            bytes: bytes.clone(),
        };
        let task = AbortOnDropHandle::new(tokio::spawn(part.send(self.upload.clone(), memory)));
        self.sending = Some(PendingPart { start, bytes, task });
        Ok(())
    }

    async fn join_sending(&mut self) -> Result<()> {
        let Some(sending) = &mut self.sending else { return Ok(()) };
        let sent = (&mut sending.task).await;
        self.sent(sent)
    }

    /// Adds the part that was sent and recorded.
    fn sent(&mut self, sent: Joined<(Upload, RecordedPart)>) -> Result<()> {
        self.sending = None;
        let (upload, part) = joined(sent)?;
        self.upload = Some(upload);
        self.recorded += part.len;
        self.parts.push(part);
        self.progress.set_recorded(self.recorded);
        self.update_synced();
        let recorded = self.recorded;
        let mut useless: Vec<Piece> = self.pieces.extract_if(.., |piece| piece.end() <= recorded).collect();
        useless.extend(self.orphans.extract_if(.., |piece| piece.end() <= recorded));
        self.store.remove_pieces_behind(self.source, useless);
        Ok(())
    }

    async fn finish(&mut self) -> Result<u64> {
        self.take().await?;
        let key = ObjectKey::Source(self.source);
        if self.parts.is_empty() && self.sending.is_none() {
            self.store.before_write(WriteKind::Finish, key)?;
            self.put_all(key).await?;
        } else {
            self.send().await?;
            self.join_sending().await?;
            self.store.before_write(WriteKind::Finish, key)?;
            let parts = self.parts.iter().map(|part| PartId { content_id: part.id.clone() }).collect();
            let upload =
                self.upload.as_ref().ok_or_else(|| internal("its parts have no upload".to_owned()))?;
            if !upload.complete_if_there(&self.store, parts, self.written).await? {
                return Err(Error::Gone(ObjectKey::Growing(self.source)));
            }
        }
        self.forget_pieces();
        Ok(self.written)
    }

    /// Puts an object that fits into one part.
    async fn put_all(&mut self, key: ObjectKey) -> Result<()> {
        let (bytes, memory) = self.filling.take().map(PartBuffer::into_bytes).unzip();
        let bytes = bytes.unwrap_or_default();
        let outcome = self.store.put_whole(key, bytes.iter().cloned().collect()).await?;
        if outcome == PutOutcome::AlreadyThere {
            // By an earlier writer that died before the record, or by another client.
            let found = self.store.get(key).await?;
            if found.is_none_or(|found| found != bytes.concat()) {
                return Err(Error::AlreadyThere(key));
            }
        }
        drop(memory);
        Ok(())
    }
}

fn len_of(bytes: &[Bytes]) -> u64 {
    bytes.iter().map(|bytes| bytes.len() as u64).sum()
}

fn joined<T>(joined: Joined<T>) -> Result<T> {
    match joined {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Error::Stopped), // the runtime is going down
        },
    }
}

fn internal(what: String) -> Error {
    Error::Internal { action: ACTION, source: io::Error::other(what) }
}
