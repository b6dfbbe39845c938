//! The database, object store and folder of a test: the only module that knows both pairs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kinora_blob::{Blob, ObjectKey};
use kinora_domain::Clock;
use kinora_server::SystemRandom;
use kinora_store::{DatabaseLocation, ObjectStorageKind, Opener, ServeLock, StoreOptions};
use kinora_testkit::S3Bucket;
use kinora_testkit::postgres::TestDatabase;
use tempfile::TempDir;

/// Selects the pair of a test run; see [`Pair`].
const VARIABLE: &str = "KINORA_TEST_ON";
/// A key that is used nowhere else: Base64 of 32 bytes.
pub(crate) const SECRET_KEY: &str = "dGVzdHMgb2Yga2lub3JhIGFuZCBub2JvZHkgZWxzZSE=";

/// A pair of database and object store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pair {
    /// `sqlite+folder`, the default.
    SqliteAndFolder,
    /// `postgres+s3`, which `cargo xtask servers` starts.
    PostgresAndS3,
}

impl Pair {
    /// The pair of this run.
    pub(crate) fn chosen() -> Self {
        match std::env::var(VARIABLE).as_deref() {
            Err(_) | Ok("sqlite+folder") => Self::SqliteAndFolder,
            Ok("postgres+s3") => Self::PostgresAndS3,
            Ok(other) => panic!("{VARIABLE} is sqlite+folder or postgres+s3, not {other}"),
        }
    }
}

/// A database and an object store for one test, and a working folder.
///
/// Clones share them; dropping the last one removes them.
#[derive(Clone)]
pub(crate) struct Ground(Arc<Parts>);

struct Parts {
    folder: TempDir,
    /// `None`: both are in the folder.
    shared: Option<Shared>,
}

struct Shared {
    database: TestDatabase,
    bucket: S3Bucket,
}

impl Ground {
    /// Creates the pair of this run.
    pub(crate) async fn new() -> Self {
        let shared = match Pair::chosen() {
            Pair::SqliteAndFolder => None,
            Pair::PostgresAndS3 => {
                Some(Shared { database: TestDatabase::create(), bucket: S3Bucket::create() })
            }
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self(Arc::new(Parts { folder, shared }))
    }

    /// The working folder of commands.
    pub(crate) fn folder(&self) -> &Path {
        self.0.folder.path()
    }

    /// The data folder. It does not exist when database and object store are elsewhere.
    pub(crate) fn data_dir(&self) -> PathBuf {
        self.folder().join("data")
    }

    /// Whether several processes may serve the same data: on PostgreSQL with S3.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.shared.is_some()
    }

    /// The PostgreSQL database. Panics on the other pair: such a test belongs in `cluster`.
    pub(crate) fn database(&self) -> &TestDatabase {
        &self.shared().database
    }

    /// The bucket. Panics on the other pair: such a test belongs in `cluster`.
    pub(crate) fn bucket(&self) -> &S3Bucket {
        &self.shared().bucket
    }

    fn shared(&self) -> &Shared {
        self.0
            .shared
            .as_ref()
            .expect("this test is about PostgreSQL and S3: run it with KINORA_TEST_ON=postgres+s3")
    }

    /// The options of the database, without faults.
    pub(crate) fn store_options(&self, opener: Opener, clock: &Arc<dyn Clock>) -> StoreOptions {
        let (database, secret_keys) = match &self.0.shared {
            None => (DatabaseLocation::Folder(self.data_dir()), None),
            Some(shared) => {
                (DatabaseLocation::Postgres { url: shared.database.url() }, Some(SECRET_KEY.to_owned()))
            }
        };
        let (clock, random) = (Arc::clone(clock), Arc::new(SystemRandom));
        StoreOptions { database, opener, secret_keys, clock, random, faults: None }
    }

    /// The object store, without faults.
    pub(crate) async fn blob(&self) -> Blob {
        match &self.0.shared {
            None => Blob::open_folder(&self.data_dir().join("objects")).await,
            Some(shared) => Blob::open_s3(&shared.bucket.url()),
        }
        .expect("the objects can be used")
    }

    /// Acquires the lock that `kinora serve` acquires first.
    pub(crate) async fn lock(&self) -> Result<ServeLock, kinora_store::Error> {
        match &self.0.shared {
            None => ServeLock::acquire(&self.data_dir()),
            Some(shared) => {
                let url = shared.database.url();
                ServeLock::acquire_postgres(&url, ObjectStorageKind::Shared, &SystemRandom).await
            }
        }
    }

    /// The environment variables that configure the binary for this pair.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let mut environment = vec![("KINORA_DATA_DIR", self.data_dir().display().to_string())];
        if let Some(shared) = &self.0.shared {
            environment.push(("KINORA_DATABASE_URL", shared.database.url()));
            environment.push(("KINORA_STORAGE_URL", shared.bucket.url().to_string()));
            environment.push(("KINORA_SECRET_KEY", SECRET_KEY.to_owned()));
        }
        environment
    }

    /// The paths of all objects of media, sorted, including temporary ones.
    pub(crate) async fn objects(&self) -> Vec<String> {
        let owner = ObjectKey::Owner.to_string();
        let mut found = Vec::new();
        match &self.0.shared {
            None => {
                let root = self.data_dir().join("objects");
                collect_files(&root, &root, &mut found);
            }
            Some(shared) => {
                found.extend(shared.bucket.objects());
                found.extend(shared.bucket.uploads().iter().map(|key| format!("{key} (being written)")));
            }
        }
        found.retain(|path| *path != owner);
        found.sort();
        found
    }
}

fn collect_files(root: &Path, folder: &Path, found: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.map(|entry| entry.expect("the folder can be read")) {
        let path = entry.path();
        if path.is_dir() {
            collect_files(root, &path, found);
        } else if let Ok(path) = path.strip_prefix(root) {
            found.push(path.to_string_lossy().into_owned());
        }
    }
}
