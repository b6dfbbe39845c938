//! Databases of the last unreleased schema version (D-0125).

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

/// Creates the tables of schema 25 in SQLite.
pub const SQLITE: &str = include_str!("../schema_25/sqlite.sql");
/// Creates the same tables in PostgreSQL.
pub const POSTGRES: &str = include_str!("../schema_25/postgres.sql");

/// Creates a file with the tables of schema 25 and the rows of a script.
///
/// Panics if the file exists or the script fails.
pub async fn make_file(file: &Path, rows: &'static str) {
    assert!(!file.exists(), "{} exists", file.display());
    // Rows are in the order of their tables, not of their references.
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true).foreign_keys(false);
    let mut connection = options.connect().await.expect("a database can be made");
    for script in [SQLITE, "BEGIN", rows, "COMMIT"] {
        sqlx::raw_sql(script).execute(&mut connection).await.expect("the script is of these tables");
    }
    connection.close().await.expect("the file is written");
}

/// The kinds of the events in the file, oldest first. A server may use the file at the same time.
///
/// Panics if the file cannot be read.
pub async fn event_kinds(file: &Path) -> Vec<String> {
    let mut connection = SqliteConnectOptions::new().filename(file).connect().await.expect("the file exists");
    let kinds =
        sqlx::query_scalar("SELECT kind FROM event ORDER BY sequence").fetch_all(&mut connection).await;
    connection.close().await.expect("nothing was written");
    kinds.expect("the table of events exists")
}
