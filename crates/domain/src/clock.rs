//! Time and randomness as arguments.

use crate::Timestamp;

/// Tells the time. The system's clock in the binary, a movable one in tests.
pub trait Clock: Send + Sync {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

/// Draws random bytes. The operating system's generator in the binary, a seeded one in tests.
pub trait Random: Send + Sync {
    /// Fills the slice with bytes nobody can guess.
    fn fill(&self, bytes: &mut [u8]);
}
