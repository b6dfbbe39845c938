//! Workspaces: renamed and deleted; the organisation: renamed.

use kinora_domain::{
    AuditAction, Day, Event, EventKind, LoudnessTarget, Media, Permission, Playlist, SourceId, Upload,
    WorkspaceContent, WorkspaceId,
};
use kinora_service::{Caller, CommitOnly, Error, NewAccessToken, NewRevokedToken};
use kinora_store::{Error as StoreError, IdempotencyKey, JobKind, NewJob, StoredResponse, Tx, UsageCounts};

use crate::support::{World, new_upload, operator};

suite!(
    rename_is_one_row_and_name_is_unique,
    deletion_is_rejected_for_each_kind_of_content,
    deletion_removes_the_rest_and_stays_in_the_log,
    usage_of_deleted_workspace_is_dropped,
    last_workspace_stays,
    loudness_target_and_organisation_are_in_the_log,
);

type Condition = fn(&Playlist, &[Media]) -> bool;
const ALWAYS: Option<Condition> = None;

async fn rename_is_one_row_and_name_is_unique(world: World) {
    let (service, id) = (&world.service, world.workspace().await.id);
    let renamed = service.rename_workspace(&operator(), id, "Staging").await.unwrap();
    assert_eq!((renamed.id, renamed.name.as_str()), (id, "Staging"));
    assert_eq!(world.store.workspace(id).await.unwrap(), Some(renamed.clone()));
    let rows = world.audit().await;
    let [row] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((row.action, row.workspace), (AuditAction::WorkspaceRenamed, Some(id)));
    assert_eq!((&*row.details["from"], &*row.details["to"]), ("Development", "Staging"));

    assert_eq!(service.rename_workspace(&operator(), id, "Staging").await.unwrap(), renamed);
    let taken = service.rename_workspace(&operator(), id, "Production").await;
    assert!(matches!(taken, Err(Error::WorkspaceNameTaken)), "{taken:?}");
    let invalid = service.rename_workspace(&operator(), id, " ").await;
    assert!(matches!(invalid, Err(Error::InvalidWorkspaceName(_))), "{invalid:?}");
    let unknown = service.rename_workspace(&operator(), unknown(), "Other").await;
    assert!(matches!(unknown, Err(Error::WorkspaceNotFound)), "{unknown:?}");
    assert_eq!(world.audit().await, rows);
    // The old name is free again.
    service.create_workspace(&operator(), "Development").await.unwrap();
}

async fn deletion_is_rejected_for_each_kind_of_content(world: World) {
    let (service, id) = (&world.service, world.workspace().await.id);
    let caller = Caller::command_line(id);
    let has = async |expected: WorkspaceContent| {
        let rows = world.audit().await;
        let deleted = service.delete_workspace(&operator(), id).await;
        assert!(
            matches!(&deleted, Err(Error::WorkspaceNotEmpty(found)) if *found == [expected]),
            "{expected:?}: {deleted:?}"
        );
        assert_eq!(world.store.workspaces_with_content().await.unwrap(), [id].into());
        assert_eq!(world.audit().await, rows);
    };

    let media = world.media(&caller).await.id;
    has(WorkspaceContent::Media).await;
    service.delete_media(&caller, media, |_| true).await.unwrap();

    let upload = service.create_upload(&caller, new_upload(id), CommitOnly).await.unwrap();
    has(WorkspaceContent::Uploads).await;
    let (now, cancelled) = (world.now(), upload.clone());
    write(&world, async move |tx| tx.cancel_upload(cancelled.clone(), now).await.map(drop)).await;
    has(WorkspaceContent::DeletedFiles).await;
    let discard = JobKind::DiscardUpload { media: upload.id };
    write(&world, async move |tx| tx.cancel_job(discard).await).await;

    let playlist = world.playlist(&caller).await.id;
    has(WorkspaceContent::Playlists).await;
    service.delete_playlist(&caller, playlist, ALWAYS).await.unwrap();

    let key = service.new_signing_key(&caller, "PEM".to_owned());
    let key = service.add_signing_key(&caller, key, CommitOnly).await.unwrap().id;
    has(WorkspaceContent::SigningKeys).await;
    service.delete_signing_key(&caller, key).await.unwrap();

    let token = world.token_by(&operator(), "Shop").await.token.id;
    has(WorkspaceContent::AccessTokens).await;
    service.revoke_access_token(&operator(), token).await.unwrap();

    let source: SourceId = media.to_string().parse().unwrap();
    let remove = JobKind::DeleteObjects { source };
    write(&world, async move |tx| tx.enqueue(NewJob::due_now(remove, id, now)).await.map(drop)).await;
    has(WorkspaceContent::DeletedFiles).await;
    write(&world, async move |tx| tx.cancel_job(remove).await).await;
    assert!(world.store.workspaces_with_content().await.unwrap().is_empty());

    // A webhook alone is no content.
    let url = "https://hooks.example.com/a".to_owned();
    service.create_webhook(&caller, url, CommitOnly).await.unwrap();
    assert!(world.store.workspaces_with_content().await.unwrap().is_empty());
    let event = Event { workspace: id, kind: EventKind::MediaDeleted(media), at: now };
    write(&world, async move |tx| tx.push_event(&event).await.map(drop)).await;
    has(WorkspaceContent::FirstAttempts).await;
}

async fn deletion_removes_the_rest_and_stays_in_the_log(world: World) {
    let (service, id) = (&world.service, world.workspace().await.id);
    let (caller, now) = (Caller::command_line(id), world.now());
    let media = world.media(&caller).await.id;
    service.delete_media(&caller, media, |_| true).await.unwrap();
    let upload: Upload = service.create_upload(&caller, new_upload(id), CommitOnly).await.unwrap();
    let (upload_id, upload) = (upload.id, upload);
    write(&world, async move |tx| {
        tx.cancel_upload(upload.clone(), now).await?;
        tx.cancel_job(JobKind::DiscardUpload { media: upload_id }).await?;
        // More than one batch.
        for _ in 0..600 {
            tx.push_event(&Event { workspace: id, kind: EventKind::MediaDeleted(media), at: now }).await?;
        }
        let response = StoredResponse { fingerprint: [0; 32], status: 201, body: b"{}".to_vec() };
        tx.store_response(IdempotencyKey { workspace: id, hash: [0; 32] }, &response, now).await?;
        Ok(())
    })
    .await;
    let made = world.token_by(&operator(), "Shop").await.token.id;
    service.revoke_access_token(&operator(), made).await.unwrap();
    let revoked =
        NewRevokedToken { jti: "a".into(), expires_at: None, playback_id: None, end_playback: false };
    service.revoke_token(&caller, revoked, CommitOnly).await.unwrap();
    world.store.set_stored_bytes(&[(id, 5)], now).await.unwrap();
    let before = world.audit().await.len();

    service.delete_workspace(&operator(), id).await.unwrap();
    assert_eq!(world.store.workspace(id).await.unwrap(), None);
    assert!(world.store.access_token(made).await.unwrap().is_none());
    assert!(!world.store.is_token_revoked(id, "a").await.unwrap());
    assert_eq!(world.store.upload_by_id(upload_id).await.unwrap(), None);
    let usage = world.store.usage(id, Day::of(now), Day::of(now)).await.unwrap();
    assert_eq!(usage.stored, None);
    let rows = world.audit().await;
    let row = rows.last().unwrap();
    assert_eq!((rows.len(), row.action), (before + 1, AuditAction::WorkspaceDeleted));
    assert_eq!((row.workspace, &*row.object.name), (Some(id), "Development"));

    let again = service.delete_workspace(&operator(), id).await;
    assert!(matches!(again, Err(Error::WorkspaceNotFound)), "{again:?}");
    let new = NewAccessToken { workspace: id, name: "a".into(), permission: Permission::ReadOnly };
    let made = service.create_access_token(&operator(), new).await;
    assert!(matches!(made, Err(Error::WorkspaceNotFound)), "{made:?}");
    assert_eq!(world.audit().await.len(), before + 1);
    service.create_workspace(&operator(), "Development").await.unwrap();
}

async fn usage_of_deleted_workspace_is_dropped(world: World) {
    let (id, now) = (world.workspace().await.id, world.now());
    let other = world.store.workspace_by_name("Production").await.unwrap().unwrap().id;
    let used = UsageCounts { encoded_us: 1, delivered_us: 2, delivered_bytes: 3 };
    world.store.count_usage(id, now, used);
    world.store.count_usage(other, now, used);
    world.service.delete_workspace(&operator(), id).await.unwrap();
    world.store.write_usage(now).await.unwrap();
    world.store.set_stored_bytes(&[(id, 5), (other, 7)], now).await.unwrap();
    let usage = async |id| world.store.usage(id, Day::of(now), Day::of(now)).await.unwrap().days;
    assert_eq!(usage(id).await, []);
    assert_eq!((usage(other).await[0].used, usage(other).await[0].stored_bytes), (used, Some(7)));
}

async fn last_workspace_stays(world: World) {
    let workspaces = world.store.workspaces().await.unwrap();
    let [first, last] = workspaces.as_slice() else { panic!("{workspaces:?}") };
    world.service.delete_workspace(&operator(), first.id).await.unwrap();
    let rows = world.audit().await;
    let deleted = world.service.delete_workspace(&operator(), last.id).await;
    assert!(matches!(deleted, Err(Error::LastWorkspace)), "{deleted:?}");
    assert_eq!(world.audit().await, rows);
}

async fn loudness_target_and_organisation_are_in_the_log(world: World) {
    let (service, id) = (&world.service, world.workspace().await.id);
    let target = LoudnessTarget::new(-23).unwrap();
    for _ in ["changes", "is the same"] {
        service.set_loudness_target(&operator(), id, target).await.unwrap();
        service.rename_organisation(&operator(), " Video & Co ").await.unwrap();
    }
    let rows = world.audit().await;
    let [changed, renamed] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!((changed.action, changed.workspace), (AuditAction::WorkspaceChanged, Some(id)));
    assert_eq!((&*changed.details["from"], &*changed.details["to"]), ("-16", "-23"));
    assert_eq!((renamed.action, renamed.workspace), (AuditAction::OrganisationRenamed, None));
    assert_eq!((&*renamed.details["from"], &*renamed.object.name), ("Kinora", "Video & Co"));
    assert_eq!(world.store.organisation().await.unwrap().unwrap().name, "Video & Co");

    let unknown = service.set_loudness_target(&operator(), unknown(), target).await;
    assert!(matches!(unknown, Err(Error::WorkspaceNotFound)), "{unknown:?}");
    let invalid = service.rename_organisation(&operator(), "").await;
    assert!(matches!(invalid, Err(Error::InvalidOrganisationName(_))), "{invalid:?}");
    assert_eq!(world.audit().await, rows);
}

fn unknown() -> WorkspaceId {
    "019a492c-41f3-7001-8203-0405060708ff".parse().unwrap()
}

async fn write(world: &World, work: impl AsyncFnMut(&mut Tx) -> Result<(), StoreError> + Send + 'static) {
    world.store.write(work).await.unwrap();
}
