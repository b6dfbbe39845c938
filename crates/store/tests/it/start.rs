//! Opening a folder: files, keys, schemas, and concurrent openers. SQLite only.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kinora_domain::{AccessToken, AccessTokenId, Permission, Secret};
use kinora_store::{DatabaseLocation, Error, Opener, ServeLock, Store, StoreOptions};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use crate::support::{TestStore, workspace, write};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_commands_create_one_database() {
    let world = Arc::new(TestStore::sqlite());
    let commands: Vec<_> = (0..8)
        .map(|index| {
            let mut options = world.options();
            options.opener = if index == 0 { Opener::Server } else { Opener::Command };
            tokio::spawn(async move {
                let store = Store::open(options).await.unwrap();
                store.workspaces().await.unwrap()
            })
        })
        .collect();
    let mut seen = Vec::new();
    for command in commands {
        seen.push(command.await.unwrap());
    }
    assert_eq!(seen[0].len(), 2);
    assert!(seen.iter().all(|workspaces| *workspaces == seen[0]), "{seen:?}");
    let drafts = files(&world.data_dir()).into_iter().filter(|name| name.contains("key-")).count();
    assert_eq!(drafts, 0);
}

#[tokio::test]
async fn folder_database_and_key_are_owner_only() {
    let world = TestStore::sqlite();
    let store = world.open().await;
    let _lock = ServeLock::acquire(&world.data_dir()).unwrap();
    world.webhook(&store, workspace(&store).await).await;
    let data = world.data_dir();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    let names = files(&data);
    assert_eq!(names, ["kinora.db", "kinora.db-shm", "kinora.db-wal", "secret.key", "serve.lock"]);
    for name in names {
        assert_eq!(mode(&data.join(&name)), 0o600, "{name}");
    }
}

#[tokio::test]
async fn second_serve_on_a_folder_is_rejected() {
    let world = TestStore::sqlite();
    let data = world.data_dir();
    let lock = ServeLock::acquire(&data).unwrap();
    assert!(matches!(ServeLock::acquire(&data), Err(Error::FolderLocked { .. })));
    // Commands need no lock.
    world.open().await;
    drop(lock);
    ServeLock::acquire(&data).unwrap();
}

#[tokio::test]
async fn secrets_are_never_stored_in_plaintext() {
    let world = TestStore::sqlite();
    let store = world.open().await;
    let workspace = workspace(&store).await;
    let webhook = world.webhook(&store, workspace).await;
    let rotated = webhook.clone().rotate(60, world.now(), world.random.as_ref());
    let saved = rotated.clone();
    write(&store, async move |tx| tx.save_webhook(&saved).await).await.unwrap();
    let secret = Secret::new(world.random.as_ref());
    let token = AccessToken {
        id: AccessTokenId::new(world.now(), world.random.as_ref()),
        workspace,
        name: None,
        made_by: None,
        permission: Permission::ReadWrite,
        secret: secret.hash(),
        created_at: world.now(),
        last_used_at: None,
        revoked_at: None,
    };
    let hash = *token.secret.as_bytes();
    write(&store, async move |tx| tx.insert_access_token(&token).await).await.unwrap();

    let key = std::fs::read_to_string(world.data_dir().join("secret.key")).unwrap();
    let hidden = [
        webhook.secret.as_bytes().to_vec(),
        webhook.secret.reveal().into_bytes(),
        rotated.secret.as_bytes().to_vec(),
        rotated.secret.reveal().into_bytes(),
        secret.reveal().as_bytes().to_vec(),
        key.trim().as_bytes().to_vec(),
        STANDARD.decode(key.trim()).unwrap(),
    ];
    for when in ["open", "closed"] {
        let bytes = database(&world.data_dir());
        // The search finds values that are stored, so a value that it does not find is not stored.
        assert!(holds(&bytes, b"https://example.com/hook") && holds(&bytes, &hash), "{when}");
        for (index, secret) in hidden.iter().enumerate() {
            assert!(!holds(&bytes, secret), "{when}: secret {index}");
        }
        store.close().await;
    }
}

#[tokio::test]
async fn wrong_or_missing_secret_key_is_rejected() {
    let world = TestStore::sqlite();
    world.open().await.close().await;
    let key = world.data_dir().join("secret.key");
    let good = std::fs::read_to_string(&key).unwrap();
    let open = async |secret_keys: Option<&str>| {
        let secret_keys = secret_keys.map(str::to_owned);
        Store::open(StoreOptions { secret_keys, ..world.options() }).await.map(drop)
    };
    let other = STANDARD.encode([7; 32]);
    assert!(matches!(open(Some(&other)).await, Err(Error::WrongKey)));
    assert!(
        matches!(open(Some("short")).await, Err(Error::BadKey { place }) if place == "KINORA_SECRET_KEY")
    );
    std::fs::write(&key, &other).unwrap();
    assert!(matches!(open(None).await, Err(Error::WrongKey)));
    std::fs::write(&key, "").unwrap();
    assert!(matches!(open(None).await, Err(Error::BadKey { place }) if place == key.display().to_string()));
    std::fs::remove_file(&key).unwrap();
    assert!(matches!(open(None).await, Err(Error::KeyMissing { path }) if path == key));
    assert!(!key.exists());
    // The same key from the options.
    open(Some(&good)).await.unwrap();
}

#[tokio::test]
async fn key_rotation_reseals_all_secrets() {
    let world = TestStore::sqlite();
    let store = world.open().await;
    let webhook = world.webhook(&store, workspace(&store).await).await;
    let rotated = webhook.clone().rotate(60, world.now(), world.random.as_ref());
    let saved = rotated.clone();
    write(&store, async move |tx| tx.save_webhook(&saved).await).await.unwrap();
    store.close().await;
    let old = std::fs::read_to_string(world.data_dir().join("secret.key")).unwrap();
    let new = STANDARD.encode([7; 32]);
    let open = async |keys: &str, opener| {
        let secret_keys = Some(keys.to_owned());
        Store::open(StoreOptions { secret_keys, opener, ..world.options() }).await
    };
    let both = format!("{new},{}", old.trim());

    // A command accepts both, and leaves the rotation to the server.
    drop(open(&both, Opener::Command).await.unwrap());
    assert!(matches!(open(&new, Opener::Command).await, Err(Error::WrongKey)));
    drop(open(&both, Opener::Server).await.unwrap());
    assert!(matches!(open(&old, Opener::Server).await, Err(Error::WrongKey)));
    let found = open(&new, Opener::Server).await.unwrap().webhook(webhook.id).await.unwrap().unwrap();
    assert_eq!((found.secret, found.previous_secret), (rotated.secret, rotated.previous_secret));
}

#[tokio::test]
async fn interrupted_first_start_reuses_its_key() {
    let world = TestStore::sqlite();
    let data = world.data_dir();
    drop(ServeLock::acquire(&data).unwrap());
    let key = STANDARD.encode([7; 32]);
    std::fs::write(data.join("secret.key"), &key).unwrap();
    std::fs::write(data.join("kinora.db"), "").unwrap();
    world.open().await.close().await;
    assert_eq!(std::fs::read_to_string(data.join("secret.key")).unwrap(), key);
    assert_eq!(world.open().await.workspaces().await.unwrap().len(), 2);
}

#[tokio::test]
async fn unsupported_schema_is_rejected() {
    let world = TestStore::sqlite();
    world.open().await.close().await;
    let check = async |version: &'static str, opener, refusal: fn(&Error) -> bool| {
        let file = world.data_dir().join("kinora.db");
        let mut connection = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
        sqlx::raw_sql(version).execute(&mut connection).await.unwrap();
        sqlx::Connection::close(connection).await.unwrap();
        let before = std::fs::read(&file).unwrap();
        let error = Store::open(StoreOptions { opener, ..world.options() }).await.map(drop).unwrap_err();
        assert!(refusal(&error), "{version}: {error}");
        assert_eq!(std::fs::read(&file).unwrap(), before, "{version}");
    };
    let newer: fn(&Error) -> bool = |error| matches!(error, Error::SchemaTooNew { found: 999, .. });
    check("UPDATE schema_version SET version = 999", Opener::Server, newer).await;
    check("UPDATE schema_version SET version = 999", Opener::Command, newer).await;
}

#[tokio::test]
async fn folder_creation_failure_names_the_path() {
    let world = TestStore::sqlite();
    let file = world.dir.path().join("file");
    std::fs::write(&file, "").unwrap();
    let data_dir = file.join("data");
    let error =
        Store::open(StoreOptions { database: DatabaseLocation::Folder(data_dir.clone()), ..world.options() })
            .await
            .map(drop);
    assert!(matches!(error, Err(Error::Folder { path, .. }) if path == data_dir));
}

/// All bytes of the database, its WAL included.
fn database(data_dir: &Path) -> Vec<u8> {
    let names = files(data_dir).into_iter().filter(|name| name.starts_with("kinora.db"));
    names.flat_map(|name| std::fs::read(data_dir.join(name)).unwrap()).collect()
}

fn files(data_dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(data_dir).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}
