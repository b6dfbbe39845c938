//! The URL of a PostgreSQL database.

use std::fmt;

use url::Url;

use crate::command::CommandError;

/// Address and credentials of a PostgreSQL. Its password is hidden in output.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(Url);

/// The text that replaces a password.
const HIDDEN: &str = "hidden";

impl DatabaseUrl {
    /// Parses `postgres://user:password@host:5432/name`. The error does not repeat the text, because it may
    /// contain a password.
    pub(crate) fn parse(text: &str) -> Result<Self, CommandError> {
        let wrong =
            || CommandError::new("--database-url must look like postgres://user:password@host:5432/name");
        let url = Url::parse(text).map_err(|_| wrong())?;
        let is_postgres = matches!(url.scheme(), "postgres" | "postgresql");
        if is_postgres && !url.cannot_be_a_base() { Ok(Self(url)) } else { Err(wrong()) }
    }

    /// The whole address with its password, for connections.
    pub fn reveal(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = self.0.clone();
        if shown.password().is_some() && shown.set_password(Some(HIDDEN)).is_err() {
            return f.write_str("postgres://(hidden)");
        }
        // libpq also accepts a password in the query.
        if shown.query_pairs().any(|(name, _)| name == "password") {
            let pairs: Vec<_> = self.0.query_pairs().into_owned().collect();
            let mut query = shown.query_pairs_mut();
            query.clear();
            for (name, value) in &pairs {
                query.append_pair(name, if name == "password" { HIDDEN } else { value });
            }
        }
        f.write_str(shown.as_str())
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown() {
        let check = |text: &str, shown: &str| {
            let url = DatabaseUrl::parse(text).unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(url.reveal(), text);
            assert!(!format!("{url:?}").contains("geheim"), "{url:?}");
        };
        check("postgres://me:geheim@db:5432/kinora", "postgres://me:hidden@db:5432/kinora");
        check("postgresql://db/kinora?sslmode=require", "postgresql://db/kinora?sslmode=require");
        check("postgres:///kinora?host=/run/postgresql", "postgres:///kinora?host=/run/postgresql");
        check(
            "postgres://me@db/kinora?password=geheim&sslmode=require",
            "postgres://me@db/kinora?password=hidden&sslmode=require",
        );
    }

    #[test]
    fn unsupported_database_url_is_rejected_without_echo() {
        for text in [
            "mysql://me:geheim@db/kinora",
            "me:geheim@db",
            "sqlite:///geheim",
            "geheim",
            "",
            "postgres:geheim",
        ] {
            let problem = DatabaseUrl::parse(text).unwrap_err().to_string();
            assert_eq!(
                problem, "--database-url must look like postgres://user:password@host:5432/name",
                "{text}"
            );
        }
    }
}
