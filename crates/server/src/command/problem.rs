//! Why a command could not be done, for the person who typed it.

use std::error::Error as StdError;
use std::fmt;

use kinora_domain::sentence_with_causes;

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
        let cause = self.cause.as_deref().map(|cause| cause as &dyn StdError);
        f.write_str(&sentence_with_causes(self.sentence.as_str(), cause))
    }
}

impl From<kinora_store::Error> for Problem {
    fn from(error: kinora_store::Error) -> Self {
        Self::with_cause("the database cannot be used", error)
    }
}

impl From<kinora_service::Error> for Problem {
    fn from(error: kinora_service::Error) -> Self {
        match error {
            kinora_service::Error::Store(error) => error.into(),
            // Its text is a sentence for people, and it has no cause.
            error => Self::new(error.to_string()),
        }
    }
}

impl From<kinora_blob::Error> for Problem {
    fn from(error: kinora_blob::Error) -> Self {
        Self::with_cause("the object store cannot be used", error)
    }
}
