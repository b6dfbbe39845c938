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
    /// The database, the object store or the engine does not answer, is too busy to, or refuses us until an
    /// operator has done something: the job waits and counts no attempt. What the step did may have been kept
    /// all the same.
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

/// Whether an engine that cannot be started is waited for without end. One that was killed had begun: each
/// try takes the machine's memory again, so they are counted.
fn is_lasting(error: &EngineError) -> bool {
    !matches!(error, EngineError::Killed)
}

/// How a job ends that encodes ahead of viewers, after its last encode ended like this.
///
/// A media that was deleted meanwhile needs nothing more. A busy engine counts no attempt, for viewers go
/// first.
pub(crate) fn of_encode_ahead(ended: Result<(), kinora_packager::Error>) -> Result<(), JobError> {
    let Err(error) = ended else { return Ok(()) };
    match error.root() {
        kinora_packager::Error::Gone => Ok(()),
        kinora_packager::Error::Busy => Err(JobError::Away(Box::new(error))),
        _ => Err(error.into()),
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

/// The same of a track that was added to a media.
pub(crate) fn internal_failure_of_track() -> Failure {
    let sentence = "the server could not process this track; update it with the same address";
    Failure::new(FailureCode::Internal, sentence)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;
    use crate::fixture::{at, created, source_id};

    /// Its variant.
    fn name(error: &JobError) -> &'static str {
        match error {
            JobError::Fatal(_) => "fatal",
            JobError::Retry(_) => "retry",
            JobError::Away(_) => "away",
            JobError::Full => "full",
            JobError::Later(_) => "later",
            JobError::LeaseLost => "lease lost",
        }
    }

    #[track_caller]
    fn check(error: impl Into<JobError>, expected: &str) {
        let error = error.into();
        assert_eq!(name(&error), expected, "{error:?}");
    }

    fn unavailable() -> kinora_blob::Error {
        kinora_blob::Error::Unavailable { action: "try", source: io::Error::other("said") }
    }

    fn refused() -> kinora_blob::Error {
        let source = io::Error::other("said");
        kinora_blob::Error::Refused { action: "try", remedy: "create the bucket", source }
    }

    fn broken() -> kinora_blob::Error {
        kinora_blob::Error::Internal { action: "try", source: io::Error::other("broken") }
    }

    /// As a flight gives it to all who joined it.
    fn shared(error: impl Into<kinora_packager::Error>) -> kinora_packager::Error {
        kinora_packager::Error::Shared(Arc::new(error.into()))
    }

    #[test]
    fn database_outage_counts_no_attempt() {
        check(kinora_store::Error::LeaseLost, "lease lost");
        check(kinora_store::Error::Full, "full");
        check(kinora_store::Error::Busy, "away");
        check(kinora_store::Error::Conflict, "retry");
    }

    #[test]
    fn object_store_outage_or_refusal_counts_no_attempt() {
        check(kinora_blob::Error::Full, "full");
        check(unavailable(), "away");
        check(refused(), "away");
        check(broken(), "retry");
    }

    #[test]
    fn packager_errors_are_judged_by_their_cause() {
        check(shared(unavailable()), "away");
        check(shared(refused()), "away");
        check(shared(broken()), "retry");
        check(shared(kinora_blob::Error::Full), "full");
        check(shared(kinora_store::Error::Full), "full");
        check(shared(kinora_store::Error::LeaseLost), "lease lost");
        check(kinora_packager::Error::Busy, "retry");
        check(kinora_packager::Error::Gone, "retry");
    }

    #[test]
    fn encoding_ahead_ends_with_its_media_and_waits_for_a_busy_engine() {
        let check = |ended: Result<(), kinora_packager::Error>, expected: Result<(), &str>| {
            let text = format!("{ended:?}");
            assert_eq!(of_encode_ahead(ended).map_err(|error| name(&error)), expected, "{text}");
        };
        check(Ok(()), Ok(()));
        check(Err(kinora_packager::Error::Gone), Ok(()));
        check(Err(shared(kinora_packager::Error::Gone)), Ok(()));
        check(Err(kinora_packager::Error::Busy), Err("away"));
        check(Err(shared(kinora_packager::Error::Busy)), Err("away"));
        check(Err(kinora_packager::Error::NotInPlan), Err("retry"));
        check(Err(shared(kinora_blob::Error::Full)), Err("full"));
    }

    #[test]
    fn upload_that_a_request_receives_counts_no_attempt() {
        check(IntakeError::Full { offset: 1 }, "full");
        check(IntakeError::Busy, "away");
        check(IntakeError::Interrupted { offset: 1 }, "away");
        check(IntakeError::Away("the database does not answer".into()), "away");
        check(IntakeError::NotFound, "retry");
        check(IntakeError::Lost, "retry");
        check(IntakeError::Internal("broken".into()), "retry");
    }

    #[test]
    fn full_scratch_disk_is_told_from_a_broken_one() {
        check(ScanError::Aside(io::ErrorKind::StorageFull.into()), "full");
        check(ScanError::Aside(io::ErrorKind::QuotaExceeded.into()), "full");
        check(ScanError::Aside(io::ErrorKind::PermissionDenied.into()), "retry");
    }

    #[test]
    fn media_in_another_state_is_a_lost_lease() {
        let wrong = created().withdraw_copy(source_id(1), at(2)).expect_err("it is not ready");
        check(wrong, "lease lost");
    }
}
