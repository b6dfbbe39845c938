//! Changes in a workspace by tokens and people are in the audit log, each as one row in its commit.

use kinora_domain::{
    AccessPolicy, Actor, AddedTrackKind, AuditAction, AuditEntry, DefaultPolicy, Encryption, Media,
    NewPlaybackId, NewTrack, Playlist, RequestOrigin, Restriction, RestrictionUpdate, Role, Who,
};
use kinora_service::{Caller, CommitOnly, Error, NewRevokedToken, Principal};

use crate::support::{World, operator};

suite!(
    deletions_name_the_token_that_did_them,
    playback_ids_and_their_rules_are_in_the_log,
    signing_keys_and_playback_tokens_are_in_the_log,
    only_a_disabled_webhook_is_enabled,
    actor_is_the_person_of_a_session,
);

type Condition = fn(&Playlist, &[Media]) -> bool;

/// A caller with a token, and the number of rows until now.
async fn caller(world: &World) -> (Caller, Who, usize) {
    let token = world.token_by(&operator(), "Shop").await.token;
    let principal = Principal::AccessToken(token.id);
    let caller = Caller { workspace: token.workspace, principal, address: None };
    (caller, Who::AccessToken { id: token.id, name: "Shop".to_owned() }, world.audit().await.len())
}

/// The rows after the first ones, all by this actor and in the workspace.
async fn rows(world: &World, caller: &Caller, who: &Who, before: usize) -> Vec<AuditEntry> {
    let rows = world.audit().await.split_off(before);
    for row in &rows {
        assert_eq!((&row.actor.who, row.workspace), (who, Some(caller.workspace)), "{row:?}");
    }
    rows
}

fn actions(rows: &[AuditEntry]) -> Vec<AuditAction> {
    rows.iter().map(|row| row.action).collect()
}

async fn deletions_name_the_token_that_did_them(world: World) {
    const NEVER: Option<Condition> = Some(|_, _| false);
    const ALWAYS: Option<Condition> = None;
    let service = &world.service;
    let (caller, who, before) = caller(&world).await;
    let (media, playlist) = (world.media(&caller).await.id, world.playlist(&caller).await.id);
    let new = NewTrack {
        kind: AddedTrackKind::Subtitle,
        url: "https://example.com/a.srt".to_owned(),
        language_code: "en".to_owned(),
        language_name: "English".to_owned(),
    };
    let track = service.add_track(&caller, media, new, CommitOnly).await.unwrap().id;
    service.delete_media(&caller, media, |_| false).await.unwrap_err();
    service.delete_track(&caller, (media, track), |_| false).await.unwrap_err();
    service.delete_playlist(&caller, playlist, NEVER).await.unwrap_err();
    assert_eq!(world.audit().await.len(), before, "neither creation nor failure is in the log");

    service.delete_track(&caller, (media, track), |_| true).await.unwrap();
    service.delete_playlist(&caller, playlist, ALWAYS).await.unwrap();
    service.delete_media(&caller, media, |_| true).await.unwrap();
    service.delete_media(&caller, media, |_| true).await.unwrap_err();
    service.delete_playlist(&caller, playlist, ALWAYS).await.unwrap_err();
    service.delete_track(&caller, (media, track), |_| true).await.unwrap_err();

    let rows = rows(&world, &caller, &who, before).await;
    use AuditAction::{MediaDeleted, PlaylistDeleted, TrackDeleted};
    assert_eq!(actions(&rows), [TrackDeleted, PlaylistDeleted, MediaDeleted]);
    let objects: Vec<_> = rows.iter().map(|row| (&*row.object.kind, &*row.object.name)).collect();
    assert_eq!(objects, [("track", "English"), ("playlist", "A list"), ("media", "A title")]);
    assert_eq!(rows[0].details["media"], media.to_string());
    assert_eq!(rows[2].object.id, media.to_string());
}

async fn playback_ids_and_their_rules_are_in_the_log(world: World) {
    let service = &world.service;
    let (caller, who, before) = caller(&world).await;
    let media = world.media(&caller).await.id;
    let new = NewPlaybackId { policy: AccessPolicy::Private, ..new_playback_id() };
    let (made, _) = service.create_playback_id(&caller, media, new, CommitOnly).await.unwrap();
    let id = (media, made.id);
    let deny = Restriction { default_policy: DefaultPolicy::Deny, allow: vec![], deny: vec![] };
    let rule = RestrictionUpdate::Domains(deny);
    service.set_playback_restriction(&caller, id, |_| false, rule.clone()).await.unwrap_err();
    for _ in ["changes", "is the same"] {
        service.set_playback_restriction(&caller, id, |_| true, rule.clone()).await.unwrap();
    }
    service.delete_playback_id(&caller, id, |_| false).await.unwrap_err();
    service.delete_playback_id(&caller, id, |_| true).await.unwrap();
    service.delete_playback_id(&caller, id, |_| true).await.unwrap_err();

    let rows = rows(&world, &caller, &who, before).await;
    use AuditAction::{PlaybackIdChanged, PlaybackIdCreated, PlaybackIdDeleted};
    assert_eq!(actions(&rows), [PlaybackIdCreated, PlaybackIdChanged, PlaybackIdDeleted]);
    assert_eq!((&*rows[0].details["policy"], &*rows[1].details["restriction"]), ("private", "domains"));
    for row in rows {
        assert_eq!((&*row.object.kind, row.object.id), ("playback_id", made.id.to_string()));
        assert_eq!(row.details["media"], media.to_string());
    }
}

async fn signing_keys_and_playback_tokens_are_in_the_log(world: World) {
    let service = &world.service;
    let (caller, who, before) = caller(&world).await;
    let key = service.new_signing_key(&caller, "PEM".to_owned());
    let made = service.add_signing_key(&caller, key.clone(), CommitOnly).await.unwrap().id;
    for added in [false, false] {
        assert_eq!(service.put_signing_key(&caller, key.clone()).await.unwrap(), added);
    }
    let other = service.new_signing_key(&caller, "PEM 2".to_owned());
    assert!(service.put_signing_key(&caller, other.clone()).await.unwrap());
    service.delete_signing_key(&caller, made).await.unwrap();
    let again = service.delete_signing_key(&caller, made).await;
    assert!(matches!(again, Err(Error::SigningKeyNotFound)), "{again:?}");

    let revoke = async |expires_at| {
        let new = NewRevokedToken { jti: "a".into(), expires_at, playback_id: None, end_playback: false };
        service.revoke_token(&caller, new, CommitOnly).await.unwrap();
    };
    let (soon, late) = (world.now().plus_seconds(60), world.now().plus_seconds(90));
    for expires_at in [soon, soon, late, soon] {
        revoke(Some(expires_at)).await;
    }

    let rows = rows(&world, &caller, &who, before).await;
    use AuditAction::{PlaybackTokenRevoked, SigningKeyCreated, SigningKeyDeleted};
    let expected =
        [SigningKeyCreated, SigningKeyCreated, SigningKeyDeleted, PlaybackTokenRevoked, PlaybackTokenRevoked];
    assert_eq!(actions(&rows), expected);
    assert_eq!(
        (rows[1].object.id.clone(), rows[2].object.id.clone()),
        (other.id.to_string(), made.to_string())
    );
    assert_eq!((&*rows[3].object.kind, &*rows[3].object.id), ("playback_token", "a"));
}

async fn only_a_disabled_webhook_is_enabled(world: World) {
    use kinora_domain::{DisabledReason, WebhookState};
    let service = &world.service;
    let (caller, who, before) = caller(&world).await;
    let url = "https://hooks.example.com/secret".to_owned();
    let webhook = service.create_webhook(&caller, url, CommitOnly).await.unwrap();
    service.enable_webhook(&caller, webhook.id).await.unwrap();
    let mut disabled = world.store.webhook(webhook.id).await.unwrap().unwrap();
    disabled.state = WebhookState::Disabled { since: world.now(), reason: DisabledReason::Gone };
    let save = world.store.write(async move |tx| tx.save_webhook(&disabled).await);
    save.await.unwrap();
    service.enable_webhook(&caller, webhook.id).await.unwrap();
    let rows = rows(&world, &caller, &who, before).await;
    assert_eq!(actions(&rows), [AuditAction::WebhookCreated, AuditAction::WebhookEnabled]);
    assert_eq!(&*rows[1].object.name, "hooks.example.com");
}

async fn actor_is_the_person_of_a_session(world: World) {
    let ada = world.person("a@example.com", Role::Member).await;
    let (workspace, principal) = (world.workspace().await.id, Principal::Person(ada.person.id));
    let caller = Caller { workspace, principal, address: Some([198, 51, 100, 7].into()) };
    let media = world.media(&caller).await.id;
    world.service.delete_media(&caller, media, |_| true).await.unwrap();
    let row = world.audit().await.pop().unwrap();
    assert_eq!(row.action, AuditAction::MediaDeleted);
    let origin = RequestOrigin { address: Some("198.51.100.7".to_owned()), ..RequestOrigin::default() };
    assert_eq!(row.actor, Actor { who: Who::of(&ada), origin });
}

fn new_playback_id() -> NewPlaybackId {
    NewPlaybackId {
        policy: AccessPolicy::Public,
        restrictions: kinora_domain::AccessRestrictions::default(),
        resolution: None,
        encryption: Encryption::None,
    }
}
