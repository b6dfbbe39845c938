//! Names of requests.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::HeaderValue;
use kinora_domain::Random;

/// Longer ids of clients are replaced by our own.
pub(crate) const LEN_MAX: usize = 128;

/// Makes ids that no two requests share, also those of other processes. They may be guessed: nothing rests on them.
pub(crate) struct RequestIds {
    /// Drawn once: to ask the system for randomness would take longer than to route a request.
    process: u64,
    next: AtomicU64,
}

impl RequestIds {
    /// Ids of this process.
    pub(crate) fn new(random: &dyn Random) -> Self {
        let mut process = [0; 8];
        random.fill(&mut process);
        Self { process: u64::from_ne_bytes(process), next: AtomicU64::new(0) }
    }

    /// An id that was never given before.
    pub(super) fn next(&self) -> HeaderValue {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = format!("{:016x}{number:016x}", self.process);
        HeaderValue::from_str(&id).expect("hex digits are header characters")
    }
}

/// Whether an id of a client may stand in answers and logs.
pub(super) fn is_usable(id: &HeaderValue) -> bool {
    (1..=LEN_MAX).contains(&id.len()) && id.as_bytes().iter().all(u8::is_ascii_graphic)
}
