//! A clock that tests move.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kinora_domain::{Clock, Timestamp};

/// Stands still until it is moved. A clone shows the same time.
#[derive(Debug, Clone)]
pub struct MovableClock {
    micros: Arc<AtomicI64>,
}

impl MovableClock {
    /// A clock that shows `start`.
    pub fn at(start: Timestamp) -> Self {
        Self { micros: Arc::new(AtomicI64::new(start.as_micros())) }
    }

    /// Moves it by so many microseconds, back when negative.
    pub fn advance_micros(&self, micros: i64) {
        self.micros.fetch_add(micros, Ordering::SeqCst);
    }

    /// Moves it by so many seconds, back when negative.
    pub fn advance_seconds(&self, seconds: i64) {
        self.advance_micros(seconds * Timestamp::SECOND);
    }

    /// Moves it to an instant, which may lie before the one it shows.
    pub fn set(&self, now: Timestamp) {
        self.micros.store(now.as_micros(), Ordering::SeqCst);
    }
}

/// Shows 2025-11-03T10:03:48.595604Z.
impl Default for MovableClock {
    fn default() -> Self {
        Self::at(Timestamp::from_micros(1_762_164_228_595_604))
    }
}

impl Clock for MovableClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.micros.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stands_still_until_it_is_moved() {
        let clock = MovableClock::default();
        let same = clock.clone();
        assert_eq!(clock.now().to_string(), "2025-11-03T10:03:48.595604Z");
        assert_eq!(clock.now(), clock.now());
        same.advance_seconds(2);
        clock.advance_micros(-604);
        assert_eq!(clock.now().to_string(), "2025-11-03T10:03:50.595000Z");
        clock.set(Timestamp::from_micros(0));
        assert_eq!(same.now(), Timestamp::from_micros(0));
    }
}
