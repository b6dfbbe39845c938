//! Where rows and objects lie, and how commands and the server open them.

use std::sync::Arc;

use kinora_blob::Blob;
use kinora_service::Service;
use kinora_store::{DatabasePlace, ObjectsPlace, Opener, ServeLock, Store, StoreOptions};

use crate::command::Problem;
use crate::settings::Settings;
use crate::system::{SystemClock, SystemRandom};

/// The database of the settings.
pub(crate) async fn open_store(settings: &Settings, opener: Opener) -> Result<Store, Problem> {
    let options = StoreOptions {
        database: database(settings),
        opener,
        secret_keys: settings.secret_key.clone(),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        faults: None,
    };
    Store::open(options).await.map_err(Problem::from)
}

/// The operations of commands on a database.
pub(crate) fn service(store: &Store) -> Service {
    Service::new(store.clone(), Arc::new(SystemClock), Arc::new(SystemRandom))
}

/// The objects of the settings.
pub(crate) async fn open_blob(settings: &Settings) -> Result<Blob, Problem> {
    if let Some(url) = &settings.storage_url {
        return Blob::open_s3(url)
            .map_err(|error| Problem::with_cause(format!("cannot use {url} for objects"), error));
    }
    let path = settings.objects_dir();
    let unusable = |cause: Box<dyn std::error::Error + Send + Sync>| {
        Problem::with_cause(format!("cannot use {} for objects", path.display()), cause)
    };
    // With PostgreSQL nobody else makes the folders above it, and those of a relative path have no beginning.
    let absolute = std::path::absolute(&path).map_err(|error| unusable(error.into()))?;
    Blob::open_folder(&absolute).await.map_err(|error| unusable(error.into()))
}

/// What keeps a second `serve` away where there is room for one: on a folder, and on a PostgreSQL when either
/// keeps its objects in a folder.
pub(crate) async fn lock(settings: &Settings) -> Result<ServeLock, kinora_store::Error> {
    let Some(url) = &settings.database_url else { return ServeLock::acquire(&settings.data_dir) };
    let objects = if settings.storage_url.is_some() { ObjectsPlace::Shared } else { ObjectsPlace::Folder };
    ServeLock::acquire_postgres(url.reveal(), objects, &SystemRandom).await
}

fn database(settings: &Settings) -> DatabasePlace {
    match &settings.database_url {
        Some(url) => DatabasePlace::Postgres { url: url.reveal().to_owned() },
        None => DatabasePlace::Folder(settings.data_dir.clone()),
    }
}
