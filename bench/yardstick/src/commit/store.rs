//! Commits through the store: concurrent writers share a commit.

use std::path::PathBuf;
use std::sync::Arc;

use kinora_store::{DatabaseLocation, JobKind, NewJob, Opener, Priority, Store, StoreOptions, Tx};
use tokio::time::Instant;

use super::{FAR_S, SystemClock, SystemRandom, measure, new_id};
use crate::Error;

/// `database` is a folder, or an address that begins with `postgres://`.
pub(crate) async fn run(database: &str, writers: &str, seconds: &str) -> Result<(), Error> {
    let store = open(database).await?;
    measure(writers, seconds, |until| write(store.clone(), until)).await?;
    store.close().await;
    Ok(())
}

pub(super) async fn open(database: &str) -> Result<Store, Error> {
    let options = StoreOptions {
        database: match database.starts_with("postgres") {
            true => DatabaseLocation::Postgres { url: database.to_owned() },
            false => DatabaseLocation::Folder(PathBuf::from(database)),
        },
        opener: Opener::Server,
        secret_keys: std::env::var("KINORA_SECRET_KEY").ok(),
        clock: Arc::new(SystemClock),
        random: Arc::new(SystemRandom),
        faults: None,
    };
    Ok(Store::open(options).await?)
}

async fn write(store: Store, until: Instant) -> Result<u64, Error> {
    let mut commits = 0;
    while Instant::now() < until {
        let run_at = new_id().1.plus_seconds(FAR_S);
        let job = NewJob { kind: JobKind::Sweep, workspace: None, run_at, priority: Priority::Low };
        store.write(async move |tx: &mut Tx| tx.enqueue(job.clone()).await.map(drop)).await?;
        commits += 1;
    }
    Ok(commits)
}
