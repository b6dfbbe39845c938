//! Time and randomness as arguments.

use crate::Timestamp;

/// A clock: the system's clock in the binary, a movable one in tests.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// A source of random bytes: the operating system's generator in the binary, a seeded one in tests.
pub trait Random: Send + Sync {
    /// Fills the slice with unpredictable bytes.
    fn fill(&self, bytes: &mut [u8]);
}
