//! Request ids.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::HeaderValue;
use kinora_domain::Random;

/// Longer ids of clients are replaced by generated ones.
pub(crate) const LEN_MAX: usize = 128;

/// Makes ids that are unique across requests and processes. They can be guessed: no security depends on
/// them.
pub(super) struct RequestIds {
    /// A random number, generated once for the process: a system call for randomness takes longer than
    /// routing a request.
    process_random: u64,
    next: AtomicU64,
}

impl RequestIds {
    /// Ids of this process.
    pub(super) fn new(random: &dyn Random) -> Self {
        let mut process = [0; 8];
        random.fill(&mut process);
        Self { process_random: u64::from_ne_bytes(process), next: AtomicU64::new(0) }
    }

    /// An id that was never used before.
    pub(super) fn next(&self) -> HeaderValue {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = u128::from(self.process_random) << u64::BITS | u128::from(number);
        // Formatted by hand, because this runs for every request.
        let digit = |at| b"0123456789abcdef"[(id >> (4 * (31 - at))) as usize & 0xf];
        let digits: [u8; 32] = std::array::from_fn(digit);
        HeaderValue::from_bytes(&digits).expect("hex digits are header characters")
    }
}

/// Whether an id of a client may be used in responses and logs (C-25).
pub(super) fn is_usable(id: &HeaderValue) -> bool {
    (1..=LEN_MAX).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
}
