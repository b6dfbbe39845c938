//! A clock for tests, which moves only on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use kinora_domain::{Clock, Timestamp};

/// A clock that stands still until it is moved. Clones share one time.
#[derive(Debug, Clone)]
pub struct MovableClock {
    micros: Arc<AtomicI64>,
}

impl MovableClock {
    /// A clock that shows the time `start`.
    pub fn at(start: Timestamp) -> Self {
        Self { micros: Arc::new(AtomicI64::new(start.as_micros())) }
    }

    /// Moves it by `micros` microseconds, back if negative.
    pub fn advance_micros(&self, micros: i64) {
        self.micros.fetch_add(micros, Ordering::SeqCst);
    }

    /// Moves it by `seconds` seconds, back if negative.
    pub fn advance_seconds(&self, seconds: i64) {
        self.advance_micros(seconds * Timestamp::SECOND);
    }

    /// Sets the time, which may be earlier than the current one.
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
    fn movable_clock_advances_only_when_moved() {
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
