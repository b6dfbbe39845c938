//! An object that grows over several requests, writers and processes before it gets its name.

mod line;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use kinora_domain::SourceId;

use crate::{Blob, Error, ObjectKey, Result, runs};

pub(crate) use self::line::{Command, Hold, Line, Opened, Progress};

/// What outlives a process of an object in a bucket that grows; the caller keeps it in its database.
///
/// Always empty for a folder, where the file itself tells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grown {
    /// The upload in parts, once it has begun.
    pub multipart: Option<String>,
    /// Its parts that were recorded, in order; the first one begins with the first byte, and there is no gap.
    pub parts: Vec<GrownPart>,
}

/// A part of an upload in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrownPart {
    /// Its length in bytes.
    pub len: u64,
    /// How the store knows it.
    pub id: String,
}

/// Why something could not be written down: another writer has the object, or the database is away.
pub type LedgerError = Box<dyn std::error::Error + Send + Sync>;

/// Where the caller writes down what a growing object in a bucket consists of.
///
/// Called before anything relies on it. A writer that is refused is lost ([`Error::Ledger`]), and nothing it
/// sent afterwards counts; so an implementation refuses every writer but the one that took the object over
/// last. Never called for a folder.
pub trait Ledger: Send + Sync + 'static {
    /// The upload in parts has this id. Once per object: before its first part is sent.
    fn begun(&self, multipart: String) -> BoxFuture<'_, std::result::Result<(), LedgerError>>;

    /// Part number `number` (from 0) is kept. One after the other, each once.
    fn part(&self, number: usize, part: GrownPart) -> BoxFuture<'_, std::result::Result<(), LedgerError>>;
}

impl Blob {
    /// Opens the growing object of a source for writing at its end; begins it when there is none.
    ///
    /// `lease` tells what this writer leaves from what others do: each one that takes the object over has a
    /// higher one. `grown` is what the ledger holds; read it in or after the commit that makes the ledger
    /// refuse all earlier writers. The byte at one place of an object must be the same whoever writes it.
    ///
    /// Where the object is finished already (a crash before anybody wrote that down), all of it is kept, and
    /// [`GrowingObject::finish`] succeeds. Errors: `HeldElsewhere` of a folder while another writer has the
    /// object. A writer of this process that was dropped is waited for.
    pub async fn grow(
        &self,
        source: SourceId,
        lease: u32,
        grown: Grown,
        ledger: Arc<dyn Ledger>,
    ) -> Result<GrowingObject> {
        let opened = match self {
            Self::Folder(store) => store.grow(source).await?,
            Self::S3(store) => store.grow(source, lease, grown, ledger).await?,
        };
        let (state, written) = match opened {
            Opened::Growing(line) => {
                let kept = line.progress().kept();
                (State::Growing(line), kept)
            }
            Opened::Made(len) => (State::Made, len),
        };
        Ok(GrowingObject { blob: self.clone(), source, state, written })
    }

    /// Removes what a growing object consists of: file, pieces, parts of the upload `multipart`. May run
    /// twice, also when there is nothing.
    ///
    /// Leaves the finished object and checkpoints alone. A writer that is at work meanwhile may leave
    /// something again.
    pub async fn discard_growing(&self, source: SourceId, multipart: Option<String>) -> Result<()> {
        match self {
            Self::Folder(store) => store.delete(ObjectKey::Growing(source)).await,
            Self::S3(store) => store.discard_growing(source, multipart).await,
        }
    }
}

/// Writes at the end of an object that grows. It has no name, and is no object, before
/// [`GrowingObject::finish`].
///
/// Dropped, it leaves what is kept, and whoever opens the object next goes on behind it. After an error the
/// writer is lost: every further call fails; what was kept stays kept.
///
/// In a folder it is a file, synced behind the writer. In a bucket it is an upload in parts, beside it
/// *pieces*: small objects that hold what is no whole part yet. Memory as for [`crate::ObjectWriter`].
pub struct GrowingObject {
    blob: Blob,
    source: SourceId,
    state: State,
    written: u64,
}

enum State {
    Growing(Line),
    /// It has its name.
    Made,
}

impl GrowingObject {
    /// Says how long the object will be, once that is known. It may come late; of several the last one
    /// counts.
    ///
    /// More bytes than announced are an error in a bucket.
    pub fn announce(&mut self, len: Option<u64>) {
        if let State::Growing(line) = &mut self.state {
            line.push(Command::Announce(len));
        }
    }

    /// Bytes from the start that outlive a killed process and a power cut, on whichever node is next. Never
    /// less than before.
    ///
    /// In a bucket nobody asks the ledger for pieces: before a client hears of them, see that this writer
    /// still has the object.
    pub fn kept(&self) -> u64 {
        match &self.state {
            State::Growing(line) => line.progress().kept(),
            State::Made => self.written,
        }
    }

    /// Bytes from the start that were taken so far, those of earlier writers included.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Takes the next bytes. Waits when the disk or the store is behind.
    ///
    /// A call that was cancelled has taken its bytes. Without a call bytes are kept, too: of a folder within
    /// 50 ms, of a bucket within [`crate::S3Limits::piece_within`] if they are half a MiB or more.
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let State::Growing(line) = &mut self.state else {
            return Err(Error::AlreadyThere(ObjectKey::Source(self.source)));
        };
        self.written += bytes.len() as u64;
        line.push(Command::Write(bytes));
        line.send().await
    }

    /// Makes everything that was written so far kept, and answers [`GrowingObject::kept`].
    pub async fn keep(&mut self) -> Result<u64> {
        match &mut self.state {
            State::Growing(line) => line.ask(Command::Keep).await,
            State::Made => Ok(self.written),
        }
    }

    /// Gives the object its name, [`ObjectKey::Source`], and answers its length. May run twice, also by a
    /// writer that came after a crash.
    ///
    /// Errors: `AlreadyThere` when another object has the name; `Gone` when what was kept is no longer what
    /// was recorded.
    pub async fn finish(&mut self) -> Result<u64> {
        if let State::Growing(line) = &mut self.state {
            self.written = line.finish().await?;
            self.state = State::Made;
        }
        Ok(self.written)
    }

    /// From where on [`GrowingObject::read`] can read: of a folder the start, of a bucket the end of the
    /// recorded parts.
    pub fn readable_from(&self) -> u64 {
        match &self.state {
            State::Growing(line) => line.progress().readable_from(),
            State::Made => 0,
        }
    }

    /// Reads back bytes that are kept, for whoever must look at them again.
    ///
    /// Of a bucket those that were kept when the object was opened can be read until the next byte is
    /// written. Errors: `OutOfRange` unless they lie between `readable_from` and `kept`, `TooLong` above
    /// [`crate::READ_MAX`].
    pub async fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let kept = self.kept();
        runs::check(&range, kept)?;
        runs::len_in_memory(&range)?;
        if range.start < self.readable_from() {
            return Err(Error::OutOfRange { range, len: kept });
        }
        match &self.state {
            State::Growing(line) => line.read(range).await,
            State::Made => {
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
            .field("kept", &self.kept())
            .finish_non_exhaustive()
    }
}
