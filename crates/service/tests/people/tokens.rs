//! Access tokens: made, renamed and revoked.

use kinora_domain::{AccessTokenId, Actor, AuditAction, Permission, Role, Who, WorkspaceId};
use kinora_service::{Error, NewAccessToken};

use crate::support::{World, operator, origin};

suite!(
    token_has_name_and_maker,
    each_change_is_one_row,
    failed_changes_write_nothing,
    revocation_is_idempotent,
);

async fn token_has_name_and_maker(world: World) {
    let ada = world.person("a@example.com", Role::Admin).await;
    let made = world.token_by(&Actor::person(&ada, origin()), " Shop ").await;
    assert_eq!((made.token.name.as_deref(), made.workspace.name.as_str()), (Some("Shop"), "Development"));
    assert!(made.token.secret.matches(&made.secret.hash()));
    world.service.remove_person(&operator(), ada.person.id).await.unwrap_err();
    world.person("b@example.com", Role::Admin).await;
    world.service.remove_person(&operator(), ada.person.id).await.unwrap();

    let found = world.store.access_token(made.token.id).await.unwrap().unwrap();
    let by = Who::Person { id: ada.person.id, name: "Name of a@example.com".to_owned() };
    assert_eq!((found.name.as_deref(), found.made_by), (Some("Shop"), Some(by)));
    let made = world.token_by(&operator(), "Cron").await;
    let found = world.store.access_token(made.token.id).await.unwrap().unwrap();
    assert_eq!(found.made_by, Some(Who::CommandLine));
}

async fn each_change_is_one_row(world: World) {
    let ada = world.person("a@example.com", Role::Admin).await;
    let actor = Actor::person(&ada, origin());
    let before = world.audit().await.len();
    let made = world.token_by(&actor, "Shop").await;
    let id = made.token.id;
    let renamed = world.service.rename_access_token(&actor, id, " Webshop ").await.unwrap();
    assert_eq!(renamed.name.as_deref(), Some("Webshop"));
    world.service.rename_access_token(&actor, id, "Webshop").await.unwrap();
    world.service.revoke_access_token(&actor, id).await.unwrap();

    let rows = world.audit().await.split_off(before);
    let actions: Vec<_> = rows.iter().map(|row| row.action).collect();
    use AuditAction::{AccessTokenCreated, AccessTokenRenamed, AccessTokenRevoked};
    assert_eq!(actions, [AccessTokenCreated, AccessTokenRenamed, AccessTokenRevoked]);
    for row in &rows {
        assert_eq!((&row.actor.who, row.actor.origin.address.as_deref()), (&actor.who, Some("192.0.2.7")));
        assert_eq!((&*row.object.kind, row.object.id.clone()), ("access_token", id.to_string()));
        assert_eq!(row.workspace, Some(made.workspace.id));
    }
    let names: Vec<_> = rows.iter().map(|row| &*row.object.name).collect();
    assert_eq!(names, ["Shop", "Webshop", "Webshop"]);
    assert_eq!(rows[0].details["permission"], "read-only");
    assert_eq!((&*rows[1].details["from"], &*rows[1].details["to"]), ("Shop", "Webshop"));
    assert!(!format!("{rows:?}").contains(made.secret.reveal()));
}

async fn failed_changes_write_nothing(world: World) {
    let service = &world.service;
    let made = world.token_by(&operator(), "Shop").await;
    let before = world.audit().await;
    let long = "x".repeat(81);
    for name in ["", "  ", "a\nb", long.as_str()] {
        let new = NewAccessToken { name: name.to_owned(), ..world.new_token("Shop").await };
        let created = service.create_access_token(&operator(), new).await;
        assert!(matches!(created, Err(Error::InvalidTokenName(_))), "{created:?}");
        let renamed = service.rename_access_token(&operator(), made.token.id, name).await;
        assert!(matches!(renamed, Err(Error::InvalidTokenName(_))), "{renamed:?}");
    }
    let unknown: WorkspaceId = made.token.id.to_string().parse().unwrap();
    let new = NewAccessToken { workspace: unknown, ..world.new_token("Shop").await };
    let created = service.create_access_token(&operator(), new).await;
    assert!(matches!(created, Err(Error::WorkspaceNotFound)), "{created:?}");
    let unknown: AccessTokenId = made.workspace.id.to_string().parse().unwrap();
    let renamed = service.rename_access_token(&operator(), unknown, "Shop").await;
    assert!(matches!(renamed, Err(Error::AccessTokenNotFound)), "{renamed:?}");
    let revoked = service.revoke_access_token(&operator(), unknown).await;
    assert!(matches!(revoked, Err(Error::AccessTokenNotFound)), "{revoked:?}");
    assert_eq!(world.audit().await, before);
    assert_eq!(world.store.access_tokens(None).await.unwrap().len(), 1);
}

async fn revocation_is_idempotent(world: World) {
    let id = world.token_by(&operator(), "Shop").await.token.id;
    let revoked_at = async || world.store.access_token(id).await.unwrap().unwrap().revoked_at;
    assert_eq!(revoked_at().await, None);
    world.service.revoke_access_token(&operator(), id).await.unwrap();
    let (first, rows) = (revoked_at().await, world.audit().await.len());
    assert!(first.is_some());
    world.clock.advance_seconds(9);
    world.service.revoke_access_token(&operator(), id).await.unwrap();
    assert_eq!((revoked_at().await, world.audit().await.len()), (first, rows));
    let renamed = world.service.rename_access_token(&operator(), id, "Old shop").await.unwrap();
    assert_eq!((renamed.permission, renamed.revoked_at), (Permission::ReadOnly, first));
}
