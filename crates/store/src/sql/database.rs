//! Where the rows are: a file of SQLite. A second engine is a second arm, here, in [`Session`] and in [`Row`](super::Row).

use std::path::PathBuf;

use super::{Session, sqlite};
use crate::Error;

/// Makes connections.
pub(crate) enum Database {
    Sqlite(sqlite::Database),
}

impl Database {
    /// A file, which must exist; an empty one will do.
    pub(crate) fn sqlite(file: PathBuf) -> Self {
        Self::Sqlite(sqlite::Database::new(file))
    }

    /// A connection of one's own, which may write.
    pub(crate) async fn connect(&self) -> Result<Session, Error> {
        match self {
            Self::Sqlite(database) => database.connect().await.map(Session::sqlite),
        }
    }

    /// A connection for one read.
    pub(crate) async fn reader(&self) -> Result<Session, Error> {
        match self {
            Self::Sqlite(database) => database.reader().await.map(Session::sqlite),
        }
    }

    /// A connection for several reads of one instant.
    pub(crate) async fn snapshot(&self) -> Result<Session, Error> {
        match self {
            Self::Sqlite(database) => database.snapshot().await.map(Session::sqlite),
        }
    }

    /// Waits for the reads under way and allows no more.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(database) => database.close().await,
        }
    }
}
