//! A database on PostgreSQL: opening, errors, sharing and serving.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::FutureExt as _;
use kinora_domain::Webhook;
use kinora_store::{
    DatabaseLocation, Error, ObjectStorageKind, Opener, Page, ServeLock, Store, StoreOptions,
};
use tokio::sync::Barrier;

use crate::support::{TestStore, insert, until, workspace, write};

postgres_only!(
    concurrent_first_starts_create_one_schema,
    encryption_key_is_required_and_checked,
    newer_schema_is_rejected_unchanged,
    unopenable_database_error_has_url_and_remedy,
    user_without_create_right_gets_remedy,
    connection_limit_error_has_server_and_remedy,
    conflicting_writes_are_serialized,
    contending_writers_all_commit,
    second_serve_on_folder_objects_is_rejected,
    lost_serve_lock_is_reported,
);

async fn concurrent_first_starts_create_one_schema(world: TestStore) {
    let world = Arc::new(world);
    let opening: Vec<_> = (0..8)
        .map(|index| {
            let mut options = world.options();
            options.opener = if index == 0 { Opener::Server } else { Opener::Command };
            tokio::spawn(async move { Store::open(options).await.unwrap().workspaces().await.unwrap() })
        })
        .collect();
    let mut seen = Vec::new();
    for opened in opening {
        seen.push(opened.await.unwrap());
    }
    assert_eq!(seen[0].len(), 2);
    assert!(seen.iter().all(|workspaces| *workspaces == seen[0]), "{seen:?}");
}

async fn encryption_key_is_required_and_checked(world: TestStore) {
    let open = async |secret_keys: Option<&str>| {
        let secret_keys = secret_keys.map(str::to_owned);
        Store::open(StoreOptions { secret_keys, ..world.options() }).await.map(drop)
    };
    let required = open(None).await.unwrap_err();
    assert!(matches!(required, Error::SecretKeyRequired));
    assert!(required.to_string().contains("openssl rand -base64 32"));
    world.open().await.close().await;
    assert!(matches!(open(None).await, Err(Error::SecretKeyRequired)));
    assert!(matches!(open(Some("short")).await, Err(Error::BadKey { .. })));
    let other = "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA=";
    assert!(matches!(open(Some(other)).await, Err(Error::WrongKey)));
    open(Some(crate::support::SECRET_KEY)).await.unwrap();
}

async fn newer_schema_is_rejected_unchanged(world: TestStore) {
    world.open().await.close().await;
    world.edit("UPDATE schema_version SET version = 999").await;
    for opener in [Opener::Server, Opener::Command] {
        let refused = Store::open(StoreOptions { opener, ..world.options() }).await.map(drop);
        assert!(matches!(refused, Err(Error::SchemaTooNew { found: 999, .. })), "{refused:?}");
    }
    world.edit("UPDATE schema_version SET version = 999 WHERE version = 999").await;
}

async fn unopenable_database_error_has_url_and_remedy(world: TestStore) {
    let good = world.server().url();
    let (_, address) = good.split_once('@').unwrap();
    let check = async |url: String, remedy: &str, is_so: fn(&Error) -> bool| {
        let database = DatabaseLocation::Postgres { url: url.clone() };
        let login = url.split_once('@').and_then(|(credentials, _)| credentials.rsplit_once(':'));
        let password = login.map_or("hidden", |(_, password)| password).to_owned();
        assert!(!format!("{database:?}").contains(&password), "{database:?}");
        let error = Store::open(StoreOptions { database, ..world.options() }).await.map(drop).unwrap_err();
        let random = world.random.as_ref();
        let same =
            ServeLock::acquire_postgres(&url, ObjectStorageKind::Folder, random).await.map(drop).unwrap_err();
        for error in [error, same] {
            assert!(is_so(&error), "{url}: {error:?}");
            assert!(error.to_string().contains(remedy), "{error}");
            let mut messages = format!("{error:?}");
            let mut cause: Option<&dyn std::error::Error> = Some(&error);
            while let Some(error) = cause {
                messages = format!("{messages} {error} {error:?}");
                cause = error.source();
            }
            assert!(!messages.contains(&password), "{messages}");
        }
    };
    check(
        good.replace(world.server().name(), "no_such_database"),
        "createdb --encoding=UTF8",
        |error| matches!(error, Error::DatabaseMissing { name, .. } if name == "no_such_database"),
    )
    .await;
    check(
        format!("postgres://no_such_user:hidden@{address}"),
        "check user and password",
        |error| matches!(error, Error::DatabaseLogin { user, .. } if user == "no_such_user"),
    )
    .await;
    // No server listens on port 1.
    check("postgres://postgres:hidden@127.0.0.1:1/kinora".into(), "127.0.0.1:1", |error| {
        matches!(error, Error::DatabaseUnreachable { .. })
    })
    .await;
    for url in ["mysql://a:hidden@127.0.0.1/b", "127.0.0.1", "", "postgres://a:hidden@127.0.0.1:port/b"] {
        check(url.into(), "postgres://user:password@host:5432/name", |error| {
            matches!(error, Error::BadDatabaseUrl { .. })
        })
        .await;
    }
}

async fn user_without_create_right_gets_remedy(world: TestStore) {
    let (name, url) = (world.server().name().to_owned(), world.server().url());
    let user = format!("{name}_guest");
    world.server().execute(&format!("CREATE ROLE {user} LOGIN PASSWORD 'hidden'")).await;
    let (_, address) = url.split_once('@').unwrap();
    let database = DatabaseLocation::Postgres { url: format!("postgres://{user}:hidden@{address}") };
    let refused = Store::open(StoreOptions { database, ..world.options() }).await.map(drop);
    world.server().execute(&format!("DROP ROLE {user}")).await;
    let error = refused.unwrap_err();
    assert!(matches!(error, Error::DatabaseForbidden { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!(
            "{user} may not use the database {name}; make {user} its owner: `ALTER DATABASE {name} OWNER TO {user}`"
        )
    );
}

async fn connection_limit_error_has_server_and_remedy(world: TestStore) {
    let mut server = world.server().connect().await;
    let role = format!("{}_crowded", world.server().name());
    let run = async |server: &mut sqlx::PgConnection, statement: String| {
        sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(server).await.unwrap();
    };
    run(&mut server, format!("CREATE ROLE {role} LOGIN PASSWORD 'secret' CONNECTION LIMIT 0")).await;
    let url = world.server().url();
    let (_, address) = url.split_once('@').unwrap();
    let database = DatabaseLocation::Postgres { url: format!("postgres://{role}:secret@{address}") };
    let refused = Store::open(StoreOptions { database, ..world.options() }).await.map(drop);
    run(&mut server, format!("DROP ROLE {role}")).await;
    let error = refused.unwrap_err();
    assert!(matches!(error, Error::DatabaseConnectionLimit { .. }), "{error:?}");
    assert!(error.to_string().contains("raise its max_connections"), "{error}");
}

async fn conflicting_writes_are_serialized(world: TestStore) {
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let (runs, both_have_read) = (Arc::new(AtomicU32::new(0)), Arc::new(Barrier::new(2)));
    // Each adds a webhook if there is none: both at once would add two.
    let add = async || {
        let url = "https://example.com/only".to_owned();
        let webhook = Webhook::create(workspace, url, world.now(), world.random.as_ref());
        let (runs, both_have_read) = (runs.clone(), both_have_read.clone());
        let mut is_first = true;
        write(&store, async move |tx| {
            runs.fetch_add(1, Ordering::SeqCst);
            let is_none = tx.webhooks(workspace).await?.is_empty();
            if std::mem::take(&mut is_first) {
                both_have_read.wait().await;
            }
            if is_none {
                tx.insert_webhook(&webhook).await?;
            }
            Ok(is_none)
        })
        .await
        .unwrap()
    };
    let (one, two) = tokio::join!(add(), add());
    assert!(one != two, "one of them added it: {one} {two}");
    assert_eq!(store.webhooks(Some(workspace)).await.unwrap().len(), 1);
    assert!(runs.load(Ordering::SeqCst) >= 3);
}

async fn contending_writers_all_commit(world: TestStore) {
    const WRITERS: usize = 64;
    let (store, other) = (world.open().await, world.open().await);
    let workspace = workspace(&store).await;
    let writers = (0..WRITERS).map(|index| {
        let (media, event) = world.media(workspace);
        let store = if index % 2 == 0 { &store } else { &other };
        async move { insert(store, &media, &event).await }
    });
    futures_util::future::join_all(writers).await;
    let page = store.media_page(workspace, Page { limit: 1, number: 1, newest_first: true }).await.unwrap();
    assert_eq!(page.total, WRITERS as u64);
}

async fn second_serve_on_folder_objects_is_rejected(world: TestStore) {
    let url = world.server().url();
    let take = async |objects| ServeLock::acquire_postgres(&url, objects, world.random.as_ref()).await;
    let (folder, shared) = (ObjectStorageKind::Folder, ObjectStorageKind::Shared);
    let freed = async |objects| {
        until(async || match take(objects).await {
            Ok(lock) => Some(lock),
            Err(Error::DatabaseLocked) => None,
            Err(error) => panic!("{error:?}"),
        })
        .await
    };
    let alone = take(folder).await.unwrap();
    assert!(matches!(take(folder).await.map(drop), Err(Error::DatabaseLocked)));
    assert!(matches!(take(shared).await.map(drop), Err(Error::DatabaseLocked)));
    // Commands need no lock.
    world.open().await.close().await;
    drop(alone);
    let one = freed(shared).await;
    let two = take(shared).await.unwrap();
    assert!(matches!(take(folder).await.map(drop), Err(Error::DatabaseLocked)));
    drop(one);
    assert!(matches!(take(folder).await.map(drop), Err(Error::DatabaseLocked)));
    drop(two);
    freed(folder).await;
}

async fn lost_serve_lock_is_reported(world: TestStore) {
    let url = world.server().url();
    let take =
        async || ServeLock::acquire_postgres(&url, ObjectStorageKind::Folder, world.random.as_ref()).await;
    let first = take().await.unwrap();
    // It takes the lock again when no other process has it.
    world.server().end_connections().await;
    let in_between = async || match take().await {
        Ok(lock) => {
            drop(lock);
            None
        }
        Err(Error::DatabaseLocked) => Some(()),
        Err(_) => None,
    };
    until(in_between).await;
    assert!(first.wait_lost().now_or_never().is_none());

    world.server().end_connections().await;
    let second = until(async || take().await.ok()).await;
    first.wait_lost().await;
    drop(second);
}
