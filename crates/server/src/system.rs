//! The one place that reads the system's clock and draws its randomness.

use kinora_domain::{Clock, Random, Timestamp};

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "everybody else takes the time from here")]
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(jiff::Timestamp::now().as_microsecond())
    }
}

/// The generator of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandom;

impl Random for SystemRandom {
    #[expect(clippy::disallowed_methods, reason = "everybody else takes randomness from here")]
    fn fill(&self, bytes: &mut [u8]) {
        // Without randomness every secret could be guessed: there is nothing to go on with.
        getrandom::fill(bytes).expect("the operating system has a random generator");
    }
}
