//! Size and limit of the rendition cache.
//!
//! All encoded renditions are a cache. Renditions over the limit are evicted. A backfill that would exceed
//! the limit is not started.

use kinora_domain::Timestamp;

use crate::Context;
use crate::error::JobError;

/// Disk space that the cache leaves free: renditions are the first objects that can be evicted.
const DISK_RESERVE_BYTES: u64 = 4 << 30;
/// A rendition watched within this time counts as watched now: its counters are saved with a delay.
pub(crate) const RECENTLY_WATCHED_US: i64 = 5 * 60 * Timestamp::SECOND;

/// Cache sizes at one instant, in bytes, as far as they are saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CacheUsage {
    /// All renditions.
    used_bytes: u64,
    /// Renditions that are watched now; these are never evicted.
    watched_bytes: u64,
    /// The limit; `None` is unlimited.
    limit_bytes: Option<u64>,
}

impl CacheUsage {
    pub(crate) async fn measure(context: &Context, now: Timestamp) -> Result<Self, JobError> {
        let used = context.store.rendition_bytes(None).await?;
        let watched = context.store.rendition_bytes(Some(now.plus_micros(-RECENTLY_WATCHED_US))).await?;
        let free = context.blob.free_space().await?;
        Ok(Self::new(used, watched, context.cache_bytes, free))
    }

    pub(crate) fn new(used_bytes: u64, watched_bytes: u64, allowed: Option<u64>, free: Option<u64>) -> Self {
        let on_disk = free.map(|free| used_bytes.saturating_add(free).saturating_sub(DISK_RESERVE_BYTES));
        Self { used_bytes, watched_bytes, limit_bytes: allowed.into_iter().chain(on_disk).min() }
    }

    /// Bytes over the limit.
    pub(crate) fn excess(&self) -> u64 {
        self.limit_bytes.map_or(0, |allowed| self.used_bytes.saturating_sub(allowed))
    }

    /// Reserves `bytes` for a backfill of a rendition. Returns whether they fit.
    ///
    /// A watched rendition may use the space of all unwatched ones. An unwatched one may use only free
    /// space: otherwise it would be evicted again.
    pub(crate) fn try_reserve(&mut self, bytes: u64, is_watched: bool) -> bool {
        let used = if is_watched { self.watched_bytes } else { self.used_bytes };
        if self.limit_bytes.is_some_and(|allowed| allowed < used.saturating_add(bytes)) {
            return false;
        }
        self.used_bytes = self.used_bytes.saturating_add(bytes);
        if is_watched {
            self.watched_bytes = self.watched_bytes.saturating_add(bytes);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excess_counts_cache_limit_and_disk_reserve() {
        let check = |allowed, free, expected| {
            let excess = CacheUsage::new(1000, 0, allowed, free).excess();
            assert_eq!(excess, expected, "{allowed:?} {free:?}");
        };
        check(None, None, 0); // a bucket
        check(Some(1000), None, 0);
        check(Some(900), None, 100);
        check(None, Some(DISK_RESERVE_BYTES), 0);
        check(None, Some(DISK_RESERVE_BYTES - 10), 10);
        check(Some(900), Some(DISK_RESERVE_BYTES - 10), 100);
        check(None, Some(0), 1000);
    }

    #[test]
    fn encode_ahead_never_exceeds_cache_limit() {
        let mut cache = CacheUsage::new(900, 500, Some(1000), None);
        assert!(!cache.try_reserve(200, false), "it does not fit");
        assert!(cache.try_reserve(300, true), "others make room");
        assert!(!cache.try_reserve(1, false), "until they have, nothing else is made");
        assert!(!cache.try_reserve(300, true), "all that is watched does not fit either");
        assert!(cache.try_reserve(200, true));
        let mut free = CacheUsage::new(900, 500, None, None);
        assert!(free.try_reserve(u64::MAX, false) && free.try_reserve(u64::MAX, true));
    }
}
