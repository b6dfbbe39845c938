//! Failed passwords of each account.

use std::collections::HashMap;

use kinora_domain::Timestamp;

use super::{ENTRIES_MAX, TooEarly, seconds_until};

/// Failures without a wait: typing errors.
const FREE_FAILURES: u32 = 5;
/// The longest wait.
const WAIT_S_MAX: i64 = 5 * 60;
/// Failures older than this no longer count.
const FORGOTTEN_AFTER_S: i64 = 60 * 60;

/// Failures by the key of an email address, known or not.
#[derive(Default)]
pub(super) struct Accounts(HashMap<Box<str>, Failures>);

#[derive(Clone, Copy)]
pub(super) struct Failures {
    count: u32,
    last_at: Timestamp,
}

impl Failures {
    /// The time of the next attempt.
    fn next_at(self) -> Timestamp {
        let wait_s = match self.count.checked_sub(FREE_FAILURES) {
            None => 0,
            Some(doublings) => 1_i64.checked_shl(doublings).map_or(WAIT_S_MAX, |wait| wait.min(WAIT_S_MAX)),
        };
        self.last_at.plus_seconds(wait_s)
    }

    fn is_forgotten(self, now: Timestamp) -> bool {
        self.last_at.plus_seconds(FORGOTTEN_AFTER_S) <= now
    }
}

impl Accounts {
    /// Whether the account may be tried now.
    pub(super) fn check(&self, account: &str, now: Timestamp) -> Result<(), TooEarly> {
        let next_at =
            self.0.get(account).filter(|failures| !failures.is_forgotten(now)).map(|it| it.next_at());
        match next_at {
            Some(next_at) if now < next_at => Err(TooEarly { retry_after_s: seconds_until(next_at, now) }),
            _ => Ok(()),
        }
    }

    /// Counts an attempt as failed. Returns the failures before it.
    pub(super) fn begin(&mut self, account: &str, now: Timestamp) -> Option<Failures> {
        if self.0.len() >= ENTRIES_MAX && !self.0.contains_key(account) {
            self.make_space(now);
        }
        let before = self.0.get(account).copied().filter(|failures| !failures.is_forgotten(now));
        let count = before.map_or(0, |failures| failures.count).saturating_add(1);
        self.0.insert(account.into(), Failures { count, last_at: now });
        before
    }

    /// Counts an attempt no longer. The wait is that of the failures before it.
    pub(super) fn withdraw(&mut self, account: &str, before: Option<Failures>) {
        let Some(failures) = self.0.get_mut(account) else { return };
        failures.count = failures.count.saturating_sub(1);
        match before {
            _ if failures.count == 0 => drop(self.0.remove(account)),
            Some(before) => failures.last_at = before.last_at,
            None => {}
        }
    }

    /// Counts no earlier failure any longer.
    pub(super) fn forget(&mut self, account: &str) {
        self.0.remove(account);
    }

    fn make_space(&mut self, now: Timestamp) {
        self.0.retain(|_, failures| !failures.is_forgotten(now));
        if self.0.len() >= ENTRIES_MAX {
            // The least wait first, so that many names cannot end the wait of one account.
            let least = self.0.iter().min_by_key(|(_, failures)| (failures.count, failures.last_at));
            if let Some(account) = least.map(|(account, _)| account.clone()) {
                self.0.remove(&account);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
