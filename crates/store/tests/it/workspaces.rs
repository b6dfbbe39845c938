//! Workspaces and access tokens.

use kinora_domain::{AccessToken, AccessTokenId, Permission, Secret, Workspace, WorkspaceId};
use kinora_store::{Error, Store};

use crate::support::{SECOND, TestStore, workspace, write};

suite!(
    new_database_has_one_organization_with_two_workspaces,
    workspace_name_is_unique,
    token_round_trips_and_revocation_is_idempotent,
    last_used_at_never_decreases,
    names_sort_bytewise,
);

async fn new_database_has_one_organization_with_two_workspaces(world: TestStore) {
    let store = world.open().await;
    let organisation = store.organisation().await.unwrap().unwrap();
    let workspaces = store.workspaces().await.unwrap();
    let seen: Vec<_> = workspaces.iter().map(|found| (found.name.as_str(), found.organisation)).collect();
    assert_eq!(seen, [("Development", organisation.id), ("Production", organisation.id)]);
    assert_eq!(store.workspace(workspaces[1].id).await.unwrap().as_ref(), Some(&workspaces[1]));
    assert_eq!(store.workspace_by_name("development").await.unwrap(), None);

    store.close().await;
    assert_eq!(world.open().await.workspaces().await.unwrap(), workspaces);
}

async fn workspace_name_is_unique(world: TestStore) {
    let store = world.open().await;
    let organisation = store.organisation().await.unwrap().unwrap().id;
    let new = |name: &str| Workspace {
        id: WorkspaceId::new(world.now(), world.random.as_ref()),
        organisation,
        name: name.into(),
        created_at: world.now().plus_seconds(1),
    };
    let (demo, again) = (new("Demo"), new("Demo"));
    let saved = demo.clone();
    write(&store, async move |tx| tx.insert_workspace(&saved).await).await.unwrap();
    let duplicate = write(&store, async move |tx| tx.insert_workspace(&again).await).await;
    assert!(matches!(duplicate, Err(Error::AlreadyExists { what: "workspace name" })));
    assert_eq!(store.workspace_by_name("Demo").await.unwrap(), Some(demo));
    assert_eq!(store.workspaces().await.unwrap().len(), 3);
}

async fn token_round_trips_and_revocation_is_idempotent(world: TestStore) {
    let store = world.open().await;
    let (token, secret) = token(&world, &store, Permission::ReadOnly).await;
    let (other, _) = self::token(&world, &store, Permission::ReadWrite).await;

    let found = store.access_token(token.id).await.unwrap().unwrap();
    assert!(found.secret.matches(&secret.hash()) && !found.secret.matches(&other.secret));
    assert_eq!(
        (found.workspace, found.permission, found.created_at, found.last_used_at, found.revoked_at),
        (token.workspace, Permission::ReadOnly, token.created_at, None, None)
    );

    let (id, first) = (token.id, world.now());
    assert!(write(&store, async move |tx| tx.revoke_access_token(id, first).await).await.unwrap());
    let later = first.plus_seconds(9);
    assert!(write(&store, async move |tx| tx.revoke_access_token(id, later).await).await.unwrap());
    let unknown = AccessTokenId::new(first, world.random.as_ref());
    assert!(!write(&store, async move |tx| tx.revoke_access_token(unknown, first).await).await.unwrap());

    let revoked = |tokens: Vec<AccessToken>| -> Vec<_> {
        tokens.into_iter().map(|token| (token.id, token.revoked_at)).collect()
    };
    let expected = vec![(token.id, Some(first)), (other.id, None)];
    assert_eq!(revoked(store.access_tokens(None).await.unwrap()), expected);
    assert_eq!(revoked(store.access_tokens(Some(token.workspace)).await.unwrap()), expected);
    let production = store.workspace_by_name("Production").await.unwrap().unwrap().id;
    assert_eq!(revoked(store.access_tokens(Some(production)).await.unwrap()), []);
}

async fn last_used_at_never_decreases(world: TestStore) {
    let store = world.open().await;
    let (token, _) = token(&world, &store, Permission::ReadWrite).await;
    let (id, now) = (token.id, world.now());
    for (at, expected) in [(5, 5), (3, 5), (8, 8)] {
        let at = now.plus_seconds(at);
        write(&store, async move |tx| tx.save_token_uses(&[(id, at)]).await).await.unwrap();
        let found = store.access_token(id).await.unwrap().unwrap();
        assert_eq!(found.last_used_at, Some(now.plus_seconds(expected)));
    }
}

async fn token(world: &TestStore, store: &Store, permission: Permission) -> (AccessToken, Secret) {
    let secret = Secret::new(world.random.as_ref());
    world.clock.advance(SECOND);
    let token = AccessToken {
        id: AccessTokenId::new(world.now(), world.random.as_ref()),
        workspace: workspace(store).await,
        name: None,
        made_by: None,
        permission,
        secret: secret.hash(),
        created_at: world.now(),
        last_used_at: None,
        revoked_at: None,
    };
    let saved = token.clone();
    write(store, async move |tx| tx.insert_access_token(&saved).await).await.unwrap();
    (token, secret)
}

async fn names_sort_bytewise(world: TestStore) {
    let store = world.open().await;
    let organisation = store.organisation().await.unwrap().unwrap().id;
    let created_at = world.now().plus_seconds(1);
    for name in ["b", "Z", "a-b", "é", "ab", "_", "a", "B"] {
        let id = WorkspaceId::new(world.now(), world.random.as_ref());
        let new = Workspace { id, organisation, name: name.into(), created_at };
        write(&store, async move |tx| tx.insert_workspace(&new).await).await.unwrap();
    }
    let found = store.workspaces().await.unwrap();
    let names: Vec<_> = found.iter().skip(2).map(|workspace| workspace.name.as_str()).collect();
    assert_eq!(names, ["B", "Z", "_", "a", "a-b", "ab", "b", "é"]);
}
