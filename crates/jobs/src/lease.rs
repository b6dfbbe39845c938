//! Leases of claimed work.

use std::time::Duration;

use kinora_domain::Timestamp;

/// Duration of a claim without renewal. After a kill, another worker takes over within 30 s: the lease plus
/// a polling interval.
pub(crate) const LEASE_S: i64 = 25;
/// [`LEASE_S`] as a `Duration`.
pub(crate) const LEASE: Duration = Duration::from_secs(LEASE_S.unsigned_abs());
/// A third of the lease: two renewals may fail before it is lost.
pub(crate) const RENEW_EVERY: Duration = Duration::from_secs(8);

/// The end of a lease that begins now.
pub(crate) fn lease_until(now: Timestamp) -> Timestamp {
    now.plus_seconds(LEASE_S)
}
