//! Failures of each client address in a sliding window.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use kinora_domain::Timestamp;

use super::{ENTRIES_MAX, TooEarly, seconds_until};

/// Length of the window.
pub(super) const WINDOW_S: i64 = 10 * 60;

/// Times of the failures of the window, by address.
pub(super) struct Addresses {
    failures_max: usize,
    failures: HashMap<IpAddr, VecDeque<Timestamp>>,
}

impl Addresses {
    /// So many failures of an address are allowed within the window.
    pub(super) fn new(failures_max: usize) -> Self {
        Self { failures_max, failures: HashMap::new() }
    }

    /// Counts an attempt as failed, if the address may make one.
    pub(super) fn begin(&mut self, address: IpAddr, now: Timestamp) -> Result<(), TooEarly> {
        if self.failures.len() >= ENTRIES_MAX && !self.failures.contains_key(&address) {
            self.make_space(now);
        }
        let times = self.failures.entry(address).or_default();
        while times.front().is_some_and(|time| time.plus_seconds(WINDOW_S) <= now) {
            times.pop_front();
        }
        match times.front() {
            Some(first) if times.len() >= self.failures_max => {
                Err(TooEarly { retry_after_s: seconds_until(first.plus_seconds(WINDOW_S), now) })
            }
            _ => {
                times.push_back(now);
                Ok(())
            }
        }
    }

    /// Counts the attempt of this time no longer.
    pub(super) fn withdraw(&mut self, address: IpAddr, begun_at: Timestamp) {
        let Some(times) = self.failures.get_mut(&address) else { return };
        if let Some(at) = times.iter().position(|time| *time == begun_at) {
            times.remove(at);
        }
        if times.is_empty() {
            self.failures.remove(&address);
        }
    }

    fn make_space(&mut self, now: Timestamp) {
        self.failures.retain(|_, times| times.back().is_some_and(|last| now < last.plus_seconds(WINDOW_S)));
        if self.failures.len() >= ENTRIES_MAX {
            let oldest = self.failures.iter().min_by_key(|(_, times)| times.back().copied());
            if let Some(address) = oldest.map(|(address, _)| *address) {
                self.failures.remove(&address);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.failures.len()
    }
}
