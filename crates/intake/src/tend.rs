//! Uploads that wait: their time is over, or their file is whole and whoever received it was killed before it said so.

use kinora_domain::{MediaId, Timestamp, UploadState};

use crate::receive::Asking;
use crate::{Intake, IntakeError};

/// How long nothing was kept of an upload until somebody looks at it, in seconds: longer than a body may come to nothing.
pub(crate) const LOOK_AFTER_S: i64 = 90;

/// What came of a look at an upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tended {
    /// It is settled; nobody needs to look again.
    Settled,
    /// Somebody should look again then.
    Again(Timestamp),
}

impl Intake {
    /// Looks at an upload that may have been left alone: completes it when its file is whole, ends it when its time is over. May run twice, and
    /// beside requests that receive it: those are let be.
    pub async fn tend(&self, id: MediaId) -> Result<Tended, IntakeError> {
        let options = &self.0.options;
        let now = options.clock.now();
        let Some(upload) = options.store.upload_by_id(id).await? else { return Ok(Tended::Settled) };
        let Some(deadline) = upload.deadline() else { return Ok(Tended::Settled) };
        if deadline > now {
            let active_at = match upload.state {
                UploadState::Uploading { kept_at, .. } => kept_at,
                // Also while a body is held against its checksum.
                _ => upload.updated_at,
            };
            let look_at = active_at.plus_seconds(LOOK_AFTER_S);
            if look_at > now || self.0.slots.is_at_work(id) {
                return Ok(Tended::Again(look_at.max(now.plus_seconds(1))));
            }
        }
        // Asking where it stands completes what is whole and ends what is late.
        let found = self.find_standing(id, Asking::Job).await;
        let standing = match self.end_if_lost(id, found).await {
            // It was whole and is no media, or is gone.
            Err(IntakeError::Hopeless(_) | IntakeError::NotFound) => return Ok(Tended::Settled),
            standing => standing?,
        };
        Ok(match standing.expires_at() {
            None => Tended::Settled,
            Some(deadline) => Tended::Again(deadline.max(now.plus_seconds(1))),
        })
    }
}
