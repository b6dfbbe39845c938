//! How a job fails.

use kinora_domain::{Failure, FailureCode, WrongState};
use kinora_engine::EngineError;
use kinora_fetch::Pause;
use kinora_intake::{IntakeError, ScanError, failure_of, is_full};

/// Why a job did not end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    /// It cannot end well; whoever asked for it is told so.
    #[error("{}", .0.message)]
    Fatal(Failure),
    /// Something of ours was in the way; later it may not be.
    #[error("a part the job needs is not available")]
    Retry(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database, the object store or the engine does not answer, is too busy to, or refuses us until an operator has done something:
    /// the job waits and counts no attempt. What the step did may have been kept all the same.
    #[error("a part the job needs does not answer")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The disk is full: the job waits and counts no attempt.
    #[error("the disk is full")]
    Full,
    /// The outside is asked again later: the job waits without a place, and counts no attempt.
    #[error("the source is asked again later")]
    Later(Pause),
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
            away @ (kinora_blob::Error::Unavailable { .. } | kinora_blob::Error::Refused { .. }) => {
                Self::Away(Box::new(away))
            }
            other => Self::Retry(Box::new(other)),
        }
    }
}

impl From<kinora_packager::Error> for JobError {
    fn from(error: kinora_packager::Error) -> Self {
        match error.root() {
            _ if error.is_full() => Self::Full,
            kinora_packager::Error::Store(kinora_store::Error::LeaseLost) => Self::LeaseLost,
            kinora_packager::Error::Unavailable(_) => Self::Away(Box::new(error)),
            kinora_packager::Error::EngineAway(cause) if is_lasting(cause) => Self::Away(Box::new(error)),
            _ => Self::Retry(Box::new(error)),
        }
    }
}

impl From<ScanError> for JobError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Read(error) => Self::Fatal(failure_of(&error)),
            ScanError::Aside(error) if is_full(&error) => Self::Full,
            error => Self::Retry(Box::new(error)),
        }
    }
}

impl From<IntakeError> for JobError {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::Full { .. } => Self::Full,
            // A request receives the upload: it is in better hands.
            IntakeError::Busy | IntakeError::Interrupted { .. } | IntakeError::Away(_) => {
                Self::Away(Box::new(error))
            }
            other => Self::Retry(Box::new(other)),
        }
    }
}

/// Only of an error that is [of the machine](EngineError::is_of_machine).
impl From<EngineError> for JobError {
    fn from(error: EngineError) -> Self {
        if is_lasting(&error) { Self::Away(Box::new(error)) } else { Self::Retry(Box::new(error)) }
    }
}

/// Whether an engine that cannot be started is waited for without end. One that was killed had begun: each try takes the machine's memory
/// again, so they are counted.
fn is_lasting(error: &EngineError) -> bool {
    !matches!(error, EngineError::Killed)
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

/// The same of a track that was added to a media.
pub(crate) fn internal_failure_of_track() -> Failure {
    let sentence = "the server could not process this track; update it with the same address";
    Failure::new(FailureCode::Internal, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blob(is_refused: bool) -> kinora_blob::Error {
        let source = std::io::Error::other("said");
        if is_refused {
            kinora_blob::Error::Refused { action: "try", remedy: "create the bucket", source }
        } else {
            kinora_blob::Error::Unavailable { action: "try", source }
        }
    }

    #[test]
    fn a_store_that_is_away_or_that_an_operator_must_mend_costs_no_attempt() {
        for is_refused in [false, true] {
            assert!(matches!(JobError::from(blob(is_refused)), JobError::Away(_)), "{is_refused}");
            let packager = kinora_packager::Error::from(blob(is_refused));
            let shared = kinora_packager::Error::Shared(std::sync::Arc::new(packager));
            assert!(matches!(JobError::from(shared), JobError::Away(_)), "{is_refused}");
        }
        assert!(matches!(JobError::from(kinora_packager::Error::Busy), JobError::Retry(_)));
        for full in [kinora_packager::Error::from(kinora_blob::Error::Full), kinora_store::Error::Full.into()]
        {
            let shared = kinora_packager::Error::Shared(std::sync::Arc::new(full));
            assert!(matches!(JobError::from(shared), JobError::Full));
        }
        let broken = kinora_blob::Error::Internal { action: "try", source: std::io::Error::other("broken") };
        assert!(matches!(JobError::from(broken), JobError::Retry(_)));
    }
}
