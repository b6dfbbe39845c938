//! Databases on a real PostgreSQL server, one per test.
//!
//! The test run must start the server. `KINORA_TEST_DATABASE_URL` names it, with a user that may create
//! databases.

use std::future::Future;
use std::str::FromStr as _;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, PgConnection, Row as _};

const VARIABLE: &str = "KINORA_TEST_DATABASE_URL";

/// An empty database for one test. It is dropped, with all connections to it, when this is dropped.
pub struct TestDatabase {
    server: PgConnectOptions,
    name: String,
}

impl TestDatabase {
    /// Creates a database. Its collation is English, to show that nothing depends on the collation.
    ///
    /// # Panics
    ///
    /// If there is no server; the message has the command to run.
    pub fn create() -> Self {
        let url = std::env::var(VARIABLE).unwrap_or_else(|_| {
            panic!(
                "{VARIABLE} is not set: this test needs PostgreSQL; run `make test`, or `cargo xtask servers -- cargo nextest run`"
            )
        });
        let server = PgConnectOptions::from_str(&url).expect("KINORA_TEST_DATABASE_URL is a URL");
        let options = server.clone();
        let name = apart(async move {
            let mut connection = options.connect().await?;
            let row =
                sqlx::query("SELECT 'kinora_test_' || replace(gen_random_uuid()::text, '-', '') AS name");
            let name: String = row.fetch_one(&mut connection).await?.try_get("name")?;
            let create = format!(
                "CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"
            );
            sqlx::query(AssertSqlSafe(create)).execute(&mut connection).await?;
            Ok(name)
        });
        Self { server, name }
    }

    /// Its URL.
    pub fn url(&self) -> String {
        self.server.clone().database(&self.name).to_url_lossy().to_string()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A connection for the test itself, independent of the code under test.
    pub async fn connect(&self) -> PgConnection {
        self.server.clone().database(&self.name).connect().await.expect("the test's database can be reached")
    }

    /// Runs a statement independently of the code under test, and returns the number of changed rows.
    pub async fn execute(&self, statement: &str) -> u64 {
        let mut connection = self.connect().await;
        let done = sqlx::query(AssertSqlSafe(statement.to_owned())).execute(&mut connection).await;
        done.unwrap_or_else(|error| panic!("{statement}: {error}")).rows_affected()
    }

    /// Ends all connections to it, like a restart of the server. Returns their number.
    pub async fn end_connections(&self) -> i64 {
        const END: &str =
            "SELECT count(pg_terminate_backend(pid)) AS ended FROM pg_stat_activity WHERE datname = $1";
        let mut connection = self.server.connect().await.expect("the server can be reached");
        let row = sqlx::query(END).bind(&self.name).fetch_one(&mut connection).await;
        row.and_then(|row| row.try_get("ended")).expect("a superuser may end connections")
    }

    /// Rejects new connections and ends all existing ones, like a stopped server.
    pub async fn stop(&self) {
        self.allow_connections(false).await;
        self.end_connections().await;
    }

    /// Ends [`TestDatabase::stop`].
    pub async fn resume(&self) {
        self.allow_connections(true).await;
    }

    async fn allow_connections(&self, allowed: bool) {
        let alter = format!("ALTER DATABASE {} ALLOW_CONNECTIONS {allowed}", self.name);
        let mut connection = self.server.connect().await.expect("the server can be reached");
        sqlx::query(AssertSqlSafe(alter)).execute(&mut connection).await.expect("a superuser may alter it");
    }
}

/// Does not block. PostgreSQL drops a database only after every other session has processed a notification.
/// A session whose client pauses in the middle of its login does not do so for a minute. A test that waited
/// here would block its own logins.
impl Drop for TestDatabase {
    fn drop(&mut self) {
        let (options, name) = (self.server.clone(), self.name.clone());
        std::thread::spawn(move || {
            let work = async move {
                let mut connection = options.connect().await?;
                let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
                sqlx::query(AssertSqlSafe(drop)).execute(&mut connection).await
            };
            // A database that is left because the test has ended goes away with the server.
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|runtime| runtime.block_on(work))
        });
    }
}

/// Runs `work` on another thread: the test may or may not have a runtime at this point.
fn apart<T: Send + 'static>(work: impl Future<Output = Result<T, sqlx::Error>> + Send + 'static) -> T {
    let run = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a test may have a runtime").block_on(work)
    };
    let done = std::thread::spawn(run).join().expect("a database is made without a panic");
    done.unwrap_or_else(|error| panic!("PostgreSQL at {VARIABLE}: {error}"))
}
