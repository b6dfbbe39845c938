//! One connection to either engine.

use super::{EngineError, Row, Statement, Value, postgres, sqlite};
use crate::Error;

/// Runs statements, one after the other.
pub(crate) struct Session {
    engine: Engine,
    /// The first error since [`Session::take_error`]. Later results of the same transaction cannot be
    /// trusted.
    error: Option<EngineError>,
    /// Whether a row was changed since [`Session::take_changed`].
    changed: bool,
}

enum Engine {
    Sqlite(sqlite::Connection),
    Postgres(postgres::Connection),
}

impl Session {
    pub(crate) fn sqlite(connection: sqlite::Connection) -> Self {
        Self { engine: Engine::Sqlite(connection), error: None, changed: false }
    }

    pub(crate) fn postgres(connection: postgres::Connection) -> Self {
        Self { engine: Engine::Postgres(connection), error: None, changed: false }
    }

    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.engine, Engine::Postgres(_))
    }

    /// Runs a statement and returns how many rows it changed.
    pub(crate) async fn execute(&mut self, statement: Statement, values: Vec<Value>) -> Result<u64, Error> {
        let result = match &mut self.engine {
            Engine::Sqlite(connection) => {
                connection.execute(statement, values).await.map_err(EngineError::from)
            }
            Engine::Postgres(connection) => connection.execute(statement, values).await,
        };
        let rows = self.record_error(result)?;
        self.changed |= rows > 0;
        Ok(rows)
    }

    /// All rows of a result. Statements that change rows and return them use
    /// [`Session::execute_returning`].
    pub(crate) async fn all(&mut self, statement: Statement, values: Vec<Value>) -> Result<Vec<Row>, Error> {
        let result = match &mut self.engine {
            Engine::Sqlite(connection) => connection.all(statement, values).await.map_err(EngineError::from),
            Engine::Postgres(connection) => connection.all(statement, values).await,
        };
        self.record_error(result)
    }

    /// The first row of a result.
    pub(crate) async fn first(
        &mut self,
        statement: Statement,
        values: Vec<Value>,
    ) -> Result<Option<Row>, Error> {
        Ok(self.all(statement, values).await?.into_iter().next())
    }

    /// Runs a statement with `RETURNING`. Its rows have no defined order.
    pub(crate) async fn execute_returning(
        &mut self,
        statement: Statement,
        values: Vec<Value>,
    ) -> Result<Vec<Row>, Error> {
        let rows = self.all(statement, values).await?;
        self.changed |= !rows.is_empty();
        Ok(rows)
    }

    /// Runs a script of several statements without values.
    pub(crate) async fn script(&mut self, text: &'static str) -> Result<(), Error> {
        let result = match &mut self.engine {
            Engine::Sqlite(connection) => connection.script(text).await.map_err(EngineError::from),
            Engine::Postgres(connection) => connection.script(text).await,
        };
        self.record_error(result)
    }

    /// Commits the transaction of this session, on PostgreSQL. After an error without a remedy the
    /// transaction may be committed or not.
    pub(crate) async fn commit(self) -> Result<(), EngineError> {
        match self.engine {
            Engine::Sqlite(_) => Err(Error::internal("a session of SQLite is no transaction").into()),
            Engine::Postgres(connection) => connection.commit().await,
        }
    }

    /// Makes the transaction fail with this error, even if its closure ignores it.
    pub(crate) fn fail_with(&mut self, error: Error) -> Error {
        self.error.get_or_insert_with(|| EngineError::from(error.clone()));
        error
    }

    pub(crate) fn take_error(&mut self) -> Option<EngineError> {
        self.error.take()
    }

    pub(crate) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Closes the connection; the last one to an SQLite database checkpoints its WAL into the file.
    pub(crate) async fn close(self) -> Result<(), Error> {
        match self.engine {
            Engine::Sqlite(connection) => connection.close().await,
            Engine::Postgres(connection) => connection.close().await,
        }
    }

    fn record_error<T>(&mut self, result: Result<T, EngineError>) -> Result<T, Error> {
        result.map_err(|EngineError { error, remedy }| {
            self.error.get_or_insert_with(|| EngineError { error: error.clone(), remedy });
            error
        })
    }
}
