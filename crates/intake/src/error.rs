//! Why bytes were not taken, as far as a client can be told.

use kinora_domain::{Failure, FailureCode, LengthProblem, Upload};
use kinora_isobmff::{ReadError, ReadFailureCode};

use crate::{ScanError, is_full};

/// Why a request did not do what it asked for. Where an offset stands, the bytes up to it are kept.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// There is no such upload, or not any more.
    #[error("there is no such upload")]
    NotFound,
    /// Nothing more can come: cancelled, timed out or failed, as its state says.
    #[error("the upload is {}", .0.state.name())]
    Ended(Box<Upload>),
    /// The whole file is kept already, and the request is for one that is not.
    #[error("the upload is complete")]
    Complete(Box<Upload>),
    /// The bytes do not follow those that are kept.
    #[error("the next byte belongs at {offset}")]
    WrongOffset {
        /// Where the upload stands.
        offset: u64,
        /// Bytes of the whole file, if known.
        length: Option<u64>,
    },
    /// The length of the whole file cannot be what was said.
    #[error(transparent)]
    Length(#[from] LengthProblem),
    /// The body brings more bytes than were announced; those beyond are not kept.
    #[error("more bytes came than the {length} that were announced")]
    TooManyBytes {
        /// Where the upload stands.
        offset: u64,
        /// Bytes of the whole file.
        length: u64,
    },
    /// The body ended before the file did, although the request said that it ends the file.
    #[error("the body ended after {offset} bytes, before the announced length of the file")]
    TooFewBytes {
        /// Where the upload stands.
        offset: u64,
    },
    /// The bytes do not add up to their checksum; none of the request is kept.
    #[error("the checksum does not fit the bytes")]
    BadChecksum {
        /// Where the upload stands.
        offset: u64,
    },
    /// Too many bytes to be held until their checksum is known.
    #[error("a request with a checksum has at most {max} bytes")]
    ChecksumTooLong {
        /// The most bytes.
        max: u64,
    },
    /// What came can never become a media; the upload has failed.
    #[error("{}", .0.message)]
    Hopeless(Failure),
    /// Another request receives this upload now.
    #[error("another request has taken this upload over")]
    Interrupted {
        /// Where the upload stood.
        offset: u64,
    },
    /// The client's line broke, or the body ended early.
    #[error("the body ended early")]
    Broken {
        /// Where the upload stands.
        offset: u64,
    },
    /// The bytes come more slowly than the server waits for them.
    #[error("the bytes come too slowly")]
    Slow {
        /// Where the upload stands.
        offset: u64,
    },
    /// The disk is full.
    #[error("the disk is full")]
    Full {
        /// Where the upload stands.
        offset: u64,
    },
    /// Another request or process receives this upload and has not let go yet.
    #[error("another request is still ending")]
    Busy,
    /// A part that is needed does not answer.
    #[error("a part of the server does not answer")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What was kept of the file is not in the store of objects any more, or not as it was written down. The
    /// upload is ended for it.
    #[error("what was kept of the file is gone")]
    Lost,
    /// Our own fault.
    #[error("the upload could not be received")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<kinora_store::Error> for IntakeError {
    fn from(error: kinora_store::Error) -> Self {
        use kinora_store::Error as Store;

        match error {
            // Somebody else receives it now; how far it had come is asked anew.
            Store::LeaseLost => Self::Interrupted { offset: 0 },
            Store::Full => Self::Full { offset: 0 },
            Store::Busy | Store::Conflict => Self::Busy,
            away @ Store::Unavailable { .. } => Self::Away(Box::new(away)),
            other => Self::Internal(Box::new(other)),
        }
    }
}

impl From<kinora_blob::Error> for IntakeError {
    fn from(error: kinora_blob::Error) -> Self {
        use kinora_blob::Error as Blob;

        match error {
            Blob::Full => Self::Full { offset: 0 },
            Blob::HeldElsewhere(_) => Self::Busy,
            Blob::Gone(_) => Self::Lost,
            // What the ledger answered is one of ours.
            Blob::Ledger(cause) => match cause.downcast::<kinora_store::Error>() {
                Ok(error) => (*error).into(),
                Err(other) => Self::Internal(other),
            },
            away @ (Blob::Unavailable { .. } | Blob::Refused { .. }) => Self::Away(Box::new(away)),
            other => Self::Internal(Box::new(other)),
        }
    }
}

impl IntakeError {
    /// The same, where the upload is known to stand.
    #[must_use]
    pub(crate) fn standing_at(self, at: u64) -> Self {
        match self {
            Self::Interrupted { .. } => Self::Interrupted { offset: at },
            Self::Full { .. } => Self::Full { offset: at },
            other => other,
        }
    }
}

impl From<ScanError> for IntakeError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Aside(error) if is_full(&error) => Self::Full { offset: 0 },
            error => Self::Internal(Box::new(error)),
        }
    }
}

/// What an owner is told of a file that is no media.
pub fn failure_of(error: &ReadError) -> Failure {
    let code = match error.code() {
        ReadFailureCode::NotMedia => FailureCode::NotMedia,
        ReadFailureCode::Truncated => FailureCode::Truncated,
        ReadFailureCode::CodecUnsupported => FailureCode::CodecUnsupported,
    };
    Failure::new(code, error.to_string())
}
