//! Writes an object that arrives in chunks.
//!
//! An object that fits into one part becomes a conditional put at the end. A longer one is sent in parts. A
//! writer uses two of them at most: one is sent while the next one fills. When memory is scarce it uses
//! one.
//!
//! Memory for a whole part is reserved before its first byte is buffered, and a part that is being sent needs
//! only the store. So writers that wait for memory wait for sources and for the store, never for each
//! other.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::{Buf, Bytes, BytesMut};
use object_store::PutPayload;
use object_store::multipart::PartId;
use tokio::task::JoinHandle;

use super::limits::PARTS_MAX;
use super::upload::MultipartUpload;
use super::{PartMemory, S3Store};
use crate::{Error, ObjectKey, PutOutcome, Result, WriteKind};

const ACTION: &str = "write to an object";

/// Writes one object into a bucket.
#[derive(Debug)]
pub struct S3Writer {
    store: S3Store,
    key: ObjectKey,
    announced_len: Option<u64>,
    /// Bytes that are not in a part buffer yet: those of one call, or of several cancelled ones.
    incoming: VecDeque<Bytes>,
    part_buffer: Option<PartBuffer>,
    /// The task that sends a part to the store.
    pending_part: Option<JoinHandle<Result<PartId>>>,
    /// The multipart upload, begun by the first part that is sent.
    upload: Arc<OnceLock<MultipartUpload>>,
    sent_parts: Vec<PartId>,
    written: u64,
    acknowledged_len: Arc<AtomicU64>,
    /// An earlier write failed, so the object is discarded and every further call fails.
    has_failed: bool,
}

/// A permit to keep a writer's part buffer in memory while no bytes arrive. Dropping it releases the permit.
#[derive(Debug, Default)]
#[expect(dead_code, reason = "it is held")]
pub struct IdlePermit {
    memory: Option<PartMemory>,
}

/// A part that is being filled.
#[derive(Debug)]
struct PartBuffer {
    bytes: BytesMut,
    len_max: usize,
    memory: PartMemory,
}

impl S3Writer {
    pub(super) fn new(store: S3Store, key: ObjectKey) -> Self {
        Self {
            store,
            key,
            announced_len: None,
            incoming: VecDeque::new(),
            part_buffer: None,
            pending_part: None,
            upload: Arc::default(),
            sent_parts: Vec::new(),
            written: 0,
            acknowledged_len: Arc::default(),
            has_failed: false,
        }
    }

    pub(crate) fn announce(&mut self, len: Option<u64>) {
        if self.written == 0 {
            self.announced_len = len;
        }
    }

    pub(crate) async fn write(&mut self, bytes: Bytes) -> Result<()> {
        if self.has_failed {
            return Err(earlier_write_failed());
        }
        self.written += bytes.len() as u64;
        self.incoming.push_back(bytes);
        let result = self.fill_parts().await;
        self.discard_on_error(result)
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn synced(&self) -> u64 {
        self.acknowledged_len.load(Ordering::Acquire)
    }

    pub(crate) async fn finish(mut self) -> Result<u64> {
        if self.has_failed {
            return Err(earlier_write_failed());
        }
        let finished = self.complete_object().await;
        self.discard_on_error(finished)?;
        Ok(self.written)
    }

    pub(crate) fn try_idle(&self) -> Option<IdlePermit> {
        match &self.part_buffer {
            None => Some(IdlePermit::default()),
            Some(part) => self
                .store
                .try_idle_memory(part.len_max as u64)
                .map(|memory| IdlePermit { memory: Some(memory) }),
        }
    }

    /// Moves the incoming bytes into parts, and sends full ones. A cancelled call continues with the next.
    async fn fill_parts(&mut self) -> Result<()> {
        if self.announced_len.is_some_and(|len| len < self.written) {
            return Err(internal(format!(
                "more bytes came than the {} announced",
                self.announced_len.unwrap_or(0)
            )));
        }
        while let Some(bytes) = self.incoming.front_mut() {
            if bytes.is_empty() {
                self.incoming.pop_front();
                continue;
            }
            let Some(part) = &mut self.part_buffer else {
                if !self.store.may_fill_ahead() {
                    self.join_pending_part().await?;
                }
                self.part_buffer = Some(self.reserve_part_buffer().await?);
                continue;
            };
            let free = part.len_max - part.bytes.len();
            if free == 0 {
                // Not before more bytes come: an object of exactly one part is put as a whole.
                self.send_part().await?;
                continue;
            }
            let len = free.min(bytes.len());
            part.bytes.extend_from_slice(&bytes[..len]);
            bytes.advance(len);
        }
        Ok(())
    }

    /// Waits for the memory of a whole part, or of the rest if it is shorter.
    async fn reserve_part_buffer(&self) -> Result<PartBuffer> {
        let shared = &self.store.shared;
        let part_len = shared.limits.part_len(self.announced_len);
        let index = u64::try_from(self.sent_parts.len() + usize::from(self.pending_part.is_some()))
            .unwrap_or(u64::MAX);
        if index >= PARTS_MAX {
            let what = format!(
                "it is longer than {PARTS_MAX} parts of {part_len} bytes, and its length was not announced"
            );
            return Err(internal(what));
        }
        let remaining = self.announced_len.map_or(part_len, |len| len.saturating_sub(index * part_len));
        let len_max = part_len.min(remaining.max(1));
        let memory = self.store.part_memory(len_max).await;
        let len_max = usize::try_from(len_max).map_err(|_| Error::TooLong { len: len_max })?;
        Ok(PartBuffer { bytes: BytesMut::with_capacity(len_max), len_max, memory })
    }

    /// Sends the part buffer after the previous part is sent.
    async fn send_part(&mut self) -> Result<()> {
        self.join_pending_part().await?;
        let Some(part) = self.part_buffer.take() else { return Ok(()) };
        self.store.inject_write_fault(WriteKind::Append, self.key)?;
        let (shared, key, index) = (Arc::clone(&self.store.shared), self.key, self.sent_parts.len());
        let (cell, acknowledged) = (Arc::clone(&self.upload), Arc::clone(&self.acknowledged_len));
        self.pending_part = Some(tokio::spawn(async move {
            if cell.get().is_none() {
                let begun = MultipartUpload::begin(&shared, key).await?;
                let _ = cell.set(begun); // parts are sent one by one, so no other has begun
            }
            let upload = cell.get().expect("it was set above or before");
            let len = part.bytes.len() as u64;
            let id = upload.upload_part(&shared, index, PutPayload::from(part.bytes.freeze())).await?;
            acknowledged.fetch_add(len, Ordering::Release);
            drop(part.memory); // only now: the bytes were kept for further tries
            Ok(id)
        }));
        Ok(())
    }

    /// Waits for the part that is being sent.
    async fn join_pending_part(&mut self) -> Result<()> {
        let Some(task) = &mut self.pending_part else { return Ok(()) };
        let joined = task.await; // a cancelled call leaves the task for the next one
        self.pending_part = None;
        match joined {
            Ok(sent) => self.sent_parts.push(sent?),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return Err(Error::Stopped), // the runtime is going down
            },
        }
        Ok(())
    }

    async fn complete_object(&mut self) -> Result<()> {
        self.fill_parts().await?;
        if self.pending_part.is_none() && self.sent_parts.is_empty() {
            return self.put_in_one_request().await;
        }
        self.send_part().await?;
        let (store, key) = (self.store.clone(), self.key);
        let (joined, existing) = tokio::join!(self.join_pending_part(), store.fetch_info(key));
        joined?;
        self.store.inject_write_fault(WriteKind::Finish, self.key)?;
        if existing?.is_some() {
            return Err(Error::AlreadyThere(self.key));
        }
        let upload = self.upload.get().expect("a part has been sent");
        upload.complete(&self.store, std::mem::take(&mut self.sent_parts), self.written).await?;
        self.remove_marker_in_background();
        Ok(())
    }

    /// Stores an object that fits into one part, by one conditional put.
    async fn put_in_one_request(&mut self) -> Result<()> {
        self.store.inject_write_fault(WriteKind::Finish, self.key)?;
        let part = self.part_buffer.take();
        let (bytes, memory) = part.map(|part| (part.bytes.freeze(), part.memory)).unzip();
        let outcome = self.store.put_whole(self.key, bytes.unwrap_or_default().into()).await?;
        drop(memory);
        match outcome {
            PutOutcome::Written => Ok(()),
            PutOutcome::AlreadyThere => Err(Error::AlreadyThere(self.key)),
        }
    }

    /// Removes the marker of a finished upload in the background; a sweep removes one that stays.
    fn remove_marker_in_background(&mut self) {
        let upload = std::mem::take(&mut self.upload);
        let shared = Arc::clone(&self.store.shared);
        tokio::spawn(async move {
            if let Some(upload) = upload.get() {
                let _ = upload.remove_marker(&shared).await;
            }
        });
    }

    /// Discards the object after an error, because its state in the store is unknown.
    fn discard_on_error(&mut self, result: Result<()>) -> Result<()> {
        if result.is_err() {
            self.discard();
        }
        result
    }

    fn discard(&mut self) {
        self.has_failed = true;
        self.part_buffer = None;
        self.incoming.clear();
        let pending_part = self.pending_part.take();
        if self.store.faults.as_ref().is_some_and(|faults| faults.is_stopped()) {
            return; // as a crash would
        }
        let upload = std::mem::take(&mut self.upload);
        if pending_part.is_none() && upload.get().is_none() {
            return;
        }
        let shared = Arc::clone(&self.store.shared);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Some(sending) = pending_part {
                    // A part that arrives after the abort could stay (Amazon S3, AbortMultipartUpload).
                    let _ = sending.await;
                }
                if let Some(upload) = upload.get() {
                    let _ = upload.abort(&shared).await; // a sweep repeats it if it fails
                }
            });
        }
    }
}

impl Drop for S3Writer {
    fn drop(&mut self) {
        self.discard();
    }
}

fn earlier_write_failed() -> Error {
    internal("an earlier write to it failed".to_owned())
}

fn internal(what: String) -> Error {
    Error::Internal { action: ACTION, source: io::Error::other(what) }
}
