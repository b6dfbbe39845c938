use std::sync::atomic::{AtomicI64, Ordering};

use super::*;

/// A clock that tests move.
#[derive(Default)]
struct ManualClock(AtomicI64);

impl ManualClock {
    fn advance_us(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

fn limiter_of(limit: &str) -> RateLimiter {
    RateLimiter::new(limit.parse().unwrap())
}

fn token(number: usize) -> Principal {
    Principal::AccessToken(format!("00000000-0000-7000-8000-{number:012x}").parse().unwrap())
}

fn bucket_count(limiter: &RateLimiter) -> usize {
    limiter.buckets.lock().unwrap().principals.len()
}

/// How many of these requests are allowed.
fn allowed_count(limiter: &RateLimiter, clock: &ManualClock, requests: usize) -> usize {
    (0..requests).filter(|_| !limiter.count_request(token(1), clock).is_limited).count()
}

#[test]
fn burst_is_allowed_then_requests_at_the_limit_rate() {
    let (limiter, clock) = (limiter_of("3/60"), ManualClock::default());
    let check = |is_limited, remaining, retry_after_s| {
        assert_eq!(
            limiter.count_request(token(1), &clock),
            LimitStatus { is_limited, remaining, retry_after_s }
        );
    };
    check(false, 2, 20);
    check(false, 1, 20);
    check(false, 0, 20);
    check(true, 0, 20);
    clock.advance_us(19_000_000);
    check(true, 0, 1);
    clock.advance_us(999_999);
    check(true, 0, 1);
    clock.advance_us(1);
    check(false, 0, 20);
    check(true, 0, 20);
    clock.advance_us(40_000_000);
    check(false, 1, 20);
    clock.advance_us(60_000_000);
    check(false, 2, 20);
}

#[test]
fn limits_of_tokens_are_independent() {
    let (limiter, clock) = (limiter_of("1/10"), ManualClock::default());
    for number in 0..3 {
        assert!(!limiter.count_request(token(number), &clock).is_limited);
        assert!(limiter.count_request(token(number), &clock).is_limited);
    }
}

#[test]
fn retry_after_admits_and_limit_is_never_exceeded() {
    for limit in ["1/1", "1/86400", "7/60", "1000/1", "3/86400"] {
        let (limiter, clock) = (limiter_of(limit), ManualClock::default());
        let requests = usize::try_from(limiter.requests).unwrap();
        assert_eq!(allowed_count(&limiter, &clock, requests + 5), requests, "{limit}: at once");
        for _ in 0..20 {
            let status = limiter.count_request(token(1), &clock);
            assert!(status.is_limited && status.retry_after_s >= 1, "{limit}: {status:?}");
            clock.advance_us(i64::from(status.retry_after_s) * 1_000_000);
            let refilled =
                1.max(requests * status.retry_after_s as usize * 1_000_000 / limiter.window_us as usize);
            let counted = allowed_count(&limiter, &clock, requests + 5);
            assert!((1..=refilled + 1).contains(&counted), "{limit}: {counted} after {status:?}");
        }
        clock.advance_us(i64::try_from(limiter.window_us).unwrap());
        assert_eq!(allowed_count(&limiter, &clock, requests + 5), requests, "{limit}: a window later");
    }
}

#[test]
fn largest_limit_is_counted_exactly() {
    let (limiter, clock) = (limiter_of("100000000/86400"), ManualClock::default());
    assert_eq!(limiter.count_request(token(1), &clock).remaining, 99_999_999);
    limiter.buckets.lock().unwrap().principals.get_mut(&token(1)).unwrap().debt =
        limiter.requests * limiter.window_us;
    assert_eq!(
        limiter.count_request(token(1), &clock),
        LimitStatus { is_limited: true, remaining: 0, retry_after_s: 1 }
    );
    clock.advance_us(864);
    assert_eq!(
        limiter.count_request(token(1), &clock),
        LimitStatus { is_limited: false, remaining: 0, retry_after_s: 1 }
    );
    clock.advance_us(i64::MAX / 2);
    assert_eq!(limiter.count_request(token(1), &clock).remaining, 99_999_999);
}

#[test]
fn clock_set_back_delays_no_request() {
    let (limiter, clock) = (limiter_of("2/60"), ManualClock::default());
    assert_eq!(allowed_count(&limiter, &clock, 5), 2);
    clock.advance_us(-3_600_000_000);
    assert_eq!(limiter.count_request(token(1), &clock).retry_after_s, 30);
    clock.advance_us(30_000_000);
    assert_eq!(allowed_count(&limiter, &clock, 5), 1);
}

#[test]
fn idle_tokens_are_evicted() {
    let (limiter, clock) = (limiter_of("2/10"), ManualClock::default());
    for number in 0..100 {
        limiter.count_request(token(number), &clock);
    }
    clock.advance_us(59_999_999);
    limiter.count_request(token(1), &clock);
    assert_eq!(bucket_count(&limiter), 100);
    clock.advance_us(1);
    limiter.count_request(token(2), &clock);
    assert_eq!(bucket_count(&limiter), 2, "the one that asks, and the one that asked just now");
}

#[test]
fn eviction_keeps_tokens_with_most_requests() {
    let (limiter, clock) = (limiter_of("3/86400"), ManualClock::default());
    let greedy = PRINCIPALS_MAX / 4;
    for number in 0..PRINCIPALS_MAX {
        let requests = if number < greedy { 3 } else { 1 };
        for _ in 0..requests {
            assert!(!limiter.count_request(token(number), &clock).is_limited);
        }
        clock.advance_us(1);
    }
    assert_eq!(bucket_count(&limiter), PRINCIPALS_MAX);
    assert_eq!(limiter.count_request(token(greedy), &clock).remaining, 1, "a known token evicts no other");
    assert_eq!(bucket_count(&limiter), PRINCIPALS_MAX);

    assert!(!limiter.count_request(token(PRINCIPALS_MAX), &clock).is_limited);
    assert_eq!(bucket_count(&limiter), PRINCIPALS_MAX / 2 + 1);
    for number in 0..greedy {
        assert!(limiter.count_request(token(number), &clock).is_limited, "{number}");
    }
    for number in PRINCIPALS_MAX..2 * PRINCIPALS_MAX {
        limiter.count_request(token(number), &clock);
        assert!(bucket_count(&limiter) <= PRINCIPALS_MAX);
    }
}
