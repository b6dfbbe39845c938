//! The setting of the rate limit.

use std::fmt;
use std::str::FromStr;

/// Requests of one access token within a window in seconds, counted by each process for itself. Written
/// `600/60`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    requests: u32,
    window_s: u32,
}

impl RateLimit {
    /// A thousand a second all day long; with the longest window the count still fits in 64 bits.
    pub(crate) const REQUESTS_MAX: u32 = 100_000_000;
    /// A day: with a longer window a rejected client would wait longer for no benefit.
    pub(crate) const WINDOW_S_MAX: u32 = 86_400;
    /// The example in the API document.
    pub(crate) const EXAMPLE: Self = Self { requests: 600, window_s: 60 };

    /// `None` for numbers that are 0 or more than [`REQUESTS_MAX`](Self::REQUESTS_MAX) and
    /// [`WINDOW_S_MAX`](Self::WINDOW_S_MAX).
    pub(crate) fn new(requests: u32, window_s: u32) -> Option<Self> {
        let is_within = |number: u32, max: u32| (1..=max).contains(&number);
        let is_limit = is_within(requests, Self::REQUESTS_MAX) && is_within(window_s, Self::WINDOW_S_MAX);
        is_limit.then_some(Self { requests, window_s })
    }

    /// Requests within a window.
    pub(crate) fn requests(self) -> u32 {
        self.requests
    }

    /// Length of the window, in seconds.
    pub(crate) fn window_s(self) -> u32 {
        self.window_s
    }
}

/// Why a text is no [`RateLimit`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be REQUESTS/SECONDS such as 600/60, 1 to {} requests within 1 to {} seconds",
    RateLimit::REQUESTS_MAX,
    RateLimit::WINDOW_S_MAX
)]
pub struct InvalidRateLimit;

impl FromStr for RateLimit {
    type Err = InvalidRateLimit;

    fn from_str(text: &str) -> Result<Self, InvalidRateLimit> {
        let (requests, window_s) = text.split_once('/').ok_or(InvalidRateLimit)?;
        let number = |text: &str| {
            let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_digits).ok_or(InvalidRateLimit)
        };
        Self::new(number(requests)?, number(window_s)?).ok_or(InvalidRateLimit)
    }
}

impl fmt::Display for RateLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.requests, self.window_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_limit_setting_parses_within_bounds() {
        for text in ["1/1", "600/60", "100000000/86400"] {
            let limit: RateLimit = text.parse().unwrap();
            assert_eq!(limit.to_string(), text);
        }
        for text in [
            "",
            "/",
            "600",
            "600/",
            "/60",
            "0/60",
            "600/0",
            "100000001/60",
            "600/86401",
            "-1/60",
            "+600/60",
            "600/+60",
            "600/60s",
            " 600/60",
            "600/60/1",
            "6e2/60",
            "99999999999999999999/60",
            "off",
        ] {
            let refused = text.parse::<RateLimit>().unwrap_err().to_string();
            assert_eq!(
                refused,
                "must be REQUESTS/SECONDS such as 600/60, 1 to 100000000 requests within 1 to 86400 seconds",
                "{text}"
            );
        }
    }
}
