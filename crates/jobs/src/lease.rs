//! Keeps what was claimed while it is worked on.

use std::time::Duration;

use kinora_domain::Timestamp;

/// How long a claim lasts without being renewed. After a kill, work is taken over within 30 s: when this is
/// over and somebody has looked.
pub(crate) const LEASE_S: i64 = 25;
/// The same, for those who measure.
pub(crate) const LEASE: Duration = Duration::from_secs(LEASE_S.unsigned_abs());
/// A third of the lease: two renewals may fail before it is lost.
pub(crate) const RENEW_EVERY: Duration = Duration::from_secs(8);

/// The end of a lease that begins now.
pub(crate) fn lease_until(now: Timestamp) -> Timestamp {
    now.plus_seconds(LEASE_S)
}
