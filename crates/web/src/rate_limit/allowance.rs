//! How much each token has sent.
//!
//! A token owes for each request, and what it owes is let off evenly: all of it within a window. It may owe
//! as many requests as the limit has and no more, so it can send them at once, and after that one whenever
//! one is let off (GCRA, as ATM's I.371 has it). All numbers are whole: a request is as many units as the
//! window has microseconds, and each microsecond lets off as many units as the limit has requests.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kinora_domain::{Clock, Timestamp};
use kinora_service::Principal;

use super::RateLimit;

/// Tokens that are known at once. About 64 bytes each: 4 MiB. An installation has some thousand.
const TOKENS_MAX: usize = 1 << 16;
/// How often those that owe nothing are forgotten, in microseconds, unless the window is longer.
const FORGET_EVERY_US: u64 = 60_000_000;

// What a token owes is within 64 bits, also with a request that is refused.
const _: () = assert!(
    (RateLimit::REQUESTS_MAX as u64 + 1).checked_mul(RateLimit::WINDOW_S_MAX as u64 * 1_000_000).is_some()
);

/// What a token may still send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Allowance {
    /// This request is too much.
    pub(super) is_spent: bool,
    /// Requests that may follow at once.
    pub(super) left: u64,
    /// Seconds until there is one more, rounded up; at least 1.
    pub(super) more_in_s: u32,
}

/// What all tokens owe.
pub(super) struct Allowances {
    requests: u64,
    window_us: u64,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    tokens: HashMap<Principal, Debt>,
    time: SteadyTime,
    forgot_at_us: u64,
}

#[derive(Debug, Clone, Copy)]
struct Debt {
    units: u64,
    at_us: u64,
}

/// The time that has passed. A clock that is set back takes nothing from anybody, and one that is set forward
/// lets off what is owed.
#[derive(Default)]
struct SteadyTime {
    shown: Option<Timestamp>,
    passed_us: u64,
}

impl SteadyTime {
    fn at(&mut self, now: Timestamp) -> u64 {
        let before = self.shown.replace(now).unwrap_or(now);
        let passed = now.as_micros().saturating_sub(before.as_micros());
        self.passed_us = self.passed_us.saturating_add(u64::try_from(passed).unwrap_or(0));
        self.passed_us
    }
}

impl Allowances {
    pub(super) fn new(limit: RateLimit) -> Self {
        let (requests, window_us) = (u64::from(limit.requests()), u64::from(limit.window_s()) * 1_000_000);
        Self { requests, window_us, held: Mutex::default() }
    }

    /// Counts a request of this token, unless it is too much: then nothing is counted.
    pub(super) fn take(&self, token: Principal, clock: &dyn Clock) -> Allowance {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *held;
        // Read while nobody else reads it: two that came in the other order would make time pass twice.
        let now_us = held.time.at(clock.now());
        self.forget(held, token, now_us);
        let debt = held.tokens.entry(token).or_insert(Debt { units: 0, at_us: now_us });
        self.let_off(debt, now_us);
        let most = self.requests * self.window_us;
        let is_spent = debt.units + self.window_us > most;
        if !is_spent {
            debt.units += self.window_us;
        }
        let left = (most - debt.units) / self.window_us;
        let too_much = debt.units - (most - (left + 1) * self.window_us);
        let more_in_s = too_much.div_ceil(self.requests).div_ceil(1_000_000);
        Allowance { is_spent, left, more_in_s: u32::try_from(more_in_s).unwrap_or(u32::MAX) }
    }

    fn let_off(&self, debt: &mut Debt, now_us: u64) {
        let passed_us = (now_us - debt.at_us).min(self.window_us);
        *debt = Debt { units: debt.units.saturating_sub(passed_us * self.requests), at_us: now_us };
    }

    /// Forgets those that owe nothing, now and then, and before this token is one too many; that changes
    /// nothing for them. If too many owe something, those that owe the least are forgotten with it, half of
    /// all at least: it is not looked through all of them for each request.
    fn forget(&self, held: &mut Held, token: Principal, now_us: u64) {
        let is_full = held.tokens.len() >= TOKENS_MAX && !held.tokens.contains_key(&token);
        if !is_full && now_us - held.forgot_at_us < FORGET_EVERY_US.max(self.window_us) {
            return;
        }
        held.forgot_at_us = now_us;
        held.tokens.retain(|_, debt| {
            self.let_off(debt, now_us);
            debt.units > 0
        });
        let too_many = held.tokens.len().saturating_sub(TOKENS_MAX / 2);
        if is_full && too_many > 0 {
            let mut owed: Vec<_> = held.tokens.values().map(|debt| debt.units).collect();
            let (_, most_forgotten, _) = owed.select_nth_unstable(too_many - 1);
            let most_forgotten = *most_forgotten;
            held.tokens.retain(|_, debt| debt.units > most_forgotten);
        }
    }
}

#[cfg(test)]
mod tests;
