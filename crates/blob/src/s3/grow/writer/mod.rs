//! Writes one growing object: receives bytes, fills parts, stores pieces, finishes.

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
use crate::s3::upload::MultipartUpload;
use crate::{Error, MultipartLog, MultipartState, ObjectKey, PutOutcome, RecordedPart, Result, WriteKind};

const ACTION: &str = "write to a growing object";

/// The result of a spawned task.
type TaskResult<T> = std::result::Result<Result<T>, JoinError>;

pub(super) struct Writer {
    store: S3Store,
    source: SourceId,
    lease: u32,
    multipart_log: Arc<dyn MultipartLog>,
    progress: Arc<Progress>,
    announced_len: Option<u64>,
    /// Number of bytes from the start of the object that were received, stored or not.
    received_len: u64,
    upload: Option<MultipartUpload>,
    /// The recorded parts, in order.
    parts: Vec<RecordedPart>,
    recorded_end: u64,
    pending_part: Option<PendingPart>,
    part_buffer: Option<PartBuffer>,
    /// Bytes that are not in a part buffer yet.
    incoming: VecDeque<Bytes>,
    /// The end of the bytes in pieces that must be read back before new bytes can follow.
    reload_end: u64,
    reloaded: Bytes,
    /// The pieces that continue the recorded parts, in order.
    pieces: Vec<Piece>,
    /// Unused pieces of other writers.
    orphans: Vec<Piece>,
    pending_piece: Option<PendingPiece>,
    /// The end of the bytes that are stored or being sent, in parts or in pieces.
    submitted_end: u64,
    /// When the first byte after `submitted_end` arrived.
    unsynced_since: Option<Instant>,
}

/// A part that is being sent.
struct PendingPart {
    start: u64,
    bytes: Vec<Bytes>,
    task: AbortOnDropHandle<Result<(MultipartUpload, RecordedPart)>>,
}

/// Events without a command.
enum Event {
    PartSent(TaskResult<(MultipartUpload, RecordedPart)>),
    PiecePut(TaskResult<()>),
    PieceDue,
}

impl Writer {
    pub(super) fn new(
        store: S3Store,
        source: SourceId,
        lease: u32,
        multipart_state: MultipartState,
        multipart_log: Arc<dyn MultipartLog>,
        progress: &Arc<Progress>,
        found_pieces: FoundPieces,
    ) -> Self {
        let synced = progress.synced();
        Self {
            store,
            source,
            lease,
            multipart_log,
            progress: Arc::clone(progress),
            announced_len: None,
            received_len: synced,
            upload: multipart_state
                .multipart_id
                .map(|id| MultipartUpload::from_id(ObjectKey::Source(source), id)),
            parts: multipart_state.parts,
            recorded_end: progress.readable_from(),
            pending_part: None,
            part_buffer: None,
            incoming: VecDeque::new(),
            reload_end: synced,
            reloaded: Bytes::new(),
            pieces: found_pieces.contiguous,
            orphans: found_pieces.orphans,
            pending_piece: None,
            submitted_end: synced,
            unsynced_since: None,
        }
    }

    pub(super) async fn work(mut self, mut commands: mpsc::Receiver<Command>) -> Result<u64> {
        loop {
            let command = tokio::select! {
                command = commands.recv() => command,
                event = self.next_event() => {
                    self.handle(event).await?;
                    continue;
                }
            };
            match command {
                None => return Err(Error::Stopped), // no receiver is left
                Some(Command::Announce(len)) => self.announced_len = len,
                Some(Command::Write(bytes)) => {
                    self.received_len += bytes.len() as u64;
                    self.incoming.push_back(bytes);
                    self.fill_parts().await?;
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
    async fn next_event(&mut self) -> Event {
        let due = self.piece_due();
        let sent = async {
            match &mut self.pending_part {
                Some(pending_part) => (&mut pending_part.task).await,
                None => std::future::pending().await,
            }
        };
        let put = async {
            match &mut self.pending_piece {
                Some(pending_piece) => (&mut pending_piece.task).await,
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
            sent = sent => Event::PartSent(sent),
            put = put => Event::PiecePut(put),
            () = due => Event::PieceDue,
        }
    }

    async fn handle(&mut self, event: Event) -> Result<()> {
        match event {
            Event::PartSent(sent) => self.on_part_sent(sent),
            Event::PiecePut(put) => self.on_piece_put(put),
            Event::PieceDue => self.sync_part_buffer().await,
        }
    }

    /// Moves the incoming bytes into parts, and sends full parts.
    async fn fill_parts(&mut self) -> Result<()> {
        if let Some(announced_len) = self.announced_len.filter(|len| *len < self.received_len) {
            return Err(internal(format!("more bytes came than the {announced_len} announced")));
        }
        loop {
            if self.reloaded.is_empty() && self.filled_end() < self.reload_end {
                self.reloaded = self.read_from_piece(self.filled_end(), self.reload_end).await?;
            }
            while self.incoming.front().is_some_and(Bytes::is_empty) {
                self.incoming.pop_front();
            }
            if self.reloaded.is_empty() && self.incoming.is_empty() {
                return Ok(());
            }
            match &self.part_buffer {
                None => {
                    if !self.store.may_fill_ahead() {
                        self.join_pending_part().await?;
                    }
                    self.part_buffer = Some(self.reserve_part_buffer().await?);
                }
                // Not before more bytes come: an object of exactly one part is put as a whole.
                Some(part_buffer) if part_buffer.is_full() => self.send_part().await?,
                Some(_) => self.fill_part_buffer(),
            }
        }
    }

    fn fill_part_buffer(&mut self) {
        let Some(part_buffer) = &mut self.part_buffer else { return };
        if !self.reloaded.is_empty() {
            return part_buffer.fill_from(&mut self.reloaded);
        }
        if let Some(bytes) = self.incoming.front_mut() {
            part_buffer.fill_from(bytes);
            self.unsynced_since.get_or_insert_with(Instant::now);
        }
    }

    /// The end of the parts, the part buffer included.
    fn filled_end(&self) -> u64 {
        self.part_buffer.as_ref().map_or(self.next_part_start(), PartBuffer::end)
    }

    fn next_part_start(&self) -> u64 {
        self.pending_part
            .as_ref()
            .map_or(self.recorded_end, |pending_part| pending_part.start + len_of(&pending_part.bytes))
    }

    /// Waits for the memory of a whole part, or of the rest if it is shorter.
    async fn reserve_part_buffer(&self) -> Result<PartBuffer> {
        let shared = &self.store.shared;
        let start = self.next_part_start();
        let previous_part_len = match &self.pending_part {
            Some(pending_part) => len_of(&pending_part.bytes),
            None => self.parts.last().map_or(0, |part| part.len),
        };
        let number =
            u64::try_from(self.parts.len() + usize::from(self.pending_part.is_some())).unwrap_or(u64::MAX);
        if number >= PARTS_MAX {
            return Err(internal(format!(
                "it is longer than {PARTS_MAX} parts of those lengths that memory holds"
            )));
        }
        let part_len = shared.limits.growing_part_len(number, start, previous_part_len, self.announced_len);
        let remaining = self.announced_len.map_or(part_len, |len| len.saturating_sub(start));
        let len_max = part_len.min(remaining.max(1));
        let memory = self.store.part_memory(len_max).await;
        let len_max = usize::try_from(len_max).map_err(|_| Error::TooLong { len: len_max })?;
        Ok(PartBuffer::new(start, len_max, memory))
    }

    /// Sends the part buffer after the previous part is sent.
    async fn send_part(&mut self) -> Result<()> {
        self.join_pending_part().await?;
        let Some(part_buffer) = self.part_buffer.take() else { return Ok(()) };
        let start = part_buffer.start();
        self.submitted_end = self.submitted_end.max(part_buffer.end());
        self.unsynced_since = None;
        let (bytes, memory) = part_buffer.into_bytes();
        let part = PartUpload {
            store: self.store.clone(),
            source: self.source,
            multipart_log: Arc::clone(&self.multipart_log),
            number: self.parts.len(),
            bytes: bytes.clone(),
        };
        let task = AbortOnDropHandle::new(tokio::spawn(part.send(self.upload.clone(), memory)));
        self.pending_part = Some(PendingPart { start, bytes, task });
        Ok(())
    }

    async fn join_pending_part(&mut self) -> Result<()> {
        let Some(pending_part) = &mut self.pending_part else { return Ok(()) };
        let sent = (&mut pending_part.task).await;
        self.on_part_sent(sent)
    }

    /// Adds the part that was sent and recorded, and removes the pieces that it replaces.
    fn on_part_sent(&mut self, sent: TaskResult<(MultipartUpload, RecordedPart)>) -> Result<()> {
        self.pending_part = None;
        let (upload, part) = flatten_task_result(sent)?;
        self.upload = Some(upload);
        self.recorded_end += part.len;
        self.parts.push(part);
        self.progress.set_readable_from(self.recorded_end);
        self.update_synced();
        let recorded_end = self.recorded_end;
        let mut useless: Vec<Piece> =
            self.pieces.extract_if(.., |piece| piece.end() <= recorded_end).collect();
        useless.extend(self.orphans.extract_if(.., |piece| piece.end() <= recorded_end));
        self.store.remove_pieces_in_background(self.source, useless);
        Ok(())
    }

    async fn finish(&mut self) -> Result<u64> {
        self.fill_parts().await?;
        let key = ObjectKey::Source(self.source);
        if self.parts.is_empty() && self.pending_part.is_none() {
            self.store.inject_write_fault(WriteKind::Finish, key)?;
            self.put_in_one_request(key).await?;
        } else {
            self.send_part().await?;
            self.join_pending_part().await?;
            self.store.inject_write_fault(WriteKind::Finish, key)?;
            let parts = self.parts.iter().map(|part| PartId { content_id: part.id.clone() }).collect();
            let upload =
                self.upload.as_ref().ok_or_else(|| internal("its parts have no upload".to_owned()))?;
            if !upload.try_complete(&self.store, parts, self.received_len).await? {
                return Err(Error::Gone(ObjectKey::Growing(self.source)));
            }
        }
        self.remove_all_pieces_in_background();
        Ok(self.received_len)
    }

    /// Stores an object that fits into one part, by one conditional put.
    async fn put_in_one_request(&mut self, key: ObjectKey) -> Result<()> {
        let (bytes, memory) = self.part_buffer.take().map(PartBuffer::into_bytes).unzip();
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

fn flatten_task_result<T>(joined: TaskResult<T>) -> Result<T> {
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
