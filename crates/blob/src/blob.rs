//! The object store for the rest of Kinora. Its two backends give the same guarantees.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::future::Either;
use kinora_domain::{Timestamp, WorkspaceId};

use crate::folder::{FolderReader, FolderStore, FolderWriter};
use crate::s3::{IdlePermit, S3Limits, S3Reader, S3Store, S3Writer, StorageUrl};
use crate::{Faults, ObjectKey, ObjectKind, Prefix, Result};

/// The most bytes of one read into memory; longer ranges are streamed.
///
/// The longest group of pictures (GOP) that is copied lasts 20 s: 250 MB at 100 Mbit/s.
pub const READ_MAX: u64 = 256 << 20;

/// The age in seconds from which a temporary object is unused: longer than any attempt (24 h) plus its
/// lease.
pub const ORPHAN_AGE_MIN_S: i64 = 25 * 60 * 60;

/// The most objects of checks that one sweep lists; the next sweep continues.
const CHECK_ORPHANS_MAX: usize = 1000;

/// The object store. A clone is another handle to the same store.
#[derive(Debug, Clone)]
pub enum Blob {
    /// A folder on a local disk.
    Folder(FolderStore),
    /// A bucket of an S3-compatible store.
    S3(S3Store),
}

/// Whether a put wrote its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOutcome {
    /// The object was created with these bytes.
    Written,
    /// The key exists already: the object does not change, and these bytes are dropped.
    AlreadyThere,
}

/// One object in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its key.
    pub key: ObjectKey,
    /// Its length in bytes.
    pub len: u64,
    /// When its last byte was written, by the clock of the store.
    pub modified: Timestamp,
}

/// The capacity of a volume, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskSpace {
    /// Free space that all users may use.
    pub free_bytes: u64,
    /// All of it.
    pub total_bytes: u64,
}

impl Blob {
    /// Opens a folder as a store and creates it if missing.
    ///
    /// Folders are created with mode 0700, files with 0600. Several processes may open one folder.
    pub async fn open_folder(root: impl AsRef<Path>) -> Result<Self> {
        FolderStore::open(root.as_ref().to_owned()).await.map(Self::Folder)
    }

    /// Opens a bucket as a store. Sends no request yet: a missing or unreachable bucket is an error at the
    /// first use.
    ///
    /// Credentials come from the usual environment (`AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, a web
    /// identity, the role of the machine); the URL overrides it. Any number of processes on any machines
    /// may open one bucket. Errors: `Rejected` when the environment is invalid.
    pub fn open_s3(url: &StorageUrl) -> Result<Self> {
        Self::open_s3_with(url, S3Limits::default())
    }

    /// Opens a bucket as [`Self::open_s3`] does, with other limits.
    pub fn open_s3_with(url: &StorageUrl, limits: S3Limits) -> Result<Self> {
        S3Store::open(url, limits).map(Self::S3)
    }

    /// Whether processes on other machines can open the same store.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Folder(_) => false,
            Self::S3(_) => true,
        }
    }

    /// The same store with fault injection: `faults` decides every write of this handle and its clones. For
    /// tests.
    #[must_use]
    pub fn with_faults(self, faults: Arc<Faults>) -> Self {
        match self {
            Self::Folder(store) => Self::Folder(store.with_faults(faults)),
            Self::S3(store) => Self::S3(store.with_faults(faults)),
        }
    }

    /// The same store, for the writes of a workspace; `None` for the server itself. Memory for writers is
    /// shared fairly between workspaces.
    #[must_use]
    pub fn for_workspace(&self, workspace: Option<WorkspaceId>) -> Self {
        match self.clone() {
            Self::Folder(store) => Self::Folder(store),
            Self::S3(store) => Self::S3(store.for_workspace(workspace)),
        }
    }

    /// Writes a whole object, unless the key exists: the first writer wins.
    ///
    /// After either outcome the stored object is durable. May run twice. Errors: `Full`; then nothing was
    /// written.
    pub async fn put_once(&self, key: ObjectKey, bytes: Bytes) -> Result<PutOutcome> {
        match self {
            Self::Folder(store) => store.put_once(key, bytes).await,
            Self::S3(store) => store.put_once(key, bytes).await,
        }
    }

    /// Begins an object that arrives in chunks. It has no name, and cannot be read, before
    /// [`ObjectWriter::finish`].
    pub async fn writer(&self, key: ObjectKey) -> Result<ObjectWriter> {
        match self {
            Self::Folder(store) => store.writer(key).await.map(ObjectWriter::Folder),
            Self::S3(store) => store.writer(key).map(ObjectWriter::S3),
        }
    }

    /// Opens an object for reading; `None` when it does not exist.
    ///
    /// When the object is deleted meanwhile, a reader either still reads its bytes (a folder) or fails with
    /// `Gone`. It never reads fewer or other bytes.
    pub async fn reader(&self, key: ObjectKey) -> Result<Option<ObjectReader>> {
        match self {
            Self::Folder(store) => Ok(store.reader(key).await?.map(ObjectReader::Folder)),
            Self::S3(store) => Ok(store.reader(key).await?.map(ObjectReader::S3)),
        }
    }

    /// All bytes of an object; `None` when it does not exist.
    ///
    /// Errors: `TooLong` above [`READ_MAX`].
    pub async fn get(&self, key: ObjectKey) -> Result<Option<Bytes>> {
        match self {
            Self::Folder(store) => match store.reader(key).await? {
                Some(reader) => reader.read_at(0..reader.len()).await.map(Some),
                None => Ok(None),
            },
            Self::S3(store) => store.get(key).await,
        }
    }

    /// Deletes an object. May run twice, also when the object does not exist: a bucket does not report
    /// whether it existed.
    ///
    /// A power cut may restore the object, so callers retry the deletion until no row references it.
    pub async fn delete(&self, key: ObjectKey) -> Result<()> {
        match self {
            Self::Folder(store) => store.delete(key).await,
            Self::S3(store) => store.delete(key).await,
        }
    }

    /// A page of the objects below `prefix`, in the order of their names: those after `after`, `limit` at
    /// most.
    ///
    /// A page that is shorter than `limit` is the last one. Objects created or deleted between two pages
    /// may be listed or missed; all others are listed once. Reads one folder at a time, so its cost does
    /// not grow with the number of all objects.
    pub async fn list(&self, prefix: Prefix, after: Option<ObjectKey>, limit: usize) -> Result<Vec<Entry>> {
        match self {
            Self::Folder(store) => store.list(prefix, after, limit).await,
            Self::S3(store) => store.list(prefix, after, limit).await,
        }
    }

    /// Checks whether the store exists and accepts our credentials now. The result is never cached.
    ///
    /// In a bucket it lists one name; in a folder it creates a temporary file, which is removed at
    /// once. Errors: `Unavailable` and `Rejected` of a bucket, also of a missing one; `Full` and `Internal`
    /// of a folder.
    pub async fn ping(&self) -> Result<()> {
        match self {
            Self::Folder(store) => store.ping().await,
            Self::S3(store) => store.ping().await,
        }
    }

    /// Free disk space in bytes; `None` when the store reports no limit.
    pub async fn free_space(&self) -> Result<Option<u64>> {
        Ok(self.disk_space().await?.map(|space| space.free_bytes))
    }

    /// The volume of the objects; `None` when the store reports no limit.
    pub async fn disk_space(&self) -> Result<Option<DiskSpace>> {
        match self {
            Self::Folder(store) => store.disk_space().await.map(Some),
            Self::S3(store) => store.inject_read_fault().map(|()| None),
        }
    }

    /// Removes temporary objects of ended writers and checks, and returns their number.
    ///
    /// Run it at start and periodically. Objects of running writers, also in other processes or machines,
    /// stay: in a folder they have locks; in a bucket nothing is removed that is younger than
    /// [`ORPHAN_AGE_MIN_S`] before `now`.
    pub async fn sweep_temporary(&self, now: Timestamp) -> Result<u64> {
        let mut swept = match self {
            Self::Folder(store) => store.sweep_temporary().await?,
            Self::S3(store) => store.sweep_temporary(now).await?,
        };
        for entry in self.list(Prefix::Kind(ObjectKind::Check), None, CHECK_ORPHANS_MAX).await? {
            if now.micros_since(entry.modified) >= ORPHAN_AGE_MIN_S * Timestamp::SECOND {
                self.delete(entry.key).await?;
                swept += 1;
            }
        }
        Ok(swept)
    }
}

/// Writes one object chunk by chunk. Dropped before `finish`, it leaves no object.
///
/// In a folder it uses at most 2 MiB of memory. It syncs every 16 MiB, so that `finish` has little left to
/// sync. In a bucket it uses two parts at most ([`S3Limits::part_len`]), and waits while all writers
/// together use [`S3Limits::parts_memory`]. After an error the object is lost: every further call fails.
///
/// Use one writer per key. In a bucket an object longer than a part is written once only because its key
/// names one attempt; the store does not guarantee it.
#[derive(Debug)]
pub enum ObjectWriter {
    /// Into a local folder.
    Folder(FolderWriter),
    /// Into a bucket.
    S3(S3Writer),
}

impl ObjectWriter {
    /// Announces the length of the object, or that it is unknown; counts only before the first bytes.
    ///
    /// A bucket stores objects above 78 GiB only if they are announced. More bytes than announced are an
    /// error there.
    pub fn announce(&mut self, len: Option<u64>) {
        match self {
            Self::Folder(_) => {}
            Self::S3(writer) => writer.announce(len),
        }
    }

    /// Writes the next bytes. Waits while the disk or the store is slower than the caller.
    ///
    /// A cancelled call has accepted its bytes: do not write them again.
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        match self {
            Self::Folder(writer) => writer.write(bytes).await,
            Self::S3(writer) => writer.write(bytes).await,
        }
    }

    /// Requests a permit to keep the writer's memory while no bytes arrive, perhaps for minutes. Drop the
    /// permit when the next bytes arrive.
    ///
    /// `None` for a bucket when idle writers use a quarter of [`S3Limits::parts_memory`], or those of one
    /// workspace most of that: then drop the writer.
    pub fn try_idle(&self) -> Option<IdlePermit> {
        match self {
            Self::Folder(_) => Some(IdlePermit::default()),
            Self::S3(writer) => writer.try_idle(),
        }
    }

    /// Bytes received so far, durable or not.
    pub fn written(&self) -> u64 {
        match self {
            Self::Folder(writer) => writer.written(),
            Self::S3(writer) => writer.written(),
        }
    }

    /// Durable bytes from the start: synced, or in parts that the store has acknowledged.
    pub fn synced(&self) -> u64 {
        match self {
            Self::Folder(writer) => writer.synced(),
            Self::S3(writer) => writer.synced(),
        }
    }

    /// Completes the object: syncs the rest and gives the object its name. Returns its length.
    ///
    /// Errors: `AlreadyThere` when the key was taken meanwhile; the other object stays. A cancelled call
    /// may still complete the object.
    pub async fn finish(self) -> Result<u64> {
        match self {
            Self::Folder(writer) => writer.finish().await,
            Self::S3(writer) => writer.finish().await,
        }
    }
}

/// Reads one object. Cheap to clone; any number of reads may run at once.
#[derive(Debug, Clone)]
pub enum ObjectReader {
    /// From a local folder.
    Folder(FolderReader),
    /// From a bucket.
    S3(S3Reader),
}

#[expect(clippy::len_without_is_empty, reason = "the length of an object, not of a collection")]
impl ObjectReader {
    /// The length of the object in bytes. It never changes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Folder(reader) => reader.len(),
            Self::S3(reader) => reader.len(),
        }
    }

    /// Reads one range into one buffer.
    ///
    /// Errors: `OutOfRange` unless the range is inside the object, `TooLong` above [`READ_MAX`], `Gone`.
    pub async fn read_at(&self, range: Range<u64>) -> Result<Bytes> {
        match self {
            Self::Folder(reader) => reader.read_at(range).await,
            Self::S3(reader) => reader.read_at(range).await,
        }
    }

    /// Reads several ranges, one buffer each, in the order of `ranges`.
    ///
    /// Adjacent ranges with a small gap are read together, and share their memory with the gap. Errors: as
    /// for `read_at`; the limit counts for all ranges and gaps together.
    pub async fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match self {
            Self::Folder(reader) => reader.read_many(ranges).await,
            Self::S3(reader) => reader.read_many(ranges).await,
        }
    }

    /// Streams a range of any length, in chunks of 256 KiB at most.
    ///
    /// Memory: one chunk for a folder, 8 MiB at most for a bucket, half of it for read-ahead. Errors:
    /// `OutOfRange` at once. The stream ends after its first error.
    pub fn stream(
        &self,
        range: Range<u64>,
    ) -> Result<impl Stream<Item = Result<Bytes>> + Send + Unpin + use<>> {
        match self {
            Self::Folder(reader) => reader.stream(range).map(Either::Left),
            Self::S3(reader) => reader.stream(range).map(Either::Right),
        }
    }

    /// The open file, if the object is one, for calls that send its pages to a socket (sendfile).
    ///
    /// Other readers share it: read at explicit offsets, never at its cursor.
    pub fn as_file(&self) -> Option<&File> {
        match self {
            Self::Folder(reader) => Some(reader.as_file()),
            Self::S3(_) => None,
        }
    }
}
