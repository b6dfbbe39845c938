//! Rows for tests of rules.

use kinora_domain::{JobId, MediaId, Random, RenditionId, SourceId, Timestamp, TrackId};
use kinora_store::{ClaimedJob, JobKind, Priority, WorkerId};

pub(crate) struct Zeros;

impl Random for Zeros {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0);
    }
}

/// An instant, in seconds.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * Timestamp::SECOND)
}

pub(crate) fn source_id(n: i64) -> SourceId {
    SourceId::new(at(n), &Zeros)
}

pub(crate) fn rendition_id() -> RenditionId {
    "019a492c-41f3-8001-8203-040506070809".parse().unwrap()
}

pub(crate) fn media_id() -> MediaId {
    MediaId::new(at(1), &Zeros)
}

pub(crate) fn track_id() -> TrackId {
    TrackId::new(at(1), &Zeros)
}

/// The first attempt of a job that was made at 0 s.
pub(crate) fn job(kind: JobKind) -> ClaimedJob {
    ClaimedJob {
        id: JobId::new(at(1), &Zeros),
        kind,
        workspace: None,
        attempt: 1,
        owner: WorkerId::new(&Zeros),
        created_at: at(0),
        run_at: at(0),
        priority: Priority::Normal,
        progress: None,
    }
}
