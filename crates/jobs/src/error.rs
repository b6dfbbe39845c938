//! How a job fails.

use kinora_domain::{Failure, FailureCode, WrongState};

/// Why a job did not end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    /// It cannot end well; whoever asked for it is told so.
    #[error("{}", .0.message)]
    Fatal(Failure),
    /// Something of ours was in the way; later it may not be.
    #[error("a part the job needs is not available")]
    Retry(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database or the object store does not answer, or is too busy to. What the step did may have been kept all the same.
    #[error("a part the job needs does not answer")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The disk is full: the job waits and counts no attempt.
    #[error("the disk is full")]
    Full,
    /// Another worker has the job now; this one must change nothing.
    #[error("the lease was lost")]
    LeaseLost,
}

impl From<kinora_store::Error> for JobError {
    fn from(error: kinora_store::Error) -> Self {
        match error {
            kinora_store::Error::LeaseLost => Self::LeaseLost,
            kinora_store::Error::Full => Self::Full,
            away @ (kinora_store::Error::Unavailable { .. } | kinora_store::Error::Busy) => {
                Self::Away(Box::new(away))
            }
            other => Self::Retry(Box::new(other)),
        }
    }
}

impl From<kinora_blob::Error> for JobError {
    fn from(error: kinora_blob::Error) -> Self {
        match error {
            kinora_blob::Error::Full => Self::Full,
            away @ kinora_blob::Error::Unavailable { .. } => Self::Away(Box::new(away)),
            other => Self::Retry(Box::new(other)),
        }
    }
}

impl From<kinora_packager::Error> for JobError {
    fn from(error: kinora_packager::Error) -> Self {
        Self::Retry(Box::new(error))
    }
}

/// Another attempt has moved the media meanwhile, so this one is left behind.
impl From<WrongState> for JobError {
    fn from(_: WrongState) -> Self {
        Self::LeaseLost
    }
}

/// The failure a client sees when our own attempts are used up.
pub(crate) fn internal_failure() -> Failure {
    Failure::new(FailureCode::Internal, "the server could not process this media; create it again")
}
