//! The store of objects as the rest of Kinora sees it. Each half behind it keeps the same promises.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::future::Either;
use kinora_domain::{Timestamp, WorkspaceId};

use crate::folder::{FolderReader, FolderStore, FolderWriter};
use crate::s3::{Parked, S3Limits, S3Reader, S3Store, S3Writer, StorageUrl};
use crate::{Faults, ObjectKey, ObjectKind, Prefix, Result};

/// The most bytes one read holds in memory; longer ranges are streamed.
///
/// 20 s, the longest group of pictures that is copied, at 100 Mbit/s are 250 MB.
pub const READ_MAX: u64 = 256 << 20;

/// What nobody has touched for so long (in seconds) belongs to nobody: longer than any attempt (24 h) plus
/// its lease.
pub const LEFTOVER_AGE_MIN_S: i64 = 25 * 60 * 60;

/// Leftovers of checks that are looked at in one sweep; the next one goes on.
const CHECK_LEFTOVERS_MAX: usize = 1000;

/// The store of objects. A clone is another handle to the same store.
#[derive(Debug, Clone)]
pub enum Blob {
    /// A folder on a local disk.
    Folder(FolderStore),
    /// A bucket of a store that speaks S3.
    S3(S3Store),
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

    /// Opens a bucket as a store. Asks nothing of it yet: a bucket that is missing or out of reach shows
    /// itself at the first use.
    ///
    /// Credentials come from the usual environment (`AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, a web
    /// identity, the role of the machine); what the address says wins over it. Any number of processes on any
    /// machines may hold one bucket. Errors: `Refused` when the environment makes no sense.
    pub fn open_s3(url: &StorageUrl) -> Result<Self> {
        Self::open_s3_with(url, S3Limits::default())
    }

    /// The same with limits of your own.
    pub fn open_s3_with(url: &StorageUrl, limits: S3Limits) -> Result<Self> {
        S3Store::open(url, limits).map(Self::S3)
    }

    /// Whether processes on other machines can hold the same store.
    pub fn is_shared(&self) -> bool {
        match self {
            Self::Folder(_) => false,
            Self::S3(_) => true,
        }
    }

    /// The same store, with every write of this handle and its clones decided by `faults`. For tests.
    #[must_use]
    pub fn with_faults(self, faults: Arc<Faults>) -> Self {
        match self {
            Self::Folder(store) => Self::Folder(store.with_faults(faults)),
            Self::S3(store) => Self::S3(store.with_faults(faults)),
        }
    }

    /// The same store, for the writes of a workspace; `None` for the server itself. What writers take of
    /// memory is shared out among workspaces.
    #[must_use]
    pub fn of_workspace(&self, workspace: Option<WorkspaceId>) -> Self {
        match self.clone() {
            Self::Folder(store) => Self::Folder(store),
            Self::S3(store) => Self::S3(store.of_workspace(workspace)),
        }
    }

    /// Writes a whole object, unless the key is taken: the first writer wins.
    ///
    /// After either outcome the object that is there outlives a power cut. May run twice.
    /// Errors: `Full`; then nothing was written.
    pub async fn put_once(&self, key: ObjectKey, bytes: Bytes) -> Result<PutOutcome> {
        match self {
            Self::Folder(store) => store.put_once(key, bytes).await,
            Self::S3(store) => store.put_once(key, bytes).await,
        }
    }

    /// Begins an object that arrives in pieces. It has no name, and cannot be read, before
    /// [`ObjectWriter::finish`].
    pub async fn writer(&self, key: ObjectKey) -> Result<ObjectWriter> {
        match self {
            Self::Folder(store) => store.writer(key).await.map(ObjectWriter::Folder),
            Self::S3(store) => store.writer(key).map(ObjectWriter::S3),
        }
    }

    /// Opens an object for reading; `None` when there is none.
    ///
    /// When the object is deleted meanwhile, a reader either goes on to read what was there (a folder) or
    /// fails with `Gone`; it never reads less, or anything else.
    pub async fn reader(&self, key: ObjectKey) -> Result<Option<ObjectReader>> {
        match self {
            Self::Folder(store) => Ok(store.reader(key).await?.map(ObjectReader::Folder)),
            Self::S3(store) => Ok(store.reader(key).await?.map(ObjectReader::S3)),
        }
    }

    /// All bytes of an object; `None` when there is none.
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

    /// Removes an object. May run twice, also when there is none: a bucket does not tell whether there was
    /// one.
    ///
    /// A power cut may bring the object back: whoever deletes does so again until no row speaks of it.
    pub async fn delete(&self, key: ObjectKey) -> Result<()> {
        match self {
            Self::Folder(store) => store.delete(key).await,
            Self::S3(store) => store.delete(key).await,
        }
    }

    /// A page of the objects below `prefix`, in the order of their names: those after `after`, `limit` at
    /// most.
    ///
    /// A page that is shorter than `limit` is the last one. Objects made or deleted between two pages may be
    /// seen or missed; all others are seen once. Reads one folder at a time, so its cost does not grow with
    /// the number of all objects.
    pub async fn list(&self, prefix: Prefix, after: Option<ObjectKey>, limit: usize) -> Result<Vec<Entry>> {
        match self {
            Self::Folder(store) => store.list(prefix, after, limit).await,
            Self::S3(store) => store.list(prefix, after, limit).await,
        }
    }

    /// Asks whether the store can be used now: is it there, and does it let us in? Nothing is answered from
    /// memory.
    ///
    /// A bucket is asked for one name; into a folder a file is made that has no name, and goes away at once.
    /// Errors: `Unavailable` and `Refused` of a bucket, also of one that does not exist; `Full` and
    /// `Internal` of a folder.
    pub async fn ping(&self) -> Result<()> {
        match self {
            Self::Folder(store) => store.ping().await,
            Self::S3(store) => store.ping().await,
        }
    }

    /// Bytes that can still be written; `None` where the store knows no end.
    pub async fn free_space(&self) -> Result<Option<u64>> {
        match self {
            Self::Folder(store) => store.free_space().await.map(Some),
            Self::S3(store) => store.before_read().map(|()| None),
        }
    }

    /// Removes what writers and checks that are no more have left behind, and answers how many pieces that
    /// were.
    ///
    /// Run it at start and now and then. Writers that are at work, also those of another process or machine,
    /// keep theirs: in a folder they hold locks; in a bucket nothing is touched that is younger than
    /// [`LEFTOVER_AGE_MIN_S`] before `now`.
    pub async fn sweep_temporary(&self, now: Timestamp) -> Result<u64> {
        let mut swept = match self {
            Self::Folder(store) => store.sweep_temporary().await?,
            Self::S3(store) => store.sweep_temporary(now).await?,
        };
        for entry in self.list(Prefix::Kind(ObjectKind::Check), None, CHECK_LEFTOVERS_MAX).await? {
            if now.micros_since(entry.modified) >= LEFTOVER_AGE_MIN_S * Timestamp::SECOND {
                self.delete(entry.key).await?;
                swept += 1;
            }
        }
        Ok(swept)
    }
}

/// Writes one object piece by piece. Dropped before `finish`, it leaves nothing.
///
/// Into a folder it holds at most 2 MiB in memory, and bytes are synced behind it every 16 MiB, so that
/// `finish` has little left to sync. Into a bucket it holds two parts at most ([`S3Limits::part_len`]), and
/// waits while all writers together hold [`S3Limits::parts_memory`]. After an error the object is lost: every
/// further call fails.
///
/// One writer a key: an object in a bucket that is longer than a part is written once because its key names
/// one attempt, not by a promise of the store.
#[derive(Debug)]
pub enum ObjectWriter {
    /// Into a local folder.
    Folder(FolderWriter),
    /// Into a bucket.
    S3(S3Writer),
}

impl ObjectWriter {
    /// Says how long the object will be, or that nobody knows; counts only before the first bytes.
    ///
    /// A bucket holds objects above 78 GiB only if they are announced. More bytes than announced are an error
    /// there.
    pub fn announce(&mut self, len: Option<u64>) {
        match self {
            Self::Folder(_) => {}
            Self::S3(writer) => writer.announce(len),
        }
    }

    /// Takes the next bytes. Waits when the disk or the store is behind.
    ///
    /// A call that was cancelled has taken its bytes.
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        match self {
            Self::Folder(writer) => writer.write(bytes).await,
            Self::S3(writer) => writer.write(bytes).await,
        }
    }

    /// Asks whether the writer may keep its memory while no bytes come, perhaps for minutes. Hold the answer
    /// until the next ones come.
    ///
    /// `None` of a bucket when such writers hold a quarter of [`S3Limits::parts_memory`], or those of one
    /// workspace most of that: then drop the writer.
    pub fn try_park(&self) -> Option<Parked> {
        match self {
            Self::Folder(_) => Some(Parked::default()),
            Self::S3(writer) => writer.try_park(),
        }
    }

    /// Bytes taken so far.
    pub fn written(&self) -> u64 {
        match self {
            Self::Folder(writer) => writer.written(),
            Self::S3(writer) => writer.written(),
        }
    }

    /// Of these, how many from the start would outlive a power cut: bytes synced, or of parts that the store
    /// has acknowledged.
    pub fn synced(&self) -> u64 {
        match self {
            Self::Folder(writer) => writer.synced(),
            Self::S3(writer) => writer.synced(),
        }
    }

    /// Makes the object: syncs the rest and gives it its name. Answers its length.
    ///
    /// Errors: `AlreadyThere` when the key was taken meanwhile; the other object stays. A call that was
    /// cancelled may still make the object.
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

    /// The bytes of one range, in one piece.
    ///
    /// Errors: `OutOfRange` unless the range lies in the object, `TooLong` above [`READ_MAX`], `Gone`.
    pub async fn read_at(&self, range: Range<u64>) -> Result<Bytes> {
        match self {
            Self::Folder(reader) => reader.read_at(range).await,
            Self::S3(reader) => reader.read_at(range).await,
        }
    }

    /// The bytes of several ranges, one piece each, in the order asked for.
    ///
    /// Neighbours with a small gap between them are read in one go, and share their memory with the gap.
    /// Errors: as for `read_at`; the limit counts for all ranges and gaps together.
    pub async fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match self {
            Self::Folder(reader) => reader.read_many(ranges).await,
            Self::S3(reader) => reader.read_many(ranges).await,
        }
    }

    /// The bytes of a range of any length, in pieces of 256 KiB at most.
    ///
    /// Of a folder one piece is in memory at a time, of a bucket 8 MiB at most: half of it is read ahead.
    /// Errors: `OutOfRange` at once. The stream ends after its first error.
    pub fn stream(
        &self,
        range: Range<u64>,
    ) -> Result<impl Stream<Item = Result<Bytes>> + Send + Unpin + use<>> {
        match self {
            Self::Folder(reader) => reader.stream(range).map(Either::Left),
            Self::S3(reader) => reader.stream(range).map(Either::Right),
        }
    }

    /// The open file, where the object is one, for calls that hand its pages to a socket.
    ///
    /// Others read through it at the same time: use positions of your own, never its cursor.
    pub fn as_file(&self) -> Option<&File> {
        match self {
            Self::Folder(reader) => Some(reader.as_file()),
            Self::S3(_) => None,
        }
    }
}
