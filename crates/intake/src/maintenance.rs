//! Maintenance of waiting uploads: expired ones, and complete files whose process was killed before it
//! recorded them.

use kinora_domain::{MediaId, Timestamp, Upload, UploadState};

use crate::receive::Requester;
use crate::{Intake, IntakeError};

/// Delay in seconds without a stored byte until an upload is checked: longer than the minimum rate allows a
/// body to stall.
const MAINTENANCE_AFTER_S: i64 = 90;

/// The result of a check of an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintenanceOutcome {
    /// The upload is settled; no further check is needed.
    Settled,
    /// The next check is due at this time.
    Again(Timestamp),
}

impl Intake {
    /// Checks an upload that may be abandoned: completes it if its file is complete, ends it if its deadline
    /// has passed. May run twice, and concurrently with requests that receive it: those continue.
    pub async fn maintain(&self, id: MediaId) -> Result<MaintenanceOutcome, IntakeError> {
        let options = &self.0.options;
        let now = options.clock.now();
        let Some(upload) = options.store.upload_by_id(id).await? else {
            return Ok(MaintenanceOutcome::Settled);
        };
        match maintenance_due(&upload, now, || self.0.upload_locks.is_receiving(id)) {
            MaintenanceDue::Settled => return Ok(MaintenanceOutcome::Settled),
            MaintenanceDue::Again(at) => return Ok(MaintenanceOutcome::Again(at)),
            MaintenanceDue::Now => {}
        }
        // Reading the state completes a complete file and ends an expired upload.
        let found = self.find_progress(id, Requester::Job).await;
        let progress = match self.fail_if_lost(id, found).await {
            // The file was complete and is not a media file, or the upload is gone.
            Err(IntakeError::Rejected(_) | IntakeError::NotFound) => return Ok(MaintenanceOutcome::Settled),
            result => result?,
        };
        Ok(next_maintenance(progress.expires_at(), now))
    }
}

/// When an upload is checked.
#[derive(Debug, PartialEq, Eq)]
enum MaintenanceDue {
    /// Never: it is settled.
    Settled,
    /// Later: bytes were stored recently, or a request receives it.
    Again(Timestamp),
    /// Now.
    Now,
}

/// When an upload is checked. `is_receiving`: a request of this process receives it.
fn maintenance_due(upload: &Upload, now: Timestamp, is_receiving: impl FnOnce() -> bool) -> MaintenanceDue {
    let Some(deadline) = upload.deadline() else { return MaintenanceDue::Settled };
    if deadline <= now {
        return MaintenanceDue::Now;
    }
    let active_at = match upload.state {
        UploadState::Uploading { stored_at: kept_at, .. } => kept_at,
        // Also while a body is buffered for its checksum.
        _ => upload.updated_at,
    };
    let maintenance_at = active_at.plus_seconds(MAINTENANCE_AFTER_S);
    if maintenance_at > now || is_receiving() {
        MaintenanceDue::Again(at_least_a_second_later(maintenance_at, now))
    } else {
        MaintenanceDue::Now
    }
}

/// The next check of an upload that was just checked and ends at `deadline` unless it is settled.
fn next_maintenance(deadline: Option<Timestamp>, now: Timestamp) -> MaintenanceOutcome {
    deadline.map_or(MaintenanceOutcome::Settled, |deadline| {
        MaintenanceOutcome::Again(at_least_a_second_later(deadline, now))
    })
}

/// The time of the check of an upload that a process takes over now.
pub(crate) fn first_maintenance_at(upload: &Upload, now: Timestamp) -> Timestamp {
    let maintenance_at = now.plus_seconds(MAINTENANCE_AFTER_S);
    upload.deadline().map_or(maintenance_at, |deadline| deadline.min(maintenance_at))
}

/// This time, but at least a second from now: a process that receives the upload needs some time.
fn at_least_a_second_later(at: Timestamp, now: Timestamp) -> Timestamp {
    at.max(now.plus_seconds(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{at, completed, uploading, waiting};

    #[track_caller]
    fn check(upload: &Upload, now_s: i64, is_receiving: bool, expected: MaintenanceDue) {
        assert_eq!(
            maintenance_due(upload, at(now_s), || is_receiving),
            expected,
            "{:?} {now_s}",
            upload.state
        );
    }

    #[test]
    fn maintenance_runs_90_seconds_after_last_bytes() {
        check(&waiting(), 0, false, MaintenanceDue::Again(at(90)));
        check(&waiting(), 89, false, MaintenanceDue::Again(at(90)));
        check(&waiting(), 90, false, MaintenanceDue::Now);
        let alive = Upload { updated_at: at(50), ..waiting() };
        check(&alive, 90, false, MaintenanceDue::Again(at(140))); // holds a body against its checksum
        check(&uploading(100, 500), 589, false, MaintenanceDue::Again(at(590)));
        check(&uploading(100, 500), 590, false, MaintenanceDue::Now);
        let announced = Upload { updated_at: at(550), ..uploading(100, 500) };
        check(&announced, 590, false, MaintenanceDue::Now); // only bytes count
    }

    #[test]
    fn maintenance_waits_for_active_request() {
        check(&uploading(100, 500), 590, true, MaintenanceDue::Again(at(591)));
        check(&uploading(100, 500), 700, true, MaintenanceDue::Again(at(701)));
        check(&uploading(100, 500), 550, true, MaintenanceDue::Again(at(590)));
    }

    #[test]
    fn maintenance_runs_past_deadline_despite_active_request() {
        for is_receiving in [false, true] {
            check(&waiting(), 1000, is_receiving, MaintenanceDue::Now);
            check(&uploading(100, 500), 1500, is_receiving, MaintenanceDue::Now);
            check(&completed(100), 1500, is_receiving, MaintenanceDue::Settled);
            check(&waiting().cancel(at(2)).unwrap().0, 1500, is_receiving, MaintenanceDue::Settled);
        }
        check(&uploading(100, 500), 1499, true, MaintenanceDue::Again(at(1500)));
    }

    #[test]
    fn maintenance_repeats_at_deadline() {
        assert_eq!(next_maintenance(None, at(5)), MaintenanceOutcome::Settled);
        assert_eq!(next_maintenance(Some(at(1000)), at(5)), MaintenanceOutcome::Again(at(1000)));
        assert_eq!(next_maintenance(Some(at(5)), at(5)), MaintenanceOutcome::Again(at(6)));
        assert_eq!(next_maintenance(Some(at(1)), at(5)), MaintenanceOutcome::Again(at(6)));
    }

    #[test]
    fn maintenance_of_recovered_upload_precedes_deadline() {
        assert_eq!(first_maintenance_at(&waiting(), at(0)), at(90));
        assert_eq!(first_maintenance_at(&waiting(), at(909)), at(999));
        assert_eq!(first_maintenance_at(&waiting(), at(911)), at(1000));
        assert_eq!(first_maintenance_at(&completed(100), at(911)), at(1001));
    }
}
