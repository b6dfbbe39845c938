use std::sync::atomic::{AtomicI64, Ordering};

use super::*;

/// A clock that tests move.
#[derive(Default)]
struct Hand(AtomicI64);

impl Hand {
    fn advance_us(&self, micros: i64) {
        self.0.fetch_add(micros, Ordering::SeqCst);
    }
}

impl Clock for Hand {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst))
    }
}

fn allowances(limit: &str) -> Allowances {
    Allowances::new(limit.parse().unwrap())
}

fn token(number: usize) -> Principal {
    Principal::AccessToken(format!("00000000-0000-7000-8000-{number:012x}").parse().unwrap())
}

fn known(allowances: &Allowances) -> usize {
    allowances.held.lock().unwrap().tokens.len()
}

/// How many of so many requests are let in.
fn let_in(allowances: &Allowances, clock: &Hand, requests: usize) -> usize {
    (0..requests).filter(|_| !allowances.take(token(1), clock).is_spent).count()
}

#[test]
fn a_token_sends_all_of_its_requests_at_once_and_then_one_whenever_one_is_let_off() {
    let (allowances, clock) = (allowances("3/60"), Hand::default());
    let check = |is_spent, left, more_in_s| {
        assert_eq!(allowances.take(token(1), &clock), Allowance { is_spent, left, more_in_s });
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
fn what_one_token_sends_takes_nothing_from_another() {
    let (allowances, clock) = (allowances("1/10"), Hand::default());
    for number in 0..3 {
        assert!(!allowances.take(token(number), &clock).is_spent);
        assert!(allowances.take(token(number), &clock).is_spent);
    }
}

#[test]
fn no_limit_lets_in_more_than_it_says_and_whoever_waits_as_told_is_let_in() {
    for limit in ["1/1", "1/86400", "7/60", "1000/1", "3/86400"] {
        let (allowances, clock) = (allowances(limit), Hand::default());
        let requests = usize::try_from(allowances.requests).unwrap();
        assert_eq!(let_in(&allowances, &clock, requests + 5), requests, "{limit}: at once");
        for _ in 0..20 {
            let told = allowances.take(token(1), &clock);
            assert!(told.is_spent && told.more_in_s >= 1, "{limit}: {told:?}");
            clock.advance_us(i64::from(told.more_in_s) * 1_000_000);
            let let_off =
                1.max(requests * told.more_in_s as usize * 1_000_000 / allowances.window_us as usize);
            let counted = let_in(&allowances, &clock, requests + 5);
            assert!((1..=let_off + 1).contains(&counted), "{limit}: {counted} after {told:?}");
        }
        clock.advance_us(i64::try_from(allowances.window_us).unwrap());
        assert_eq!(let_in(&allowances, &clock, requests + 5), requests, "{limit}: a window later");
    }
}

#[test]
fn the_largest_limit_is_counted_exactly() {
    let (allowances, clock) = (allowances("100000000/86400"), Hand::default());
    assert_eq!(allowances.take(token(1), &clock).left, 99_999_999);
    allowances.held.lock().unwrap().tokens.get_mut(&token(1)).unwrap().units =
        allowances.requests * allowances.window_us;
    assert_eq!(allowances.take(token(1), &clock), Allowance { is_spent: true, left: 0, more_in_s: 1 });
    clock.advance_us(864);
    assert_eq!(allowances.take(token(1), &clock), Allowance { is_spent: false, left: 0, more_in_s: 1 });
    clock.advance_us(i64::MAX / 2);
    assert_eq!(allowances.take(token(1), &clock).left, 99_999_999);
}

#[test]
fn a_clock_that_is_set_back_holds_nobody_up() {
    let (allowances, clock) = (allowances("2/60"), Hand::default());
    assert_eq!(let_in(&allowances, &clock, 5), 2);
    clock.advance_us(-3_600_000_000);
    assert_eq!(allowances.take(token(1), &clock).more_in_s, 30);
    clock.advance_us(30_000_000);
    assert_eq!(let_in(&allowances, &clock, 5), 1);
}

#[test]
fn a_token_that_sends_nothing_any_more_is_forgotten() {
    let (allowances, clock) = (allowances("2/10"), Hand::default());
    for number in 0..100 {
        allowances.take(token(number), &clock);
    }
    clock.advance_us(59_999_999);
    allowances.take(token(1), &clock);
    assert_eq!(known(&allowances), 100);
    clock.advance_us(1);
    allowances.take(token(2), &clock);
    assert_eq!(known(&allowances), 2, "the one that asks, and the one that asked just now");
}

#[test]
fn so_many_tokens_are_known_and_those_that_sent_the_most_stay() {
    let (allowances, clock) = (allowances("3/86400"), Hand::default());
    let greedy = TOKENS_MAX / 4;
    for number in 0..TOKENS_MAX {
        let requests = if number < greedy { 3 } else { 1 };
        for _ in 0..requests {
            assert!(!allowances.take(token(number), &clock).is_spent);
        }
        clock.advance_us(1);
    }
    assert_eq!(known(&allowances), TOKENS_MAX);
    assert_eq!(allowances.take(token(greedy), &clock).left, 1, "it is known: nobody is forgotten for it");
    assert_eq!(known(&allowances), TOKENS_MAX);

    assert!(!allowances.take(token(TOKENS_MAX), &clock).is_spent);
    assert_eq!(known(&allowances), TOKENS_MAX / 2 + 1);
    for number in 0..greedy {
        assert!(allowances.take(token(number), &clock).is_spent, "{number}");
    }
    for number in TOKENS_MAX..2 * TOKENS_MAX {
        allowances.take(token(number), &clock);
        assert!(known(&allowances) <= TOKENS_MAX);
    }
}
