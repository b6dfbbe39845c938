//! The errors of the store, as far as a caller can act on them.

use std::error::Error as StdError;
use std::path::PathBuf;
use std::sync::Arc;

/// Why an operation of the store failed. Absence is not an error: look-ups return `None`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The row changed since it was read. [`Store::write`](crate::Store::write) retries the closure by
    /// itself.
    #[error("the row was changed meanwhile")]
    Conflict,
    /// Another worker leases the job or delivery now; this transaction was rolled back.
    #[error("the lease was lost")]
    LeaseLost,
    /// The database was not free within the timeout. A later retry can succeed.
    #[error("the database is busy")]
    Busy,
    /// The database is unreachable, or too busy to respond in time. A later retry can succeed. If the
    /// connection broke during a commit, the transaction may be committed.
    #[error("the database does not respond")]
    Unavailable {
        /// The cause.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The disk is full; this transaction was rolled back.
    #[error("the disk is full")]
    Full,
    /// A name that must be unique is in use.
    #[error("this {what} is taken")]
    AlreadyExists {
        /// The kind of name, such as `workspace name`.
        what: &'static str,
    },
    /// A page number beyond the counted entries. The filters match few media out of many, so the list is
    /// not counted to its end.
    #[error("only the first {counted} entries of this list are counted")]
    PageOutOfRange {
        /// The number of counted entries.
        counted: u64,
    },
    /// A limit on the number of entries is reached.
    #[error("there are too many {what}")]
    LimitReached {
        /// The kind of entries, such as `playlists`.
        what: &'static str,
    },
    /// A newer Kinora wrote this database.
    #[error(
        "the database has schema {found} and this binary knows up to {known}; use the newer kinora that wrote it"
    )]
    SchemaTooNew {
        /// The schema of the database.
        found: i64,
        /// The newest schema that this binary supports.
        known: i64,
    },
    /// A Kinora that is too old to migrate from wrote this database.
    #[error(
        "the database has schema {found}, older than {oldest}, the oldest that this version can migrate; nothing was changed; start a kinora with schema {oldest} once on it, or give this one an empty database"
    )]
    SchemaTooOld {
        /// The schema of the database.
        found: i64,
        /// The oldest schema that can be migrated.
        oldest: i64,
    },
    /// An older Kinora wrote this database, and only `serve` migrates.
    #[error(
        "the database has schema {found} and this binary needs {known}; start kinora serve once to migrate it"
    )]
    SchemaNotMigrated {
        /// The schema of the database.
        found: i64,
        /// The schema that this binary needs.
        known: i64,
    },
    /// None of the given keys sealed the secrets of this database.
    #[error(
        "the secret key does not match this database; set KINORA_SECRET_KEY, or restore secret.key, to the key it was created with"
    )]
    WrongKey,
    /// A secret was sealed with a key that was not given.
    #[error(
        "{what} are still sealed with an older secret key; add it after the first one, separated by a comma, in KINORA_SECRET_KEY or secret.key, and start again to seal them with the first one"
    )]
    KeyUnknown {
        /// The kind of secrets that need it.
        what: &'static str,
    },
    /// The key file is gone and no key was given.
    #[error("{} is missing; restore it from a backup, or set KINORA_SECRET_KEY to its content", .path.display())]
    KeyMissing {
        /// The path of the missing file.
        path: PathBuf,
    },
    /// A database on PostgreSQL has no folder for a key file, so the key must be given.
    #[error(
        "a PostgreSQL database needs KINORA_SECRET_KEY; create one with `openssl rand -base64 32`, and back it up like the database"
    )]
    SecretKeyRequired,
    /// The database URL is invalid.
    #[error("the database URL must look like postgres://user:password@host:5432/name: {reason}")]
    BadDatabaseUrl {
        /// Why it is invalid; never contains the password.
        reason: String,
    },
    /// No server responds at the address of the database.
    #[error("cannot reach PostgreSQL at {server}; is it running, and may this machine connect to it")]
    DatabaseUnreachable {
        /// Host and port.
        server: String,
        /// The error of the operating system.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The server has no free connection.
    #[error(
        "PostgreSQL at {server} has too many connections; raise its max_connections (or the limit of {user}), or run fewer processes"
    )]
    DatabaseConnectionLimit {
        /// Host and port.
        server: String,
        /// The user that tried to connect.
        user: String,
        /// The error of the server.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The server rejected the login.
    #[error(
        "PostgreSQL at {server} rejects the login of {user}; check user and password of the database URL"
    )]
    DatabaseLogin {
        /// Host and port.
        server: String,
        /// The user that tried to connect.
        user: String,
        /// The error of the server.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The server has no such database.
    #[error(
        "PostgreSQL at {server} has no database {name}; create it with `createdb --encoding=UTF8 --owner={user} {name}`"
    )]
    DatabaseMissing {
        /// Host and port.
        server: String,
        /// The user that would own it.
        user: String,
        /// The name of the database.
        name: String,
    },
    /// The user may not create or use tables in the database.
    #[error(
        "{user} may not use the database {name}; make {user} its owner: `ALTER DATABASE {name} OWNER TO {user}`"
    )]
    DatabaseForbidden {
        /// The user.
        user: String,
        /// The database.
        name: String,
        /// The error of the server.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The server is older than the oldest version that Kinora is tested with.
    #[error("PostgreSQL {found} is too old; Kinora needs {needed} or newer")]
    DatabaseTooOld {
        /// Its version.
        found: String,
        /// The oldest supported major version.
        needed: i64,
    },
    /// The encoding of the database cannot store all texts.
    #[error(
        "the database has encoding {found} and Kinora needs UTF8; create one with `createdb --encoding=UTF8 --template=template0`"
    )]
    DatabaseEncoding {
        /// Its encoding.
        found: String,
    },
    /// Another process serves this database, and one of the two stores its objects in a local folder.
    #[error(
        "another kinora serve uses this database; several can share it only when all of them keep their objects in one S3 bucket"
    )]
    DatabaseLocked,
    /// A secret key is not valid.
    #[error("{place} must be the Base64 of 32 bytes, or several of these separated by commas")]
    BadKey {
        /// The source of the key: a variable or a file.
        place: String,
    },
    /// The store was closed, or a simulated crash has happened.
    #[error("the store is stopped")]
    Stopped,
    /// Another process serves this folder.
    #[error("another kinora serve uses {}", .path.display())]
    FolderLocked {
        /// The folder.
        path: PathBuf,
    },
    /// The data folder, or a file in it, cannot be used.
    #[error("cannot use {}", .path.display())]
    Folder {
        /// The path that cannot be used.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<std::io::Error>,
    },
    /// An error that a caller cannot act on.
    #[error("the database failed")]
    Internal {
        /// The cause.
        source: Arc<dyn StdError + Send + Sync>,
    },
}

impl Error {
    /// Wraps an error that a caller cannot act on.
    pub(crate) fn internal(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Internal { source: Arc::from(source.into()) }
    }

    /// Wraps an error which means that the database is unreachable.
    pub(crate) fn unavailable(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unavailable { source: Arc::from(source.into()) }
    }

    /// Adds the path to an error of the file system; a full disk becomes [`Error::Full`].
    pub(crate) fn folder(path: &std::path::Path, source: std::io::Error) -> Self {
        if source.kind() == std::io::ErrorKind::StorageFull {
            Self::Full
        } else {
            Self::Folder { path: path.to_owned(), source: Arc::new(source) }
        }
    }
}
