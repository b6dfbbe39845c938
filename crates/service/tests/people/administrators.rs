//! The last administrator stays, and email addresses are unique.

use kinora_domain::{Actor, Member, Role, Timestamp};
use kinora_service::{Error, NewPerson};

use crate::support::{World, email, hash, operator, origin};

suite!(
    last_administrator_cannot_be_removed_disabled_or_demoted,
    administrator_with_an_open_link_is_another_way_in,
    administrator_without_way_in_can_be_removed,
    concurrent_demotions_leave_one_administrator,
    email_is_unique_in_any_case,
    disabled_person_has_no_session_and_no_link,
    former_administrator_changes_nothing,
);

const HOUR: i64 = 3600 * Timestamp::SECOND;

async fn last_administrator_cannot_be_removed_disabled_or_demoted(world: World) {
    let service = &world.service;
    let last = world.person("a@example.com", Role::Admin).await.person.id;
    world.person("b@example.com", Role::Member).await;
    let before = world.audit().await;

    let refused = service.set_role(&operator(), last, Role::Member).await.map(drop);
    assert!(matches!(refused, Err(Error::LastAdministrator)), "{refused:?}");
    let refused = service.disable_person(&operator(), last).await.map(drop);
    assert!(matches!(refused, Err(Error::LastAdministrator)), "{refused:?}");
    let refused = service.remove_person(&operator(), last).await;
    assert!(matches!(refused, Err(Error::LastAdministrator)), "{refused:?}");

    let found = world.store.member(last).await.unwrap().unwrap();
    assert_eq!((found.role, found.person.disabled_at), (Role::Admin, None));
    assert_eq!(world.audit().await, before, "a rejected change writes no row");

    let second = world.person("c@example.com", Role::Admin).await.person.id;
    service.set_role(&operator(), last, Role::Viewer).await.unwrap();
    let refused = service.remove_person(&operator(), second).await;
    assert!(matches!(refused, Err(Error::LastAdministrator)), "{refused:?}");
}

async fn administrator_with_an_open_link_is_another_way_in(world: World) {
    let service = &world.service;
    let first = world.person("a@example.com", Role::Admin).await.person.id;
    let (second, _link) = world.newcomer("b@example.com", Role::Admin).await;

    world.clock.advance_micros(24 * HOUR);
    let refused = service.disable_person(&operator(), first).await.map(drop);
    assert!(matches!(refused, Err(Error::LastAdministrator)), "the link has ended: {refused:?}");
    service.reset_link(&operator(), second.person.id).await.unwrap();
    service.disable_person(&operator(), first).await.unwrap();
    let refused = service.remove_person(&operator(), second.person.id).await;
    assert!(matches!(refused, Err(Error::LastAdministrator)), "{refused:?}");
    service.enable_person(&operator(), first).await.unwrap();
    service.remove_person(&operator(), second.person.id).await.unwrap();
    assert_eq!(world.store.members().await.unwrap().len(), 1);
}

async fn administrator_without_way_in_can_be_removed(world: World) {
    let (mistyped, _link) = world.newcomer("a@exmaple.com", Role::Admin).await;
    world.clock.advance_micros(24 * HOUR);
    world.service.remove_person(&operator(), mistyped.person.id).await.unwrap();
    assert_eq!(world.store.members().await.unwrap(), []);
    let refused = world.service.remove_person(&operator(), mistyped.person.id).await;
    assert!(matches!(refused, Err(Error::PersonNotFound)), "{refused:?}");
}

async fn concurrent_demotions_leave_one_administrator(world: World) {
    let mut administrators = Vec::new();
    for number in 0..4 {
        let email = format!("{number}@example.com");
        administrators.push(world.person(&email, Role::Admin).await.person.id);
    }
    let demoted: Vec<_> = administrators
        .into_iter()
        .map(|id| {
            let service = world.service.clone();
            tokio::spawn(async move { service.set_role(&operator(), id, Role::Member).await })
        })
        .collect();
    let mut refused = 0;
    for demotion in demoted {
        match demotion.await.unwrap() {
            Ok(_) => {}
            Err(Error::LastAdministrator) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    let members = world.store.members().await.unwrap();
    let left = members.iter().filter(|member| member.role == Role::Admin).count();
    assert_eq!((refused, left), (1, 1));
}

async fn email_is_unique_in_any_case(world: World) {
    world.person("José@example.com", Role::Viewer).await;
    let before = world.audit().await;
    for text in ["josé@EXAMPLE.com", "JOSE\u{301}@example.com"] {
        let new = NewPerson { email: email(text), name: None, role: Role::Admin, password: None };
        let refused = world.service.create_person(&operator(), new).await.map(drop);
        assert!(matches!(refused, Err(Error::EmailTaken)), "{text}: {refused:?}");
        assert!(world.store.member_by_email(&email(text)).await.unwrap().is_some(), "{text}");
    }
    let name = Some("x".repeat(81));
    let new = NewPerson { email: email("b@example.com"), name, role: Role::Admin, password: None };
    let refused = world.service.create_person(&operator(), new).await.map(drop);
    assert!(matches!(refused, Err(Error::InvalidName(_))), "{refused:?}");
    assert_eq!(world.store.members().await.unwrap().len(), 1);
    assert_eq!(world.audit().await, before);
    assert!(!world.store.can_administrator_sign_in().await.unwrap());
    assert!(world.store.can_a_person_sign_in().await.unwrap());
}

async fn disabled_person_has_no_session_and_no_link(world: World) {
    world.person("a@example.com", Role::Admin).await;
    let member = world.person("b@example.com", Role::Member).await;
    let id = member.person.id;
    let session = world.sign_in(&member, hash(1)).await.unwrap();
    let link = world.service.reset_link(&operator(), id).await.unwrap();
    assert!(world.session(&session.secret.hash()).await.is_some());

    world.service.disable_person(&operator(), id).await.unwrap();
    assert!(world.session(&session.secret.hash()).await.is_none());
    let used = world.use_link(&link, None).await.map(drop);
    assert!(matches!(used, Err(Error::LinkEnded(_))), "{used:?}");
    let signed_in = world.sign_in(&member, hash(1)).await.map(drop);
    assert!(matches!(signed_in, Err(Error::SignInOutdated)), "{signed_in:?}");
    let link = world.service.reset_link(&operator(), id).await.map(drop);
    assert!(matches!(link, Err(Error::PersonDisabled)), "{link:?}");

    world.service.enable_person(&operator(), id).await.unwrap();
    assert!(world.session(&session.secret.hash()).await.is_none(), "an ended session stays ended");
    world.sign_in(&member, hash(1)).await.unwrap();
}

/// Their requests began while they were administrators.
async fn former_administrator_changes_nothing(world: World) {
    let service = &world.service;
    let demoted = world.person("a@example.com", Role::Admin).await;
    let disabled = world.person("b@example.com", Role::Admin).await;
    let removed = world.person("c@example.com", Role::Admin).await;
    let other = world.person("d@example.com", Role::Admin).await.person.id;
    let invitation =
        service.invitation_link(&operator(), email("e@example.com"), Role::Viewer).await.unwrap();
    let token = world.token_by(&operator(), "Shop").await.token;
    service.set_role(&operator(), demoted.person.id, Role::Member).await.unwrap();
    service.disable_person(&operator(), disabled.person.id).await.unwrap();
    service.remove_person(&operator(), removed.person.id).await.unwrap();
    let before = (world.audit().await, world.store.workspaces().await.unwrap());

    for (former, expected) in [(demoted, Some(Role::Member)), (disabled, None), (removed, None)] {
        let actor = Actor::person(&Member { role: Role::Admin, ..former }, origin());
        let results = [
            service.create_access_token(&actor, world.new_token("Blog").await).await.map(drop),
            service.rename_access_token(&actor, token.id, "Blog").await.map(drop),
            service.revoke_access_token(&actor, token.id).await,
            service.set_role(&actor, other, Role::Viewer).await.map(drop),
            service.disable_person(&actor, other).await.map(drop),
            service.remove_person(&actor, other).await,
            service.reset_link(&actor, other).await.map(drop),
            service.invitation_link(&actor, email("f@example.com"), Role::Admin).await.map(drop),
            service.revoke_invitation(&actor, invitation.link.id).await,
            service.create_workspace(&actor, "Blog").await.map(drop),
            service.rename_workspace(&actor, token.workspace, "Blog").await.map(drop),
            service.delete_workspace(&actor, token.workspace).await,
            service.rename_organisation(&actor, "Blog").await.map(drop),
        ];
        for (number, result) in results.into_iter().enumerate() {
            assert!(
                matches!(result, Err(Error::NotAllowed { role, .. }) if role == expected),
                "{number}: {result:?}"
            );
        }
    }
    assert_eq!((world.audit().await, world.store.workspaces().await.unwrap()), before);
    assert_eq!(world.store.access_tokens(None).await.unwrap().len(), 1);
}
