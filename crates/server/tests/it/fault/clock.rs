use std::time::Duration;

use kinora_domain::{Clock, Timestamp};
use kinora_server::SystemClock;
use kinora_testkit::MovableClock;
use tokio::time::Instant;

/// A clock that a test moves, and that may also run by itself, faster than others.
///
/// It begins at the time of the machine, because the age of objects is told by their file system.
#[derive(Debug, Clone)]
pub(crate) struct TestClock {
    moved: MovableClock,
    started: Instant,
    speed: u32,
}

impl TestClock {
    /// Stands still until it is moved.
    pub(crate) fn standing() -> Self {
        Self::running(0)
    }

    /// Runs so many times as fast as others: waits and leases are over sooner.
    pub(crate) fn running(speed: u32) -> Self {
        Self { moved: MovableClock::at(SystemClock.now()), started: Instant::now(), speed }
    }

    /// Moves it on.
    pub(crate) fn advance(&self, by: Duration) {
        self.moved.advance_micros(micros(by));
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.moved.now().plus_micros(micros(self.started.elapsed() * self.speed))
    }
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).expect("tests do not last that long")
}
