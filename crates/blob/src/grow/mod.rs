//! An object that grows over several requests, writers and processes before it gets its name.

mod command_queue;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use kinora_domain::SourceId;

use crate::{Blob, Error, ObjectKey, Result, coalesce};

pub(crate) use self::command_queue::{Command, CommandQueue, OpenOutcome, Progress, WriterGuard};

/// The state of a growing object in a bucket that survives a process; the caller stores it in its database.
///
/// Always empty for a folder, where the file itself is the state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MultipartState {
    /// The id of the multipart upload, once it has begun.
    pub multipart_id: Option<String>,
    /// Its recorded parts, in order, from the first byte and without a gap.
    pub parts: Vec<RecordedPart>,
}

/// A part of a multipart upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedPart {
    /// Its length in bytes.
    pub len: u64,
    /// Its id in the store.
    pub id: String,
}

/// Why a record could not be written: another writer has the object, or the database is unreachable.
pub type MultipartLogError = Box<dyn std::error::Error + Send + Sync>;

/// The caller's record of the parts of a growing object in a bucket.
///
/// It is called before the parts are used. After a rejection the writer is lost ([`Error::MultipartLog`]),
/// and its later parts do not count. So an implementation rejects all writers except the one that took over
/// the object last. Never called for a folder.
pub trait MultipartLog: Send + Sync + 'static {
    /// Records the id of the multipart upload. Once per object, before its first part is sent.
    fn record_multipart_id(
        &self,
        multipart_id: String,
    ) -> BoxFuture<'_, std::result::Result<(), MultipartLogError>>;

    /// Records part `number` (from 0). One after the other, each once.
    fn record_part(
        &self,
        number: usize,
        part: RecordedPart,
    ) -> BoxFuture<'_, std::result::Result<(), MultipartLogError>>;
}

impl Blob {
    /// Opens the growing object of a source for appending; begins it if it does not exist.
    ///
    /// `lease` separates the objects of this writer from those of others: each takeover has a higher one.
    /// `multipart_state` is the content of the log; read it in or after the commit that makes the log reject
    /// all earlier writers. All writers must write the same byte at the same offset.
    ///
    /// If the object is finished already (a crash before that was recorded), all of it is durable, and
    /// [`GrowingObject::finish`] succeeds. Errors: `LockedElsewhere` of a folder while another writer has the
    /// object. It waits for a dropped writer of this process.
    pub async fn grow(
        &self,
        source: SourceId,
        lease: u32,
        multipart_state: MultipartState,
        multipart_log: Arc<dyn MultipartLog>,
    ) -> Result<GrowingObject> {
        let opened = match self {
            Self::Folder(store) => store.grow(source).await?,
            Self::S3(store) => store.grow(source, lease, multipart_state, multipart_log).await?,
        };
        let (state, written) = match opened {
            OpenOutcome::Growing(queue) => {
                let synced = queue.progress().synced();
                (State::Growing(queue), synced)
            }
            OpenOutcome::Finished(len) => (State::Finished, len),
        };
        Ok(GrowingObject { blob: self.clone(), source, state, written })
    }

    /// Removes the file, the pieces and the parts (of the upload `multipart_id`) of a growing object. May run
    /// twice, also when there is nothing.
    ///
    /// The finished object and checkpoints stay. A concurrent writer may leave new objects.
    pub async fn discard_growing(&self, source: SourceId, multipart_id: Option<String>) -> Result<()> {
        match self {
            Self::Folder(store) => store.delete(ObjectKey::Growing(source)).await,
            Self::S3(store) => store.discard_growing(source, multipart_id).await,
        }
    }
}

/// Appends to a growing object. It has no name, and is no object, before [`GrowingObject::finish`].
///
/// Dropped, it leaves the durable bytes, and the next writer continues after them. After an error the
/// writer is lost: every further call fails; durable bytes stay durable.
///
/// In a folder it is a file, synced shortly after each write. In a bucket it is a multipart upload with
/// *pieces*: small objects for the bytes that do not fill a part yet. Memory as for
/// [`crate::ObjectWriter`].
pub struct GrowingObject {
    blob: Blob,
    source: SourceId,
    state: State,
    written: u64,
}

enum State {
    Growing(CommandQueue),
    /// It is finished.
    Finished,
}

impl GrowingObject {
    /// Announces the length of the object, once it is known. It may come late; the last call counts.
    ///
    /// More bytes than announced are an error in a bucket.
    pub fn announce(&mut self, len: Option<u64>) {
        if let State::Growing(queue) = &mut self.state {
            queue.push(Command::Announce(len));
        }
    }

    /// Durable bytes from the start: they survive a killed process and a power cut, also for a writer on
    /// another node. Never decreases.
    ///
    /// In a bucket pieces are not recorded in the multipart log. Before you report these bytes to a client,
    /// verify that this writer still has the object.
    pub fn synced(&self) -> u64 {
        match &self.state {
            State::Growing(queue) => queue.progress().synced(),
            State::Finished => self.written,
        }
    }

    /// Bytes from the start that were received so far, stored or not, those of earlier writers included.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes the next bytes. Waits while the disk or the store is slower than the caller.
    ///
    /// A cancelled call has accepted its bytes: do not write them again. Bytes become durable without a
    /// further call too: in a folder
    /// within 50 ms, in a bucket within [`crate::S3Limits::sync_interval`] if they are half a MiB or more.
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let State::Growing(queue) = &mut self.state else {
            return Err(Error::AlreadyThere(ObjectKey::Source(self.source)));
        };
        self.written += bytes.len() as u64;
        queue.push(Command::Write(bytes));
        queue.send().await
    }

    /// Makes all written bytes durable, and returns [`GrowingObject::synced`].
    pub async fn sync(&mut self) -> Result<u64> {
        match &mut self.state {
            State::Growing(queue) => queue.request(Command::Sync).await,
            State::Finished => Ok(self.written),
        }
    }

    /// Names the object [`ObjectKey::Source`], and returns its length. May run twice, also by a writer
    /// after a crash.
    ///
    /// Errors: `AlreadyThere` when another object has the name; `Gone` when durable bytes differ from the
    /// record.
    pub async fn finish(&mut self) -> Result<u64> {
        if let State::Growing(queue) = &mut self.state {
            self.written = queue.finish().await?;
            self.state = State::Finished;
        }
        Ok(self.written)
    }

    /// The lowest offset that [`GrowingObject::read`] can read: of a folder the start, of a bucket the end
    /// of the recorded parts.
    pub fn readable_from(&self) -> u64 {
        match &self.state {
            State::Growing(queue) => queue.progress().readable_from(),
            State::Finished => 0,
        }
    }

    /// Reads durable bytes again.
    ///
    /// In a bucket, bytes that were durable when the object was opened can be read until the next byte is
    /// written. Errors: `OutOfRange` unless the range is between `readable_from` and `synced`, `TooLong`
    /// above [`crate::READ_MAX`].
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let synced = self.synced();
        coalesce::check(&range, synced)?;
        coalesce::len_in_memory(&range)?;
        if range.start < self.readable_from() {
            return Err(Error::OutOfRange { range, len: synced });
        }
        match &self.state {
            State::Growing(queue) => queue.read(range).await,
            State::Finished => {
                let key = ObjectKey::Source(self.source);
                let reader = self.blob.reader(key).await?.ok_or(Error::Gone(key))?;
                reader.read_at(range).await
            }
        }
    }
}

impl fmt::Debug for GrowingObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrowingObject")
            .field("source", &self.source)
            .field("written", &self.written)
            .field("kept", &self.synced())
            .finish_non_exhaustive()
    }
}
