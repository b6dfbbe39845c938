//! One-time links are used once, and in time.

use kinora_domain::{LinkKind, Role, SecretHash, Timestamp};
use kinora_service::{Error, UseLink};

use crate::support::{World, email, hash, operator, origin};

suite!(
    setup_link_sets_name_and_password_and_signs_in,
    link_used_twice_at_once_signs_in_once,
    link_ends_in_time_and_with_a_later_one,
    reset_link_ends_all_sessions_and_keeps_the_old_password_until_used,
    invitation_makes_the_person_when_it_is_used,
    unknown_link_is_not_found,
);

const HOUR: i64 = 3600 * Timestamp::SECOND;

async fn setup_link_sets_name_and_password_and_signs_in(world: World) {
    let (member, made) = world.newcomer("a@example.com", Role::Admin).await;
    assert_eq!((made.link.kind, made.link.email.as_str()), (LinkKind::Setup, "a@example.com"));
    assert!(!world.store.can_a_person_sign_in().await.unwrap());
    let open = world.service.look_at_link(&made.secret.hash()).await.unwrap();
    assert_eq!((open.link.person, open.link.role, open.name), (Some(member.person.id), Role::Admin, None));

    let before = world.audit().await;
    for (name, is_missing) in [(None, true), (Some(" "), false)] {
        let refused = world.use_link(&made, name).await.map(drop);
        match refused {
            Err(Error::NameRequired) => assert!(is_missing),
            Err(Error::InvalidName(_)) => assert!(!is_missing),
            refused => panic!("{refused:?}"),
        }
    }
    assert_eq!(world.audit().await, before);
    let opened = world.use_link(&made, Some(" Ada ")).await.unwrap();
    assert_eq!(opened.member.person.name.as_deref(), Some("Ada"));
    let session = world.session(&opened.secret.hash()).await.unwrap();
    assert_eq!((session.id, session.person), (opened.session.id, member.person.id));
    assert_eq!((&*session.address, &*session.client), ("192.0.2.7", "Firefox"));
    assert!(session.is_confirmed(world.now()));
    assert!(world.store.can_administrator_sign_in().await.unwrap());

    let again = world.use_link(&made, Some("Eve")).await.map(drop);
    assert!(matches!(again, Err(Error::LinkUsed(LinkKind::Setup))), "{again:?}");
    let looked = world.service.look_at_link(&made.secret.hash()).await.map(drop);
    assert!(matches!(looked, Err(Error::LinkUsed(LinkKind::Setup))), "{looked:?}");
}

async fn link_used_twice_at_once_signs_in_once(world: World) {
    let (_, made) = world.newcomer("a@example.com", Role::Admin).await;
    let uses: Vec<_> = (0..8)
        .map(|number| {
            let (service, secret) = (world.service.clone(), made.secret.hash());
            let request =
                UseLink { secret, name: Some(format!("Name {number}")), password: hash(2), origin: origin() };
            tokio::spawn(async move { service.use_link(request).await })
        })
        .collect();
    let mut names = Vec::new();
    for used in uses {
        match used.await.unwrap() {
            Ok(opened) => names.push(opened.member.person.name),
            Err(Error::LinkUsed(LinkKind::Setup)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(names.len(), 1);
    let members = world.store.members().await.unwrap();
    assert_eq!(members[0].person.name, names[0]);
    assert_eq!(world.store.sessions_of(members[0].person.id, world.now()).await.unwrap().len(), 1);
    assert_eq!(world.actions().await.len(), 2, "created, and one use");
}

async fn link_ends_in_time_and_with_a_later_one(world: World) {
    let (member, first) = world.newcomer("a@example.com", Role::Admin).await;
    world.clock.advance_micros(24 * HOUR - 1);
    world.service.look_at_link(&first.secret.hash()).await.unwrap();
    world.clock.advance_micros(1);
    let ended = world.use_link(&first, Some("Ada")).await.map(drop);
    assert!(matches!(ended, Err(Error::LinkEnded(LinkKind::Setup))), "{ended:?}");

    let second = world.service.reset_link(&operator(), member.person.id).await.unwrap();
    let third = world.service.reset_link(&operator(), member.person.id).await.unwrap();
    assert_eq!(third.link.kind, LinkKind::Setup, "there has never been a password");
    let ended = world.use_link(&second, Some("Ada")).await.map(drop);
    assert!(matches!(ended, Err(Error::LinkEnded(LinkKind::Setup))), "{ended:?}");
    world.use_link(&third, Some("Ada")).await.unwrap();

    let reset = world.service.reset_link(&operator(), member.person.id).await.unwrap();
    assert_eq!(reset.link.kind, LinkKind::Reset);
    world.clock.advance_micros(HOUR);
    let ended = world.use_link(&reset, None).await.map(drop);
    assert!(matches!(ended, Err(Error::LinkEnded(LinkKind::Reset))), "{ended:?}");
}

async fn reset_link_ends_all_sessions_and_keeps_the_old_password_until_used(world: World) {
    let member = world.person("a@example.com", Role::Admin).await;
    let earlier = world.sign_in(&member, hash(1)).await.unwrap();
    let made = world.service.reset_link(&operator(), member.person.id).await.unwrap();
    world.sign_in(&member, hash(1)).await.unwrap();

    let opened = world.use_link(&made, None).await.unwrap();
    assert_eq!(opened.member.person.name, member.person.name, "the name stays");
    assert!(world.session(&earlier.secret.hash()).await.is_none());
    assert!(world.session(&opened.secret.hash()).await.is_some());
    let old = world.sign_in(&member, hash(1)).await.map(drop);
    assert!(matches!(old, Err(Error::SignInOutdated)), "{old:?}");
    world.sign_in(&member, hash(2)).await.unwrap();
}

async fn invitation_makes_the_person_when_it_is_used(world: World) {
    let administrator = world.person("a@example.com", Role::Admin).await;
    let actor = kinora_domain::Actor::person(&administrator, origin());
    let invite = async |text: &str| world.service.invitation_link(&actor, email(text), Role::Viewer).await;
    let first = invite("b@example.com").await.unwrap();
    let second = invite("B@example.com").await.unwrap();
    assert_eq!(second.link.made_by, Some(administrator.person.id));
    let ended = world.use_link(&first, Some("Bob")).await.map(drop);
    assert!(matches!(ended, Err(Error::LinkEnded(LinkKind::Invitation))), "{ended:?}");
    assert_eq!(world.store.members().await.unwrap().len(), 1);

    world.clock.advance_micros(7 * 24 * HOUR - 1);
    let refused = world.use_link(&second, None).await.map(drop);
    assert!(matches!(refused, Err(Error::NameRequired)), "{refused:?}");
    let opened = world.use_link(&second, Some("Bob")).await.unwrap();
    assert_eq!((opened.member.role, opened.member.person.email.as_str()), (Role::Viewer, "B@example.com"));
    let taken = invite("b@example.com").await.map(drop);
    assert!(matches!(taken, Err(Error::EmailTaken)), "{taken:?}");

    let late = invite("c@example.com").await.unwrap();
    world.person("c@example.com", Role::Member).await;
    let taken = world.use_link(&late, Some("Carol")).await.map(drop);
    assert!(matches!(taken, Err(Error::EmailTaken)), "{taken:?}");
    // A removed administrator could come back with their own invitation.
    world.person("d@example.com", Role::Admin).await;
    let own = invite("e@example.com").await.unwrap();
    world.service.remove_person(&operator(), administrator.person.id).await.unwrap();
    let ended = world.use_link(&own, Some("Eve")).await.map(drop);
    assert!(matches!(ended, Err(Error::LinkEnded(LinkKind::Invitation))), "{ended:?}");
}

async fn unknown_link_is_not_found(world: World) {
    let secret = SecretHash::of("nothing");
    let looked = world.service.look_at_link(&secret).await.map(drop);
    assert!(matches!(looked, Err(Error::LinkNotFound)), "{looked:?}");
    let request = UseLink { secret, name: Some("Ada".into()), password: hash(2), origin: origin() };
    let used = world.service.use_link(request).await.map(drop);
    assert!(matches!(used, Err(Error::LinkNotFound)), "{used:?}");
    // The link of a removed person is gone.
    let (member, made) = world.newcomer("a@example.com", Role::Viewer).await;
    world.service.remove_person(&operator(), member.person.id).await.unwrap();
    let used = world.use_link(&made, Some("Ada")).await.map(drop);
    assert!(matches!(used, Err(Error::LinkNotFound)), "{used:?}");
}
