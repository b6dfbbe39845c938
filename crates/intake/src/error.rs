//! Errors of uploads, as far as they are visible to a client.

use kinora_domain::{Failure, FailureCode, LengthRejected, Upload};
use kinora_isobmff::{ReadError, ReadFailureCode};

use crate::{ScanError, is_disk_full};

/// Why a request failed. An `offset` means that the bytes before it are stored.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// The upload does not exist, or no longer.
    #[error("there is no such upload")]
    NotFound,
    /// The upload accepts no more bytes: cancelled, timed out or failed, as its state says.
    #[error("the upload is {}", .0.state.name())]
    Ended(Box<Upload>),
    /// The whole file is stored already, and the request needs an incomplete upload.
    #[error("the upload is complete")]
    Complete(Box<Upload>),
    /// The bytes do not follow the stored ones.
    #[error("the next byte must be at {offset}")]
    WrongOffset {
        /// Number of stored bytes.
        offset: u64,
        /// Length of the whole file in bytes, if known.
        length: Option<u64>,
    },
    /// The stated length of the whole file is impossible.
    #[error(transparent)]
    Length(#[from] LengthRejected),
    /// The body is longer than announced; the excess bytes are not stored.
    #[error("the body has more bytes than the announced length of {length}")]
    TooManyBytes {
        /// Number of stored bytes.
        offset: u64,
        /// Length of the whole file in bytes.
        length: u64,
    },
    /// The body ended before the file did, although the request announced the end of the file.
    #[error("the body ended after {offset} bytes, before the announced length of the file")]
    TooFewBytes {
        /// Number of stored bytes.
        offset: u64,
    },
    /// The checksum does not match; no byte of the request is stored.
    #[error("the checksum does not match the bytes")]
    BadChecksum {
        /// Number of stored bytes.
        offset: u64,
    },
    /// The request is too long to buffer until its checksum is verified.
    #[error("a request with a checksum must have at most {max} bytes")]
    ChecksumTooLong {
        /// The limit in bytes.
        max: u64,
    },
    /// The received bytes can never become a media; the upload has failed.
    #[error("{}", .0.message)]
    Rejected(Failure),
    /// Another request receives this upload now.
    #[error("another request has taken over this upload; read its offset")]
    Interrupted {
        /// Number of stored bytes at the interruption.
        offset: u64,
    },
    /// The connection of the client broke, or the body ended early.
    #[error("the body ended early; resume the upload or send it again")]
    Incomplete {
        /// Number of stored bytes.
        offset: u64,
    },
    /// The bytes arrive below the minimum rate.
    #[error("the bytes arrive too slowly; resume the upload or send it again")]
    Stalled {
        /// Number of stored bytes.
        offset: u64,
    },
    /// The disk is full.
    #[error("the disk is full")]
    DiskFull {
        /// Number of stored bytes.
        offset: u64,
    },
    /// Another request or process receives this upload and has not released it yet.
    #[error("another request is still ending")]
    Busy,
    /// A required service is unavailable.
    #[error("a component of the server does not respond")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Stored bytes of the file are missing from the object store, or differ from the record. The upload is
    /// ended for that reason.
    #[error("the stored bytes of the file are missing")]
    BytesLost,
    /// An internal error.
    #[error("the upload could not be received")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<kinora_store::Error> for IntakeError {
    fn from(error: kinora_store::Error) -> Self {
        use kinora_store::Error as Store;

        match error {
            // Another process receives it now; the client must query the offset again.
            Store::LeaseLost => Self::Interrupted { offset: 0 },
            Store::Full => Self::DiskFull { offset: 0 },
            Store::Busy | Store::Conflict => Self::Busy,
            unavailable @ Store::Unavailable { .. } => Self::Unavailable(Box::new(unavailable)),
            other => Self::Internal(Box::new(other)),
        }
    }
}

impl From<kinora_blob::Error> for IntakeError {
    fn from(error: kinora_blob::Error) -> Self {
        use kinora_blob::Error as Blob;

        match error {
            Blob::Full => Self::DiskFull { offset: 0 },
            Blob::LockedElsewhere(_) => Self::Busy,
            Blob::Gone(_) => Self::BytesLost,
            // The multipart log returned one of our errors.
            Blob::MultipartLog(cause) => match cause.downcast::<kinora_store::Error>() {
                Ok(error) => (*error).into(),
                Err(other) => Self::Internal(other),
            },
            unavailable @ (Blob::Unavailable { .. } | Blob::Rejected { .. }) => {
                Self::Unavailable(Box::new(unavailable))
            }
            other => Self::Internal(Box::new(other)),
        }
    }
}

impl IntakeError {
    /// The error with a known offset.
    #[must_use]
    pub(crate) fn with_offset(self, at: u64) -> Self {
        match self {
            Self::Interrupted { .. } => Self::Interrupted { offset: at },
            Self::DiskFull { .. } => Self::DiskFull { offset: at },
            other => other,
        }
    }
}

impl From<ScanError> for IntakeError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::SpillFile(error) if is_disk_full(&error) => Self::DiskFull { offset: 0 },
            error => Self::Internal(Box::new(error)),
        }
    }
}

/// The failure for a file that is not a media file.
pub fn failure_of(error: &ReadError) -> Failure {
    let code = match error.code() {
        ReadFailureCode::NotMedia => FailureCode::NotMedia,
        ReadFailureCode::Truncated => FailureCode::Truncated,
        ReadFailureCode::CodecUnsupported => FailureCode::CodecUnsupported,
    };
    Failure::new(code, error.to_string())
}
