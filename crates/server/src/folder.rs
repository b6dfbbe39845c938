//! What lies in a data folder, and how commands and the server open it.

use std::sync::Arc;

use kinora_blob::Blob;
use kinora_store::{DatabasePlace, Opener, Store, StoreOptions};

use crate::command::Problem;
use crate::settings::Settings;
use crate::system::{SystemClock, SystemRandom};

/// The database of the settings' folder.
pub(crate) async fn open_store(settings: &Settings, opener: Opener) -> Result<Store, Problem> {
    let options = StoreOptions {
        database: DatabasePlace::Folder(settings.data_dir.clone()),
        opener,
        secret_keys: settings.secret_key.clone(),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        faults: None,
    };
    Store::open(options).await.map_err(Problem::from)
}

/// The objects of the settings' folder.
pub(crate) async fn open_blob(settings: &Settings) -> Result<Blob, Problem> {
    let path = settings.data_dir.join("objects");
    Blob::open_folder(&path)
        .await
        .map_err(|error| Problem::with_cause(format!("cannot use {} for objects", path.display()), error))
}
