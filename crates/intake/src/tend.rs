//! Uploads that wait: their time is over, or their file is whole and whoever received it was killed before it
//! said so.

use kinora_domain::{MediaId, Timestamp, Upload, UploadState};

use crate::receive::Asking;
use crate::{Intake, IntakeError};

/// How long nothing was kept of an upload until somebody looks at it, in seconds: longer than a body may come
/// to nothing.
const LOOK_AFTER_S: i64 = 90;

/// What came of a look at an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tended {
    /// It is settled; nobody needs to look again.
    Settled,
    /// Somebody should look again then.
    Again(Timestamp),
}

impl Intake {
    /// Looks at an upload that may have been left alone: completes it when its file is whole, ends it when
    /// its time is over. May run twice, and beside requests that receive it: those are let be.
    pub async fn tend(&self, id: MediaId) -> Result<Tended, IntakeError> {
        let options = &self.0.options;
        let now = options.clock.now();
        let Some(upload) = options.store.upload_by_id(id).await? else { return Ok(Tended::Settled) };
        match look(&upload, now, || self.0.slots.is_at_work(id)) {
            Look::Settled => return Ok(Tended::Settled),
            Look::Again(at) => return Ok(Tended::Again(at)),
            Look::Now => {}
        }
        // Asking where it stands completes what is whole and ends what is late.
        let found = self.find_standing(id, Asking::Job).await;
        let standing = match self.end_if_lost(id, found).await {
            // It was whole and is no media, or is gone.
            Err(IntakeError::Hopeless(_) | IntakeError::NotFound) => return Ok(Tended::Settled),
            standing => standing?,
        };
        Ok(after_look(standing.expires_at(), now))
    }
}

/// Whether an upload is looked at now.
#[derive(Debug, PartialEq, Eq)]
enum Look {
    /// Never: it is settled.
    Settled,
    /// Later: something was kept of it lately, or a request receives it.
    Again(Timestamp),
    /// Now.
    Now,
}

/// Whether an upload is looked at now. `is_at_work`: a request of this process receives it.
fn look(upload: &Upload, now: Timestamp, is_at_work: impl FnOnce() -> bool) -> Look {
    let Some(deadline) = upload.deadline() else { return Look::Settled };
    if deadline <= now {
        return Look::Now;
    }
    let active_at = match upload.state {
        UploadState::Uploading { kept_at, .. } => kept_at,
        // Also while a body is held against its checksum.
        _ => upload.updated_at,
    };
    let look_at = active_at.plus_seconds(LOOK_AFTER_S);
    if look_at > now || is_at_work() { Look::Again(later(look_at, now)) } else { Look::Now }
}

/// When an upload is looked at again that was just looked at, and ends at `deadline` unless it is settled.
fn after_look(deadline: Option<Timestamp>, now: Timestamp) -> Tended {
    deadline.map_or(Tended::Settled, |deadline| Tended::Again(later(deadline, now)))
}

/// When an upload is looked at that a process takes over now.
pub(crate) fn look_after_at(upload: &Upload, now: Timestamp) -> Timestamp {
    let look_at = now.plus_seconds(LOOK_AFTER_S);
    upload.deadline().map_or(look_at, |deadline| deadline.min(look_at))
}

/// Never at once: whoever receives it needs some time.
fn later(at: Timestamp, now: Timestamp) -> Timestamp {
    at.max(now.plus_seconds(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{at, completed, uploading, waiting};

    #[track_caller]
    fn check(upload: &Upload, now_s: i64, is_at_work: bool, expected: Look) {
        assert_eq!(look(upload, at(now_s), || is_at_work), expected, "{:?} {now_s}", upload.state);
    }

    #[test]
    fn upload_is_looked_at_90_seconds_after_its_last_bytes() {
        check(&waiting(), 0, false, Look::Again(at(90)));
        check(&waiting(), 89, false, Look::Again(at(90)));
        check(&waiting(), 90, false, Look::Now);
        let alive = Upload { updated_at: at(50), ..waiting() };
        check(&alive, 90, false, Look::Again(at(140))); // holds a body against its checksum
        check(&uploading(100, 500), 589, false, Look::Again(at(590)));
        check(&uploading(100, 500), 590, false, Look::Now);
        let announced = Upload { updated_at: at(550), ..uploading(100, 500) };
        check(&announced, 590, false, Look::Now); // only bytes count
    }

    #[test]
    fn upload_that_a_request_receives_is_looked_at_later() {
        check(&uploading(100, 500), 590, true, Look::Again(at(591)));
        check(&uploading(100, 500), 700, true, Look::Again(at(701)));
        check(&uploading(100, 500), 550, true, Look::Again(at(590)));
    }

    #[test]
    fn upload_past_its_deadline_is_looked_at_whoever_receives_it() {
        for is_at_work in [false, true] {
            check(&waiting(), 1000, is_at_work, Look::Now);
            check(&uploading(100, 500), 1500, is_at_work, Look::Now);
            check(&completed(100), 1500, is_at_work, Look::Settled);
            check(&waiting().cancel(at(2)).unwrap().0, 1500, is_at_work, Look::Settled);
        }
        check(&uploading(100, 500), 1499, true, Look::Again(at(1500)));
    }

    #[test]
    fn open_upload_is_looked_at_again_at_its_deadline() {
        assert_eq!(after_look(None, at(5)), Tended::Settled);
        assert_eq!(after_look(Some(at(1000)), at(5)), Tended::Again(at(1000)));
        assert_eq!(after_look(Some(at(5)), at(5)), Tended::Again(at(6)));
        assert_eq!(after_look(Some(at(1)), at(5)), Tended::Again(at(6)));
    }

    #[test]
    fn taken_over_upload_is_looked_at_before_its_deadline() {
        assert_eq!(look_after_at(&waiting(), at(0)), at(90));
        assert_eq!(look_after_at(&waiting(), at(909)), at(999));
        assert_eq!(look_after_at(&waiting(), at(911)), at(1000));
        assert_eq!(look_after_at(&completed(100), at(911)), at(1001));
    }
}
