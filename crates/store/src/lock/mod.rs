//! The serve lock: one `serve` per database, or several with shared objects.

mod file;
mod postgres;

use std::path::Path;

use kinora_domain::Random;

#[cfg(test)]
pub(crate) use postgres::STATEMENTS;

use crate::Error;
use crate::sql::postgres::PgAddress;

/// The storage of the objects of a `serve`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectStorageKind {
    /// A local folder, which no other machine sees.
    Folder,
    /// A store that all processes of the installation share.
    Shared,
}

/// The lock of a `serve` as long as it runs. The operating system or the database releases it when the
/// process ends, in any way. Other commands need none.
pub struct ServeLock {
    kind: LockKind,
}

enum LockKind {
    File { _lock: file::FileLock },
    Postgres(postgres::PostgresLock),
}

impl ServeLock {
    /// Locks the folder of a database on SQLite, and creates the folder if needed. [`Error::FolderLocked`]
    /// while another process, or another part of this one, has the lock.
    pub fn acquire(data_dir: &Path) -> Result<Self, Error> {
        file::FileLock::acquire(data_dir).map(|lock| Self { kind: LockKind::File { _lock: lock } })
    }

    /// Locks a database on PostgreSQL. Several processes may serve it if all of them share their objects.
    /// [`Error::DatabaseLocked`] while another process has the lock and one of the two stores its objects
    /// in a folder. Connection errors are those of [`Store::open`](crate::Store::open).
    ///
    /// The lock is a connection. When it breaks, it is opened again and the lock is taken again; see
    /// [`ServeLock::wait_lost`].
    pub async fn acquire_postgres(
        url: &str,
        objects: ObjectStorageKind,
        random: &dyn Random,
    ) -> Result<Self, Error> {
        let address = PgAddress::from_url(url)?;
        let lock = postgres::PostgresLock::acquire(&address, objects, random).await?;
        Ok(Self { kind: LockKind::Postgres(lock) })
    }

    /// Returns when another process has the lock, and `serve` must end. That can happen only while the
    /// database was unreachable; it never happens for a folder.
    pub async fn wait_lost(&self) {
        match &self.kind {
            LockKind::File { .. } => std::future::pending().await,
            LockKind::Postgres(lock) => lock.wait_lost().await,
        }
    }
}
