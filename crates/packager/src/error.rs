//! What can go wrong between a request and its bytes.

use std::sync::Arc;

use kinora_engine::EngineError;
use kinora_formats::encode::{CollectError, FeedError, SegmentError};

/// What a caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan lists no such rendition or segment.
    #[error("there is no such segment")]
    NotInPlan,
    /// There is nothing to see: sound alone, or a frame that does not decode.
    #[error("the media has no picture")]
    NoPicture,
    /// More was asked for than is made at once: too many pictures to decode, or an answer that becomes too
    /// large. Less of it can be made.
    #[error("so much is not made at once")]
    TooMuch,
    /// The media engine that is installed lacks an encoder that this needs.
    #[error("the media engine has no {0}")]
    NoEncoder(&'static str),
    /// It was asked for and cannot be made: what it would be made of does not decode, or it would be too
    /// long.
    #[error("the file cannot be made")]
    NoFile,
    /// Sound with more long pauses than sounds can be laid over each other.
    #[error("the sound has too many pauses of more than 30 s to lay other sound over it")]
    TooManyPauses,
    /// It was asked for and is being made.
    #[error("the file is not made yet")]
    NotYet,
    /// Too much is asked for at once; trying again soon helps.
    #[error("the media engine is busy")]
    Busy,
    /// Source or index are not there: the media was deleted meanwhile.
    #[error("the source is gone")]
    Gone,
    /// The index is damaged.
    #[error("the index cannot be used")]
    Damaged(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The store of objects does not answer, or refuses us until an operator has done something; trying again
    /// later helps.
    #[error("the object store is not available")]
    Unavailable(#[source] kinora_blob::Error),
    /// The store of objects failed.
    #[error("the object store failed")]
    Blob(#[source] kinora_blob::Error),
    /// Not one picture of the segment comes out of the decoder, now or later.
    #[error("no picture of the segment can be decoded")]
    NoFrame,
    /// A segment could not be made. Another try may help.
    #[error("the segment could not be made")]
    Unmade(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database failed.
    #[error("the database failed")]
    Store(#[source] kinora_store::Error),
    /// The engine cannot be started here, or not be kept alive: trying again once the machine is mended
    /// helps.
    #[error("the media engine is not available")]
    EngineAway(#[source] EngineError),
    /// The engine failed.
    #[error("the media engine failed")]
    Engine(#[source] EngineError),
    /// What another caller met who asked for the same thing at the same time.
    #[error("{0}")]
    Shared(#[source] Arc<Error>),
}

impl Error {
    /// The error itself, also when it was met by another caller.
    pub fn root(&self) -> &Error {
        match self {
            Self::Shared(error) => error.root(),
            other => other,
        }
    }

    /// Whether what was made could not be kept, for the disk has no room.
    pub fn is_full(&self) -> bool {
        matches!(self.root(), Self::Blob(kinora_blob::Error::Full) | Self::Store(kinora_store::Error::Full))
    }

    /// Whether a run of the encoder met it by itself, so that another run may end otherwise.
    pub fn is_of_run(&self) -> bool {
        matches!(self.root(), Self::Unmade(_))
    }

    /// Whether the bytes of the source are the cause: they do not decode, or do not fit their index. Another
    /// try gives the same, and the operator can do nothing about it.
    pub fn is_of_file(&self) -> bool {
        match self.root() {
            Self::NoFrame => true,
            Self::Unmade(cause) => {
                cause.is::<FeedError>()
                    || cause.is::<CollectError>()
                    || cause.is::<SegmentError>()
                    || cause.downcast_ref().is_some_and(EngineError::is_of_input)
            }
            _ => false,
        }
    }
}

impl From<kinora_store::Error> for Error {
    fn from(error: kinora_store::Error) -> Self {
        Self::Store(error)
    }
}

impl From<kinora_blob::Error> for Error {
    fn from(error: kinora_blob::Error) -> Self {
        match error {
            kinora_blob::Error::Gone(_) => Self::Gone,
            unavailable @ (kinora_blob::Error::Unavailable { .. } | kinora_blob::Error::Refused { .. }) => {
                Self::Unavailable(unavailable)
            }
            other => Self::Blob(other),
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        use EngineError::{
            Busy, CpuExhausted, Failed, InputTooLarge, MemoryExhausted, MissingEncoder, NoPicture, NoRoom,
            OutputTooLarge, TimedOut,
        };
        match error {
            // A machine that is too slow now may be fast enough soon.
            Busy | TimedOut(_) => Self::Busy,
            NoRoom => Self::Blob(kinora_blob::Error::Full),
            MissingEncoder(name) => Self::NoEncoder(name),
            NoPicture
            | Failed { .. }
            | CpuExhausted(_)
            | MemoryExhausted { .. }
            | InputTooLarge { .. }
            | OutputTooLarge { .. } => Self::NoPicture,
            away if away.is_of_machine() => Self::EngineAway(away),
            other => Self::Engine(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_decoder_error_is_of_the_file_and_a_slow_machine_is_not() {
        let unmade = |cause: EngineError| Error::Unmade(Box::new(cause));
        for error in [
            Error::NoFrame,
            unmade(EngineError::Failed { exit: Some(1) }),
            unmade(EngineError::Failed { exit: None }),
            unmade(EngineError::CpuExhausted(Duration::from_secs(10))),
            Error::Unmade(Box::new(CollectError::CutShort)),
            Error::Unmade(Box::new(SegmentError::NoPictures)),
            Error::Unmade(Box::new(FeedError::SampleEntry)),
        ] {
            assert!(error.is_of_file(), "{error:?}");
            assert!(Error::Shared(Arc::new(error)).is_of_file());
        }
        for error in [
            Error::Busy,
            Error::Gone,
            unmade(EngineError::TimedOut(Duration::from_secs(10))),
            Error::Unmade(Box::new(io::Error::other("no reader"))),
            Error::EngineAway(EngineError::Killed),
            Error::Engine(EngineError::Failed { exit: Some(1) }),
        ] {
            assert!(!error.is_of_file(), "{error:?}");
        }
    }
}
