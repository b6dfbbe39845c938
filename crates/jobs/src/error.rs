//! Errors of jobs.

use kinora_domain::{Failure, FailureCode, WrongState};
use kinora_engine::EngineError;
use kinora_fetch::Pause;
use kinora_intake::{IntakeError, ScanError, failure_of, is_disk_full};

/// Why a run of a job failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum JobError {
    /// The job cannot succeed; the client receives this failure.
    #[error("{}", .0.message)]
    Fatal(Failure),
    /// An internal error; a retry may succeed.
    #[error("a component that the job needs is not available")]
    Retry(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The database, the object store or the engine is unavailable, too busy, or rejects us until an
    /// operator acts. The job waits and counts no attempt. The step may have taken effect all the same.
    #[error("a component that the job needs does not respond")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The disk is full: the job waits and counts no attempt.
    #[error("the disk is full")]
    DiskFull,
    /// The source is tried again later: the job waits without a permit, and counts no attempt.
    #[error("the source is retried later")]
    SourceRetry(Pause),
    /// Another worker has the job now, or its media or source was deleted: this run must change nothing.
    #[error("the lease was lost")]
    LeaseLost,
}

impl From<kinora_store::Error> for JobError {
    fn from(error: kinora_store::Error) -> Self {
        match error {
            kinora_store::Error::LeaseLost => Self::LeaseLost,
            kinora_store::Error::Full => Self::DiskFull,
            unavailable @ (kinora_store::Error::Unavailable { .. } | kinora_store::Error::Busy) => {
                Self::Unavailable(Box::new(unavailable))
            }
            other => Self::Retry(Box::new(other)),
        }
    }
}

impl From<kinora_blob::Error> for JobError {
    fn from(error: kinora_blob::Error) -> Self {
        match error {
            kinora_blob::Error::Full => Self::DiskFull,
            unavailable @ (kinora_blob::Error::Unavailable { .. } | kinora_blob::Error::Rejected { .. }) => {
                Self::Unavailable(Box::new(unavailable))
            }
            other => Self::Retry(Box::new(other)),
        }
    }
}

impl From<kinora_packager::Error> for JobError {
    fn from(error: kinora_packager::Error) -> Self {
        match error.root() {
            _ if error.is_disk_full() => Self::DiskFull,
            kinora_packager::Error::Store(kinora_store::Error::LeaseLost) => Self::LeaseLost,
            kinora_packager::Error::Unavailable(_) => Self::Unavailable(Box::new(error)),
            kinora_packager::Error::EngineUnavailable(cause) if is_outage(cause) => {
                Self::Unavailable(Box::new(error))
            }
            _ => Self::Retry(Box::new(error)),
        }
    }
}

impl From<ScanError> for JobError {
    fn from(error: ScanError) -> Self {
        match error {
            ScanError::Read(error) => Self::Fatal(failure_of(&error)),
            ScanError::SpillFile(error) if is_disk_full(&error) => Self::DiskFull,
            error => Self::Retry(Box::new(error)),
        }
    }
}

impl From<IntakeError> for JobError {
    fn from(error: IntakeError) -> Self {
        match error {
            IntakeError::DiskFull { .. } => Self::DiskFull,
            // A request is receiving the upload and continues it.
            IntakeError::Busy | IntakeError::Interrupted { .. } | IntakeError::Unavailable(_) => {
                Self::Unavailable(Box::new(error))
            }
            other => Self::Retry(Box::new(other)),
        }
    }
}

/// Only for an error that is [of the machine](EngineError::is_machine_fault).
impl From<EngineError> for JobError {
    fn from(error: EngineError) -> Self {
        if is_outage(&error) { Self::Unavailable(Box::new(error)) } else { Self::Retry(Box::new(error)) }
    }
}

/// Whether a job retries without limit after an engine that does not start. A killed engine had started:
/// each try uses the machine's memory again, so these tries are counted.
fn is_outage(error: &EngineError) -> bool {
    !matches!(error, EngineError::Killed)
}

/// The result of a job that encodes ahead of viewers, from the result of its last encode.
///
/// A deleted media ends the job. A busy engine counts no attempt, because viewers have priority.
pub(crate) fn encode_ahead_result(ended: Result<(), kinora_packager::Error>) -> Result<(), JobError> {
    let Err(error) = ended else { return Ok(()) };
    match error.root() {
        kinora_packager::Error::Gone => Ok(()),
        kinora_packager::Error::Busy => Err(JobError::Unavailable(Box::new(error))),
        _ => Err(error.into()),
    }
}

/// Another attempt has changed the media in the meantime, so this one has lost its lease.
impl From<WrongState> for JobError {
    fn from(_: WrongState) -> Self {
        Self::LeaseLost
    }
}

/// The failure that a client receives when the attempts are used up by internal errors.
pub(crate) fn internal_failure() -> Failure {
    Failure::new(FailureCode::Internal, "the server could not process this media; create it again")
}

/// The failure of an added track when its attempts are used up by internal errors.
pub(crate) fn internal_failure_of_track() -> Failure {
    let sentence = "the server could not process this track; update it with the same URL";
    Failure::new(FailureCode::Internal, sentence)
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;
    use crate::fixture::{at, created, source_id};

    /// The name of the variant.
    fn name(error: &JobError) -> &'static str {
        match error {
            JobError::Fatal(_) => "fatal",
            JobError::Retry(_) => "retry",
            JobError::Unavailable(_) => "away",
            JobError::DiskFull => "full",
            JobError::SourceRetry(_) => "later",
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
        kinora_blob::Error::Rejected { action: "try", remedy: "create the bucket", source }
    }

    fn broken() -> kinora_blob::Error {
        kinora_blob::Error::Internal { action: "try", source: io::Error::other("broken") }
    }

    /// As single flight returns it to all waiting callers.
    fn shared(error: impl Into<kinora_packager::Error>) -> kinora_packager::Error {
        kinora_packager::Error::Shared(Arc::new(error.into()))
    }

    #[test]
    fn store_errors_map_to_job_errors() {
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
    fn encode_ahead_ends_with_media_and_retries_busy_engine() {
        let check = |ended: Result<(), kinora_packager::Error>, expected: Result<(), &str>| {
            let text = format!("{ended:?}");
            assert_eq!(encode_ahead_result(ended).map_err(|error| name(&error)), expected, "{text}");
        };
        check(Ok(()), Ok(()));
        check(Err(kinora_packager::Error::Gone), Ok(()));
        check(Err(shared(kinora_packager::Error::Gone)), Ok(()));
        check(Err(kinora_packager::Error::Busy), Err("away"));
        check(Err(shared(kinora_packager::Error::Busy)), Err("away"));
        check(Err(kinora_packager::Error::NotListed), Err("retry"));
        check(Err(shared(kinora_blob::Error::Full)), Err("full"));
    }

    #[test]
    fn upload_busy_with_a_request_counts_no_attempt() {
        check(IntakeError::DiskFull { offset: 1 }, "full");
        check(IntakeError::Busy, "away");
        check(IntakeError::Interrupted { offset: 1 }, "away");
        check(IntakeError::Unavailable("the database does not respond".into()), "away");
        check(IntakeError::NotFound, "retry");
        check(IntakeError::BytesLost, "retry");
        check(IntakeError::Internal("broken".into()), "retry");
    }

    #[test]
    fn full_scratch_disk_is_disk_full() {
        check(ScanError::SpillFile(io::ErrorKind::StorageFull.into()), "full");
        check(ScanError::SpillFile(io::ErrorKind::QuotaExceeded.into()), "full");
        check(ScanError::SpillFile(io::ErrorKind::PermissionDenied.into()), "retry");
    }

    #[test]
    fn media_in_another_state_is_a_lost_lease() {
        let wrong = created().withdraw_copy(source_id(1), at(2)).expect_err("it is not ready");
        check(wrong, "lease lost");
    }
}
