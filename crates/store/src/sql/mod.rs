//! Statements, values and rows, the same for every engine.
//!
//! An aggregate declares its statements with [`statements!`], and runs them on a [`Session`] with
//! [`values!`]. Statements are constants in the subset of SQL that SQLite and PostgreSQL share, with `$1`
//! binds; the time is always bound. Where the engines lock rows differently, a statement has a second text
//! for PostgreSQL.

mod database;
pub(crate) mod postgres;
mod row;
mod session;
pub(crate) mod sqlite;
#[cfg(test)]
mod tests;

pub(crate) use database::Database;
pub(crate) use row::Row;
pub(crate) use session::Session;

use kinora_domain::{
    AccessTokenId, AttemptId, AuditId, DeliveryId, EventId, InputId, JobId, MediaId, OneTimeLinkId,
    OrganisationId, PersonId, PlaybackId, PlaylistId, PresentationId, RenditionId, SessionId, SigningKeyId,
    SourceId, Timestamp, TrackId, WebhookId, WorkspaceId,
};

use crate::{Error, WorkerId};

/// One SQL statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Statement {
    text: &'static str,
    postgres: &'static str,
}

impl Statement {
    /// The same text for every engine.
    pub(crate) const fn new(text: &'static str) -> Self {
        Self { text, postgres: text }
    }

    /// Another text on PostgreSQL, with the same values and columns.
    pub(crate) const fn on_postgres(self, text: &'static str) -> Self {
        Self { postgres: text, ..self }
    }

    pub(crate) fn sqlite(self) -> &'static str {
        self.text
    }

    pub(crate) fn postgres(self) -> &'static str {
        self.postgres
    }
}

/// An error of an engine.
pub(crate) struct EngineError {
    /// The error for callers.
    pub(crate) error: Error,
    /// The remedy for a transaction.
    pub(crate) remedy: RetryAction,
}

/// The remedy for a failed transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RetryAction {
    /// Nothing.
    None,
    /// A retry: another transaction conflicted.
    Retry,
    /// One retry: another transaction may have conflicted, or the closure is wrong.
    RetryOnce,
    /// A retry on another connection, because this one is gone.
    Reconnect,
}

impl From<Error> for EngineError {
    fn from(error: Error) -> Self {
        Self { error, remedy: RetryAction::None }
    }
}

/// Declares the statements of a file, and their list for the test that prepares all statements.
macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr $(, postgres: $postgres:expr)?;)*) => {
        $($(#[$doc])* const $name: $crate::sql::Statement =
            $crate::sql::Statement::new($text)$(.on_postgres($postgres))?;)*

        #[cfg(test)]
        pub(crate) const STATEMENTS: &[$crate::sql::Statement] = &[$($name),*];
    };
}
pub(crate) use statements;

/// The values to bind to `$1`, `$2` and so on.
macro_rules! values {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::sql::Value::from($value)),*]
    };
}
pub(crate) use values;

/// A value to bind. An absent value still has a type, because PostgreSQL needs it.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(Option<String>),
    Int(Option<i64>),
    Bytes(Option<Vec<u8>>),
}

/// PostgreSQL stores no NUL in a text, so no engine does: it becomes U+FFFD.
impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(Some(if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<Option<&str>> for Value {
    fn from(text: Option<&str>) -> Self {
        Self::from(text.map(str::to_owned))
    }
}

impl From<Option<String>> for Value {
    fn from(text: Option<String>) -> Self {
        text.map_or(Self::Text(None), Self::from)
    }
}

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(Some(bytes.to_owned()))
    }
}

impl From<Option<&[u8]>> for Value {
    fn from(bytes: Option<&[u8]>) -> Self {
        Self::Bytes(bytes.map(<[u8]>::to_owned))
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(Some(number))
    }
}

impl From<Option<i64>> for Value {
    fn from(number: Option<i64>) -> Self {
        Self::Int(number)
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Int(Some(i64::from(number)))
    }
}

impl From<Option<u32>> for Value {
    fn from(number: Option<u32>) -> Self {
        Self::Int(number.map(i64::from))
    }
}

/// 0 or 1 in both engines: PostgreSQL compares no boolean with a number.
impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Int(Some(i64::from(flag)))
    }
}

impl From<Timestamp> for Value {
    fn from(at: Timestamp) -> Self {
        Self::Int(Some(at.as_micros()))
    }
}

impl From<Option<Timestamp>> for Value {
    fn from(at: Option<Timestamp>) -> Self {
        Self::Int(at.map(Timestamp::as_micros))
    }
}

macro_rules! ids {
    ($($id:ty),* $(,)?) => {
        $(
            impl From<$id> for Value {
                fn from(id: $id) -> Self {
                    Self::Text(Some(id.to_string()))
                }
            }

            impl From<Option<$id>> for Value {
                fn from(id: Option<$id>) -> Self {
                    Self::Text(id.map(|id| id.to_string()))
                }
            }
        )*
    };
}

ids!(
    AccessTokenId,
    AttemptId,
    AuditId,
    DeliveryId,
    EventId,
    InputId,
    JobId,
    MediaId,
    OneTimeLinkId,
    OrganisationId,
    PersonId,
    PlaybackId,
    PlaylistId,
    PresentationId,
    RenditionId,
    SessionId,
    SigningKeyId,
    SourceId,
    TrackId,
    WebhookId,
    WorkerId,
    WorkspaceId,
);
