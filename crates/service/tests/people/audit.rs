//! Each operation writes one row, in its commit.

use kinora_domain::{Actor, AuditAction, FailedSignIns, Role, SettingsChange, Who};
use kinora_service::{Caller, ChangePassword, CommitOnly, MeChange, Principal};
use kinora_store::AuditFilter;

use crate::support::{World, email, hash, operator, origin};

suite!(
    each_operation_on_people_writes_one_row,
    webhooks_and_workspaces_are_in_the_log,
    failed_sign_ins_are_summed_up
);

async fn each_operation_on_people_writes_one_row(world: World) {
    let service = &world.service;
    let mut expected = Vec::new();
    let mut check = async |action| {
        expected.push(action);
        assert_eq!(world.actions().await, expected);
    };
    let (member, setup) = world.newcomer("a@example.com", Role::Admin).await;
    check(AuditAction::PersonCreated).await;
    let opened = world.use_link(&setup, Some("Ada")).await.unwrap();
    check(AuditAction::LinkUsed).await;
    let (ada, actor) = (member.person.id, Actor::person(&opened.member, origin()));
    let bob = world.person("b@example.com", Role::Member).await;
    check(AuditAction::PersonCreated).await;
    world.sign_in(&bob, hash(1)).await.unwrap();
    check(AuditAction::SignedIn).await;
    service.reset_link(&actor, bob.person.id).await.unwrap();
    check(AuditAction::LinkCreated).await;
    service.invitation_link(&actor, email("c@example.com"), Role::Viewer).await.unwrap();
    check(AuditAction::LinkCreated).await;
    service.set_role(&actor, bob.person.id, Role::Viewer).await.unwrap();
    check(AuditAction::RoleChanged).await;
    service.set_role(&actor, bob.person.id, Role::Viewer).await.unwrap();
    service.end_sessions(&actor, bob.person.id).await.unwrap();
    check(AuditAction::SessionsEnded).await;
    service.disable_person(&actor, bob.person.id).await.unwrap();
    check(AuditAction::PersonDisabled).await;
    service.disable_person(&actor, bob.person.id).await.unwrap();
    service.enable_person(&actor, bob.person.id).await.unwrap();
    check(AuditAction::PersonEnabled).await;
    service.enable_person(&actor, bob.person.id).await.unwrap();
    service.remove_person(&actor, bob.person.id).await.unwrap();
    check(AuditAction::PersonRemoved).await;
    service.confirm_session(&actor, opened.session.id, hash(2)).await.unwrap();
    check(AuditAction::Confirmed).await;
    let change = ChangePassword { verified: hash(2), new: hash(1) };
    service.change_password(&actor, opened.session.id, change).await.unwrap();
    check(AuditAction::PasswordChanged).await;
    let change = MeChange { name: Some("Ada L.".into()), settings: SettingsChange::default() };
    service.update_me(&actor, ada, change).await.unwrap();
    check(AuditAction::PersonRenamed).await;
    service.sign_out(&actor, opened.session.id).await.unwrap();
    check(AuditAction::SignedOut).await;

    let rows = world.audit().await;
    let removed = rows.iter().find(|row| row.action == AuditAction::PersonRemoved).unwrap();
    assert_eq!(removed.actor.who, Who::Person { id: ada, name: "Ada".into() });
    assert_eq!(removed.actor.origin.address.as_deref(), Some("192.0.2.7"));
    assert_eq!(removed.actor.origin.request_id.as_deref(), Some("request-1"));
    assert_eq!((&*removed.object.kind, &*removed.object.name), ("person", "b@example.com"));
    assert_eq!(removed.object.id, bob.person.id.to_string());
    assert_eq!(rows[0].actor, operator());
    assert_eq!(rows[0].details["role"], "admin");
    let texts = format!("{rows:?}");
    for secret in [setup.secret.reveal(), opened.secret.reveal(), "argon2"] {
        assert!(!texts.contains(secret), "{texts}");
    }
    let filter = AuditFilter::default();
    let page = world.store.audit_entries(&filter, None, 2).await.unwrap();
    let next = world.store.audit_entries(&filter, Some(page[1].0), 1000).await.unwrap();
    assert_eq!((page.len(), next.len()), (2, rows.len() - 2));
}

async fn webhooks_and_workspaces_are_in_the_log(world: World) {
    let service = &world.service;
    let workspace = service.create_workspace(&operator(), "Staging").await.unwrap();
    let person = world.person("a@example.com", Role::Admin).await.person.id;
    let caller = Caller { workspace: workspace.id, principal: Principal::Person(person), address: None };
    let url = "https://hooks.example.com/secret-path".to_owned();
    let webhook = service.create_webhook(&caller, url, CommitOnly).await.unwrap();
    service.rotate_webhook_secret(&caller, webhook.id, 60).await.unwrap();
    service.enable_webhook(&caller, webhook.id).await.unwrap();
    service.create_workspace(&operator(), "Staging").await.unwrap_err();

    use AuditAction::{PersonCreated, WebhookCreated, WebhookSecretRotated, WorkspaceCreated};
    let expected = [WorkspaceCreated, PersonCreated, WebhookCreated, WebhookSecretRotated];
    assert_eq!(world.actions().await, expected);
    let rows = world.audit().await;
    assert_eq!(&*rows[0].object.name, "Staging");
    assert_eq!(&*rows[2].object.name, "hooks.example.com");
    assert!(rows[2..].iter().all(|row| row.workspace == Some(workspace.id)));
    assert!(matches!(&rows[2].actor.who, Who::Person { name, .. } if name == "Name of a@example.com"));
}

async fn failed_sign_ins_are_summed_up(world: World) {
    let person = world.person("a@example.com", Role::Admin).await.person.id;
    let (first_at, last_at) = (world.now(), world.now().plus_seconds(60));
    let failed = FailedSignIns { person, count: 12, first_at, last_at, origin: origin() };
    world.service.record_failed_sign_ins(failed).await.unwrap();
    let row = world.audit().await.pop().unwrap();
    assert_eq!((row.action, row.actor.who), (AuditAction::SignInFailed, Who::Anonymous));
    assert_eq!((&*row.details["count"], &*row.object.name), ("12", "a@example.com"));
}
