//! Both engines have the same tables.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Row as _};

use kinora_domain::WorkspaceId;
use kinora_testkit::postgres::TestDatabase;

use super::{options, postgres};
use crate::sql::{Session, sqlite, statements, values};
use crate::{DatabasePlace, MediaFilter, Page, Store, StoreOptions};

/// What a table is made of.
#[derive(Debug, Default, PartialEq, Eq)]
struct Table {
    /// Name, type and whether it may be absent, in order.
    columns: Vec<(String, String, bool)>,
    /// Whether it is unique, whether it covers a part of the rows, and its columns.
    indexes: BTreeSet<(bool, bool, String)>,
    /// Column, table and column it leads to, and what a deletion there does here.
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
async fn media_and_uploads_of_an_older_schema_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let place = DatabasePlace::Folder(dir.path().to_owned());
    crate::folder::make_file(&dir.path().join("kinora.db")).unwrap();
    let older = sqlite::Database::new(dir.path().join("kinora.db"));
    are_listed(Session::sqlite(older.connect().await.unwrap()), options(place)).await;

    let database = TestDatabase::create();
    let place = crate::sql::postgres::Place::from_url(&database.url()).unwrap();
    let session = Session::postgres(place.connect_first().await.unwrap());
    are_listed(session, options(DatabasePlace::Postgres { url: database.url() })).await;
}

async fn are_listed(mut session: Session, options: StoreOptions) {
    const MEDIA: &str = "019a492c-41f3-7001-8203-040506070809";
    statements! {
        WORKSPACE = "SELECT id FROM workspace WHERE name = 'Development'";
        ADD_MEDIA = "INSERT INTO media (id, workspace_id, title, metadata, max_resolution, quality, source_access, optimize_audio, state,
            created_at, updated_at, version) VALUES ($1, $2, $3, $4, '1080p', 'standard', 0, 0, 'Created', 5, 5, 0)";
        ADD_UPLOAD = "INSERT INTO upload (id, workspace_id, max_resolution, quality, source_access, optimize_audio, policy, cors_origin,
            timeout_s, source_id, state, kept, holds_source, created_at, updated_at, version)
            VALUES ($1, $2, '1080p', 'standard', 0, 0, 'public', '*', 60, $1, 'waiting', 0, 1, 5, 5, 0)";
    }
    assert_eq!(STATEMENTS.len(), 3);
    crate::schema::begin_at(&mut session, &options, 8).await.unwrap();
    let row = session.first(WORKSPACE, values![]).await.unwrap().unwrap();
    let here: WorkspaceId = row.id("id").unwrap();
    let metadata = r#"{"a":"1","b":"\u0000"}"#;
    session.execute(ADD_MEDIA, values![MEDIA, here, "ÄPFEL", metadata]).await.unwrap();
    session.execute(ADD_UPLOAD, values![MEDIA, here]).await.unwrap();
    session.close().await.unwrap();

    let store = Store::open(options).await.unwrap();
    let page = Page { limit: 9, number: 1, newest_first: true };
    let entry = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
    for filter in [
        MediaFilter { title_prefix: Some("äpf".into()), ..MediaFilter::default() },
        MediaFilter { metadata: entry("a", "1"), ..MediaFilter::default() },
        MediaFilter { metadata: entry("b", "\0"), ..MediaFilter::default() },
        MediaFilter { metadata_key: Some("b".into()), ..MediaFilter::default() },
    ] {
        let list = store.media_list(here, &filter, page.into()).await.unwrap();
        let ids: Vec<_> = list.items.iter().map(|media| media.id.to_string()).collect();
        assert_eq!((ids.as_slice(), list.total), (&[MEDIA.to_owned()][..], 1), "{filter:?}");
    }
    let uploads = store.upload_page(here, page).await.unwrap();
    assert_eq!((uploads.items.len(), uploads.total), (1, 1), "they were counted");
    store.close().await;
}

#[tokio::test]
async fn tracks_of_an_older_schema_are_kept_and_may_be_sound() {
    let dir = tempfile::tempdir().unwrap();
    let place = DatabasePlace::Folder(dir.path().to_owned());
    crate::folder::make_file(&dir.path().join("kinora.db")).unwrap();
    let older = sqlite::Database::new(dir.path().join("kinora.db"));
    are_kept(Session::sqlite(older.connect().await.unwrap()), options(place)).await;

    let database = TestDatabase::create();
    let place = crate::sql::postgres::Place::from_url(&database.url()).unwrap();
    let session = Session::postgres(place.connect_first().await.unwrap());
    are_kept(session, options(DatabasePlace::Postgres { url: database.url() })).await;
}

async fn are_kept(mut session: Session, options: StoreOptions) {
    const MEDIA: &str = "019a492c-41f3-7001-8203-040506070809";
    const TRACK: &str = "019a492c-41f3-7001-8203-04050607080a";
    statements! {
        WORKSPACE = "SELECT id FROM workspace WHERE name = 'Development'";
        ADD_MEDIA = "INSERT INTO media (id, workspace_id, metadata, max_resolution, quality, source_access, optimize_audio, mp4_support,
            state, created_at, updated_at, version)
            VALUES ($1, $2, '{}', '1080p', 'standard', 0, 0, 'none', 'Created', 5, 5, 0)";
        ADD_TRACK = "INSERT INTO added_track (id, media_id, position, kind, url, language_code, language_name, state, source_id)
            VALUES ($1, $2, 7, 'subtitle', 'https://example.com/a.srt', 'en', 'English', 'available', $2)";
    }
    assert_eq!(STATEMENTS.len(), 3);
    crate::schema::begin_at(&mut session, &options, 13).await.unwrap();
    let row = session.first(WORKSPACE, values![]).await.unwrap().unwrap();
    let here: WorkspaceId = row.id("id").unwrap();
    session.execute(ADD_MEDIA, values![MEDIA, here]).await.unwrap();
    session.execute(ADD_TRACK, values![TRACK, MEDIA]).await.unwrap();
    session.close().await.unwrap();

    let store = Store::open(options).await.unwrap();
    let media = store.media_by_id(MEDIA.parse().unwrap()).await.unwrap().unwrap();
    let [track] = media.added.as_slice() else { panic!("one track: {media:?}") };
    assert_eq!((track.id.to_string().as_str(), track.available()), (TRACK, Some(MEDIA.parse().unwrap())));
    let now = store.common().clock.now();
    let url = kinora_domain::TrackUpdate {
        url: Some("https://example.com/b.srt".into()),
        ..kinora_domain::TrackUpdate::default()
    };
    let random = store.common().random.clone();
    let id = track.id;
    let (media, events) = media.update_track(id, url, now, random.as_ref()).unwrap();
    let events = events.unwrap();
    let mut track = media.added[0].clone();
    (track.id, track.wanted.kind) = (MEDIA.parse().unwrap(), kinora_domain::AddedTrackKind::Audio);
    (track.state, track.wanted.language_name) =
        (kinora_domain::AddedTrackState::Preparing { source: TRACK.parse().unwrap() }, "Deutsch".into());
    let saved = store.write(async move |tx| {
        tx.save_tracks(&media, &events).await?;
        let media = tx.media_by_id(media.id).await?.unwrap();
        let (media, events) = media.add_track(track.clone(), now).unwrap();
        tx.save_tracks(&media, &events).await
    });
    saved.await.map_err(|error: crate::Error| error).unwrap();
    let media = store.media_by_id(MEDIA.parse().unwrap()).await.unwrap().unwrap();
    let kinds: Vec<_> = media.added.iter().map(|track| track.wanted.kind.as_str()).collect();
    assert_eq!(kinds, ["subtitle", "audio"], "in the order in which they were added");
    store.close().await;
}

#[tokio::test]
async fn signing_keys_of_an_older_schema_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let place = DatabasePlace::Folder(dir.path().to_owned());
    crate::folder::make_file(&dir.path().join("kinora.db")).unwrap();
    let older = sqlite::Database::new(dir.path().join("kinora.db"));
    keys_are_kept(Session::sqlite(older.connect().await.unwrap()), options(place)).await;

    let database = TestDatabase::create();
    let place = crate::sql::postgres::Place::from_url(&database.url()).unwrap();
    let session = Session::postgres(place.connect_first().await.unwrap());
    keys_are_kept(session, options(DatabasePlace::Postgres { url: database.url() })).await;
}

async fn keys_are_kept(mut session: Session, options: StoreOptions) {
    const KEY: &str = "019a492c-41f3-7001-8203-040506070809";
    statements! {
        WORKSPACE = "SELECT id FROM workspace WHERE name = 'Development'";
        ADD_KEY = "INSERT INTO signing_key (id, workspace_id, public_key, created_at) VALUES ($1, $2, 'a key', 5)";
    }
    assert_eq!(STATEMENTS.len(), 2);
    crate::schema::begin_at(&mut session, &options, 19).await.unwrap();
    let row = session.first(WORKSPACE, values![]).await.unwrap().unwrap();
    let here: WorkspaceId = row.id("id").unwrap();
    session.execute(ADD_KEY, values![KEY, here]).await.unwrap();
    session.close().await.unwrap();

    let store = Store::open(options).await.unwrap();
    let key = store.signing_key(here, KEY.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((key.public_key.as_str(), key.created_at.as_micros()), ("a key", 5));
    store.close().await;
}

async fn on_sqlite() -> BTreeMap<String, Table> {
    const COLUMNS: &str =
        "SELECT m.name AS of_table, m.sql AS script, c.name, c.type AS kind, c.\"notnull\" AS required, c.pk
        FROM sqlite_master m JOIN pragma_table_info(m.name) c
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid";
    const INDEXES: &str = "SELECT m.name AS of_table, i.\"unique\" AS is_unique, i.partial, group_concat(c.name, ',') AS columns
        FROM sqlite_master m JOIN pragma_index_list(m.name) i JOIN pragma_index_info(i.name) c
        WHERE m.type = 'table' GROUP BY m.name, i.name";
    const REFERENCES: &str = "SELECT m.name AS of_table, f.\"from\" AS here, f.\"table\" AS there, f.\"to\" AS column_there, f.on_delete
        FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table'";
    let dir = tempfile::tempdir().unwrap();
    Store::open(options(DatabasePlace::Folder(dir.path().to_owned()))).await.unwrap().close().await;
    let file = dir.path().join("kinora.db");
    let mut connection = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let mut tables: BTreeMap<String, Table> = BTreeMap::new();
    for row in sqlx::query(COLUMNS).fetch_all(&mut connection).await.unwrap() {
        let table = tables.entry(row.get("of_table")).or_default();
        let (name, kind): (String, String) = (row.get("name"), row.get("kind"));
        let is_key = row.get::<i64, _>("pk") > 0;
        if is_key && kind == "INTEGER" {
            // The number of the row itself, which needs no index.
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

async fn on_postgres() -> BTreeMap<String, Table> {
    const COLUMNS: &str = "SELECT table_name::text AS of_table, column_name::text AS name, data_type::text AS kind, is_nullable = 'YES' AS optional
        FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position";
    const INDEXES: &str = "SELECT c.relname::text AS of_table, i.indisunique AS is_unique, i.indpred IS NOT NULL AS partial,
            (SELECT string_agg(a.attname, ',' ORDER BY k.place) FROM unnest(i.indkey) WITH ORDINALITY k (number, place)
             JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number) AS columns
        FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid WHERE c.relnamespace = current_schema()::regnamespace";
    const CONSTRAINTS: &str = "SELECT c.relname::text AS of_table, o.contype::text AS kind, here.attname::text AS here, there.relname::text AS there,
            column_there.attname::text AS column_there,
            CASE o.confdeltype WHEN 'c' THEN 'CASCADE' WHEN 'a' THEN 'NO ACTION' ELSE o.confdeltype::text END AS on_delete
        FROM pg_constraint o JOIN pg_class c ON c.oid = o.conrelid
        LEFT JOIN pg_class there ON there.oid = o.confrelid
        LEFT JOIN pg_attribute here ON here.attrelid = c.oid AND here.attnum = o.conkey[1]
        LEFT JOIN pg_attribute column_there ON column_there.attrelid = there.oid AND column_there.attnum = o.confkey[1]
        WHERE o.contype IN ('c', 'f') AND c.relnamespace = current_schema()::regnamespace";
    let database = postgres::database().await;
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
