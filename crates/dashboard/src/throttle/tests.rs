use super::*;

const HERE: ClientAddress = ClientAddress(None);

fn now() -> Timestamp {
    Timestamp::from_micros(1_762_164_228_595_604)
}

fn client(text: &str) -> ClientAddress {
    ClientAddress(Some(text.parse().unwrap()))
}

fn fail(throttle: &Throttle, account: &str, from: ClientAddress, at: Timestamp) -> Result<(), u32> {
    throttle.begin_password(account, from, at).map(drop).map_err(|refused| refused.retry_after_s)
}

#[test]
fn account_wait_doubles_from_1_s_to_5_min() {
    let throttle = Throttle::default();
    let mut at = now();
    for _ in 0..5 {
        assert_eq!(fail(&throttle, "a@b", HERE, at), Ok(()));
    }
    for wait_s in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300] {
        assert_eq!(fail(&throttle, "a@b", HERE, at), Err(wait_s));
        let almost = at.plus_seconds(i64::from(wait_s)).plus_micros(-1);
        assert_eq!(fail(&throttle, "a@b", HERE, almost), Err(1), "a refusal does not prolong the wait");
        at = at.plus_seconds(i64::from(wait_s));
        assert_eq!(fail(&throttle, "a@b", HERE, at), Ok(()));
    }
    assert_eq!(fail(&throttle, "other@b", HERE, at), Ok(()), "accounts are separate");
    assert_eq!(
        fail(&throttle, "a@b", client("203.0.113.1"), at),
        Ok(()),
        "a client at another address does not wait"
    );
    let session = "019a492c-41f3-7001-8203-040506070809".parse().unwrap();
    assert!(throttle.begin_own_password(session, HERE, at).is_ok(), "and sessions");
}

#[test]
fn success_and_an_hour_end_the_wait() {
    let throttle = Throttle::default();
    let fail_often = |at| {
        (0..5).for_each(|_| assert_eq!(fail(&throttle, "a@b", HERE, at), Ok(())));
        fail(&throttle, "a@b", HERE, at)
    };
    assert_eq!(fail_often(now()), Err(1));
    let later = now().plus_seconds(1);
    throttle.begin_password("a@b", HERE, later).unwrap().succeed();
    assert_eq!(fail_often(later), Err(1), "5 failures are free again");
    assert_eq!(fail_often(later.plus_seconds(3600)), Err(1), "and after an hour");
}

#[test]
fn attempts_under_way_count_and_withdrawn_ones_do_not() {
    let throttle = Throttle::default();
    let begin = || throttle.begin_password("a@b", client("203.0.113.1"), now());
    let running: Vec<_> = (0..5).map(|_| begin().unwrap()).collect();
    assert!(begin().is_err(), "5 are under way");
    running.into_iter().for_each(Attempt::withdraw);
    assert_eq!(lock(&throttle.sign_ins).len(), 0);
    for _ in 0..5 {
        assert!(begin().is_ok());
    }
    assert!(begin().is_err());
}

#[test]
fn withdrawn_attempt_restores_the_wait() {
    let throttle = Throttle::default();
    (0..6).for_each(|_| _ = fail(&throttle, "a@b", HERE, now()));
    let at = now().plus_seconds(1);
    throttle.begin_password("a@b", HERE, at).unwrap().withdraw();
    assert_eq!(fail(&throttle, "a@b", HERE, at), Ok(()), "it is as if it had not been");
    assert_eq!(fail(&throttle, "a@b", HERE, at), Err(2));
}

#[test]
fn many_names_do_not_end_the_wait_of_an_account() {
    let throttle = Throttle::default();
    (0..5).for_each(|_| _ = fail(&throttle, "a@b", HERE, now()));
    for number in 0..ENTRIES_MAX + 10 {
        let _ = fail(&throttle, &format!("{number}@b"), HERE, now().plus_micros(1));
    }
    assert_eq!(fail(&throttle, "a@b", HERE, now().plus_micros(2)), Err(1));
}

#[test]
fn address_may_fail_30_times_in_10_minutes() {
    let throttle = Throttle::default();
    let from = client("203.0.113.1");
    let account = |number: usize| format!("{number}@b");
    for number in 0..SIGN_INS_MAX {
        let at = now().plus_seconds(number as i64);
        assert_eq!(fail(&throttle, &account(number), from, at), Ok(()));
    }
    let at = now().plus_seconds(30);
    assert_eq!(fail(&throttle, "new@b", from, at), Err(570));
    assert_eq!(lock(&throttle.accounts).len(), SIGN_INS_MAX, "a refusal counts nowhere");
    assert_eq!(fail(&throttle, "new@b", client("203.0.113.2"), at), Ok(()));
    assert_eq!(fail(&throttle, "new@b", HERE, at), Ok(()), "this machine has no limit of its own");
    assert_eq!(fail(&throttle, "newer@b", from, now().plus_seconds(599)), Err(1));
    assert_eq!(fail(&throttle, "newer@b", from, now().plus_seconds(600)), Ok(()));
    assert_eq!(fail(&throttle, "newer@b", from, now().plus_seconds(600)), Err(1), "the window slides");
}

#[test]
fn successful_sign_ins_do_not_count_for_an_address() {
    let throttle = Throttle::default();
    for _ in 0..100 {
        throttle.begin_password("a@b", client("203.0.113.1"), now()).unwrap().succeed();
    }
    assert_eq!(lock(&throttle.sign_ins).len() + lock(&throttle.accounts).len(), 0);
}

#[test]
fn ipv6_clients_are_counted_by_64_bits() {
    let throttle = Throttle::default();
    let link = |from: &str| throttle.begin_link(client(from), now()).map(drop).is_ok();
    for last in 0..LINKS_MAX {
        assert!(link(&format!("2001:db8:0:1::{last:x}")));
    }
    assert!(!link("2001:db8:0:1:ffff::1"));
    assert!(link("2001:db8:0:2::1"));
}

#[test]
fn link_may_fail_10_times_and_sign_ins_are_separate() {
    let throttle = Throttle::default();
    let from = client("203.0.113.1");
    for _ in 0..LINKS_MAX {
        drop(throttle.begin_link(from, now()).unwrap());
        if let Ok(attempt) = throttle.begin_link(from, now().plus_seconds(1)) {
            attempt.succeed();
        }
    }
    assert_eq!(throttle.begin_link(from, now()).err(), Some(TooEarly { retry_after_s: 600 }));
    assert_eq!(fail(&throttle, "a@b", from, now()), Ok(()));
}

#[test]
fn tables_are_bounded() {
    let throttle = Throttle::default();
    for number in 0..ENTRIES_MAX + 10 {
        let address = IpAddr::from(u32::try_from(number).unwrap().to_be_bytes());
        let at = now().plus_micros(number as i64);
        assert_eq!(fail(&throttle, &format!("{number}@b"), ClientAddress(Some(address)), at), Ok(()));
    }
    assert_eq!(lock(&throttle.accounts).len(), ENTRIES_MAX);
    assert_eq!(lock(&throttle.sign_ins).len(), ENTRIES_MAX);
    // After the window all addresses are dropped at once.
    let later = now().plus_seconds(3601);
    assert_eq!(fail(&throttle, "new@b", client("2001:db8::1"), later), Ok(()));
    assert_eq!((lock(&throttle.accounts).len(), lock(&throttle.sign_ins).len()), (1, 1));
}
