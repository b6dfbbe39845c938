//! The start: checks the schema and the key, and creates the first rows of a new database.

use std::path::Path;

use kinora_domain::{DEVELOPMENT, Organisation, OrganisationId, PRODUCTION, Workspace, WorkspaceId};

use crate::keyring::{Keyring, sealing_key_id};
use crate::sql::{Session, statements, values};
use crate::{
    DatabaseLocation, Error, JobKind, NewJob, Opener, Store, StoreOptions, job, key_rotation, workspace,
};

/// Migrates a database from one schema to another. Both engines get the same tables.
struct Migration {
    /// 0: an empty database.
    from: i64,
    to: i64,
    sqlite: &'static str,
    postgres: &'static str,
}

/// All steps. A released step never changes; a new schema adds one at the end.
const STEPS: [Migration; 7] = [
    Migration {
        from: 0,
        to: 26,
        sqlite: include_str!("../migrations/sqlite/base.sql"),
        postgres: include_str!("../migrations/postgres/base.sql"),
    },
    Migration {
        from: LAST_UNRELEASED,
        to: 26,
        sqlite: include_str!("../migrations/sqlite/from_25.sql"),
        postgres: include_str!("../migrations/postgres/from_25.sql"),
    },
    Migration {
        from: 26,
        to: 27,
        sqlite: include_str!("../migrations/sqlite/from_26.sql"),
        postgres: include_str!("../migrations/postgres/from_26.sql"),
    },
    Migration {
        from: 27,
        to: 28,
        sqlite: include_str!("../migrations/sqlite/from_27.sql"),
        postgres: include_str!("../migrations/postgres/from_27.sql"),
    },
    Migration {
        from: 28,
        to: 29,
        sqlite: include_str!("../migrations/sqlite/from_28.sql"),
        postgres: include_str!("../migrations/postgres/from_28.sql"),
    },
    Migration {
        from: 29,
        to: 30,
        sqlite: include_str!("../migrations/sqlite/from_29.sql"),
        postgres: include_str!("../migrations/postgres/from_29.sql"),
    },
    Migration {
        from: 30,
        to: 31,
        sqlite: include_str!("../migrations/sqlite/from_30.sql"),
        postgres: include_str!("../migrations/postgres/from_30.sql"),
    },
];
/// The newest schema.
const NEWEST_SCHEMA: i64 = STEPS[STEPS.len() - 1].to;
/// The schema of trial installations before the first release. Older ones are rejected (D-0125).
const LAST_UNRELEASED: i64 = 25;
/// On PostgreSQL one process at a time creates or migrates a database. The two numbers are Kinora's own:
/// "kino", and 2 for this purpose. The wait ends with the transaction, or with [`Error::Busy`].
const LOCK_ON_POSTGRES: &str = "SET LOCAL lock_timeout = '60s'; SELECT pg_advisory_xact_lock(1802071663, 2)";

const ORGANISATION: &str = "Kinora";
/// The content of the canary. It can be opened only with the right key.
const CANARY: &[u8] = b"kinora";
const CANARY_OWNER: &str = "canary";

statements! {
    BEGIN = "BEGIN IMMEDIATE", postgres: "BEGIN ISOLATION LEVEL READ COMMITTED";
    COMMIT = "COMMIT";
    ROLLBACK = "ROLLBACK";
    HAS_SCHEMA = "SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'",
        postgres: "SELECT tablename AS name FROM pg_tables
            WHERE tablename = 'schema_version' AND schemaname = current_schema()";
    VERSION = "SELECT version FROM schema_version";
    WORKSPACES = "SELECT id FROM workspace";
    READY = "SELECT id, source_id FROM media WHERE workspace_id = $1 AND state = 'Ready'";
    SET_VERSION = "UPDATE schema_version SET version = $1";
    CANARY_READ = "SELECT value FROM setting WHERE key = 'canary'";
    CANARY_WRITE = "INSERT INTO setting (key, value) VALUES ('canary', $1)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    CANARY_RESEAL = "UPDATE setting SET value = $1 WHERE key = 'canary' AND value = $2";
}

impl Store {
    /// The schema of the database. No store opens with another one.
    pub fn schema(&self) -> i64 {
        NEWEST_SCHEMA
    }
}

/// Prepares the database for the opener, and returns its keys.
pub(crate) async fn prepare(session: &mut Session, options: &StoreOptions) -> Result<Keyring, Error> {
    if must_migrate(version(session).await?, LAST_UNRELEASED, NEWEST_SCHEMA, options.opener)? {
        transaction(session, async |session| migrate(session, options).await).await?;
    }
    let keyring = match &options.secret_keys {
        Some(text) => Keyring::from_text(text, "KINORA_SECRET_KEY")?,
        None => Keyring::from_folder(key_folder(options)?)?,
    };
    let canary = canary(session).await?;
    if keyring.open(&canary, CANARY_OWNER)? != CANARY {
        return Err(Error::WrongKey);
    }
    if options.opener == Opener::Server {
        // In spite of the canary: another process may have sealed with its own first key since this one
        // started.
        key_rotation::rotate_keys(session, &keyring, options.random.as_ref()).await?;
        if sealing_key_id(&canary) != Some(keyring.first_id()) {
            let resealed = keyring.seal(CANARY, CANARY_OWNER, options.random.as_ref());
            session.execute(CANARY_RESEAL, values![resealed, canary]).await?;
        }
    }
    Ok(keyring)
}

/// Whether a database of schema `found` must be migrated to `known` first (C-42). 0: an empty one.
/// `oldest`: the lowest schema of a database with tables that can be migrated.
fn must_migrate(found: i64, oldest: i64, known: i64, opener: Opener) -> Result<bool, Error> {
    if found > known {
        Err(Error::SchemaTooNew { found, known })
    } else if found == known {
        Ok(false)
    } else if found == 0 {
        Ok(true)
    } else if found < oldest {
        Err(Error::SchemaTooOld { found, oldest })
    } else if opener == Opener::Server {
        Ok(true)
    } else {
        Err(Error::SchemaNotMigrated { found, known })
    }
}

/// Migrates the schema; a new database gets its key and its first rows in the same commit. Does nothing if
/// another process migrated since the version was read.
async fn migrate(session: &mut Session, options: &StoreOptions) -> Result<(), Error> {
    let found = version(session).await?;
    let mut reached = found;
    while let Some(step) = STEPS.iter().find(|step| step.from == reached) {
        session.script(if session.is_postgres() { step.postgres } else { step.sqlite }).await?;
        session.execute(SET_VERSION, values![step.to]).await?;
        reached = step.to;
    }
    match found {
        0 => create_first_rows(session, options).await,
        LAST_UNRELEASED => enqueue_reindex(session, options).await,
        _ => Ok(()),
    }
}

/// Queues a job for each ready media: its index may have a layout that is no longer read.
async fn enqueue_reindex(session: &mut Session, options: &StoreOptions) -> Result<(), Error> {
    let (now, random) = (options.clock.now(), options.random.as_ref());
    for row in session.all(WORKSPACES, values![]).await? {
        let workspace: WorkspaceId = row.id("id")?;
        for row in session.all(READY, values![workspace]).await? {
            let kind = JobKind::Reindex { media: row.id("id")?, source: row.id("source_id")? };
            job::insert(session, &NewJob::due_now(kind, workspace, now), now, random).await?;
        }
    }
    Ok(())
}

async fn create_first_rows(session: &mut Session, options: &StoreOptions) -> Result<(), Error> {
    let (now, random) = (options.clock.now(), options.random.as_ref());
    let keyring = first_keyring(options)?;
    let sealed = keyring.seal(CANARY, CANARY_OWNER, random);
    session.execute(CANARY_WRITE, values![sealed]).await?;

    let organisation =
        Organisation { id: OrganisationId::new(now, random), name: ORGANISATION.into(), created_at: now };
    workspace::insert_organisation(session, &organisation).await?;
    for name in [DEVELOPMENT, PRODUCTION] {
        let first = Workspace {
            id: WorkspaceId::new(now, random),
            organisation: organisation.id,
            name: name.into(),
            created_at: now,
        };
        workspace::insert(session, &first).await?;
    }
    Ok(())
}

fn first_keyring(options: &StoreOptions) -> Result<Keyring, Error> {
    match &options.secret_keys {
        Some(text) => Keyring::from_text(text, "KINORA_SECRET_KEY"),
        None => Keyring::from_folder_or_new(key_folder(options)?, options.random.as_ref()),
    }
}

/// The folder of the key file.
fn key_folder(options: &StoreOptions) -> Result<&Path, Error> {
    match &options.database {
        DatabaseLocation::Folder(data_dir) => Ok(data_dir),
        DatabaseLocation::Postgres { .. } => Err(Error::SecretKeyRequired),
    }
}

/// The schema version; 0 for an empty database.
async fn version(session: &mut Session) -> Result<i64, Error> {
    if session.first(HAS_SCHEMA, values![]).await?.is_none() {
        return Ok(0);
    }
    match session.first(VERSION, values![]).await? {
        Some(row) => row.int("version"),
        None => Ok(0),
    }
}

async fn canary(session: &mut Session) -> Result<String, Error> {
    match session.first(CANARY_READ, values![]).await? {
        Some(row) => row.text("value"),
        None => Err(Error::WrongKey),
    }
}

async fn transaction(
    session: &mut Session,
    work: impl AsyncFnOnce(&mut Session) -> Result<(), Error>,
) -> Result<(), Error> {
    session.execute(BEGIN, values![]).await?;
    match run_locked(session, work).await {
        Ok(()) => session.execute(COMMIT, values![]).await.map(drop),
        Err(error) => {
            // Return the first error.
            let _ = session.execute(ROLLBACK, values![]).await;
            Err(error)
        }
    }
}

/// Prevents concurrent creation and migration; on SQLite `BEGIN` has taken the lock already.
async fn run_locked(
    session: &mut Session,
    work: impl AsyncFnOnce(&mut Session) -> Result<(), Error>,
) -> Result<(), Error> {
    if session.is_postgres() {
        session.script(LOCK_ON_POSTGRES).await?;
    }
    work(session).await
}

/// Creates a database with the tables of `script` and the first rows, for tests of a step from that schema.
#[cfg(test)]
pub(crate) async fn begin_with(
    session: &mut Session,
    options: &StoreOptions,
    script: &'static str,
) -> Result<(), Error> {
    session.script(script).await?;
    create_first_rows(session, options).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_serve_migrates_and_only_schemas_in_reach() {
        let check = |found, opener, answer: Result<bool, &str>| {
            let found = must_migrate(found, 3, 4, opener);
            assert_eq!(found.map_err(|error| error.to_string()), answer.map_err(str::to_owned));
        };
        let too_old = "the database has schema 2, older than 3, the oldest that this version can migrate; \
            nothing was changed; start a kinora with schema 3 once on it, or give this one an empty database";
        let older =
            "the database has schema 3 and this binary needs 4; start kinora serve once to migrate it";
        let newer =
            "the database has schema 5 and this binary knows up to 4; use the newer kinora that wrote it";
        for opener in [Opener::Server, Opener::Command] {
            check(0, opener, Ok(true));
            check(2, opener, Err(too_old));
            check(4, opener, Ok(false));
            check(5, opener, Err(newer));
        }
        check(3, Opener::Server, Ok(true));
        check(3, Opener::Command, Err(older));
    }

    #[test]
    fn migration_steps_chain_to_the_newest_schema() {
        for step in &STEPS {
            assert!(step.from < step.to);
            let has_next = STEPS.iter().any(|next| next.from == step.to);
            assert!(has_next || step.to == NEWEST_SCHEMA, "schema {} leads nowhere", step.to);
        }
    }
}
