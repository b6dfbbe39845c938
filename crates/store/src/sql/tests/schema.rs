//! Both engines have the same tables.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Row as _};

use kinora_domain::WorkspaceId;
use kinora_testkit::postgres::TestDatabase;
use kinora_testkit::schema_25;

use super::{options, postgres};
use crate::sql::{Session, sqlite, statements, values};
use crate::{DatabaseLocation, Error, Opener, Store, StoreOptions};

/// The parts of a table.
#[derive(Debug, Default, PartialEq, Eq)]
struct Table {
    /// Name, type and whether it may be absent, in order.
    columns: Vec<(String, String, bool)>,
    /// Whether it is unique, whether it is partial, and its columns.
    indexes: BTreeSet<(bool, bool, String)>,
    /// Column, referenced table and column, and the action here on a deletion there.
    references: BTreeSet<(String, String, String, String)>,
    checks: usize,
}

#[tokio::test]
async fn both_engines_have_the_same_tables() {
    let (sqlite, postgres) = (on_sqlite().await, on_postgres().await);
    assert!(sqlite.len() > 12, "{}", sqlite.len());
    assert_eq!(sqlite.keys().collect::<Vec<_>>(), postgres.keys().collect::<Vec<_>>());
    for (name, table) in &sqlite {
        assert_eq!(table, &postgres[name], "{name}");
    }
}

#[tokio::test]
async fn texts_are_compared_byte_by_byte() {
    const OTHERS: &str = "SELECT table_name || '.' || column_name AS name FROM information_schema.columns
        WHERE table_schema = current_schema() AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'";
    let database = postgres::database().await;
    let mut connection = database.connect().await;
    let others = sqlx::query(OTHERS).fetch_all(&mut connection).await.unwrap();
    let others: Vec<String> = others.iter().map(|row| row.get("name")).collect();
    assert_eq!(others, Vec::<String>::new());
}

#[tokio::test]
async fn schema_25_on_sqlite_is_migrated_with_its_rows() {
    let dir = tempfile::tempdir().unwrap();
    let options = || options(DatabaseLocation::Folder(dir.path().to_owned()));
    let file = dir.path().join("kinora.db");
    crate::private_file::create_file(&file).unwrap();
    let session = Session::sqlite(sqlite::Database::new(file.clone()).connect().await.unwrap());
    fill_schema_25(session, options(), schema_25::SQLITE).await;

    has_its_rows(options).await;
    assert_eq!(tables_of_sqlite(&file).await, on_sqlite().await);
}

#[tokio::test]
async fn schema_25_on_postgres_is_migrated_with_its_rows() {
    let database = TestDatabase::create();
    let options = || options(DatabaseLocation::Postgres { url: database.url() });
    let address = crate::sql::postgres::PgAddress::from_url(&database.url()).unwrap();
    let session = Session::postgres(address.connect_first().await.unwrap());
    fill_schema_25(session, options(), schema_25::POSTGRES).await;

    has_its_rows(options).await;
    assert_eq!(tables_of_postgres(&database).await, on_postgres().await);
}

#[tokio::test]
async fn schema_older_than_25_is_rejected_and_not_changed() {
    let dir = tempfile::tempdir().unwrap();
    let options = || options(DatabaseLocation::Folder(dir.path().to_owned()));
    let file = dir.path().join("kinora.db");
    crate::private_file::create_file(&file).unwrap();
    let mut session = Session::sqlite(sqlite::Database::new(file.clone()).connect().await.unwrap());
    session.script(schema_25::SQLITE).await.unwrap();
    session.script("UPDATE schema_version SET version = 24").await.unwrap();
    session.close().await.unwrap();
    let before = std::fs::read(&file).unwrap();
    for opener in [Opener::Server, Opener::Command] {
        let opened = Store::open(StoreOptions { opener, ..options() }).await.map(drop);
        assert!(matches!(opened, Err(Error::SchemaTooOld { found: 24, oldest: 25 })), "{opened:?}");
    }
    assert_eq!(std::fs::read(&file).unwrap(), before);
}

/// The media of [`fill_schema_25`], and its source and its playback ID.
const MEDIA: &str = "019a492c-41f3-7001-8203-040506070809";
const SOURCE: &str = "019a492c-41f3-7001-8203-04050607080a";
const PLAYBACK: &str = "019a492c-41f3-7001-8203-04050607080b";
const RENDITION: &str = "019a492c-41f3-7001-8203-04050607080c";

const RESTRICTIONS: &str = r#"{"domains":{"default":"allow","allow":[],"deny":[]},"user_agents":{"default":"allow","allow":[],"deny":[]}}"#;

statements! {
    WORKSPACE = "SELECT id FROM workspace WHERE name = 'Development'";
    ADD_MEDIA = "INSERT INTO media (id, workspace_id, max_resolution, quality, source_access, optimize_audio, state, state_at, source_id,
        duration_us, is_truncated, does_not_decode, created_at, updated_at, version)
        VALUES ($1, $2, '1080p', 'standard', 0, 0, 'Ready', 5, $3, 5, 0, 0, 5, 5, 1)";
    ADD_PLAYBACK = "INSERT INTO playback_id (id, media_id, media_version, position, policy, restrictions, created_at, encryption)
        VALUES ($1, $2, 1, 0, 'public', $3, 5, 'aes-128')";
    /// The canary is a value that the key of the database sealed.
    ADD_KEY = "INSERT INTO content_key (playback_id, secret) SELECT $1, value FROM setting WHERE key = 'canary'",
        postgres: "INSERT INTO content_key (playback_id, secret) SELECT $1::text, value FROM setting WHERE key = 'canary'";
    ADD_RENDITION = "INSERT INTO rendition (id, source_id, name, bytes, segments, created_at) VALUES ($1, $2, '360p', 7, 1, 5)";
    KEYS = "SELECT k.secret = s.value AS is_same FROM content_key k, setting s WHERE k.playback_id = $1 AND s.key = 'canary'",
        postgres: "SELECT (k.secret = s.value)::int::bigint AS is_same FROM content_key k, setting s WHERE k.playback_id = $1 AND s.key = 'canary'";
    FREE = "UPDATE playback_id SET media_id = NULL WHERE id = $1";
    REINDEX = "SELECT count(*) AS jobs FROM job WHERE kind = 'reindex' AND state = 'pending'";
    DELETE_PLAYBACK = "DELETE FROM playback_id WHERE id = $1";
}

/// A ready media with an encrypted playback ID and an encoded rendition.
async fn fill_schema_25(mut session: Session, options: StoreOptions, script: &'static str) {
    assert_eq!(STATEMENTS.len(), 9);
    crate::schema::begin_with(&mut session, &options, script).await.unwrap();
    let row = session.first(WORKSPACE, values![]).await.unwrap().unwrap();
    let here: WorkspaceId = row.id("id").unwrap();
    session.execute(ADD_MEDIA, values![MEDIA, here, SOURCE]).await.unwrap();
    session.execute(ADD_PLAYBACK, values![PLAYBACK, MEDIA, RESTRICTIONS]).await.unwrap();
    session.execute(ADD_KEY, values![PLAYBACK]).await.unwrap();
    session.execute(ADD_RENDITION, values![RENDITION, SOURCE]).await.unwrap();
    session.close().await.unwrap();
}

/// Checks that the rows of [`fill_schema_25`] exist after the migration; a command does not migrate.
async fn has_its_rows(options: impl Fn() -> StoreOptions) {
    let command = Store::open(StoreOptions { opener: Opener::Command, ..options() }).await.map(drop);
    assert!(matches!(command, Err(Error::SchemaNotMigrated { found: 25, known: 31 })), "{command:?}");
    for _ in ["migrates", "finds the new schema"] {
        let store = Store::open(options()).await.unwrap();
        let media = store.media_by_id(MEDIA.parse().unwrap()).await.unwrap().unwrap();
        let playback: Vec<_> = media.playback_ids.iter().map(|playback| playback.id.to_string()).collect();
        assert_eq!((playback, media.source()), (vec![PLAYBACK.to_owned()], Some(SOURCE.parse().unwrap())));
        let rendition = store.rendition(RENDITION.parse().unwrap()).await.unwrap().unwrap();
        assert_eq!((rendition.presentation.whole_source(), rendition.bytes), (SOURCE.parse().unwrap(), 7));
        let read = store.write(async |tx| {
            let jobs = tx.session.first(REINDEX, values![]).await?.unwrap().int("jobs")?;
            let is_same = tx.session.first(KEYS, values![PLAYBACK]).await?.unwrap().int("is_same")?;
            Ok::<_, Error>((jobs, is_same))
        });
        assert_eq!(read.await.unwrap(), (1, 1));
        store.close().await;
    }
    let store = Store::open(options()).await.unwrap();
    let deleted = store.write(async |tx| {
        tx.session.execute(FREE, values![PLAYBACK]).await?;
        tx.session.execute(DELETE_PLAYBACK, values![PLAYBACK]).await?;
        tx.session.first(KEYS, values![PLAYBACK]).await
    });
    assert!(deleted.await.unwrap().is_none(), "the content key references the new table");
    store.close().await;
}

async fn on_sqlite() -> BTreeMap<String, Table> {
    let dir = tempfile::tempdir().unwrap();
    Store::open(options(DatabaseLocation::Folder(dir.path().to_owned()))).await.unwrap().close().await;
    tables_of_sqlite(&dir.path().join("kinora.db")).await
}

async fn on_postgres() -> BTreeMap<String, Table> {
    tables_of_postgres(&postgres::database().await).await
}

async fn tables_of_sqlite(file: &Path) -> BTreeMap<String, Table> {
    const COLUMNS: &str =
        "SELECT m.name AS of_table, m.sql AS script, c.name, c.type AS kind, c.\"notnull\" AS required, c.pk
        FROM sqlite_master m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid";
    const INDEXES: &str = "SELECT m.name AS of_table, i.\"unique\" AS is_unique, i.partial, group_concat(c.name, ',') AS columns
        FROM sqlite_master m JOIN pragma_index_list(m.name) i JOIN pragma_index_info(i.name) c
        WHERE m.type = 'table' GROUP BY m.name, i.name";
    const REFERENCES: &str = "SELECT m.name AS of_table, f.\"from\" AS here, f.\"table\" AS there, f.\"to\" AS column_there, f.on_delete
        FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table'";
    let mut connection = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    for row in sqlx::query(COLUMNS).fetch_all(&mut connection).await.unwrap() {
        let table = tables.entry(row.get("of_table")).or_default();
        let (name, kind): (String, String) = (row.get("name"), row.get("kind"));
        let is_key = row.get::<i64, _>("pk") > 0;
        if is_key && kind == "INTEGER" {
            // The rowid, which needs no index.
            table.indexes.insert((true, false, name.clone()));
        }
        let kind = match kind.as_str() {
            "INTEGER" => "bigint",
            "TEXT" => "text",
            "BLOB" => "bytea",
            other => panic!("{other} has no counterpart"),
        };
        table.columns.push((name, kind.to_owned(), row.get::<i64, _>("required") == 0 && !is_key));
        table.checks = row.get::<String, _>("script").matches("CHECK (").count();
    }
    for row in sqlx::query(INDEXES).fetch_all(&mut connection).await.unwrap() {
        let index = (row.get("is_unique"), row.get("partial"), row.get("columns"));
        tables.get_mut(&row.get::<String, _>("of_table")).unwrap().indexes.insert(index);
    }
    for row in sqlx::query(REFERENCES).fetch_all(&mut connection).await.unwrap() {
        let reference = (row.get("here"), row.get("there"), row.get("column_there"), row.get("on_delete"));
        tables.get_mut(&row.get::<String, _>("of_table")).unwrap().references.insert(reference);
    }
    tables
}

async fn tables_of_postgres(database: &TestDatabase) -> BTreeMap<String, Table> {
    const COLUMNS: &str = "SELECT table_name::text AS of_table, column_name::text AS name, data_type::text AS kind, is_nullable = 'YES' AS optional
        FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position";
    const INDEXES: &str = "SELECT c.relname::text AS of_table, i.indisunique AS is_unique, i.indpred IS NOT NULL AS partial,
            (SELECT string_agg(a.attname, ',' ORDER BY k.place) FROM unnest(i.indkey) WITH ORDINALITY k (number, place)
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number) AS columns
        FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = current_schema()::regnamespace";
    const CONSTRAINTS: &str = "SELECT c.relname::text AS of_table, o.contype::text AS kind, here.attname::text AS here, there.relname::text AS there,
            column_there.attname::text AS column_there,
            CASE o.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'a' THEN 'NO ACTION' WHEN 'n' THEN 'SET NULL'
                ELSE o.confdeltype::text END AS on_delete
        FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid
        LEFT JOIN pg_class there ON there.oid = o.confrelid
        LEFT JOIN pg_attribute here ON here.attrelid = c.oid AND here.attnum = o.conkey[1]
        LEFT JOIN pg_attribute column_there ON column_there.attrelid = there.oid AND column_there.attnum = o.confkey[1]
        WHERE o.contype IN ('c', 'f') AND c.relnamespace = current_schema()::regnamespace";
    let mut connection = database.connect().await;
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    for row in sqlx::query(COLUMNS).fetch_all(&mut connection).await.unwrap() {
        let table = tables.entry(row.get("of_table")).or_default();
        table.columns.push((row.get("name"), row.get("kind"), row.get("optional")));
    }
    for row in sqlx::query(INDEXES).fetch_all(&mut connection).await.unwrap() {
        let index = (row.get("is_unique"), row.get("partial"), row.get("columns"));
        tables.get_mut(&row.get::<String, _>("of_table")).unwrap().indexes.insert(index);
    }
    for row in sqlx::query(CONSTRAINTS).fetch_all(&mut connection).await.unwrap() {
        let table = tables.get_mut(&row.get::<String, _>("of_table")).unwrap();
        if row.get::<String, _>("kind") == "c" {
            table.checks += 1;
        } else {
            let reference =
                (row.get("here"), row.get("there"), row.get("column_there"), row.get("on_delete"));
            table.references.insert(reference);
        }
    }
    tables
}
