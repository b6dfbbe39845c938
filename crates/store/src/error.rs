//! What can go wrong, as far as a caller can act on it.

use std::error::Error as StdError;
use std::path::PathBuf;
use std::sync::Arc;

/// Why the store did not do what was asked. Absence is not an error: look-ups answer `None`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The row moved since it was read. [`Store::write`](crate::Store::write) runs the closure again by itself.
    #[error("the row was changed meanwhile")]
    Conflict,
    /// Somebody else holds the job or delivery now; nothing of this transaction was kept.
    #[error("the lease was lost")]
    LeaseLost,
    /// The database could not be had in time. Trying again later helps.
    #[error("the database is busy")]
    Busy,
    /// The disk is full; nothing of this transaction was kept.
    #[error("the disk is full")]
    Full,
    /// A name that must be unique is in use.
    #[error("this {what} is taken")]
    Taken {
        /// What is taken, `workspace name`.
        what: &'static str,
    },
    /// A newer Kinora wrote this database.
    #[error(
        "the database has schema {found} and this binary knows up to {known}; use the newer kinora that wrote it"
    )]
    SchemaTooNew {
        /// Its schema.
        found: i64,
        /// The newest this binary knows.
        known: i64,
    },
    /// An older Kinora wrote this database, and only `serve` migrates.
    #[error(
        "the database has schema {found} and this binary needs {known}; start kinora serve once to migrate it"
    )]
    SchemaOther {
        /// Its schema.
        found: i64,
        /// The one this binary needs.
        known: i64,
    },
    /// None of the keys at hand sealed this database's secrets.
    #[error(
        "the secret key does not fit this database; set KINORA_SECRET_KEY, or put back secret.key, to the key it was made with"
    )]
    WrongKey,
    /// The key file is gone and no key was given.
    #[error("{} is missing; put it back from a backup, or set KINORA_SECRET_KEY to its content", .path.display())]
    KeyMissing {
        /// Where it should be.
        path: PathBuf,
    },
    /// A key cannot be read as one.
    #[error("{place} must hold Base64 of 32 bytes, several separated by commas")]
    BadKey {
        /// Where it came from.
        place: String,
    },
    /// The store was closed, or a simulated crash has happened.
    #[error("the store is stopped")]
    Stopped,
    /// Another process serves this folder.
    #[error("another kinora serve uses {}", .path.display())]
    AlreadyServed {
        /// The folder.
        path: PathBuf,
    },
    /// The data folder, or a file in it, cannot be used.
    #[error("cannot use {}", .path.display())]
    Folder {
        /// What cannot be used.
        path: PathBuf,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// Everything a caller can do nothing about.
    #[error("the database failed")]
    Internal {
        /// What happened.
        source: Arc<dyn StdError + Send + Sync>,
    },
}

impl Error {
    /// Wraps what a caller can do nothing about.
    pub(crate) fn internal(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Internal { source: Arc::from(source.into()) }
    }

    /// Names the path that an operation of the file system failed on; a full disk is told apart.
    pub(crate) fn folder(path: &std::path::Path, source: std::io::Error) -> Self {
        if source.kind() == std::io::ErrorKind::StorageFull {
            Self::Full
        } else {
            Self::Folder { path: path.to_owned(), source: Arc::new(source) }
        }
    }
}
