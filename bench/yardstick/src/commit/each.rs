//! One sync per commit: writers share one connection for writes, one at a time, as in a simple program on
//! SQLite.

use std::path::Path;
use std::sync::Arc;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection as _, SqliteConnection};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{FAR_S, measure, new_id};
use crate::Error;

const INSERT: &str = "INSERT INTO job (id, queue, kind, payload, priority, state, run_at, created_at)
    VALUES ($1, 'upkeep', 'sweep', '{}', 2, 'pending', $2, $3)";

/// `folder` contains a database that a store has created.
pub(crate) async fn run(folder: &str, writers: &str, seconds: &str) -> Result<(), Error> {
    let options = SqliteConnectOptions::new()
        .filename(Path::new(folder).join("kinora.db"))
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let connection = Arc::new(Mutex::new(SqliteConnection::connect_with(&options).await?));
    measure(writers, seconds, |until| write(Arc::clone(&connection), until)).await
}

async fn write(connection: Arc<Mutex<SqliteConnection>>, until: Instant) -> Result<u64, Error> {
    let mut commits = 0;
    while Instant::now() < until {
        let (id, now) = new_id();
        let mut connection = connection.lock().await;
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query(INSERT)
            .bind(id.to_string())
            .bind(now.plus_seconds(FAR_S).as_micros())
            .bind(now.as_micros())
            .execute(&mut *transaction)
            .await?;
        transaction.commit().await?;
        commits += 1;
    }
    Ok(commits)
}
