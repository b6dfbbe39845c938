use super::*;
use crate::{AccessRestrictions, Encryption};

const PLAYBACK: &str = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f";
const KEY: &str = "019a492c-41f3-7001-8203-040506070809";
const NOW: i64 = 1_762_164_228_000_000;

fn rule(default_policy: DefaultPolicy, allow: &[&str], deny: &[&str]) -> Restriction {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Restriction { default_policy, allow: list(allow), deny: list(deny) }
}

fn handle(policy: AccessPolicy, restrictions: AccessRestrictions) -> PlaybackHandle {
    PlaybackHandle {
        id: PLAYBACK.parse().unwrap(),
        policy,
        restrictions,
        resolution: Some(Resolution::P720),
        encryption: Encryption::None,
        generation: 3,
        created_at: Timestamp::from_micros(0),
    }
}

fn free() -> AccessRestrictions {
    AccessRestrictions::default()
}

fn mark(id: &str) -> KeyMark {
    KeyMark { id: id.parse().unwrap(), created_at: Timestamp::from_micros(1) }
}

fn ticket(generation: u32, key: Option<&str>) -> PathTicket {
    let key = key.map(mark);
    let facts = TicketFacts { generation, key, frame: None };
    PathTicket::new(PLAYBACK.parse().unwrap(), facts, 0, Timestamp::from_micros(NOW))
}

fn decide(handle: &PlaybackHandle, admission: Admission, now: i64) -> Result<Allowed, PlaybackRefusal> {
    let viewer = Viewer { admission, page: Page::Unknown, frame: None, user_agent: None };
    PlaybackPolicy::of(handle).decide(&viewer, Timestamp::from_micros(now))
}

#[test]
fn what_is_public_asks_for_nothing_and_lists_the_same_for_everybody() {
    let public = handle(AccessPolicy::Public, free());
    let allowed = Ok(Allowed { resolution: Some(Resolution::P720), ticket: None });
    for admission in [
        Admission::Token(Err(TokenRefusal::Missing)),
        Admission::Token(Err(TokenRefusal::BadSignature)),
        Admission::Token(Ok(mark(KEY))),
        Admission::Path(Err(PathRefusal::Missing)),
        Admission::Path(Ok(ticket(3, None))),
    ] {
        assert_eq!(decide(&public, admission.clone(), NOW), allowed, "{admission:?}");
    }
    for (path, refusal) in [
        (Err(PathRefusal::Forged), PathRefusal::Forged),
        (Ok(ticket(2, None)), PathRefusal::Old),
        (Err(PathRefusal::KeyGone), PathRefusal::KeyGone),
    ] {
        assert_eq!(decide(&public, Admission::Path(path), NOW), Err(PlaybackRefusal::Path(refusal)));
    }
}

#[test]
fn what_is_private_asks_for_a_token_or_a_path_that_one_led_to() {
    let private = handle(AccessPolicy::Private, free());
    let key = mark(KEY);
    let facts = TicketFacts { generation: 3, key: Some(key), frame: None };
    let allowed = Ok(Allowed { resolution: Some(Resolution::P720), ticket: Some(facts) });
    assert_eq!(decide(&private, Admission::Token(Ok(key)), NOW), allowed);
    assert_eq!(decide(&private, Admission::Path(Ok(ticket(3, Some(KEY)))), NOW), allowed);
    for refusal in [TokenRefusal::Missing, TokenRefusal::Expired, TokenRefusal::Revoked] {
        let refused = decide(&private, Admission::Token(Err(refusal)), NOW);
        assert_eq!(refused, Err(PlaybackRefusal::Token(refusal)));
    }
    let mut other = ticket(3, Some(KEY));
    other.playback = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e60".parse().unwrap();
    let end = ticket(3, Some(KEY)).expires_at().as_micros();
    for (path, now, refusal) in [
        (Err(PathRefusal::Missing), NOW, PathRefusal::Missing),
        (Err(PathRefusal::Forged), NOW, PathRefusal::Forged),
        (Err(PathRefusal::KeyGone), NOW, PathRefusal::KeyGone),
        (Ok(other), NOW, PathRefusal::Forged),
        // Of a time when no token was needed.
        (Ok(ticket(3, None)), NOW, PathRefusal::Forged),
        (Ok(ticket(2, Some(KEY))), NOW, PathRefusal::Old),
        (Ok(ticket(4, Some(KEY))), NOW, PathRefusal::Old),
        (Ok(ticket(3, Some(KEY))), end, PathRefusal::Expired),
    ] {
        let refused = decide(&private, Admission::Path(path.clone()), now);
        assert_eq!(refused, Err(PlaybackRefusal::Path(refusal)), "{path:?}");
    }
    assert_eq!(decide(&private, Admission::Path(Ok(ticket(3, Some(KEY)))), end - 1), allowed);
}

#[test]
fn what_is_restricted_asks_for_no_token_and_signs_its_paths() {
    let domains = rule(DefaultPolicy::Allow, &[], &["bad.example"]);
    let restricted = handle(AccessPolicy::Public, AccessRestrictions { domains, ..free() });
    let facts = TicketFacts { generation: 3, key: None, frame: None };
    let allowed = Ok(Allowed { resolution: Some(Resolution::P720), ticket: Some(facts) });
    assert_eq!(decide(&restricted, Admission::Token(Err(TokenRefusal::Missing)), NOW), allowed);
    // On what page our own stands is kept for what it asks later.
    for frame in [None, Some(Frame::of_text("")), Some(Frame::of_text("a.example"))] {
        let admission = Admission::Token(Err(TokenRefusal::Missing));
        let viewer = Viewer { admission, page: Page::Own, frame: frame.clone(), user_agent: None };
        let decided = PlaybackPolicy::of(&restricted).decide(&viewer, Timestamp::from_micros(NOW));
        assert_eq!(decided.unwrap().ticket.unwrap().frame, frame);
    }
    // A token is not read, so addresses of viewers with one are those of all others.
    assert_eq!(decide(&restricted, Admission::Token(Ok(mark(KEY))), NOW), allowed);
    assert_eq!(decide(&restricted, Admission::Path(Ok(ticket(3, None))), NOW), allowed);
    let refused = decide(&restricted, Admission::Path(Err(PathRefusal::Missing)), NOW);
    assert_eq!(refused, Err(PlaybackRefusal::Path(PathRefusal::Missing)));
}

#[test]
fn each_default_has_its_own_list_of_exceptions() {
    let check =
        |restriction: &Restriction, host: Option<&str>, agent: Option<&str>, is_domain: bool, ok: bool| {
            let restrictions = if is_domain {
                AccessRestrictions { domains: restriction.clone(), ..free() }
            } else {
                AccessRestrictions { user_agents: restriction.clone(), ..free() }
            };
            let viewer = Viewer {
                admission: Admission::Token(Err(TokenRefusal::Missing)),
                page: match host {
                    None => Page::Unknown,
                    Some("our own") => Page::Own,
                    Some(host) => Page::Of(PageHost::of_address(&format!("https://{host}")).unwrap()),
                },
                frame: None,
                user_agent: agent,
            };
            let policy = PlaybackPolicy::of(&handle(AccessPolicy::Public, restrictions));
            let refusal = if is_domain { PlaybackRefusal::Domain } else { PlaybackRefusal::UserAgent };
            let decided = policy.decide(&viewer, Timestamp::from_micros(NOW)).map(drop);
            assert_eq!(decided, if ok { Ok(()) } else { Err(refusal) }, "{restriction:?} {host:?} {agent:?}");
        };
    let open = rule(DefaultPolicy::Allow, &["ignored.example"], &["bad.example"]);
    let closed = rule(DefaultPolicy::Deny, &["good.example"], &["ignored.example", "www.good.example"]);
    let nobody = rule(DefaultPolicy::Deny, &[], &[]);
    for (restriction, host, ok) in [
        (&open, None, true),
        (&open, Some("ignored.example"), true),
        (&open, Some("other.example"), true),
        (&open, Some("www.BAD.example"), false),
        (&closed, None, false),
        (&closed, Some("good.example"), true),
        (&closed, Some("www.good.example"), true),
        (&closed, Some("other.example"), false),
        (&nobody, None, false),
        (&nobody, Some("our own"), true),
        (&nobody, Some("good.example"), false),
    ] {
        check(restriction, host, None, true, ok);
    }
    let open = rule(DefaultPolicy::Allow, &["x"], &["curl/"]);
    let closed = rule(DefaultPolicy::Deny, &["Mozilla"], &["Mozilla"]);
    for (restriction, agent, ok) in [
        (&open, None, true),
        (&open, Some("a curl/8 b"), false),
        (&open, Some("Curl/8"), true),
        (&closed, None, false),
        (&closed, Some("Mozilla/5.0"), true),
        (&closed, Some("mozilla/5.0"), false),
        (&nobody, Some("Mozilla/5.0"), false),
    ] {
        check(restriction, None, agent, false, ok);
    }
}

#[test]
fn a_frame_is_held_against_the_rule_beside_the_page_and_lets_nobody_in() {
    let open = rule(DefaultPolicy::Allow, &[], &["bad.example"]);
    let closed = rule(DefaultPolicy::Deny, &["good.example"], &[]);
    let of = |host: &str| Page::Of(PageHost::of_address(&format!("https://{host}")).unwrap());
    for (restriction, page, frame, ok) in [
        (&open, Page::Own, "", true),
        (&open, Page::Own, "www.bad.example", false),
        (&open, of("other.example"), "bad.example", false),
        (&open, of("bad.example"), "good.example", false),
        (&closed, Page::Own, "", false),
        (&closed, Page::Own, "www.good.example", true),
        (&closed, Page::Own, "other.example", false),
        (&closed, of("good.example"), "other.example", false),
        (&closed, of("other.example"), "good.example", false),
        (&closed, Page::Unknown, "good.example", false),
    ] {
        let restrictions = AccessRestrictions { domains: restriction.clone(), ..free() };
        let policy = PlaybackPolicy::of(&handle(AccessPolicy::Public, restrictions));
        let admission = Admission::Token(Err(TokenRefusal::Missing));
        let viewer = Viewer { admission, page, frame: Some(Frame::of_text(frame)), user_agent: None };
        let decided = policy.decide(&viewer, Timestamp::from_micros(NOW)).map(drop);
        assert_eq!(
            decided,
            if ok { Ok(()) } else { Err(PlaybackRefusal::Domain) },
            "{restriction:?} {viewer:?}"
        );
    }
}

#[test]
fn an_entry_that_cannot_be_read_still_counts_as_a_rule() {
    let domains = rule(DefaultPolicy::Allow, &[], &["a.example,b.example"]);
    let handle = handle(AccessPolicy::Public, AccessRestrictions { domains, ..free() });
    let policy = PlaybackPolicy::of(&handle);
    assert!(policy.asks_for_page() && policy.is_restricted() && !handle.is_for_everybody());
    // And one whose other list alone has entries does not.
    let domains = rule(DefaultPolicy::Allow, &["a.example,b.example"], &[]);
    let policy =
        PlaybackPolicy::of(&self::handle(AccessPolicy::Public, AccessRestrictions { domains, ..free() }));
    assert!(!policy.asks_for_page() && !policy.is_restricted());
}

#[test]
fn frames_may_be_on_the_page_that_asks_where_the_list_lets_it_in_or_on_any() {
    let of = |host: &str| Page::Of(PageHost::of_address(&format!("https://{host}")).unwrap());
    let check = |domains: &Restriction, page: &Page, expected: Option<&[&str]>| {
        let restrictions = AccessRestrictions { domains: domains.clone(), ..free() };
        let found = PlaybackPolicy::of(&handle(AccessPolicy::Private, restrictions)).frame_ancestors(page);
        let expected = expected.map(|sources| sources.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert_eq!(found, expected, "{domains:?} {page:?}");
    };
    for page in [Page::Unknown, Page::Own, of("bad.example"), of("a.example")] {
        check(&Restriction::default(), &page, None);
        check(&rule(DefaultPolicy::Allow, &["a.example"], &["bad.example"]), &page, None);
        check(&rule(DefaultPolicy::Deny, &[], &["a.example"]), &page, Some(&[]));
    }
    let list = ["a.example", "*.b.example", "192.0.2.7", "my_shop.example", "[2001:db8::1]", "c_d.a.example"];
    let list = rule(DefaultPolicy::Deny, &list, &[]);
    let a = &["http://a.example:*", "http://*.a.example:*"][..];
    for (host, expected) in [
        ("a.example", Some(a)),
        ("www.A.example:8443", Some(a)),
        ("x.b.example", Some(&["http://*.b.example:*"][..])),
        ("b.example", Some(&[])),
        ("192.0.2.7", Some(&["http://192.0.2.7:*"])),
        ("192.0.2.8", Some(&[])),
        ("other.example", Some(&[])),
        // Those have no name.
        ("my_shop.example", None),
        ("www.my_shop.example", None),
        ("[2001:db8::1]", None),
        ("[2001:db8::2]", Some(&[])),
        // One entry has no name for it, and another one has.
        ("c_d.a.example", Some(a)),
    ] {
        check(&list, &of(host), expected);
    }
    for page in [Page::Unknown, Page::Own] {
        check(&list, &page, Some(&[]));
    }
    let both = rule(DefaultPolicy::Deny, &["*.shop.example", "www.shop.example"], &[]);
    check(
        &both,
        &of("www.shop.example"),
        Some(&["http://*.shop.example:*", "http://www.shop.example:*", "http://*.www.shop.example:*"]),
    );
}
