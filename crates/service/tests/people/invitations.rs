//! Open invitations, and those that are taken back.

use kinora_domain::{Actor, AuditAction, Role};
use kinora_service::{Error, PersonChange};

use crate::support::{World, email, operator, origin};

suite!(open_invitations_name_their_maker, invitation_is_taken_back_once, role_and_access_change_together);

async fn open_invitations_name_their_maker(world: World) {
    let ada = world.person("a@example.com", Role::Admin).await;
    let invite = async |actor: &Actor, address: &str| {
        world.clock.advance_seconds(1);
        world.service.invitation_link(actor, email(address), Role::Viewer).await.unwrap()
    };
    let used = invite(&operator(), "used@example.com").await;
    world.use_link(&used, Some("Used")).await.unwrap();
    world.newcomer("setup@example.com", Role::Viewer).await;
    let first = invite(&operator(), "b@example.com").await;
    let second = invite(&Actor::person(&ada, origin()), "c@example.com").await;
    invite(&operator(), "d@example.com").await;
    let again = invite(&operator(), "d@example.com").await;

    let open = async || {
        let found = world.store.open_invitations(world.now()).await.unwrap();
        found.into_iter().map(|open| (open.link.id, open.made_by)).collect::<Vec<_>>()
    };
    let expected = [
        (again.link.id, None),
        (second.link.id, Some("Name of a@example.com".to_owned())),
        (first.link.id, None),
    ];
    assert_eq!(open().await, expected);
    world.clock.advance_seconds(7 * 24 * 3600);
    assert_eq!(open().await, []);
}

async fn invitation_is_taken_back_once(world: World) {
    let made = world.service.invitation_link(&operator(), email("b@example.com"), Role::Admin).await.unwrap();
    world.service.revoke_invitation(&operator(), made.link.id).await.unwrap();
    let row = world.audit().await.pop().unwrap();
    assert_eq!((row.action, &*row.object.name), (AuditAction::LinkRevoked, "b@example.com"));
    assert_eq!((row.object.id, &*row.details["role"]), (made.link.id.to_string(), "admin"));
    let used = world.use_link(&made, Some("Bob")).await;
    assert!(matches!(used, Err(Error::LinkEnded(_))), "{used:?}");

    let (_, setup) = world.newcomer("c@example.com", Role::Viewer).await;
    let used = world.service.invitation_link(&operator(), email("d@example.com"), Role::Admin).await.unwrap();
    world.use_link(&used, Some("Dora")).await.unwrap();
    let before = world.audit().await;
    for id in [made.link.id, setup.link.id, used.link.id] {
        let revoked = world.service.revoke_invitation(&operator(), id).await;
        assert!(matches!(revoked, Err(Error::InvitationNotFound)), "{revoked:?}");
    }
    assert_eq!(world.audit().await, before);
    world.use_link(&setup, Some("Cy")).await.unwrap();
}

async fn role_and_access_change_together(world: World) {
    let (ada, bob) =
        (world.person("a@example.com", Role::Admin).await, world.person("b@example.com", Role::Viewer).await);
    let before = world.audit().await;
    let change = async |id, role, is_disabled| {
        let change = PersonChange { role, is_disabled };
        world.service.change_person(&operator(), id, change).await
    };
    let refused = change(ada.person.id, Some(Role::Member), Some(false)).await;
    assert!(matches!(refused, Err(Error::LastAdministrator)), "{refused:?}");
    let refused = change(ada.person.id, Some(Role::Admin), Some(true)).await;
    assert!(matches!(refused, Err(Error::LastAdministrator)), "{refused:?}");
    change(bob.person.id, None, None).await.unwrap();
    change(bob.person.id, Some(Role::Viewer), Some(false)).await.unwrap();
    assert_eq!(world.audit().await, before);
    let changed = change(bob.person.id, Some(Role::Member), Some(true)).await.unwrap();
    assert_eq!((changed.role, changed.person.disabled_at.is_some()), (Role::Member, true));
    let actions = world.actions().await.split_off(before.len());
    assert_eq!(actions, [AuditAction::RoleChanged, AuditAction::PersonDisabled]);
}
