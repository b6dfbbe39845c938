//! Why a command could not be done, for the person who typed it.

use std::error::Error as StdError;
use std::fmt;

/// A sentence with the next step in it, and the cause below it.
#[derive(Debug)]
pub(crate) struct Problem {
    sentence: String,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl Problem {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self { sentence: sentence.into(), cause: None }
    }

    pub(crate) fn with_cause(
        sentence: impl Into<String>,
        cause: impl Into<Box<dyn StdError + Send + Sync>>,
    ) -> Self {
        Self { sentence: sentence.into(), cause: Some(cause.into()) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = self.sentence.clone();
        let mut cause = self.cause.as_deref().map(|cause| cause as &dyn StdError);
        while let Some(error) = cause {
            let more = error.to_string();
            // Some errors tell their cause by themselves.
            if !text.ends_with(&more) {
                text = format!("{text}: {more}");
            }
            cause = error.source();
        }
        f.write_str(&text)
    }
}

impl From<kinora_store::Error> for Problem {
    fn from(error: kinora_store::Error) -> Self {
        Self::with_cause("the database cannot be used", error)
    }
}

impl From<kinora_blob::Error> for Problem {
    fn from(error: kinora_blob::Error) -> Self {
        Self::with_cause("the object store cannot be used", error)
    }
}
