//! What can go wrong, as far as a caller can act on it.

use std::error::Error as StdError;
use std::path::PathBuf;
use std::sync::Arc;

/// Why the store did not do what was asked. Absence is not an error: look-ups answer `None`.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The row moved since it was read. [`Store::write`](crate::Store::write) runs the closure again by
    /// itself.
    #[error("the row was changed meanwhile")]
    Conflict,
    /// Somebody else holds the job or delivery now; nothing of this transaction was kept.
    #[error("the lease was lost")]
    LeaseLost,
    /// The database could not be had in time. Trying again later helps.
    #[error("the database is busy")]
    Busy,
    /// The database is away, or so busy that it does not answer in time. Trying again later helps. If it went
    /// away during a commit, the transaction may have been kept.
    #[error("the database does not answer")]
    Unavailable {
        /// What happened.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The disk is full; nothing of this transaction was kept.
    #[error("the disk is full")]
    Full,
    /// A name that must be unique is in use.
    #[error("this {what} is taken")]
    Taken {
        /// What is taken, `workspace name`.
        what: &'static str,
    },
    /// A part of a list by a number that nobody counts up to: what is asked for is met by few media of many.
    #[error("only the first {counted} entries of this list are counted")]
    TooFar {
        /// So many are.
        counted: u64,
    },
    /// There are as many as there may be.
    #[error("there are too many {what}")]
    TooMany {
        /// Of what, `playlists`.
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
    /// A Kinora wrote this database that is too old to migrate from.
    #[error(
        "the database has schema {found}, older than {oldest}, the oldest that this version can migrate; nothing was changed; start a kinora with schema {oldest} once on it, or give this one an empty database"
    )]
    SchemaTooOld {
        /// Its schema.
        found: i64,
        /// The oldest schema that is migrated.
        oldest: i64,
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
    /// A secret was sealed with a key that is not at hand.
    #[error(
        "{what} are still sealed with an older secret key; put it back behind the first one, after a comma, in KINORA_SECRET_KEY or secret.key, and start again: they are sealed with the first one then"
    )]
    KeyNotAtHand {
        /// Whose secrets need it.
        what: &'static str,
    },
    /// The key file is gone and no key was given.
    #[error("{} is missing; put it back from a backup, or set KINORA_SECRET_KEY to its content", .path.display())]
    KeyMissing {
        /// Where it should be.
        path: PathBuf,
    },
    /// PostgreSQL has no folder to keep a key in, so it must be given.
    #[error(
        "a database on PostgreSQL needs KINORA_SECRET_KEY; make one with `openssl rand -base64 32`, and keep it as carefully as the database"
    )]
    SecretKeyRequired,
    /// The address of a database is none.
    #[error("the database URL must look like postgres://user:password@host:5432/name: {reason}")]
    BadDatabaseUrl {
        /// What is wrong with it; never holds the password.
        reason: String,
    },
    /// Nothing answers at the address of the database.
    #[error("cannot reach PostgreSQL at {server}; is it running, and may this machine connect to it")]
    DatabaseUnreachable {
        /// Host and port.
        server: String,
        /// What the system said.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The database has no connection left for us.
    #[error(
        "PostgreSQL at {server} has too many connections; raise its max_connections (or the limit of {user}), or run fewer processes"
    )]
    DatabaseCrowded {
        /// Host and port.
        server: String,
        /// Who wanted in.
        user: String,
        /// What the server said.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The database does not let us in.
    #[error("PostgreSQL at {server} does not let {user} in; check user and password of the database URL")]
    DatabaseLogin {
        /// Host and port.
        server: String,
        /// Who wanted in.
        user: String,
        /// What the server said.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The server has no such database.
    #[error(
        "PostgreSQL at {server} has no database {name}; make it with `createdb --encoding=UTF8 --owner={user} {name}`"
    )]
    DatabaseMissing {
        /// Host and port.
        server: String,
        /// Who would own it.
        user: String,
        /// Its name.
        name: String,
    },
    /// The user may not make or use tables there.
    #[error(
        "{user} may not use the database {name}; make {user} its owner: `ALTER DATABASE {name} OWNER TO {user}`"
    )]
    DatabaseForbidden {
        /// Who.
        user: String,
        /// Which database.
        name: String,
        /// What the server said.
        source: Arc<dyn StdError + Send + Sync>,
    },
    /// The server is older than what Kinora is tested with.
    #[error("PostgreSQL {found} is too old; Kinora needs {needed} or newer")]
    DatabaseTooOld {
        /// Its version.
        found: String,
        /// The oldest major version that will do.
        needed: i64,
    },
    /// The database cannot hold every text.
    #[error(
        "the database has encoding {found} and Kinora needs UTF8; make one with `createdb --encoding=UTF8 --template=template0`"
    )]
    DatabaseEncoding {
        /// Its encoding.
        found: String,
    },
    /// Another process serves this database, and one of the two keeps its objects in a folder of its own.
    #[error(
        "another kinora serve uses this database; several can share it only when all of them keep their objects in one S3 bucket"
    )]
    DatabaseServed,
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

    /// Wraps what says that the database is away.
    pub(crate) fn unavailable(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Unavailable { source: Arc::from(source.into()) }
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
