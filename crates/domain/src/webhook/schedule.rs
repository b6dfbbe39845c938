//! The verdict on a response, and the time of the next attempt (C-9).

use super::{ATTEMPTS_MAX, AttemptOutcome, DisabledReason};

/// Timeout for the response of a receiver, in seconds.
pub const DELIVERY_TIMEOUT_S: u64 = 15;
/// Time for which deliveries to a disabled webhook stay pending.
pub const DISABLED_PENDING_MAX_US: i64 = 30 * 24 * HOUR_US;

/// Time of failed attempts only, after which a webhook is disabled.
pub(super) const DISABLE_AFTER_US: i64 = 5 * 24 * HOUR_US;
/// Time of failed attempts only, after which a warning is shown.
pub(super) const WARN_AFTER_US: i64 = 24 * HOUR_US;

const HOUR_US: i64 = 3_600_000_000;
const DELAY_FIRST_US: i64 = 5_000_000;
const DELAY_MAX_US: i64 = 4 * HOUR_US;

/// The consequence of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryVerdict {
    /// The delivery succeeded.
    Delivered,
    /// Retry, not before `after_us` microseconds if the receiver sent that; give up if no attempts are left.
    Retry {
        /// The value of `Retry-After`, within the cap.
        after_us: Option<i64>,
    },
    /// The receiver rejects this delivery for good.
    Abort,
    /// The receiver rejects all deliveries; this one stays pending.
    Disable(DisabledReason),
}

/// The verdict on the outcome of an attempt. Success is any 2xx; redirects are failures.
pub fn judge(outcome: &AttemptOutcome) -> DeliveryVerdict {
    let AttemptOutcome::Answered(response) = outcome else {
        return DeliveryVerdict::Retry { after_us: None };
    };
    match response.webhook_delivery.as_deref().map(str::trim) {
        Some(word) if word.eq_ignore_ascii_case("disable") => {
            return DeliveryVerdict::Disable(DisabledReason::ByReceiver);
        }
        Some(word) if word.eq_ignore_ascii_case("abort-message") => return DeliveryVerdict::Abort,
        _ => {}
    }
    match response.status {
        200..=299 => DeliveryVerdict::Delivered,
        410 => DeliveryVerdict::Disable(DisabledReason::Gone),
        _ => DeliveryVerdict::Retry {
            after_us: response
                .retry_after_s
                .map(|seconds| (i64::from(seconds) * 1_000_000).min(DELAY_MAX_US)),
        },
    }
}

/// The delay before the next attempt, in microseconds; `None` if no more are allowed after `attempts_made`.
///
/// 5 s, doubling to a cap of 4 h, with ±20 % of jitter drawn from `random` (any value), never shorter than
/// `after_us`.
pub fn retry_delay_us(attempts_made: u32, after_us: Option<i64>, random: u32) -> Option<i64> {
    if attempts_made >= ATTEMPTS_MAX {
        return None;
    }
    let doublings = attempts_made.saturating_sub(1).min(20);
    let base = (DELAY_FIRST_US << doublings).min(DELAY_MAX_US);
    // -20 % at 0, +20 % at u32::MAX.
    let jitter = base * 2 / 5 * i64::from(random >> 1) / i64::from(u32::MAX >> 1) - base / 5;
    Some((base + jitter).max(after_us.unwrap_or(0).min(DELAY_MAX_US)))
}
