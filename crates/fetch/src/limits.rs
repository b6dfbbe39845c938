//! Every limit of the outside, with its default and where that comes from.

use std::time::Duration;

/// Limits of a source download. The default is C-41.
#[derive(Debug, Clone)]
pub struct Limits {
    /// To a connection, TLS included.
    pub connect: Duration,
    /// From the start of a request to the end of the answer's headers, once for each redirect.
    pub headers: Duration,
    /// An attempt that brings less than [`stall_bytes`](Self::stall_bytes) in this time is cut. Only waiting
    /// for the network counts, not the time the sink takes.
    pub stall: Duration,
    /// See [`stall`](Self::stall).
    pub stall_bytes: u64,
    /// The whole download with all its attempts.
    pub total: Duration,
    /// Largest source, in bytes.
    pub bytes_max: u64,
    /// Redirects followed in one attempt.
    pub redirects_max: usize,
    /// What is waited before the second attempt, the third and so on; one attempt more than there are delays.
    pub retry_delays: Vec<Duration>,
    /// Longest `Retry-After` that is obeyed; a longer one is shortened to this.
    pub retry_after_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            headers: Duration::from_secs(30),
            stall: Duration::from_secs(60),
            stall_bytes: 64 << 10,
            total: Duration::from_secs(24 * 60 * 60),
            bytes_max: 1 << 40,
            // C-41. Five are more than any storage service needs.
            redirects_max: 5,
            // Six attempts spread over five minutes. The first comes soon, for most cuts are gone by then.
            retry_delays: [1, 9, 30, 80, 180].map(Duration::from_secs).to_vec(),
            // As long as all attempts together: a server cannot hold a worker for a day.
            retry_after_max: Duration::from_secs(300),
        }
    }
}

/// Limits of a webhook post. The default is C-9.
#[derive(Debug, Clone)]
pub struct PostLimits {
    /// To a connection, TLS included.
    pub connect: Duration,
    /// The whole post.
    pub total: Duration,
    /// Connections to one host that are kept for the next post. More may be open at once.
    pub idle_per_host: usize,
    /// How long an unused connection is kept.
    pub idle: Duration,
}

impl Default for PostLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            total: Duration::from_secs(15),
            idle_per_host: 16,
            // Below the 60 s after which common servers close, so that few posts meet a closing connection.
            idle: Duration::from_secs(30),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_attempts_are_spread_over_five_minutes() {
        let delays = Limits::default().retry_delays;
        assert_eq!(delays.len() + 1, 6);
        assert_eq!(delays.iter().sum::<Duration>(), Duration::from_secs(5 * 60));
    }
}
