//! One row of a result, read by the names of its columns.

use std::str::FromStr;

use kinora_domain::Timestamp;
use serde::de::DeserializeOwned;
use sqlx::postgres::PgRow;
use sqlx::sqlite::SqliteRow;

use super::{postgres, sqlite};
use crate::Error;

/// One row. A value that does not fit its column is [`Error::Internal`]: the checks of the schema reject it
/// earlier.
pub(crate) enum Row {
    Sqlite(SqliteRow),
    Postgres(PgRow),
}

/// A column with an invalid value.
#[derive(Debug, thiserror::Error)]
#[error("column {column} has an invalid value")]
struct InvalidColumn {
    column: &'static str,
}

impl Row {
    /// The error for a value that the checks of the schema should have rejected.
    pub(crate) fn invalid_column(column: &'static str) -> Error {
        Error::internal(InvalidColumn { column })
    }

    pub(crate) fn text(&self, column: &'static str) -> Result<String, Error> {
        match self {
            Self::Sqlite(row) => sqlite::column(row, column),
            Self::Postgres(row) => postgres::column(row, column),
        }
    }

    pub(crate) fn text_or_none(&self, column: &'static str) -> Result<Option<String>, Error> {
        match self {
            Self::Sqlite(row) => sqlite::column(row, column),
            Self::Postgres(row) => postgres::column(row, column),
        }
    }

    pub(crate) fn bytes<const N: usize>(&self, column: &'static str) -> Result<[u8; N], Error> {
        let bytes: Vec<u8> = match self {
            Self::Sqlite(row) => sqlite::column(row, column)?,
            Self::Postgres(row) => postgres::column(row, column)?,
        };
        bytes.try_into().map_err(|_| Self::invalid_column(column))
    }

    pub(crate) fn bytes_or_none<const N: usize>(
        &self,
        column: &'static str,
    ) -> Result<Option<[u8; N]>, Error> {
        let bytes: Option<Vec<u8>> = match self {
            Self::Sqlite(row) => sqlite::column(row, column)?,
            Self::Postgres(row) => postgres::column(row, column)?,
        };
        bytes.map(|bytes| bytes.try_into().map_err(|_| Self::invalid_column(column))).transpose()
    }

    pub(crate) fn int(&self, column: &'static str) -> Result<i64, Error> {
        match self {
            Self::Sqlite(row) => sqlite::column(row, column),
            Self::Postgres(row) => postgres::column(row, column),
        }
    }

    pub(crate) fn int_or_none(&self, column: &'static str) -> Result<Option<i64>, Error> {
        match self {
            Self::Sqlite(row) => sqlite::column(row, column),
            Self::Postgres(row) => postgres::column(row, column),
        }
    }

    /// A number of a smaller type.
    pub(crate) fn number<T: TryFrom<i64>>(&self, column: &'static str) -> Result<T, Error> {
        T::try_from(self.int(column)?).map_err(|_| Self::invalid_column(column))
    }

    pub(crate) fn number_or_none<T: TryFrom<i64>>(&self, column: &'static str) -> Result<Option<T>, Error> {
        self.int_or_none(column)?.map(T::try_from).transpose().map_err(|_| Self::invalid_column(column))
    }

    pub(crate) fn flag(&self, column: &'static str) -> Result<bool, Error> {
        Ok(self.int(column)? != 0)
    }

    pub(crate) fn time(&self, column: &'static str) -> Result<Timestamp, Error> {
        self.int(column).map(Timestamp::from_micros)
    }

    pub(crate) fn time_or_none(&self, column: &'static str) -> Result<Option<Timestamp>, Error> {
        Ok(self.int_or_none(column)?.map(Timestamp::from_micros))
    }

    pub(crate) fn id<T: FromStr>(&self, column: &'static str) -> Result<T, Error> {
        self.text(column)?.parse().map_err(|_| Self::invalid_column(column))
    }

    pub(crate) fn id_or_none<T: FromStr>(&self, column: &'static str) -> Result<Option<T>, Error> {
        let text = self.text_or_none(column)?;
        text.map(|text| text.parse().map_err(|_| Self::invalid_column(column))).transpose()
    }

    /// The value of a text column, parsed by `parse`.
    pub(crate) fn parsed<T>(&self, column: &'static str, parse: fn(&str) -> Option<T>) -> Result<T, Error> {
        parse(&self.text(column)?).ok_or_else(|| Self::invalid_column(column))
    }

    pub(crate) fn parsed_or_none<T>(
        &self,
        column: &'static str,
        parse: fn(&str) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        self.text_or_none(column)?
            .map(|text| parse(&text).ok_or_else(|| Self::invalid_column(column)))
            .transpose()
    }

    pub(crate) fn json<T: DeserializeOwned>(&self, column: &'static str) -> Result<T, Error> {
        serde_json::from_str(&self.text(column)?).map_err(Error::internal)
    }

    pub(crate) fn json_or_none<T: DeserializeOwned>(&self, column: &'static str) -> Result<Option<T>, Error> {
        let text = self.text_or_none(column)?;
        text.map(|text| serde_json::from_str(&text).map_err(Error::internal)).transpose()
    }
}
