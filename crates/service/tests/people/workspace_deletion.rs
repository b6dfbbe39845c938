//! A workspace is deleted with its webhooks, and nothing is created in it afterwards.

use kinora_domain::{
    Attempt, AttemptId, AttemptOutcome, AttemptResponse, DisabledReason, Event, EventKind, MediaId, PersonId,
    Webhook, WebhookState, WorkspaceContent, WorkspaceId,
};
use kinora_service::{Caller, CommitOnly, Error, NewRevokedToken, Principal};
use kinora_store::{ClaimDeliveries, Error as StoreError, NextDeliveryState, WorkerId};
use kinora_testkit::SeededRandom;

use crate::support::{World, new_media, new_playlist, new_upload, operator};

suite!(webhooks_are_deleted_with_their_deliveries, creation_in_deleted_workspace_is_rejected);

async fn webhook(world: &World, workspace: WorkspaceId) -> Webhook {
    let (caller, url) = (Caller::command_line(workspace), "https://hooks.example.com/a".to_owned());
    world.service.create_webhook(&caller, url, CommitOnly).await.unwrap()
}

async fn push(world: &World, workspace: WorkspaceId, media: MediaId, count: usize) {
    let event = Event { workspace, kind: EventKind::MediaDeleted(media), at: world.now() };
    let pushed = world.store.write(async move |tx| {
        for _ in 0..count {
            tx.push_event(&event).await?;
        }
        Ok::<_, StoreError>(())
    });
    pushed.await.unwrap();
}

/// A disabled webhook with more events than a batch, and one that got its events once.
async fn webhooks_are_deleted_with_their_deliveries(world: World) {
    let (service, id, now) = (&world.service, world.workspace().await.id, world.now());
    let other = world.store.workspace_by_name("Production").await.unwrap().unwrap().id;
    let caller = Caller::command_line(id);
    let media = world.media(&caller).await.id;
    service.delete_media(&caller, media, |_| true).await.unwrap();
    let disabled = Webhook {
        state: WebhookState::Disabled { since: now, reason: DisabledReason::ByReceiver },
        ..webhook(&world, id).await
    };
    let saved = world.store.write(async move |tx| tx.save_webhook(&disabled).await);
    saved.await.map_err(|error: StoreError| error.to_string()).unwrap();
    let kept = webhook(&world, other).await;
    push(&world, id, media, 600).await;
    push(&world, other, media, 1).await;
    let enabled = webhook(&world, id).await;
    push(&world, id, media, 2).await;

    let owner = WorkerId::new(&SeededRandom::new(2));
    let ends = [NextDeliveryState::Delivered, NextDeliveryState::RetryAt(now.plus_seconds(60))];
    for (seed, next) in (3..).zip(ends) {
        let deleted = service.delete_workspace(&operator(), id).await;
        let expected = [WorkspaceContent::FirstAttempts];
        assert!(
            matches!(&deleted, Err(Error::WorkspaceNotEmpty(found)) if *found == expected),
            "{deleted:?}"
        );
        let lease_until = now.plus_seconds(30);
        let claim = ClaimDeliveries { webhook: enabled.id, owner, now, lease_until, limit: 1 };
        let delivery = world.store.claim_deliveries(claim).await.unwrap().remove(0);
        let outcome = AttemptOutcome::Answered(AttemptResponse { status: 503, ..AttemptResponse::default() });
        let attempt = AttemptId::new(now, &SeededRandom::new(seed));
        let attempt = Attempt { id: attempt, at: now, address: "192.0.2.1".to_owned(), outcome };
        let finished = world.store.write(async move |tx| tx.finish_delivery(&delivery, &attempt, next).await);
        finished.await.map_err(|error: StoreError| error.to_string()).unwrap();
    }

    service.delete_workspace(&operator(), id).await.unwrap();
    assert_eq!(world.store.workspace(id).await.unwrap(), None);
    let left: Vec<_> = world.store.webhooks(None).await.unwrap().iter().map(|it| it.id).collect();
    assert_eq!(left, [kept.id]);
    let events = world.store.events_of_media(other, media, None, 1000).await.unwrap();
    assert_eq!((events.len(), events[0].deliveries.len()), (1, 1), "those of another workspace");
    assert_eq!(world.store.next_delivery_due().await.unwrap(), Some(now));
}

/// A caller and its workspace are cached for a second.
async fn creation_in_deleted_workspace_is_rejected(world: World) {
    let (service, id, now) = (&world.service, world.workspace().await.id, world.now());
    let token = world.token_by(&operator(), "Shop").await.token.id;
    service.revoke_access_token(&operator(), token).await.unwrap();
    service.delete_workspace(&operator(), id).await.unwrap();
    let rows = world.audit().await;
    let person = PersonId::new(now, &SeededRandom::new(2));
    for principal in [Principal::Person(person), Principal::CommandLine, Principal::AccessToken(token)] {
        let caller = Caller { workspace: id, principal, address: None };
        let check = |what: &str, error: Option<Error>| {
            let is_rejected = match principal {
                Principal::AccessToken(_) => matches!(error, Some(Error::AccessTokenNotFound)),
                Principal::Person(_) | Principal::CommandLine => {
                    matches!(error, Some(Error::WorkspaceNotFound))
                }
            };
            assert!(is_rejected, "{what} {principal:?}: {error:?}");
        };
        check("media", service.create_media(&caller, new_media(id), CommitOnly).await.err());
        check("upload", service.create_upload(&caller, new_upload(id), CommitOnly).await.err());
        check("playlist", service.create_playlist(&caller, new_playlist(id), CommitOnly).await.err());
        let url = "https://hooks.example.com/a".to_owned();
        check("webhook", service.create_webhook(&caller, url, CommitOnly).await.err());
        let key = service.new_signing_key(&caller, "PEM".to_owned());
        check("signing key", service.add_signing_key(&caller, key, CommitOnly).await.err());
        let revoked =
            NewRevokedToken { jti: "a".into(), expires_at: None, playback_id: None, end_playback: false };
        check("revoked token", service.revoke_token(&caller, revoked, CommitOnly).await.err());
    }
    assert_eq!(world.audit().await, rows);
}
