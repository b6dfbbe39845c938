//! The engine of the database: an SQLite file, or a database on PostgreSQL. Only this file, [`Session`],
//! [`Row`](super::Row) and the code to start, write and watch know the difference.

use super::{Session, postgres, sqlite};
use crate::Error;

/// Opens connections.
pub(crate) enum Database {
    Sqlite(sqlite::Database),
    Postgres(postgres::Database),
}

impl Database {
    /// The connection settings, on PostgreSQL.
    pub(crate) fn address(&self) -> Option<postgres::PgAddress> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(database) => Some(database.address().clone()),
        }
    }

    /// A separate connection that may write.
    pub(crate) async fn connect(&self) -> Result<Session, Error> {
        match self {
            Self::Sqlite(database) => database.connect().await.map(Session::sqlite),
            Self::Postgres(database) => database.address().connect().await.map(Session::postgres),
        }
    }

    /// A connection for one read.
    pub(crate) async fn reader(&self) -> Result<Session, Error> {
        match self {
            Self::Sqlite(database) => database.reader().await.map(Session::sqlite),
            Self::Postgres(database) => database.reader().await.map(Session::postgres),
        }
    }

    /// A connection for several reads of one snapshot.
    pub(crate) async fn snapshot(&self) -> Result<Session, Error> {
        match self {
            Self::Sqlite(database) => database.snapshot().await.map(Session::sqlite),
            Self::Postgres(database) => database.snapshot().await.map(Session::postgres),
        }
    }

    /// Names the user and the database in an error of opening it, on PostgreSQL.
    pub(crate) fn explain(&self, error: Error) -> Error {
        match self {
            Self::Sqlite(_) => error,
            Self::Postgres(database) => database.address().explain(error),
        }
    }

    /// Waits for running reads and rejects new ones.
    pub(crate) async fn close(&self) {
        match self {
            Self::Sqlite(database) => database.close().await,
            Self::Postgres(database) => database.close().await,
        }
    }
}
