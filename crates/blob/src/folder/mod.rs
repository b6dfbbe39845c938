//! Objects as files in a folder.
//!
//! A key is a path below the root. Bytes are written to a file in `temporary/` first. Then the file is
//! synced and renamed to its path, and the folder of that path is synced. A growing source has its own file
//! in `growing/`. Look-ups use a bounded cache of open files.

mod append;
mod grow;
mod list;
mod lock;
mod read;
mod temporary;
mod write;

use std::borrow::Borrow;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use self::temporary::Temporary;
use crate::{DiskSpace, Entry, Error, Faults, ObjectKey, Prefix, PutOutcome, Result, WriteKind};

pub use self::read::FolderReader;
pub use self::write::FolderWriter;

/// The most files that stay open for the next reader.
///
/// A quarter of the 1024 descriptors that Linux gives a process by default; sockets need the rest.
const OPEN_FILES_MAX: u64 = 256;

/// The most tries to name a file whose folder vanished meanwhile, because its last object was deleted.
const NAMING_TRIES: usize = 16;

/// The folder of temporary files, which have not been renamed yet. No key begins like this.
const TEMPORARY: &str = "temporary";

/// A store in a local folder. A clone is another handle to the same store.
#[derive(Debug, Clone)]
pub struct FolderStore {
    shared: Arc<Shared>,
    faults: Option<Arc<Faults>>,
}

#[derive(Debug)]
struct Shared {
    root: PathBuf,
    open_files: Cache<ObjectKey, Arc<OpenFile>>,
    /// Locked for writing from the creation of a folder to the sync of its parent, and for reading while a
    /// file is named. So no file is created in a folder that a power cut could still remove.
    folders: RwLock<()>,
    /// Numbers the temporary files of this process.
    temporary_count: AtomicU64,
}

/// An object that is open for reading.
#[derive(Debug)]
struct OpenFile {
    file: File,
    len: u64,
}

impl Borrow<File> for OpenFile {
    fn borrow(&self) -> &File {
        &self.file
    }
}

impl FolderStore {
    pub(crate) async fn open(root: PathBuf) -> Result<Self> {
        let open_files =
            Cache::builder().max_capacity(OPEN_FILES_MAX).eviction_policy(EvictionPolicy::lru()).build();
        let temporary_count = AtomicU64::new(0);
        let shared = Arc::new(Shared { root, open_files, folders: RwLock::new(()), temporary_count });
        let store = Self { shared, faults: None };
        store
            .blocking("open the folder of objects", |shared| shared.make_folder(&shared.temporary()))
            .await?;
        Ok(store)
    }

    pub(crate) fn with_faults(self, faults: Arc<Faults>) -> Self {
        Self { faults: Some(faults), ..self }
    }

    pub(crate) async fn put_once(&self, key: ObjectKey, bytes: Bytes) -> Result<PutOutcome> {
        self.inject_write_fault(WriteKind::Put, key)?;
        self.blocking("write an object", move |shared| {
            if shared.path(key).try_exists()? {
                shared.sync_folder_of(key)?;
                return Ok(PutOutcome::AlreadyThere);
            }
            let temporary = Temporary::create(shared)?;
            append::write_all(temporary.file(), &[bytes])?;
            shared.sync_and_rename(temporary, key)
        })
        .await
    }

    pub(crate) async fn writer(&self, key: ObjectKey) -> Result<FolderWriter> {
        self.inject_write_fault(WriteKind::Create, key)?;
        let temporary = self
            .blocking("begin an object", move |shared| {
                // Now, while the bytes are still arriving, and not at the end, when a caller waits.
                shared.make_folder(shared.folder(&shared.path(key)))?;
                Temporary::create(shared)
            })
            .await?;
        Ok(FolderWriter::new(self.clone(), key, temporary))
    }

    pub(crate) async fn reader(&self, key: ObjectKey) -> Result<Option<FolderReader>> {
        self.inject_read_fault()?;
        if let Some(open) = self.shared.open_files.get(&key) {
            return Ok(Some(FolderReader::new(open, self.faults.clone())));
        }
        let open = self.blocking("open an object", move |shared| shared.open_file(key)).await?;
        Ok(open.map(|open| FolderReader::new(open, self.faults.clone())))
    }

    pub(crate) async fn delete(&self, key: ObjectKey) -> Result<()> {
        self.inject_write_fault(WriteKind::Delete, key)?;
        self.blocking("delete an object", move |shared| {
            let path = shared.path(key);
            let removed = absent_as_none(fs::remove_file(&path))?.is_some();
            // An open file would keep its bytes on the disk. The cache drops it when it runs its pending
            // work.
            shared.open_files.invalidate(&key);
            shared.open_files.run_pending_tasks();
            if removed && is_in_folder_of_its_own(key) {
                // The folder goes with its last object. The call fails while there are others.
                let _ = fs::remove_dir(shared.folder(&path));
            }
            Ok(())
        })
        .await
    }

    pub(crate) async fn list(
        &self,
        prefix: Prefix,
        after: Option<ObjectKey>,
        limit: usize,
    ) -> Result<Vec<Entry>> {
        self.inject_read_fault()?;
        self.blocking("list objects", move |shared| list::page(&shared.root, prefix, after, limit)).await
    }

    pub(crate) async fn ping(&self) -> Result<()> {
        self.inject_read_fault()?;
        self.blocking("use the folder of objects", |shared| {
            fs::read_dir(&shared.root)?;
            Temporary::create(shared).map(drop)
        })
        .await
    }

    pub(crate) async fn disk_space(&self) -> Result<DiskSpace> {
        self.inject_read_fault()?;
        self.blocking("ask for the free space", |shared| {
            let volume = rustix::fs::statvfs(&shared.root)?;
            Ok(DiskSpace {
                // Space that all users may use, without the blocks reserved for root.
                free_bytes: volume.f_bavail.saturating_mul(volume.f_frsize),
                total_bytes: volume.f_blocks.saturating_mul(volume.f_frsize),
            })
        })
        .await
    }

    pub(crate) async fn sweep_temporary(&self) -> Result<u64> {
        self.inject_read_fault()?;
        self.blocking("sweep temporary files", |shared| {
            let swept = temporary::sweep(&shared.temporary())?;
            // A killed process may have created folders and names without a sync.
            rustix::fs::syncfs(File::open(&shared.root)?)?;
            Ok(swept)
        })
        .await
    }

    fn inject_read_fault(&self) -> Result<()> {
        self.faults.as_ref().map_or(Ok(()), |faults| faults.inject_read_fault())
    }

    fn inject_write_fault(&self, kind: WriteKind, key: ObjectKey) -> Result<()> {
        self.faults.as_ref().map_or(Ok(()), |faults| faults.inject_write_fault(kind, key))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        action: &'static str,
        work: impl FnOnce(&Arc<Shared>) -> io::Result<T> + Send + 'static,
    ) -> Result<T> {
        let shared = Arc::clone(&self.shared);
        blocking(action, move || work(&shared)).await
    }
}

impl Shared {
    fn path(&self, key: ObjectKey) -> PathBuf {
        self.root.join(key.to_string())
    }

    fn temporary(&self) -> PathBuf {
        self.root.join(TEMPORARY)
    }

    /// The parent folder of `path`.
    fn folder<'a>(&'a self, path: &'a Path) -> &'a Path {
        path.parent().unwrap_or(&self.root)
    }

    fn open_file(&self, key: ObjectKey) -> io::Result<Option<Arc<OpenFile>>> {
        let Some(file) = absent_as_none(File::open(self.path(key)))? else { return Ok(None) };
        let len = file.metadata()?.len();
        let open = Arc::new(OpenFile { file, len });
        self.open_files.insert(key, Arc::clone(&open));
        if open.file.metadata()?.nlink() == 0 {
            // Deleted between the opening and the cache insertion, so its invalidation came too early.
            self.open_files.invalidate(&key);
            return Ok(None);
        }
        Ok(Some(open))
    }

    /// Syncs a temporary file and renames it to the path of its key, unless another file is there.
    fn sync_and_rename(&self, mut temporary: Temporary, key: ObjectKey) -> io::Result<PutOutcome> {
        temporary.file().sync_data()?;
        self.rename_to(key, |path| temporary.rename(path))
    }

    /// Moves a synced file to the path of its key by `rename`, unless another file is there.
    fn rename_to(
        &self,
        key: ObjectKey,
        mut rename: impl FnMut(&Path) -> io::Result<()>,
    ) -> io::Result<PutOutcome> {
        let path = self.path(key);
        let mut tries = 0;
        let outcome = loop {
            let renamed = {
                let _no_folder_is_half_made = self.folders.read().unwrap_or_else(PoisonError::into_inner);
                rename(&path)
            };
            tries += 1;
            match renamed {
                Ok(()) => break PutOutcome::Written,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => break PutOutcome::AlreadyThere,
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < NAMING_TRIES => {
                    self.make_folder(self.folder(&path))?;
                }
                Err(error) => return Err(error),
            }
        };
        // Also for the second writer: the first one may not have synced the name yet.
        self.sync_folder_of(key)?;
        Ok(outcome)
    }

    fn sync_folder_of(&self, key: ObjectKey) -> io::Result<()> {
        // No folder: the object was deleted meanwhile, and its folder with it.
        absent_as_none(sync_folder(self.folder(&self.path(key)))).map(|_| ())
    }

    /// Creates a folder and its parents. An existing folder is no error.
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        let _alone = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        let missing: Vec<&Path> = folder.ancestors().take_while(|ancestor| !ancestor.is_dir()).collect();
        for folder in missing.into_iter().rev() {
            match DirBuilder::new().mode(0o700).create(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => sync_folder(self.folder(folder))?,
            }
        }
        Ok(())
    }
}

/// Whether objects of this kind have one folder per rendition, source or check.
fn is_in_folder_of_its_own(key: ObjectKey) -> bool {
    matches!(
        key,
        ObjectKey::Segment(..)
            | ObjectKey::Image(..)
            | ObjectKey::Piece(..)
            | ObjectKey::Checkpoint(..)
            | ObjectKey::Check(..)
    )
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn absent_as_none<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Runs blocking work on a separate thread.
async fn blocking<T: Send + 'static>(
    action: &'static str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    task_result(action, tokio::task::spawn_blocking(work).await)
}

/// The result of a task on another thread.
fn task_result<T>(
    action: &'static str,
    joined: std::result::Result<io::Result<T>, tokio::task::JoinError>,
) -> Result<T> {
    match joined {
        Ok(done) => done.map_err(|source| Error::from_io(action, source)),
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Error::Stopped), // the runtime is going down
        },
    }
}
