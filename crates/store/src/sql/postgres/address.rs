//! The address of a database on PostgreSQL, and the errors for people when it cannot be opened.

use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::ConnectOptions as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};

use super::{Connection, column, engine_error};
use crate::Error;

/// The timeout of one connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// More than there are statements, so each is parsed once per connection.
const STATEMENTS_MAX: usize = 256;
/// The oldest version that PostgreSQL supports (https://www.postgresql.org/support/versioning/), that
/// Debian 12 has, and that the tests run on.
const MAJOR_MIN: i64 = 15;

/// Address, user, password and database. Has no `Debug`, so that the password is not printed.
#[derive(Clone)]
pub(crate) struct PgAddress {
    options: Arc<PgConnectOptions>,
}

impl PgAddress {
    /// Parses `postgres://user:password@host:port/name`. Missing parts come from the usual environment
    /// (`PGHOST`, ...).
    pub(crate) fn from_url(url: &str) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadDatabaseUrl { reason };
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        if !matches!(scheme, Some("postgres" | "postgresql")) {
            return Err(bad("it does not begin with postgres://".into()));
        }
        // The driver's errors name the wrong part and not the whole URL.
        let options = PgConnectOptions::from_str(url).map_err(|error| match error {
            sqlx::Error::Configuration(reason) => bad(reason.to_string()),
            _ => bad("it cannot be read".into()),
        })?;
        let options = options.statement_cache_capacity(STATEMENTS_MAX).disable_statement_logging();
        let options = if options.get_application_name().is_none() {
            options.application_name("kinora")
        } else {
            options
        };
        Ok(Self { options: Arc::new(options) })
    }

    pub(super) fn options(&self) -> PgConnectOptions {
        PgConnectOptions::clone(&self.options)
    }

    /// The same address with an application name, by which the server identifies the connection.
    pub(crate) fn with_application_name(&self, name: &str) -> Self {
        Self { options: Arc::new(self.options().application_name(name)) }
    }

    /// A separate connection, without the settings of pooled ones.
    pub(crate) async fn connect(&self) -> Result<Connection, Error> {
        match tokio::time::timeout(CONNECT_TIMEOUT, Box::pin(self.options.connect())).await {
            Ok(Ok(connection)) => Ok(Connection::Unpooled(connection)),
            Ok(Err(error)) => Err(self.connection_error(error)),
            Err(elapsed) => {
                Err(Error::DatabaseUnreachable { server: self.server(), source: Arc::new(elapsed) })
            }
        }
    }

    /// As [`PgAddress::connect`], and rejects an unsuitable server or database.
    pub(crate) async fn connect_first(&self) -> Result<Connection, Error> {
        let mut connection = self.connect().await?;
        let raw = connection.raw();
        check_server(raw).await?;
        Ok(connection)
    }

    /// Explains why the server rejected a statement that creates tables.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let Error::Internal { source } = &error else { return error };
        let code = source.downcast_ref::<sqlx::Error>().and_then(|error| match error {
            sqlx::Error::Database(db_error) => db_error.code(),
            _ => None,
        });
        match code.as_deref() {
            // insufficient_privilege, invalid_schema_name
            Some("42501" | "3F000") => {
                Error::DatabaseForbidden { user: self.user(), name: self.name(), source: source.clone() }
            }
            _ => error,
        }
    }

    /// Host and port, or the folder of the socket.
    fn server(&self) -> String {
        match self.options.get_socket() {
            Some(socket) => socket.display().to_string(),
            None => format!("{}:{}", self.options.get_host(), self.options.get_port()),
        }
    }

    fn user(&self) -> String {
        self.options.get_username().to_owned()
    }

    /// The name of the database. The server uses the user name for a database that is not named.
    fn name(&self) -> String {
        self.options.get_database().unwrap_or(self.options.get_username()).to_owned()
    }

    fn connection_error(&self, error: sqlx::Error) -> Error {
        let code = match &error {
            sqlx::Error::Database(db_error) => db_error.code().map(|code| code.into_owned()),
            _ => None,
        };
        let (server, user) = (self.server(), self.user());
        match code.as_deref() {
            // invalid_catalog_name
            Some("3D000") => Error::DatabaseMissing { server, user, name: self.name() },
            // invalid_authorization_specification, invalid_password
            Some(code) if code.starts_with("28") => {
                Error::DatabaseLogin { server, user, source: Arc::new(error) }
            }
            // too_many_connections
            Some("53300") => Error::DatabaseConnectionLimit { server, user, source: Arc::new(error) },
            // insufficient_privilege
            Some("42501") => Error::DatabaseForbidden { user, name: self.name(), source: Arc::new(error) },
            _ => Error::DatabaseUnreachable { server, source: Arc::new(error) },
        }
    }
}

async fn check_server(connection: &mut PgConnection) -> Result<(), Error> {
    const FACTS: &str = "SELECT current_setting('server_version_num')::bigint AS number,
        current_setting('server_version') AS version, current_setting('server_encoding') AS encoding";
    let facts = sqlx::query(FACTS).fetch_one(connection).await.map_err(|error| engine_error(error).error)?;
    // 150004 is 15.4, https://www.postgresql.org/docs/15/libpq-status.html#LIBPQ-PQSERVERVERSION
    if column::<i64>(&facts, "number")? / 10_000 < MAJOR_MIN {
        return Err(Error::DatabaseTooOld { found: column(&facts, "version")?, needed: MAJOR_MIN });
    }
    let encoding: String = column(&facts, "encoding")?;
    if encoding == "UTF8" { Ok(()) } else { Err(Error::DatabaseEncoding { found: encoding }) }
}
