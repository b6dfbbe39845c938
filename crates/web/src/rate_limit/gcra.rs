//! Counts the requests of each token.
//!
//! Each request adds to the debt of its token, and the debt decreases evenly: all of it within a window. The
//! debt is at most as many requests as the limit allows. So a token can send them all at once, and after
//! that one each time the debt has decreased enough (GCRA, as in ATM's I.371). All numbers are integers: a
//! request is as many units as the window has microseconds, and each microsecond removes as many units as
//! the limit has requests.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kinora_domain::{Clock, Timestamp};
use kinora_service::Principal;

use super::RateLimit;

/// Tokens counted at once. About 64 bytes each: 4 MiB. An installation has some thousand.
const PRINCIPALS_MAX: usize = 1 << 16;
/// How often tokens without debt are removed, in microseconds, unless the window is longer.
const EVICT_EVERY_US: u64 = 60_000_000;

// The debt of a token fits in 64 bits, also with a rejected request.
const _: () = assert!(
    (RateLimit::REQUESTS_MAX as u64 + 1).checked_mul(RateLimit::WINDOW_S_MAX as u64 * 1_000_000).is_some()
);

/// The remaining requests of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LimitStatus {
    /// This request is over the limit.
    pub(super) is_limited: bool,
    /// Requests that may follow at once.
    pub(super) remaining: u64,
    /// Seconds until there is one more, rounded up; at least 1.
    pub(super) retry_after_s: u32,
}

/// The debt of all tokens.
pub(super) struct RateLimiter {
    requests: u64,
    window_us: u64,
    buckets: Mutex<Buckets>,
}

#[derive(Default)]
struct Buckets {
    principals: HashMap<Principal, Bucket>,
    time: MonotonicTime,
    evicted_at_us: u64,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    debt: u64,
    updated_at_us: u64,
}

/// The time that has passed. A clock that is set back does not increase any debt; one that is set forward
/// reduces it.
#[derive(Default)]
struct MonotonicTime {
    last_now: Option<Timestamp>,
    passed_us: u64,
}

impl MonotonicTime {
    fn advance_to(&mut self, now: Timestamp) -> u64 {
        let before = self.last_now.replace(now).unwrap_or(now);
        let passed = now.as_micros().saturating_sub(before.as_micros());
        self.passed_us = self.passed_us.saturating_add(u64::try_from(passed).unwrap_or(0));
        self.passed_us
    }
}

impl RateLimiter {
    pub(super) fn new(limit: RateLimit) -> Self {
        let (requests, window_us) = (u64::from(limit.requests()), u64::from(limit.window_s()) * 1_000_000);
        Self { requests, window_us, buckets: Mutex::default() }
    }

    /// Counts a request of this token. A request over the limit is not counted.
    pub(super) fn count_request(&self, token: Principal, clock: &dyn Clock) -> LimitStatus {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *buckets;
        // Read under the lock: two readings in the other order would make time pass twice.
        let now_us = state.time.advance_to(clock.now());
        self.evict(state, token, now_us);
        let bucket = state.principals.entry(token).or_insert(Bucket { debt: 0, updated_at_us: now_us });
        self.leak(bucket, now_us);
        let debt_max = self.requests * self.window_us;
        let is_limited = bucket.debt + self.window_us > debt_max;
        if !is_limited {
            bucket.debt += self.window_us;
        }
        let remaining = (debt_max - bucket.debt) / self.window_us;
        let excess_debt = bucket.debt - (debt_max - (remaining + 1) * self.window_us);
        let more_in_s = excess_debt.div_ceil(self.requests).div_ceil(1_000_000);
        LimitStatus { is_limited, remaining, retry_after_s: u32::try_from(more_in_s).unwrap_or(u32::MAX) }
    }

    fn leak(&self, bucket: &mut Bucket, now_us: u64) {
        let passed_us = (now_us - bucket.updated_at_us).min(self.window_us);
        *bucket =
            Bucket { debt: bucket.debt.saturating_sub(passed_us * self.requests), updated_at_us: now_us };
    }

    /// Removes tokens without debt, from time to time and when the table is full; that changes nothing for
    /// them. If a full table is still more than half full after that, the tokens with the least debt are
    /// removed, and at most half of the table stays. So the table is not scanned for each request.
    fn evict(&self, buckets: &mut Buckets, token: Principal, now_us: u64) {
        let is_full = buckets.principals.len() >= PRINCIPALS_MAX && !buckets.principals.contains_key(&token);
        if !is_full && now_us - buckets.evicted_at_us < EVICT_EVERY_US.max(self.window_us) {
            return;
        }
        buckets.evicted_at_us = now_us;
        buckets.principals.retain(|_, bucket| {
            self.leak(bucket, now_us);
            bucket.debt > 0
        });
        let too_many = buckets.principals.len().saturating_sub(PRINCIPALS_MAX / 2);
        if is_full && too_many > 0 {
            let mut debts: Vec<_> = buckets.principals.values().map(|debt| debt.debt).collect();
            let (_, largest_removed, _) = debts.select_nth_unstable(too_many - 1);
            let most_forgotten = *largest_removed;
            buckets.principals.retain(|_, debt| debt.debt > most_forgotten);
        }
    }
}

#[cfg(test)]
mod tests;
