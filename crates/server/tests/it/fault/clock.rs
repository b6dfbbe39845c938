use std::time::Duration;

use kinora_domain::{Clock, Timestamp};
use kinora_server::SystemClock;
use kinora_testkit::MovableClock;
use tokio::time::Instant;

/// A clock that a test moves, and that may also run faster than real time.
///
/// It starts at the system time, because the age of objects comes from their file system.
#[derive(Debug, Clone)]
pub(crate) struct TestClock {
    moved: MovableClock,
    started: Instant,
    speed: u32,
}

impl TestClock {
    /// Stands still until the test moves it.
    pub(crate) fn standing() -> Self {
        Self::running(0)
    }

    /// Runs `speed` times as fast as real time: delays and leases end sooner.
    pub(crate) fn running(speed: u32) -> Self {
        Self { moved: MovableClock::at(SystemClock.now()), started: Instant::now(), speed }
    }

    /// Moves it forward.
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
