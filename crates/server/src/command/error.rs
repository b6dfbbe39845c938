//! Why a command failed, for the person who typed it.

use std::error::Error as StdError;
use std::fmt;

use kinora_domain::sentence_with_causes;

/// A sentence that includes the next step, and its cause.
#[derive(Debug)]
pub(crate) struct CommandError {
    sentence: String,
    cause: Option<Box<dyn StdError + Send + Sync>>,
}

impl CommandError {
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

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cause = self.cause.as_deref().map(|cause| cause as &dyn StdError);
        f.write_str(&sentence_with_causes(self.sentence.as_str(), cause))
    }
}

impl From<kinora_store::Error> for CommandError {
    fn from(error: kinora_store::Error) -> Self {
        Self::with_cause("the database cannot be used", error)
    }
}

impl From<kinora_service::Error> for CommandError {
    fn from(error: kinora_service::Error) -> Self {
        match error {
            kinora_service::Error::Store(error) => error.into(),
            // Its text is a sentence for people, and it has no cause.
            error => Self::new(error.to_string()),
        }
    }
}

impl From<kinora_blob::Error> for CommandError {
    fn from(error: kinora_blob::Error) -> Self {
        Self::with_cause("the object store cannot be used", error)
    }
}
