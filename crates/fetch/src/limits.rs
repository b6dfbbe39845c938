//! All limits of outbound requests, with their defaults and sources.

use std::time::Duration;

/// Limits of a source download. The default is C-41.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Timeout for a connection, TLS included.
    pub connect_timeout: Duration,
    /// Timeout from the start of a request to the end of the response headers, for each redirect separately.
    pub headers_timeout: Duration,
    /// Window in which an attempt must receive [`stall_bytes`](Self::stall_bytes), or it is aborted. Only
    /// the wait for the network counts, not the time in the sink.
    pub stall_window: Duration,
    /// See [`stall_window`](Self::stall_window).
    pub stall_bytes: u64,
    /// Timeout of the whole download with all its attempts.
    pub total_timeout: Duration,
    /// Largest source, in bytes.
    pub bytes_max: u64,
    /// Most redirects in one attempt.
    pub redirects_max: usize,
    /// Delays before the second attempt, the third and so on; there is one attempt more than delays.
    pub retry_delays: Vec<Duration>,
    /// Longest accepted `Retry-After`; a longer one is shortened to this.
    pub retry_after_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            headers_timeout: Duration::from_secs(30),
            stall_window: Duration::from_secs(60),
            stall_bytes: 64 << 10,
            total_timeout: Duration::from_secs(24 * 60 * 60),
            bytes_max: 1 << 40,
            // C-41. Five exceed the need of any storage service.
            redirects_max: 5,
            // Six attempts within five minutes. The first retry is early, because most interruptions are
            // short.
            retry_delays: [1, 9, 30, 80, 180].map(Duration::from_secs).to_vec(),
            // As long as all attempts together: a server cannot block a worker for a day.
            retry_after_max: Duration::from_secs(300),
        }
    }
}

/// Limits of a webhook post. The default is C-9.
#[derive(Debug, Clone)]
pub struct PostLimits {
    /// Timeout for a connection, TLS included.
    pub connect_timeout: Duration,
    /// Timeout of the whole post.
    pub total_timeout: Duration,
    /// Idle connections per host that are reused. More may be open at once.
    pub idle_per_host: usize,
    /// Timeout of an idle connection.
    pub idle_timeout: Duration,
}

impl Default for PostLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            total_timeout: Duration::from_secs(15),
            idle_per_host: 16,
            // Below the 60 s after which common servers close, so that few posts meet a closing connection.
            idle_timeout: Duration::from_secs(30),
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
