//! What an error of the driver means.

use crate::Error;
use crate::sql::{EngineError, Remedy};

/// For a database that was open.
pub(super) fn engine_error(error: sqlx::Error) -> EngineError {
    match &error {
        // Nobody could be reached in time, or nobody had time.
        sqlx::Error::PoolTimedOut => Error::unavailable(error).into(),
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => Error::Stopped.into(),
        sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_) | sqlx::Error::BeginFailed => {
            EngineError { error: Error::unavailable(error), remedy: Remedy::Reconnect }
        }
        sqlx::Error::Database(told) => {
            let code = told.code().map(|code| code.into_owned()).unwrap_or_default();
            by_code(&code, error)
        }
        _ => Error::internal(error).into(),
    }
}

/// https://www.postgresql.org/docs/15/errcodes-appendix.html
fn by_code(code: &str, error: sqlx::Error) -> EngineError {
    match code {
        // serialization_failure, deadlock_detected
        "40001" | "40P01" => EngineError { error: Error::Conflict, remedy: Remedy::Again },
        // unique_violation, foreign_key_violation, exclusion_violation: under SERIALIZABLE another
        // transaction may be the cause,
        // https://www.postgresql.org/docs/15/mvcc-serialization-failure-handling.html
        "23503" | "23505" | "23P01" => EngineError { error: Error::internal(error), remedy: Remedy::Once },
        // disk_full
        "53100" => Error::Full.into(),
        // query_canceled (by the timeout of statements), lock_not_available
        "57014" | "55P03" => Error::Busy.into(),
        // The server ends, starts, lets nobody else in, ended this connection, or is the standby: a moment
        // later another one may do. Insufficient resources (53) end by themselves as well, and 28, 3D and
        // 55000 when somebody has done with the server.
        _ if ["08", "28", "3D", "53", "55000", "57P", "25P03", "25006"]
            .iter()
            .any(|class| code.starts_with(class)) =>
        {
            EngineError { error: Error::unavailable(error), remedy: Remedy::Reconnect }
        }
        _ => Error::internal(error).into(),
    }
}
