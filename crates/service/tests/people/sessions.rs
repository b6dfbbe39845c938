//! Sessions are opened, rotated, confirmed and ended.

use kinora_domain::{Actor, Role, Session, SettingsChange};
use kinora_service::{ChangePassword, Error, MeChange, SignIn};

use crate::support::{World, hash, operator, origin};

suite!(
    sign_in_opens_a_session_unless_the_password_changed,
    outdated_hash_is_replaced_at_sign_in,
    secret_is_rotated_by_one_of_concurrent_requests,
    confirmation_replaces_the_secret,
    new_password_ends_all_other_sessions,
    sessions_are_listed_and_ended,
    person_has_at_most_one_hundred_sessions,
    own_name_and_settings_are_changed,
);

async fn sign_in_opens_a_session_unless_the_password_changed(world: World) {
    let member = world.person("a@example.com", Role::Viewer).await;
    let opened = world.sign_in(&member, hash(1)).await.unwrap();
    assert_eq!(opened.member.person.email, member.person.email);
    let (session, found) = world.store.session(&opened.secret.hash()).await.unwrap().unwrap();
    assert_eq!((session.id, found.role), (opened.session.id, Role::Viewer));
    assert_eq!(session.ends_at, world.now().plus_micros(Session::AGE_MAX_US));
    let seen = world.store.member(member.person.id).await.unwrap().unwrap().person.seen_at;
    assert_eq!(seen, Some(world.now()), "a sign-in is a use");

    let before = world.audit().await;
    let refused = world.sign_in(&member, hash(2)).await.map(drop);
    assert!(matches!(refused, Err(Error::SignInOutdated)), "{refused:?}");
    assert_eq!(world.audit().await, before);

    world.clock.advance_micros(Session::IDLE_MAX_US - 1);
    assert!(world.session(&opened.secret.hash()).await.is_some());
    let (id, now) = (opened.session.id, world.now());
    let used = world.store.write(async move |tx| tx.save_session_uses(&[(id, now)]).await);
    used.await.unwrap();
    world.clock.advance_micros(1);
    assert!(world.session(&opened.secret.hash()).await.is_some(), "a use prolongs it");
    let found = world.store.member(member.person.id).await.unwrap().unwrap();
    assert_eq!(found.person.seen_at, Some(now));
    world.clock.advance_micros(Session::IDLE_MAX_US);
    assert!(world.session(&opened.secret.hash()).await.is_none());
    assert!(world.store.sessions_of(member.person.id, world.now()).await.unwrap().is_empty());
}

async fn outdated_hash_is_replaced_at_sign_in(world: World) {
    let member = world.person("a@example.com", Role::Viewer).await;
    let request =
        SignIn { person: member.person.id, verified: hash(1), rehash: Some(hash(2)), origin: origin() };
    world.service.sign_in(request).await.unwrap();
    let found = world.store.member(member.person.id).await.unwrap().unwrap();
    assert_eq!(found.person.password, Some(hash(2)));
}

async fn secret_is_rotated_by_one_of_concurrent_requests(world: World) {
    let member = world.person("a@example.com", Role::Viewer).await;
    let opened = world.sign_in(&member, hash(1)).await.unwrap();
    let (id, first) = (opened.session.id, opened.secret.hash());
    assert!(world.service.rotate_session(id, first).await.unwrap().is_none(), "not due yet");

    world.clock.advance_micros(Session::ROTATE_AFTER_US);
    let rotations: Vec<_> = (0..4)
        .map(|_| {
            let service = world.service.clone();
            tokio::spawn(async move { service.rotate_session(id, first).await })
        })
        .collect();
    let mut rotated = Vec::new();
    for rotation in rotations {
        rotated.extend(rotation.await.unwrap().unwrap());
    }
    let [rotated] = rotated.as_slice() else { panic!("{} rotations", rotated.len()) };
    assert_eq!(rotated.session.id, id);
    assert!(world.session(&first).await.is_some(), "requests under way still have the first secret");
    assert!(world.session(&rotated.secret.hash()).await.is_some());
    world.clock.advance_micros(Session::PREVIOUS_VALID_US);
    assert!(world.session(&first).await.is_none());
    assert_eq!(world.session(&rotated.secret.hash()).await.unwrap().id, id);
    assert_eq!(world.actions().await.len(), 2, "a rotation is no row of the audit log");
}

async fn confirmation_replaces_the_secret(world: World) {
    let member = world.person("a@example.com", Role::Viewer).await;
    let actor = Actor::person(&member, origin());
    let opened = world.sign_in(&member, hash(1)).await.unwrap();
    world.clock.advance_micros(Session::CONFIRMED_US);
    assert!(!world.session(&opened.secret.hash()).await.unwrap().is_confirmed(world.now()));

    let refused = world.service.confirm_session(&actor, opened.session.id, hash(2)).await.map(drop);
    assert!(matches!(refused, Err(Error::SignInOutdated)), "{refused:?}");
    let confirmed = world.service.confirm_session(&actor, opened.session.id, hash(1)).await.unwrap();
    let session = world.session(&confirmed.secret.hash()).await.unwrap();
    assert!(session.is_confirmed(world.now()));
    assert_eq!(session.ends_at, opened.session.ends_at);
    world.clock.advance_micros(Session::PREVIOUS_VALID_US);
    assert!(world.session(&opened.secret.hash()).await.is_none());
}

async fn new_password_ends_all_other_sessions(world: World) {
    let member = world.person("a@example.com", Role::Viewer).await;
    let actor = Actor::person(&member, origin());
    let here = world.sign_in(&member, hash(1)).await.unwrap();
    let thief = world.sign_in(&member, hash(1)).await.unwrap();
    let link = world.service.reset_link(&operator(), member.person.id).await.unwrap();

    let change = ChangePassword { verified: hash(2), new: hash(2) };
    let refused = world.service.change_password(&actor, here.session.id, change).await.map(drop);
    assert!(matches!(refused, Err(Error::SignInOutdated)), "{refused:?}");
    assert!(world.session(&thief.secret.hash()).await.is_some());
    let change = ChangePassword { verified: hash(1), new: hash(2) };
    let changed = world.service.change_password(&actor, here.session.id, change).await.unwrap();
    assert_eq!(changed.session.id, here.session.id);
    assert!(world.session(&thief.secret.hash()).await.is_none());
    assert!(world.session(&changed.secret.hash()).await.is_some());
    let used = world.use_link(&link, None).await.map(drop);
    assert!(matches!(used, Err(Error::LinkEnded(_))), "{used:?}");
    world.sign_in(&member, hash(2)).await.unwrap();
}

async fn sessions_are_listed_and_ended(world: World) {
    let member = world.person("a@example.com", Role::Viewer).await;
    let (id, actor) = (member.person.id, Actor::person(&member, origin()));
    let other = world.person("b@example.com", Role::Viewer).await.person.id;
    let mut opened = Vec::new();
    for _ in 0..4 {
        world.clock.advance_seconds(1);
        opened.push(world.sign_in(&member, hash(1)).await.unwrap().session.id);
    }
    let listed = async || -> Vec<_> {
        let sessions = world.store.sessions_of(id, world.now()).await.unwrap();
        sessions.into_iter().map(|session| session.id).collect()
    };
    let newest_first: Vec<_> = opened.iter().rev().copied().collect();
    assert_eq!(listed().await, newest_first);

    let foreign = world.service.end_session(&actor, other, opened[0]).await;
    assert!(matches!(foreign, Err(Error::SessionNotFound)), "{foreign:?}");
    world.service.end_session(&actor, id, opened[0]).await.unwrap();
    let again = world.service.end_session(&actor, id, opened[0]).await;
    assert!(matches!(again, Err(Error::SessionNotFound)), "{again:?}");
    for _ in ["ends", "has ended"] {
        world.service.sign_out(&actor, opened[1]).await.unwrap();
    }
    assert_eq!(listed().await, [opened[3], opened[2]]);
    assert_eq!(world.service.end_other_sessions(&actor, id, opened[2]).await.unwrap(), 1);
    assert_eq!(listed().await, [opened[2]]);
    assert_eq!(world.service.end_sessions(&operator(), id).await.unwrap(), 1);
    let before = world.audit().await;
    assert_eq!(world.service.end_sessions(&operator(), id).await.unwrap(), 0);
    assert_eq!(world.audit().await, before, "no session, no row");
}

async fn person_has_at_most_one_hundred_sessions(world: World) {
    let member = world.person("a@example.com", Role::Viewer).await;
    let first = world.sign_in(&member, hash(1)).await.unwrap();
    for _ in 1..Session::PER_PERSON_MAX {
        world.clock.advance_seconds(1);
        world.sign_in(&member, hash(1)).await.unwrap();
    }
    assert!(world.session(&first.secret.hash()).await.is_some());
    world.clock.advance_seconds(1);
    world.sign_in(&member, hash(1)).await.unwrap();
    assert!(world.session(&first.secret.hash()).await.is_none());
    let sessions = world.store.sessions_of(member.person.id, world.now()).await.unwrap();
    assert_eq!(sessions.len(), 100);
}

async fn own_name_and_settings_are_changed(world: World) {
    let member = world.person("a@example.com", Role::Viewer).await;
    let (id, actor) = (member.person.id, Actor::person(&member, origin()));
    let mut settings = member.person.settings;
    (settings.theme, settings.keys) = (kinora_domain::Theme::Dark, false);
    let before = world.audit().await;
    let named =
        SettingsChange { theme: Some(settings.theme), keys: Some(settings.keys), ..Default::default() };
    let change = MeChange { name: None, settings: named };
    let changed = world.service.update_me(&actor, id, change.clone()).await.unwrap();
    assert_eq!((changed.person.settings, &changed.person.name), (settings, &member.person.name));
    assert_eq!(world.store.member(id).await.unwrap().unwrap().person.settings, settings);
    world.service.update_me(&actor, id, change).await.unwrap();
    let refused = world
        .service
        .update_me(&actor, id, MeChange { name: Some("\u{7}".into()), settings: SettingsChange::default() })
        .await;
    assert!(matches!(refused, Err(Error::InvalidName(_))), "{refused:?}");
    assert_eq!(world.audit().await, before, "settings are no matter of the audit log");

    let change = MeChange { name: Some("Ada".into()), settings: SettingsChange::default() };
    world.service.update_me(&actor, id, change.clone()).await.unwrap();
    world.service.update_me(&actor, id, change).await.unwrap();
    assert_eq!(world.audit().await.len(), before.len() + 1);
}
