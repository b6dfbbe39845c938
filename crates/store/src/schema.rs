//! The start: is this our schema, our key; and what a new database begins with.

use std::path::Path;

use kinora_domain::{DEVELOPMENT, Organisation, OrganisationId, PRODUCTION, Workspace, WorkspaceId};

use crate::keyring::{Keyring, sealed_by};
use crate::sql::{Session, statements, values};
use crate::{DatabasePlace, Error, Opener, StoreOptions, media, reseal, workspace};

/// Brings the schema from the version before to its own.
struct Migration {
    version: i64,
    sqlite: &'static str,
    postgres: &'static str,
}

/// The same tables on both engines. Landed ones are never changed.
const MIGRATIONS: [Migration; 25] = [
    Migration {
        version: 1,
        sqlite: include_str!("../migrations/sqlite/0001_base.sql"),
        postgres: include_str!("../migrations/postgres/0001_base.sql"),
    },
    Migration {
        version: 2,
        sqlite: include_str!("../migrations/sqlite/0002_job_work.sql"),
        postgres: include_str!("../migrations/postgres/0002_job_work.sql"),
    },
    Migration {
        version: 3,
        sqlite: include_str!("../migrations/sqlite/0003_rendition.sql"),
        postgres: include_str!("../migrations/postgres/0003_rendition.sql"),
    },
    Migration {
        version: 4,
        sqlite: include_str!("../migrations/sqlite/0004_playback_report.sql"),
        postgres: include_str!("../migrations/postgres/0004_playback_report.sql"),
    },
    Migration {
        version: 5,
        sqlite: include_str!("../migrations/sqlite/0005_encoded_sound.sql"),
        postgres: include_str!("../migrations/postgres/0005_encoded_sound.sql"),
    },
    Migration {
        version: 6,
        sqlite: include_str!("../migrations/sqlite/0006_upload.sql"),
        postgres: include_str!("../migrations/postgres/0006_upload.sql"),
    },
    Migration {
        version: 7,
        sqlite: include_str!("../migrations/sqlite/0007_signing_key.sql"),
        postgres: include_str!("../migrations/postgres/0007_signing_key.sql"),
    },
    Migration {
        version: 8,
        sqlite: include_str!("../migrations/sqlite/0008_playback_resolution.sql"),
        postgres: include_str!("../migrations/postgres/0008_playback_resolution.sql"),
    },
    Migration {
        version: LIST,
        sqlite: include_str!("../migrations/sqlite/0009_list.sql"),
        postgres: include_str!("../migrations/postgres/0009_list.sql"),
    },
    Migration {
        version: 10,
        sqlite: include_str!("../migrations/sqlite/0010_kept_answer.sql"),
        postgres: include_str!("../migrations/postgres/0010_kept_answer.sql"),
    },
    Migration {
        version: 11,
        sqlite: include_str!("../migrations/sqlite/0011_playlist.sql"),
        postgres: include_str!("../migrations/postgres/0011_playlist.sql"),
    },
    Migration {
        version: 12,
        sqlite: include_str!("../migrations/sqlite/0012_mp4_support.sql"),
        postgres: include_str!("../migrations/postgres/0012_mp4_support.sql"),
    },
    Migration {
        version: 13,
        sqlite: include_str!("../migrations/sqlite/0013_added_track.sql"),
        postgres: include_str!("../migrations/postgres/0013_added_track.sql"),
    },
    Migration {
        version: 14,
        sqlite: include_str!("../migrations/sqlite/0014_added_sound.sql"),
        postgres: include_str!("../migrations/postgres/0014_added_sound.sql"),
    },
    Migration {
        version: 15,
        sqlite: include_str!("../migrations/sqlite/0015_sound_edit.sql"),
        postgres: include_str!("../migrations/postgres/0015_sound_edit.sql"),
    },
    Migration {
        version: 16,
        sqlite: include_str!("../migrations/sqlite/0016_thumbnail.sql"),
        postgres: include_str!("../migrations/postgres/0016_thumbnail.sql"),
    },
    Migration {
        version: 17,
        sqlite: include_str!("../migrations/sqlite/0017_playback_policy.sql"),
        postgres: include_str!("../migrations/postgres/0017_playback_policy.sql"),
    },
    Migration {
        version: 18,
        sqlite: include_str!("../migrations/sqlite/0018_encryption.sql"),
        postgres: include_str!("../migrations/postgres/0018_encryption.sql"),
    },
    Migration {
        version: 19,
        sqlite: include_str!("../migrations/sqlite/0019_usage.sql"),
        postgres: include_str!("../migrations/postgres/0019_usage.sql"),
    },
    Migration {
        version: 20,
        sqlite: include_str!("../migrations/sqlite/0020_keys.sql"),
        postgres: include_str!("../migrations/postgres/0020_keys.sql"),
    },
    Migration {
        version: 21,
        sqlite: include_str!("../migrations/sqlite/0021_blur_hash.sql"),
        postgres: include_str!("../migrations/postgres/0021_blur_hash.sql"),
    },
    Migration {
        version: 22,
        sqlite: include_str!("../migrations/sqlite/0022_event_order.sql"),
        postgres: include_str!("../migrations/postgres/0022_event_order.sql"),
    },
    Migration {
        version: 23,
        sqlite: include_str!("../migrations/sqlite/0023_job_workspace.sql"),
        postgres: include_str!("../migrations/postgres/0023_job_workspace.sql"),
    },
    Migration {
        version: 24,
        sqlite: include_str!("../migrations/sqlite/0024_delivery_indexes.sql"),
        postgres: include_str!("../migrations/postgres/0024_delivery_indexes.sql"),
    },
    Migration {
        version: 25,
        sqlite: include_str!("../migrations/sqlite/0025_left_out.sql"),
        postgres: include_str!("../migrations/postgres/0025_left_out.sql"),
    },
];
/// What media are looked for by has rows of its own since this one.
const LIST: i64 = 9;
/// The newest schema.
const KNOWN: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;
/// On PostgreSQL: one process at a time begins or migrates a database. The two numbers are Kinora's own:
/// "kino", and 2 for this purpose. The wait ends with the transaction, or with [`Error::Busy`].
const LOCK_ON_POSTGRES: &str = "SET LOCAL lock_timeout = '60s'; SELECT pg_advisory_xact_lock(1802071663, 2)";

const ORGANISATION: &str = "Kinora";
/// What the canary says once it is opened: that the key fits.
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
    SET_VERSION = "UPDATE schema_version SET version = $1";
    CANARY_READ = "SELECT value FROM setting WHERE key = 'canary'";
    CANARY_WRITE = "INSERT INTO setting (key, value) VALUES ('canary', $1)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    CANARY_AGAIN = "UPDATE setting SET value = $1 WHERE key = 'canary' AND value = $2";
}

/// Makes the database ready for whoever opens it, and returns the keys that fit it.
pub(crate) async fn prepare(session: &mut Session, options: &StoreOptions) -> Result<Keyring, Error> {
    if must_migrate(version(session).await?, KNOWN, options.opener)? {
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
        // Whatever the canary says: another process may have sealed with its own first key after this one had
        // begun.
        reseal::reseal(session, &keyring, options.random.as_ref()).await?;
        if sealed_by(&canary) != Some(keyring.first_id()) {
            let again = keyring.seal(CANARY, CANARY_OWNER, options.random.as_ref());
            session.execute(CANARY_AGAIN, values![again, canary]).await?;
        }
    }
    Ok(keyring)
}

/// Whether a database of schema `found` is to be migrated to `known` first (contract decision 42). 0 is an
/// empty one.
fn must_migrate(found: i64, known: i64, opener: Opener) -> Result<bool, Error> {
    if found > known {
        Err(Error::SchemaTooNew { found, known })
    } else if found == known {
        Ok(false)
    } else if found == 0 || opener == Opener::Server {
        Ok(true)
    } else {
        Err(Error::SchemaOther { found, known })
    }
}

/// Brings the schema up to date; a new database gets its key and its first rows in the same commit. Others
/// may have done so since the version was looked at, then this does nothing.
async fn migrate(session: &mut Session, options: &StoreOptions) -> Result<(), Error> {
    let found = version(session).await?;
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > found) {
        session.script(if session.is_postgres() { migration.postgres } else { migration.sqlite }).await?;
        session.execute(SET_VERSION, values![migration.version]).await?;
    }
    if (1..LIST).contains(&found) {
        media::fill(session).await?;
    }
    if found == 0 { first_start(session, options).await } else { Ok(()) }
}

async fn first_start(session: &mut Session, options: &StoreOptions) -> Result<(), Error> {
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

/// Where the key file lies.
fn key_folder(options: &StoreOptions) -> Result<&Path, Error> {
    match &options.database {
        DatabasePlace::Folder(data_dir) => Ok(data_dir),
        DatabasePlace::Postgres { .. } => Err(Error::SecretKeyRequired),
    }
}

/// 0 for an empty database.
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
    match locked(session, work).await {
        Ok(()) => session.execute(COMMIT, values![]).await.map(drop),
        Err(error) => {
            // The first error is the one to tell.
            let _ = session.execute(ROLLBACK, values![]).await;
            Err(error)
        }
    }
}

/// Nobody else begins or migrates meanwhile; the `BEGIN` of SQLite has seen to that already.
async fn locked(
    session: &mut Session,
    work: impl AsyncFnOnce(&mut Session) -> Result<(), Error>,
) -> Result<(), Error> {
    if session.is_postgres() {
        session.script(LOCK_ON_POSTGRES).await?;
    }
    work(session).await
}

/// A new database as it was at an older version, for tests of what came later.
#[cfg(test)]
pub(crate) async fn begin_at(
    session: &mut Session,
    options: &StoreOptions,
    version: i64,
) -> Result<(), Error> {
    for migration in MIGRATIONS.iter().filter(|migration| migration.version <= version) {
        session.script(if session.is_postgres() { migration.postgres } else { migration.sqlite }).await?;
    }
    session.execute(SET_VERSION, values![version]).await?;
    first_start(session, options).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_server_migrates_what_is_there_and_nobody_a_newer_one() {
        let check = |found, opener, answer: Result<bool, &str>| {
            let found = must_migrate(found, 3, opener);
            assert_eq!(found.map_err(|error| error.to_string()), answer.map_err(str::to_owned));
        };
        let older =
            "the database has schema 2 and this binary needs 3; start kinora serve once to migrate it";
        let newer =
            "the database has schema 4 and this binary knows up to 3; use the newer kinora that wrote it";
        check(0, Opener::Server, Ok(true));
        check(0, Opener::Command, Ok(true));
        check(2, Opener::Server, Ok(true));
        check(2, Opener::Command, Err(older));
        check(3, Opener::Server, Ok(false));
        check(3, Opener::Command, Ok(false));
        check(4, Opener::Server, Err(newer));
        check(4, Opener::Command, Err(newer));
    }
}
