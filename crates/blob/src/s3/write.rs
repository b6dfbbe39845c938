//! Writes an object that arrives in pieces.
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
use super::upload::Upload;
use super::{PartMemory, S3Store};
use crate::{Error, ObjectKey, PutOutcome, Result, WriteKind};

const ACTION: &str = "write to an object";

/// Writes one object into a bucket.
#[derive(Debug)]
pub struct S3Writer {
    store: S3Store,
    key: ObjectKey,
    announced: Option<u64>,
    /// Taken, without memory yet: the bytes of one call, or of several cancelled ones.
    waiting: VecDeque<Bytes>,
    part: Option<PartBuffer>,
    /// Being sent to the store.
    sending: Option<JoinHandle<Result<PartId>>>,
    /// Begun by the first part that is sent.
    upload: Arc<OnceLock<Upload>>,
    sent: Vec<PartId>,
    written: u64,
    acknowledged: Arc<AtomicU64>,
    /// An earlier write failed: the object is lost.
    is_lost: bool,
}

/// A permit to keep a writer's memory while no bytes arrive. Dropping it releases the permit.
#[derive(Debug, Default)]
#[expect(dead_code, reason = "it is held")]
pub struct Parked {
    memory: Option<PartMemory>,
}

/// A part that fills.
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
            announced: None,
            waiting: VecDeque::new(),
            part: None,
            sending: None,
            upload: Arc::default(),
            sent: Vec::new(),
            written: 0,
            acknowledged: Arc::default(),
            is_lost: false,
        }
    }

    pub(crate) fn announce(&mut self, len: Option<u64>) {
        if self.written == 0 {
            self.announced = len;
        }
    }

    pub(crate) async fn write(&mut self, bytes: Bytes) -> Result<()> {
        if self.is_lost {
            return Err(lost());
        }
        self.written += bytes.len() as u64;
        self.waiting.push_back(bytes);
        let result = self.take().await;
        self.lost_if_failed(result)
    }

    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    pub(crate) fn synced(&self) -> u64 {
        self.acknowledged.load(Ordering::Acquire)
    }

    pub(crate) async fn finish(mut self) -> Result<u64> {
        if self.is_lost {
            return Err(lost());
        }
        let finished = self.make().await;
        self.lost_if_failed(finished)?;
        Ok(self.written)
    }

    pub(crate) fn try_park(&self) -> Option<Parked> {
        match &self.part {
            None => Some(Parked::default()),
            Some(part) => {
                self.store.parked_memory(part.len_max as u64).map(|memory| Parked { memory: Some(memory) })
            }
        }
    }

    /// Moves the waiting bytes into parts. A cancelled call continues with the next one.
    async fn take(&mut self) -> Result<()> {
        if self.announced.is_some_and(|len| len < self.written) {
            return Err(internal(format!(
                "more bytes came than the {} announced",
                self.announced.unwrap_or(0)
            )));
        }
        while let Some(bytes) = self.waiting.front_mut() {
            if bytes.is_empty() {
                self.waiting.pop_front();
                continue;
            }
            let Some(part) = &mut self.part else {
                if !self.store.may_fill_ahead() {
                    self.join().await?;
                }
                self.part = Some(self.reserve().await?);
                continue;
            };
            let free = part.len_max - part.bytes.len();
            if free == 0 {
                // Not before more bytes come: an object of exactly one part is put as a whole.
                self.send().await?;
                continue;
            }
            let len = free.min(bytes.len());
            part.bytes.extend_from_slice(&bytes[..len]);
            bytes.advance(len);
        }
        Ok(())
    }

    /// Waits for the memory of a whole part, or of the rest if it is shorter.
    async fn reserve(&self) -> Result<PartBuffer> {
        let shared = &self.store.shared;
        let part_len = shared.limits.part_len(self.announced);
        let index = u64::try_from(self.sent.len() + usize::from(self.sending.is_some())).unwrap_or(u64::MAX);
        if index >= PARTS_MAX {
            let what = format!(
                "it is longer than {PARTS_MAX} parts of {part_len} bytes, and its length was not announced"
            );
            return Err(internal(what));
        }
        let remaining = self.announced.map_or(part_len, |len| len.saturating_sub(index * part_len));
        let len_max = part_len.min(remaining.max(1));
        let memory = self.store.part_memory(len_max).await;
        let len_max = usize::try_from(len_max).map_err(|_| Error::TooLong { len: len_max })?;
        Ok(PartBuffer { bytes: BytesMut::with_capacity(len_max), len_max, memory })
    }

    /// Sends the filling part after the previous one.
    async fn send(&mut self) -> Result<()> {
        self.join().await?;
        let Some(part) = self.part.take() else { return Ok(()) };
        self.store.before_write(WriteKind::Append, self.key)?;
        let (shared, key, index) = (Arc::clone(&self.store.shared), self.key, self.sent.len());
        let (cell, acknowledged) = (Arc::clone(&self.upload), Arc::clone(&self.acknowledged));
        self.sending = Some(tokio::spawn(async move {
            if cell.get().is_none() {
                let begun = Upload::begin(&shared, key).await?;
                let _ = cell.set(begun); // parts are sent one by one, so no other has begun
            }
            let upload = cell.get().expect("it was set above or before");
            let len = part.bytes.len() as u64;
            let id = upload.part(&shared, index, PutPayload::from(part.bytes.freeze())).await?;
            acknowledged.fetch_add(len, Ordering::Release);
            drop(part.memory); // only now: the bytes were kept for further tries
            Ok(id)
        }));
        Ok(())
    }

    /// Waits for the part that is being sent.
    async fn join(&mut self) -> Result<()> {
        let Some(task) = &mut self.sending else { return Ok(()) };
        let joined = task.await; // a cancelled call leaves the task for the next one
        self.sending = None;
        match joined {
            Ok(sent) => self.sent.push(sent?),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return Err(Error::Stopped), // the runtime is going down
            },
        }
        Ok(())
    }

    async fn make(&mut self) -> Result<()> {
        self.take().await?;
        if self.sending.is_none() && self.sent.is_empty() {
            return self.put().await;
        }
        self.send().await?;
        let (store, key) = (self.store.clone(), self.key);
        let (joined, existing) = tokio::join!(self.join(), store.fetch_info(key));
        joined?;
        self.store.before_write(WriteKind::Finish, self.key)?;
        if existing?.is_some() {
            return Err(Error::AlreadyThere(self.key));
        }
        let upload = self.upload.get().expect("a part has been sent");
        upload.complete(&self.store, std::mem::take(&mut self.sent), self.written).await?;
        self.forget_upload();
        Ok(())
    }

    /// Puts an object that fits into one part.
    async fn put(&mut self) -> Result<()> {
        self.store.before_write(WriteKind::Finish, self.key)?;
        let part = self.part.take();
        let (bytes, memory) = part.map(|part| (part.bytes.freeze(), part.memory)).unzip();
        let outcome = self.store.put_whole(self.key, bytes.unwrap_or_default().into()).await?;
        drop(memory);
        match outcome {
            PutOutcome::Written => Ok(()),
            PutOutcome::AlreadyThere => Err(Error::AlreadyThere(self.key)),
        }
    }

    /// Removes the note of a finished upload in the background; a sweep removes one that stays.
    fn forget_upload(&mut self) {
        let upload = std::mem::take(&mut self.upload);
        let shared = Arc::clone(&self.store.shared);
        tokio::spawn(async move {
            if let Some(upload) = upload.get() {
                let _ = upload.remove_marker(&shared).await;
            }
        });
    }

    /// After an error the state of the object in the store is unknown.
    fn lost_if_failed(&mut self, result: Result<()>) -> Result<()> {
        if result.is_err() {
            self.discard();
        }
        result
    }

    fn discard(&mut self) {
        self.is_lost = true;
        self.part = None;
        self.waiting.clear();
        let sending = self.sending.take();
        if self.store.faults.as_ref().is_some_and(|faults| faults.is_stopped()) {
            return; // as a crash would
        }
        let upload = std::mem::take(&mut self.upload);
        if sending.is_none() && upload.get().is_none() {
            return;
        }
        let shared = Arc::clone(&self.store.shared);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Some(sending) = sending {
                    // A part that arrives after the abort could stay (Amazon S3, AbortMultipartUpload).
                    let _ = sending.await;
                }
                if let Some(upload) = upload.get() {
                    let _ = upload.abort(&shared).await; // what fails now is swept by its note
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

fn lost() -> Error {
    internal("an earlier write to it failed".to_owned())
}

fn internal(what: String) -> Error {
    Error::Internal { action: ACTION, source: io::Error::other(what) }
}
