//! Maps errors of the driver to errors of the store.

use crate::Error;
use crate::sql::{EngineError, RetryAction};

/// For a database that was open before.
pub(super) fn engine_error(error: sqlx::Error) -> EngineError {
    match &error {
        // No connection within the timeout: the server is unreachable, or all connections are busy.
        sqlx::Error::PoolTimedOut => Error::unavailable(error).into(),
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => Error::Stopped.into(),
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::BeginFailed => {
            EngineError { error: Error::unavailable(error), remedy: RetryAction::Reconnect }
        }
        sqlx::Error::Database(db_error) => {
            let code = db_error.code().map(|code| code.into_owned()).unwrap_or_default();
            by_code(&code, error)
        }
        _ => Error::internal(error).into(),
    }
}

/// https://www.postgresql.org/docs/15/errcodes-appendix.html
fn by_code(code: &str, error: sqlx::Error) -> EngineError {
    match code {
        // serialization_failure, deadlock_detected
        "40001" | "40P01" => EngineError { error: Error::Conflict, remedy: RetryAction::Retry },
        // unique_violation, foreign_key_violation, exclusion_violation: under SERIALIZABLE another
        // transaction may be the cause,
        // https://www.postgresql.org/docs/15/mvcc-serialization-failure-handling.html
        "23503" | "23505" | "23P01" => {
            EngineError { error: Error::internal(error), remedy: RetryAction::RetryOnce }
        }
        // disk_full
        "53100" => Error::Full.into(),
        // query_canceled (by the timeout of statements), lock_not_available
        "57014" | "55P03" => Error::Busy.into(),
        // The server stops, starts, has no free connection, ended this connection, or is the standby: a
        // later retry may reach another server. Insufficient resources (53) end by themselves too. 28, 3D
        // and 55000 end when an administrator has finished work on the server.
        _ if ["08", "28", "3D", "53", "55000", "57P", "25P03", "25006"]
            .iter()
            .any(|class| code.starts_with(class)) =>
        {
            EngineError { error: Error::unavailable(error), remedy: RetryAction::Reconnect }
        }
        _ => Error::internal(error).into(),
    }
}
