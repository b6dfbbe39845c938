use super::*;
use crate::{AccessRestrictions, Encryption};

const PLAYBACK: &str = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e6f";
const KEY: &str = "019a492c-41f3-7001-8203-040506070809";
const NOW: i64 = 1_762_164_228_000_000;

fn rule(default_policy: DefaultPolicy, allow: &[&str], deny: &[&str]) -> Restriction {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    Restriction { default_policy, allow: list(allow), deny: list(deny) }
}

fn settings(policy: AccessPolicy, restrictions: AccessRestrictions) -> PlaybackIdSettings {
    PlaybackIdSettings {
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

fn mark(id: &str) -> KeyRef {
    KeyRef { id: id.parse().unwrap(), created_at: Timestamp::from_micros(1) }
}

fn claims(generation: u32, key: Option<&str>) -> PathClaims {
    let proof = key.map(mark).map_or(AccessProof::None, AccessProof::Token);
    let binding = PathBinding { generation, proof, embedding_page: None };
    PathClaims::new(PLAYBACK.parse().unwrap(), binding, 0, Timestamp::from_micros(NOW))
}

fn pass(generation: u32, issued_at: i64) -> PassClaims {
    PassClaims::new(PLAYBACK.parse().unwrap(), generation, Timestamp::from_micros(issued_at))
}

fn claims_by_pass(generation: u32) -> PathClaims {
    let binding = PathBinding { generation, proof: AccessProof::Pass, embedding_page: None };
    PathClaims::new(PLAYBACK.parse().unwrap(), binding, 0, Timestamp::from_micros(NOW))
}

/// A public and a private playback ID that reject every page and every player.
fn closed() -> [PlaybackIdSettings; 2] {
    let none = rule(DefaultPolicy::Deny, &[], &[]);
    let restrictions = AccessRestrictions { domains: none.clone(), user_agents: none };
    [AccessPolicy::Public, AccessPolicy::Private].map(|policy| settings(policy, restrictions.clone()))
}

fn decide(
    settings: &PlaybackIdSettings,
    credential: ViewerCredential,
    now: i64,
) -> Result<PlaybackGrant, PlaybackDenied> {
    let viewer = Viewer { credential, page: Page::Unknown, embedding_page: None, user_agent: None };
    PlaybackPolicy::of(settings).decide(&viewer, Timestamp::from_micros(now))
}

#[test]
fn public_playback_needs_no_credential() {
    let public = settings(AccessPolicy::Public, free());
    let allowed = Ok(PlaybackGrant { resolution: Some(Resolution::P720), binding: None });
    for admission in [
        ViewerCredential::Token(Err(TokenError::Missing)),
        ViewerCredential::Token(Err(TokenError::BadSignature)),
        ViewerCredential::Token(Err(TokenError::Repeated)),
        ViewerCredential::Token(Ok(mark(KEY))),
        ViewerCredential::Pass(Ok(pass(3, NOW))),
        ViewerCredential::Pass(Err(PassError::Forged)),
        ViewerCredential::Path(Err(PathError::Missing)),
        ViewerCredential::Path(Ok(claims(3, None))),
        ViewerCredential::Path(Ok(claims_by_pass(3))),
    ] {
        assert_eq!(decide(&public, admission.clone(), NOW), allowed, "{admission:?}");
    }
    for (path, error) in [
        (Err(PathError::Forged), PathError::Forged),
        (Ok(claims(2, None)), PathError::Revoked),
        (Err(PathError::KeyDeleted), PathError::KeyDeleted),
    ] {
        assert_eq!(decide(&public, ViewerCredential::Path(path), NOW), Err(PlaybackDenied::Path(error)));
    }
}

#[test]
fn private_playback_needs_token_or_signed_path() {
    let private = settings(AccessPolicy::Private, free());
    let key = mark(KEY);
    let binding = PathBinding { generation: 3, proof: AccessProof::Token(key), embedding_page: None };
    let allowed = Ok(PlaybackGrant { resolution: Some(Resolution::P720), binding: Some(binding) });
    assert_eq!(decide(&private, ViewerCredential::Token(Ok(key)), NOW), allowed);
    assert_eq!(decide(&private, ViewerCredential::Path(Ok(claims(3, Some(KEY)))), NOW), allowed);
    for error in [TokenError::Missing, TokenError::Expired, TokenError::Revoked] {
        let rejected = decide(&private, ViewerCredential::Token(Err(error)), NOW);
        assert_eq!(rejected, Err(PlaybackDenied::Token(error)));
    }
    let mut other = claims(3, Some(KEY));
    other.playback = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e60".parse().unwrap();
    let end = claims(3, Some(KEY)).expires_at().as_micros();
    for (path, now, refusal) in [
        (Err(PathError::Missing), NOW, PathError::Missing),
        (Err(PathError::Forged), NOW, PathError::Forged),
        (Err(PathError::KeyDeleted), NOW, PathError::KeyDeleted),
        (Ok(other), NOW, PathError::Forged),
        // A path from a time when no token was required.
        (Ok(claims(3, None)), NOW, PathError::Forged),
        (Ok(claims(2, Some(KEY))), NOW, PathError::Revoked),
        (Ok(claims(4, Some(KEY))), NOW, PathError::Revoked),
        (Ok(claims(3, Some(KEY))), end, PathError::Expired),
    ] {
        let refused = decide(&private, ViewerCredential::Path(path.clone()), now);
        assert_eq!(refused, Err(PlaybackDenied::Path(refusal)), "{path:?}");
    }
    assert_eq!(decide(&private, ViewerCredential::Path(Ok(claims(3, Some(KEY)))), end - 1), allowed);
}

#[test]
fn restricted_playback_signs_paths_without_token() {
    let domains = rule(DefaultPolicy::Allow, &[], &["bad.example"]);
    let restricted = settings(AccessPolicy::Public, AccessRestrictions { domains, ..free() });
    let binding = PathBinding { generation: 3, proof: AccessProof::None, embedding_page: None };
    let allowed = Ok(PlaybackGrant { resolution: Some(Resolution::P720), binding: Some(binding) });
    assert_eq!(decide(&restricted, ViewerCredential::Token(Err(TokenError::Missing)), NOW), allowed);
    // The claims store the embedding page, for later requests of the player page.
    for embedding_page in
        [None, Some(EmbeddingPage::from_text("")), Some(EmbeddingPage::from_text("a.example"))]
    {
        let credential = ViewerCredential::Token(Err(TokenError::Missing));
        let viewer =
            Viewer { credential, page: Page::Own, embedding_page: embedding_page.clone(), user_agent: None };
        let decided = PlaybackPolicy::of(&restricted).decide(&viewer, Timestamp::from_micros(NOW));
        assert_eq!(decided.unwrap().binding.unwrap().embedding_page, embedding_page);
    }
    let repeated = ViewerCredential::Token(Err(TokenError::Repeated));
    assert_eq!(decide(&restricted, repeated, NOW), Err(PlaybackDenied::Token(TokenError::Repeated)));
    // The token is ignored, so viewers with a token get the same addresses as all others.
    assert_eq!(decide(&restricted, ViewerCredential::Token(Ok(mark(KEY))), NOW), allowed);
    assert_eq!(decide(&restricted, ViewerCredential::Path(Ok(claims(3, None))), NOW), allowed);
    let rejected = decide(&restricted, ViewerCredential::Path(Err(PathError::Missing)), NOW);
    assert_eq!(rejected, Err(PlaybackDenied::Path(PathError::Missing)));
}

#[test]
fn pass_plays_under_any_restriction() {
    let binding = PathBinding { generation: 3, proof: AccessProof::Pass, embedding_page: None };
    let allowed = Ok(PlaybackGrant { resolution: Some(Resolution::P720), binding: Some(binding) });
    for settings in closed().into_iter().chain([settings(AccessPolicy::Private, free())]) {
        for credential in
            [ViewerCredential::Pass(Ok(pass(3, NOW))), ViewerCredential::Path(Ok(claims_by_pass(3)))]
        {
            assert_eq!(decide(&settings, credential.clone(), NOW), allowed, "{credential:?}");
            let viewer = Viewer {
                credential,
                page: Page::Of(PageHost::of_address("https://bad.example").unwrap()),
                embedding_page: Some(EmbeddingPage::from_text("bad.example")),
                user_agent: Some("curl"),
            };
            let decided = PlaybackPolicy::of(&settings).decide(&viewer, Timestamp::from_micros(NOW));
            assert_eq!(decided, allowed, "{viewer:?}");
        }
    }
}

#[test]
fn invalid_pass_is_rejected_where_a_viewer_can_be() {
    let mut other = pass(3, NOW);
    other.playback = "8f2c1d4e-6a7b-4c3d-9e0f-1a2b3c4d5e60".parse().unwrap();
    let end = pass(3, NOW).expires_at().as_micros();
    // A rule that admits this viewer: the pass is rejected all the same.
    let domains = rule(DefaultPolicy::Allow, &[], &["bad.example"]);
    let restricted = settings(AccessPolicy::Public, AccessRestrictions { domains, ..free() });
    for settings in closed().into_iter().chain([settings(AccessPolicy::Private, free()), restricted]) {
        for (pass, now, error) in [
            (Err(PassError::Forged), NOW, PassError::Forged),
            (Ok(other), NOW, PassError::Forged),
            (Ok(pass(2, NOW)), NOW, PassError::Revoked),
            (Ok(pass(4, NOW)), NOW, PassError::Revoked),
            (Ok(pass(3, NOW)), end, PassError::Expired),
            (Ok(pass(3, NOW + 61 * Timestamp::SECOND)), NOW, PassError::NotYetValid),
        ] {
            let rejected = decide(&settings, ViewerCredential::Pass(pass), now);
            assert_eq!(rejected, Err(PlaybackDenied::Pass(error)), "{pass:?}");
        }
        assert!(decide(&settings, ViewerCredential::Pass(Ok(pass(3, NOW))), end - 1).is_ok());
    }
}

#[test]
fn path_by_pass_ends_with_its_generation_and_time() {
    let end = claims_by_pass(3).expires_at().as_micros();
    for settings in closed() {
        for (claims, now, error) in
            [(claims_by_pass(2), NOW, PathError::Revoked), (claims_by_pass(3), end, PathError::Expired)]
        {
            let rejected = decide(&settings, ViewerCredential::Path(Ok(claims)), now);
            assert_eq!(rejected, Err(PlaybackDenied::Path(error)));
        }
        assert!(decide(&settings, ViewerCredential::Path(Ok(claims_by_pass(3))), end - 1).is_ok());
    }
}

#[test]
fn deny_default_uses_allow_list_and_allow_default_deny_list() {
    let check =
        |restriction: &Restriction, host: Option<&str>, agent: Option<&str>, is_domain: bool, ok: bool| {
            let restrictions = if is_domain {
                AccessRestrictions { domains: restriction.clone(), ..free() }
            } else {
                AccessRestrictions { user_agents: restriction.clone(), ..free() }
            };
            let viewer = Viewer {
                credential: ViewerCredential::Token(Err(TokenError::Missing)),
                page: match host {
                    None => Page::Unknown,
                    Some("our own") => Page::Own,
                    Some(host) => Page::Of(PageHost::of_address(&format!("https://{host}")).unwrap()),
                },
                embedding_page: None,
                user_agent: agent,
            };
            let policy = PlaybackPolicy::of(&settings(AccessPolicy::Public, restrictions));
            let denied = if is_domain { PlaybackDenied::Domain } else { PlaybackDenied::UserAgent };
            let decided = policy.decide(&viewer, Timestamp::from_micros(NOW)).map(drop);
            assert_eq!(decided, if ok { Ok(()) } else { Err(denied) }, "{restriction:?} {host:?} {agent:?}");
        };
    let open = rule(DefaultPolicy::Allow, &["ignored.example"], &["bad.example"]);
    let closed = rule(DefaultPolicy::Deny, &["good.example"], &["ignored.example", "www.good.example"]);
    let denied_to_all = rule(DefaultPolicy::Deny, &[], &[]);
    for (restriction, host, ok) in [
        (&open, None, true),
        (&open, Some("ignored.example"), true),
        (&open, Some("other.example"), true),
        (&open, Some("www.BAD.example"), false),
        (&closed, None, false),
        (&closed, Some("good.example"), true),
        (&closed, Some("www.good.example"), true),
        (&closed, Some("other.example"), false),
        (&denied_to_all, None, false),
        (&denied_to_all, Some("our own"), true),
        (&denied_to_all, Some("good.example"), false),
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
        (&denied_to_all, Some("Mozilla/5.0"), false),
    ] {
        check(restriction, None, agent, false, ok);
    }
}

#[test]
fn embedding_page_must_match_domain_rule() {
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
        let policy = PlaybackPolicy::of(&settings(AccessPolicy::Public, restrictions));
        let credential = ViewerCredential::Token(Err(TokenError::Missing));
        let viewer = Viewer {
            credential,
            page,
            embedding_page: Some(EmbeddingPage::from_text(frame)),
            user_agent: None,
        };
        let decided = policy.decide(&viewer, Timestamp::from_micros(NOW)).map(drop);
        assert_eq!(
            decided,
            if ok { Ok(()) } else { Err(PlaybackDenied::Domain) },
            "{restriction:?} {viewer:?}"
        );
    }
}

#[test]
fn unparsable_rule_entry_still_restricts() {
    let domains = rule(DefaultPolicy::Allow, &[], &["a.example,b.example"]);
    let settings = settings(AccessPolicy::Public, AccessRestrictions { domains, ..free() });
    let policy = PlaybackPolicy::of(&settings);
    assert!(policy.varies_on_page() && policy.is_restricted() && !settings.is_unrestricted());
    // A rule with entries in the inactive list only does not.
    let domains = rule(DefaultPolicy::Allow, &["a.example,b.example"], &[]);
    let policy =
        PlaybackPolicy::of(&self::settings(AccessPolicy::Public, AccessRestrictions { domains, ..free() }));
    assert!(!policy.varies_on_page() && !policy.is_restricted());
}

#[test]
fn frame_ancestors_lists_allowed_page_or_any() {
    let of = |host: &str| Page::Of(PageHost::of_address(&format!("https://{host}")).unwrap());
    let check = |domains: &Restriction, page: &Page, expected: Option<&[&str]>| {
        let restrictions = AccessRestrictions { domains: domains.clone(), ..free() };
        let found = PlaybackPolicy::of(&settings(AccessPolicy::Private, restrictions)).frame_ancestors(page);
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
        // These hosts have no source expression.
        ("my_shop.example", None),
        ("www.my_shop.example", None),
        ("[2001:db8::1]", None),
        ("[2001:db8::2]", Some(&[])),
        // One matching entry has no source expression, another has one.
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
