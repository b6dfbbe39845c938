//! One `serve` where there is room for one.

mod database;
mod file;

use std::path::Path;

use kinora_domain::Random;

#[cfg(test)]
pub(crate) use database::STATEMENTS;

use crate::Error;
use crate::sql::postgres::Place;

/// Where a `serve` keeps its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectsPlace {
    /// In a folder, which no other machine sees.
    Folder,
    /// Where every process of the installation finds them.
    Shared,
}

/// Held by a `serve` as long as it runs. The system, or the database, gives it back when the process ends,
/// however it ends. Commands need none.
pub struct ServeLock {
    held: Held,
}

enum Held {
    File { _lock: file::FileLock },
    Database(database::DatabaseLock),
}

impl ServeLock {
    /// For a database in a folder: takes the folder, making it if needed. [`Error::AlreadyServed`] while
    /// another process, or another part of this one, holds it.
    pub fn acquire(data_dir: &Path) -> Result<Self, Error> {
        file::FileLock::acquire(data_dir).map(|lock| Self { held: Held::File { _lock: lock } })
    }

    /// For a database on PostgreSQL, which several may serve if all of them share their objects.
    /// [`Error::DatabaseServed`] while another process holds it and one of the two keeps its objects in a
    /// folder. The errors of connecting are those of [`Store::open`](crate::Store::open).
    ///
    /// The lock is a connection. When that breaks it is made again and the lock taken again; see
    /// [`ServeLock::lost`].
    pub async fn acquire_postgres(
        url: &str,
        objects: ObjectsPlace,
        random: &dyn Random,
    ) -> Result<Self, Error> {
        let place = Place::from_url(url)?;
        let lock = database::DatabaseLock::acquire(&place, objects, random).await?;
        Ok(Self { held: Held::Database(lock) })
    }

    /// Returns when somebody else has the lock now, and `serve` must end. That can happen only while the
    /// database was away; it never does for a folder.
    pub async fn lost(&self) {
        match &self.held {
            Held::File { .. } => std::future::pending().await,
            Held::Database(lock) => lock.lost().await,
        }
    }
}
