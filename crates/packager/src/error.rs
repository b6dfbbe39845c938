//! Errors between a request and its bytes.

use std::sync::Arc;

use kinora_engine::EngineError;
use kinora_formats::encode::{FeedError, SegmentError, SegmenterError};

/// An error that a caller can act on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan lists no such rendition or segment.
    #[error("the segment does not exist")]
    NotListed,
    /// There is no frame to show: the media is audio only, or the frame does not decode.
    #[error("the media has no video")]
    NoImage,
    /// The request exceeds a limit: too many frames to decode, or a response that becomes too large. A
    /// smaller request may succeed.
    #[error("the clip is too large")]
    LimitExceeded,
    /// The installed media engine lacks an encoder that this needs.
    #[error("the media engine has no {0}")]
    NoEncoder(&'static str),
    /// The requested file cannot be made: its source does not decode, or the file would be too long.
    #[error("the file cannot be created")]
    NotPossible,
    /// Audio with more long pauses than a mix can have parts.
    #[error("the audio has too many pauses of more than 30 s to mix other audio over it")]
    TooManyPauses,
    /// The requested file is being made.
    #[error("the file is not created yet")]
    Pending,
    /// Too many requests at once; retry soon.
    #[error("the media engine is busy")]
    Busy,
    /// The source or its index is missing: the media was deleted meanwhile.
    #[error("the source is gone")]
    Gone,
    /// The index is damaged.
    #[error("the index cannot be used")]
    Damaged(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The object store does not respond, or rejects requests until an operator acts. Retry later.
    #[error("the object store is not available")]
    Unavailable(#[source] kinora_blob::Error),
    /// The object store failed.
    #[error("the object store failed")]
    Blob(#[source] kinora_blob::Error),
    /// No frame of the segment decodes, and a retry fails too.
    #[error("no frame of the segment can be decoded")]
    NoFrame,
    /// A segment could not be encoded. A retry may help.
    #[error("the segment could not be created")]
    EncodeFailed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database failed.
    #[error("the database failed")]
    Store(#[source] kinora_store::Error),
    /// The engine cannot start or stay alive on this machine. Retry after the machine is repaired.
    #[error("the media engine is not available")]
    EngineUnavailable(#[source] EngineError),
    /// The engine failed.
    #[error("the media engine failed")]
    Engine(#[source] EngineError),
    /// The error of a concurrent request for the same thing.
    #[error("{0}")]
    Shared(#[source] Arc<Error>),
}

impl Error {
    /// The error itself, also if it is shared with another caller.
    pub fn root(&self) -> &Error {
        match self {
            Self::Shared(error) => error.root(),
            other => other,
        }
    }

    /// Whether the output could not be stored because the disk is full.
    pub fn is_disk_full(&self) -> bool {
        matches!(self.root(), Self::Blob(kinora_blob::Error::Full) | Self::Store(kinora_store::Error::Full))
    }

    /// Whether a single run of the encoder failed, so that a retry may succeed.
    pub fn is_run_failure(&self) -> bool {
        matches!(self.root(), Self::EncodeFailed(_))
    }

    /// Whether the bytes of the source are the cause: they do not decode, or do not fit their index. A retry
    /// fails in the same way, and the operator cannot help.
    pub fn is_source_fault(&self) -> bool {
        match self.root() {
            Self::NoFrame => true,
            Self::EncodeFailed(cause) => {
                cause.is::<FeedError>()
                    || cause.is::<SegmenterError>()
                    || cause.is::<SegmentError>()
                    || cause.downcast_ref().is_some_and(EngineError::is_input_fault)
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
            unavailable @ (kinora_blob::Error::Unavailable { .. } | kinora_blob::Error::Rejected { .. }) => {
                Self::Unavailable(unavailable)
            }
            other => Self::Blob(other),
        }
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        use EngineError::{
            Busy, CpuExhausted, DiskFull, Failed, InputTooLarge, MemoryExhausted, MissingEncoder, NoFrame,
            OutputTooLarge, TimedOut,
        };
        match error {
            // The machine may be fast enough later.
            Busy | TimedOut(_) => Self::Busy,
            DiskFull => Self::Blob(kinora_blob::Error::Full),
            MissingEncoder(name) => Self::NoEncoder(name),
            NoFrame
            | Failed { .. }
            | CpuExhausted(_)
            | MemoryExhausted { .. }
            | InputTooLarge { .. }
            | OutputTooLarge { .. } => Self::NoImage,
            unavailable if unavailable.is_machine_fault() => Self::EngineUnavailable(unavailable),
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
    fn decoder_error_is_source_fault_timeout_is_not() {
        let encode_failed = |cause: EngineError| Error::EncodeFailed(Box::new(cause));
        for error in [
            Error::NoFrame,
            encode_failed(EngineError::Failed { exit: Some(1) }),
            encode_failed(EngineError::Failed { exit: None }),
            encode_failed(EngineError::CpuExhausted(Duration::from_secs(10))),
            Error::EncodeFailed(Box::new(SegmenterError::Truncated)),
            Error::EncodeFailed(Box::new(SegmentError::NoFrames)),
            Error::EncodeFailed(Box::new(FeedError::SampleEntry)),
        ] {
            assert!(error.is_source_fault(), "{error:?}");
            assert!(Error::Shared(Arc::new(error)).is_source_fault());
        }
        for error in [
            Error::Busy,
            Error::Gone,
            encode_failed(EngineError::TimedOut(Duration::from_secs(10))),
            Error::EncodeFailed(Box::new(io::Error::other("no reader"))),
            Error::EngineUnavailable(EngineError::Killed),
            Error::Engine(EngineError::Failed { exit: Some(1) }),
        ] {
            assert!(!error.is_source_fault(), "{error:?}");
        }
    }
}
