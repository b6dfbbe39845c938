//! Opens the database and the objects, for commands and the server.

use std::sync::Arc;

use kinora_blob::Blob;
use kinora_service::Service;
use kinora_store::{DatabaseLocation, ObjectStorageKind, Opener, ServeLock, Store, StoreOptions};

use crate::command::CommandError;
use crate::settings::Settings;
use crate::system::{SystemClock, SystemRandom};

/// Opens the database of the settings.
pub(crate) async fn open_store(settings: &Settings, opener: Opener) -> Result<Store, CommandError> {
    let options = StoreOptions {
        database: database(settings),
        opener,
        secret_keys: settings.secret_key.clone(),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        faults: None,
    };
    Store::open(options).await.map_err(CommandError::from)
}

/// The operations of commands on a database.
pub(crate) fn service(store: &Store) -> Service {
    Service::new(store.clone(), Arc::new(SystemClock), Arc::new(SystemRandom))
}

/// Opens the objects of the settings.
pub(crate) async fn open_blob(settings: &Settings) -> Result<Blob, CommandError> {
    if let Some(url) = &settings.storage_url {
        return Blob::open_s3(url)
            .map_err(|error| CommandError::with_cause(format!("cannot use {url} for objects"), error));
    }
    let path = settings.objects_dir();
    let unusable = |cause: Box<dyn std::error::Error + Send + Sync>| {
        CommandError::with_cause(format!("cannot use {} for objects", path.display()), cause)
    };
    // With PostgreSQL no other code makes the parent folders. An absolute path, because the parents of a
    // relative one end at an empty path.
    let absolute = std::path::absolute(&path).map_err(|error| unusable(error.into()))?;
    Blob::open_folder(&absolute).await.map_err(|error| unusable(error.into()))
}

/// The lock against a second `serve`, where only one may run: on a folder, and on a PostgreSQL when either
/// server stores its objects in a folder.
pub(crate) async fn lock(settings: &Settings) -> Result<ServeLock, kinora_store::Error> {
    let Some(url) = &settings.database_url else { return ServeLock::acquire(&settings.data_dir) };
    let objects =
        if settings.storage_url.is_some() { ObjectStorageKind::Shared } else { ObjectStorageKind::Folder };
    ServeLock::acquire_postgres(url.reveal(), objects, &SystemRandom).await
}

fn database(settings: &Settings) -> DatabaseLocation {
    match &settings.database_url {
        Some(url) => DatabaseLocation::Postgres { url: url.reveal().to_owned() },
        None => DatabaseLocation::Folder(settings.data_dir.clone()),
    }
}
