//! Where the rows are: a file of SQLite, or a database on PostgreSQL. The two arms here, in [`Session`] and
//! in [`Row`](super::Row) are all that knows the difference, with the ways to begin, to write and to watch.

use super::{Session, postgres, sqlite};
use crate::Error;

/// Makes connections.
pub(crate) enum Database {
    Sqlite(sqlite::Database),
    Postgres(postgres::Database),
}

impl Database {
    /// Where the database is, on PostgreSQL.
    pub(crate) fn place(&self) -> Option<postgres::Place> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(database) => Some(database.place().clone()),
        }
    }

    /// A connection of one's own, which may write.
    pub(crate) async fn connect(&self) -> Result<Session, Error> {
        match self {
            Self::Sqlite(database) => database.connect().await.map(Session::sqlite),
            Self::Postgres(database) => database.place().connect().await.map(Session::postgres),
        }
    }

    /// A connection for one read.
    pub(crate) async fn reader(&self) -> Result<Session, Error> {
        match self {
            Self::Sqlite(database) => database.reader().await.map(Session::sqlite),
            Self::Postgres(database) => database.reader().await.map(Session::postgres),
        }
    }

    /// A connection for several reads of one instant.
    pub(crate) async fn snapshot(&self) -> Result<Session, Error> {
        match self {
            Self::Sqlite(database) => database.snapshot().await.map(Session::sqlite),
            Self::Postgres(database) => database.snapshot().await.map(Session::postgres),
        }
    }

    /// An error of opening it, in words that name it.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match self {
            Self::Sqlite(_) => error,
            Self::Postgres(database) => database.place().explain(error),
        }
    }

    /// Waits for the reads under way and allows no more.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(database) => database.close().await,
            Self::Postgres(database) => database.close().await,
        }
    }
}
