//! Keeps what was claimed while it is worked on.

use std::time::Duration;

use kinora_domain::Timestamp;

/// How long a claim lasts without being renewed: after a kill, work is taken over within that time.
pub(crate) const LEASE_S: i64 = 30;
/// A third of the lease: two renewals may fail before it is lost.
pub(crate) const RENEW_EVERY: Duration = Duration::from_secs(10);

/// The end of a lease that begins now.
pub(crate) fn lease_until(now: Timestamp) -> Timestamp {
    now.plus_seconds(LEASE_S)
}
