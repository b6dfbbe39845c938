//! How much encoded renditions take, and how much they may.
//!
//! All of them are a cache: what is over the bound is let go, and what would go over it is not made ahead of
//! those who watch.

use kinora_domain::Timestamp;

use crate::Context;
use crate::error::JobError;

/// Room that renditions leave on the disk: they are the first that can be missed.
const DISK_LEFT_BYTES: u64 = 4 << 30;
/// Who watched within this time watches now: the counters of a rendition are written down now and then.
pub(crate) const WATCHED_LATELY_US: i64 = 5 * 60 * Timestamp::SECOND;

/// What renditions take at one instant, as far as it was written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cache {
    /// All of them.
    taken: u64,
    /// Those that are watched now: none of these is let go.
    held: u64,
    /// `None`: whatever there is.
    allowed: Option<u64>,
}

impl Cache {
    pub(crate) async fn look(context: &Context, now: Timestamp) -> Result<Self, JobError> {
        let taken = context.store.rendition_bytes(None).await?;
        let held = context.store.rendition_bytes(Some(now.plus_micros(-WATCHED_LATELY_US))).await?;
        let free = context.blob.free_space().await?;
        Ok(Self::new(taken, held, context.cache_bytes, free))
    }

    pub(crate) fn new(taken: u64, held: u64, allowed: Option<u64>, free: Option<u64>) -> Self {
        let on_disk = free.map(|free| taken.saturating_add(free).saturating_sub(DISK_LEFT_BYTES));
        Self { taken, held, allowed: allowed.into_iter().chain(on_disk).min() }
    }

    /// How many bytes too much there are.
    pub(crate) fn excess(&self) -> u64 {
        self.allowed.map_or(0, |allowed| self.taken.saturating_sub(allowed))
    }

    /// Whether so many bytes more may be made ahead, of a rendition that is watched now or of another; then
    /// they count as made.
    ///
    /// What is watched takes the place of what is not, and what is not takes what is free: it would be let go
    /// again.
    pub(crate) fn take(&mut self, bytes: u64, is_watched: bool) -> bool {
        let taken = if is_watched { self.held } else { self.taken };
        if self.allowed.is_some_and(|allowed| allowed < taken.saturating_add(bytes)) {
            return false;
        }
        self.taken = self.taken.saturating_add(bytes);
        if is_watched {
            self.held = self.held.saturating_add(bytes);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_over_the_bound_or_of_the_room_of_others_is_too_much() {
        let check = |allowed, free, expected| {
            let excess = Cache::new(1000, 0, allowed, free).excess();
            assert_eq!(excess, expected, "{allowed:?} {free:?}");
        };
        check(None, None, 0); // a bucket
        check(Some(1000), None, 0);
        check(Some(900), None, 100);
        check(None, Some(DISK_LEFT_BYTES), 0);
        check(None, Some(DISK_LEFT_BYTES - 10), 10);
        check(Some(900), Some(DISK_LEFT_BYTES - 10), 100);
        check(None, Some(0), 1000);
    }

    #[test]
    fn nothing_is_made_ahead_that_would_be_let_go_again() {
        let mut cache = Cache::new(900, 500, Some(1000), None);
        assert!(!cache.take(200, false), "it does not fit");
        assert!(cache.take(300, true), "others make room");
        assert!(!cache.take(1, false), "until they have, nothing else is made");
        assert!(!cache.take(300, true), "all that is watched does not fit either");
        assert!(cache.take(200, true));
        let mut free = Cache::new(900, 500, None, None);
        assert!(free.take(u64::MAX, false) && free.take(u64::MAX, true));
    }
}
