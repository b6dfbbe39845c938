//! The store of objects as the rest of Kinora sees it. Each half behind it keeps the same promises.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use kinora_domain::Timestamp;

use crate::folder::{FolderReader, FolderStore, FolderWriter};
use crate::{Faults, ObjectKey, Prefix, Result};

/// The most bytes one read holds in memory; longer ranges are streamed.
///
/// 20 s, the longest group of pictures that is copied, at 100 Mbit/s are 250 MB.
pub const READ_MAX: u64 = 256 << 20;

/// The store of objects. A clone is another handle to the same store.
#[derive(Debug, Clone)]
pub enum Blob {
    /// A folder on a local disk.
    Folder(FolderStore),
}

/// Whether a put wrote its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The object is made of these bytes.
    Written,
    /// The key was taken: the object stays as it was, these bytes are dropped.
    AlreadyThere,
}

/// One object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub key: ObjectKey,
    /// Its length in bytes.
    pub len: u64,
    /// When its last byte was written, by the clock of the store.
    pub modified: Timestamp,
}

impl Blob {
    /// Opens the folder as a store and makes it when it is missing.
    ///
    /// Folders are made with mode 0700, files with 0600. Several processes may hold one folder.
    pub async fn open_folder(root: impl AsRef<Path>) -> Result<Self> {
        FolderStore::open(root.as_ref().to_owned()).await.map(Self::Folder)
    }

    /// The same store, with every write of this handle and its clones decided by `faults`. For tests.
    #[must_use]
    pub fn with_faults(self, faults: Arc<Faults>) -> Self {
        match self {
            Self::Folder(store) => Self::Folder(store.with_faults(faults)),
        }
    }

    /// Writes a whole object, unless the key is taken: the first writer wins.
    ///
    /// After either outcome the object that is there outlives a power cut. May run twice.
    /// Errors: `Full`; then nothing was written.
    pub async fn put_once(&self, key: ObjectKey, bytes: Bytes) -> Result<PutOutcome> {
        match self {
            Self::Folder(store) => store.put_once(key, bytes).await,
        }
    }

    /// Begins an object that arrives in pieces. It has no name, and cannot be read, before [`ObjectWriter::finish`].
    pub async fn writer(&self, key: ObjectKey) -> Result<ObjectWriter> {
        match self {
            Self::Folder(store) => store.writer(key).await.map(ObjectWriter::Folder),
        }
    }

    /// Opens an object for reading; `None` when there is none.
    ///
    /// A reader goes on to work when its object is deleted meanwhile.
    pub async fn reader(&self, key: ObjectKey) -> Result<Option<ObjectReader>> {
        match self {
            Self::Folder(store) => Ok(store.reader(key).await?.map(ObjectReader::Folder)),
        }
    }

    /// All bytes of an object; `None` when there is none.
    ///
    /// Errors: `TooLong` above [`READ_MAX`].
    pub async fn get(&self, key: ObjectKey) -> Result<Option<Bytes>> {
        match self.reader(key).await? {
            Some(reader) => reader.read_at(0..reader.len()).await.map(Some),
            None => Ok(None),
        }
    }

    /// Removes an object; `false` when there was none. May run twice.
    ///
    /// A power cut may bring the object back: whoever deletes does so again until no row speaks of it.
    pub async fn delete(&self, key: ObjectKey) -> Result<bool> {
        match self {
            Self::Folder(store) => store.delete(key).await,
        }
    }

    /// A page of the objects below `prefix`, in the order of their names: those after `after`, `limit` at most.
    ///
    /// A page that is shorter than `limit` is the last one. Objects made or deleted between two pages may be seen or missed;
    /// all others are seen once. Reads one folder at a time, so its cost does not grow with the number of all objects.
    pub async fn list(&self, prefix: Prefix, after: Option<ObjectKey>, limit: usize) -> Result<Vec<Entry>> {
        match self {
            Self::Folder(store) => store.list(prefix, after, limit).await,
        }
    }

    /// Bytes that can still be written; `None` where the store knows no end.
    pub async fn free_space(&self) -> Result<Option<u64>> {
        match self {
            Self::Folder(store) => store.free_space().await.map(Some),
        }
    }

    /// Removes what writers that are no more have left behind, and answers how many pieces that were.
    ///
    /// Run it once at start. Writers that are at work, also those of another process, keep theirs.
    pub async fn sweep_temporary(&self) -> Result<u64> {
        match self {
            Self::Folder(store) => store.sweep_temporary().await,
        }
    }
}

/// Writes one object piece by piece. Dropped before `finish`, it leaves nothing.
///
/// Holds at most 2 MiB in memory. Bytes are synced behind the writer every 16 MiB, so that `finish` has little left to sync.
/// After an error the object is lost: every further call fails.
#[derive(Debug)]
pub enum ObjectWriter {
    /// Into a local folder.
    Folder(FolderWriter),
}

impl ObjectWriter {
    /// Takes the next bytes. Waits when the disk is behind.
    ///
    /// A call that was cancelled has taken its bytes.
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        match self {
            Self::Folder(writer) => writer.write(bytes).await,
        }
    }

    /// Bytes taken so far.
    pub fn written(&self) -> u64 {
        match self {
            Self::Folder(writer) => writer.written(),
        }
    }

    /// Of these, how many from the start would outlive a power cut.
    pub fn synced(&self) -> u64 {
        match self {
            Self::Folder(writer) => writer.synced(),
        }
    }

    /// Makes the object: syncs the rest and gives it its name. Answers its length.
    ///
    /// Errors: `AlreadyThere` when the key was taken meanwhile; the other object stays. A call that was cancelled may still
    /// make the object.
    pub async fn finish(self) -> Result<u64> {
        match self {
            Self::Folder(writer) => writer.finish().await,
        }
    }
}

/// Reads one object. Cheap to clone; any number of reads may run at once.
#[derive(Debug, Clone)]
pub enum ObjectReader {
    /// From a local folder.
    Folder(FolderReader),
}

#[expect(clippy::len_without_is_empty, reason = "the length of an object, not of a collection")]
impl ObjectReader {
    /// The length of the object in bytes. It never changes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Folder(reader) => reader.len(),
        }
    }

    /// The bytes of one range, in one piece.
    ///
    /// Errors: `OutOfRange` unless the range lies in the object, `TooLong` above [`READ_MAX`].
    pub async fn read_at(&self, range: Range<u64>) -> Result<Bytes> {
        match self {
            Self::Folder(reader) => reader.read_at(range).await,
        }
    }

    /// The bytes of several ranges, one piece each, in the order asked for.
    ///
    /// Neighbours with a small gap between them are read in one go, and share their memory with the gap.
    /// Errors: as for `read_at`; the limit counts for all ranges and gaps together.
    pub async fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match self {
            Self::Folder(reader) => reader.read_many(ranges).await,
        }
    }

    /// The bytes of a range of any length, in pieces of 256 KiB at most; one piece is in memory at a time.
    ///
    /// Errors: `OutOfRange` at once. The stream ends after its first error.
    pub fn stream(
        &self,
        range: Range<u64>,
    ) -> Result<impl Stream<Item = Result<Bytes>> + Send + Unpin + use<>> {
        match self {
            Self::Folder(reader) => reader.stream(range),
        }
    }

    /// The open file, where the object is one, for calls that hand its pages to a socket.
    ///
    /// Others read through it at the same time: use positions of your own, never its cursor.
    pub fn as_file(&self) -> Option<&File> {
        match self {
            Self::Folder(reader) => Some(reader.as_file()),
        }
    }
}
