//! Operations of a caller have access to its workspace only.

use std::sync::Arc;

use kinora_domain::{
    AccessPolicy, AccessRestrictions, Actor, Encryption, Media, MediaSettings, NewMedia, NewPlaylist,
    Playlist, Workspace, WorkspaceId,
};
use kinora_service::{Caller, CommitOnly, Error, NewRevokedToken, Service};
use kinora_store::{DatabaseLocation, Opener, Store, StoreOptions};
use kinora_testkit::{MovableClock, SeededRandom};
use tempfile::TempDir;

struct Fixture {
    store: Store,
    service: Service,
    mine: Caller,
    other: Caller,
    _folder: TempDir,
}

async fn world() -> Fixture {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (clock, random) = (Arc::new(MovableClock::default()), Arc::new(SeededRandom::new(1)));
    let database = DatabaseLocation::Folder(folder.path().to_owned());
    let options = StoreOptions {
        database,
        opener: Opener::Command,
        secret_keys: None,
        clock: clock.clone(),
        random: random.clone(),
        faults: None,
    };
    let store = Store::open(options).await.expect("the database opens");
    let service = Service::new(store.clone(), clock, random);
    let create = async |name| -> Workspace {
        service.create_workspace(&Actor::command_line(), name).await.expect("created")
    };
    let [mine, other] = [create("mine").await, create("other").await].map(|it| Caller::command_line(it.id));
    Fixture { store, service, mine, other, _folder: folder }
}

fn new_media(workspace: WorkspaceId, url: &str) -> NewMedia {
    NewMedia {
        workspace,
        settings: MediaSettings::default(),
        url: url.to_owned(),
        clip_of: None,
        policy: AccessPolicy::Public,
        restrictions: AccessRestrictions::default(),
        encryption: Encryption::None,
        tracks: Vec::new(),
    }
}

#[tokio::test]
async fn media_of_another_workspace_is_not_found() {
    let Fixture { store, service, mine, other, _folder } = world().await;
    // The workspace in the input is ignored; the caller's workspace applies.
    let new = new_media(other.workspace, "https://example.com/a.mp4");
    let media = service.create_media(&mine, new, CommitOnly).await.expect("created").media;
    assert_eq!(media.workspace, mine.workspace);
    let deleted = service.delete_media(&other, media.id, |_| true).await;
    assert!(matches!(deleted, Err(Error::MediaNotFound)), "{deleted:?}");
    let deleted = service.delete_media(&mine, media.id, |_| false).await;
    assert!(matches!(deleted, Err(Error::ConditionFailed)), "{deleted:?}");
    assert!(store.media(mine.workspace, media.id).await.expect("readable").is_some());
    service.delete_media(&mine, media.id, |_| true).await.expect("deleted");
    let deleted = service.delete_media(&mine, media.id, |_| true).await;
    assert!(matches!(deleted, Err(Error::MediaNotFound)), "{deleted:?}");
}

#[tokio::test]
async fn rejected_input_creates_nothing() {
    let Fixture { store, service, mine, _folder, .. } = world().await;
    let created = service.create_media(&mine, new_media(mine.workspace, "ftp://a"), CommitOnly).await;
    assert!(matches!(created, Err(Error::SourceUrl(_))), "{created:?}");
    let mut long = new_media(mine.workspace, "https://example.com/a.mp4");
    long.settings.title = Some("x".repeat(MediaSettings::TEXT_MAX + 1));
    let created = service.create_media(&mine, long, CommitOnly).await;
    assert!(matches!(created, Err(Error::TitleTooLong)), "{created:?}");
    let created = service.create_webhook(&mine, "example.com".to_owned(), CommitOnly).await;
    assert!(matches!(created, Err(Error::WebhookUrl(_))), "{created:?}");
    assert!(store.webhooks(None).await.expect("readable").is_empty());
    let created = service.create_workspace(&Actor::command_line(), "mine").await;
    assert!(matches!(created, Err(Error::WorkspaceNameTaken)), "{created:?}");
    let created = service.create_workspace(&Actor::command_line(), " ").await;
    assert!(matches!(created, Err(Error::InvalidWorkspaceName(_))), "{created:?}");
}

#[tokio::test]
async fn webhook_of_another_workspace_keeps_its_secret() {
    let Fixture { store, service, mine, other, _folder } = world().await;
    let url = "https://example.com/hook".to_owned();
    let webhook = service.create_webhook(&mine, url, CommitOnly).await.expect("created");
    let rotated = service.rotate_webhook_secret(&other, webhook.id, 0).await;
    assert!(matches!(rotated, Err(Error::WebhookNotFound)), "{rotated:?}");
    let enabled = service.enable_webhook(&other, webhook.id).await;
    assert!(matches!(enabled, Err(Error::WebhookNotFound)), "{enabled:?}");
    let found = store.webhook(webhook.id).await.expect("readable").expect("it is there");
    assert_eq!(found.secret.reveal(), webhook.secret.reveal());
    let rotated = service.rotate_webhook_secret(&mine, webhook.id, 60).await.expect("rotated");
    assert_ne!(rotated.secret.reveal(), webhook.secret.reveal());
}

fn new_playlist(workspace: WorkspaceId, reference: &str) -> NewPlaylist {
    NewPlaylist {
        workspace,
        name: "A list".to_owned(),
        reference_id: reference.to_owned(),
        description: String::new(),
        limit: Playlist::ITEMS_MAX,
        smart: None,
    }
}

#[tokio::test]
async fn playlist_of_another_workspace_is_not_found() {
    type Condition = fn(&Playlist, &[Media]) -> bool;
    const NEVER: Option<Condition> = Some(|_, _| false);
    const ALWAYS: Option<Condition> = None;
    let Fixture { store, service, mine, other, _folder } = world().await;
    let new = new_playlist(other.workspace, "a");
    let (playlist, listed) = service.create_playlist(&mine, new.clone(), CommitOnly).await.expect("created");
    assert_eq!((playlist.workspace, listed.len()), (mine.workspace, 0));
    let again = service.create_playlist(&mine, new, CommitOnly).await;
    assert!(matches!(&again, Err(Error::PlaylistReferenceTaken(taken)) if taken == "a"), "{again:?}");

    let name = || ("B".to_owned(), String::new());
    let renamed = service.rename_playlist(&other, playlist.id, ALWAYS, name()).await;
    assert!(matches!(renamed, Err(Error::PlaylistNotFound)), "{renamed:?}");
    let renamed = service.rename_playlist(&mine, playlist.id, NEVER, name()).await;
    assert!(matches!(renamed, Err(Error::ConditionFailed)), "{renamed:?}");
    let deleted = service.delete_playlist(&other, playlist.id, ALWAYS).await;
    assert!(matches!(deleted, Err(Error::PlaylistNotFound)), "{deleted:?}");
    let deleted = service.delete_playlist(&mine, playlist.id, NEVER).await;
    assert!(matches!(deleted, Err(Error::ConditionFailed)), "{deleted:?}");
    let found = store.playlist(mine.workspace, playlist.id).await.expect("readable");
    assert_eq!(found.map(|(found, _)| found.name), Some(playlist.name));
    service.delete_playlist(&mine, playlist.id, ALWAYS).await.expect("deleted");
    let deleted = service.delete_playlist(&mine, playlist.id, ALWAYS).await;
    assert!(matches!(deleted, Err(Error::PlaylistNotFound)), "{deleted:?}");
}

#[tokio::test]
async fn token_is_not_revoked_with_playback_id_of_another_workspace() {
    let Fixture { store, service, mine, other, _folder } = world().await;
    let new = new_media(other.workspace, "https://example.com/a.mp4");
    let media = service.create_media(&other, new, CommitOnly).await.expect("created").media;
    let playback_id = Some(media.playback_ids[0].id);
    let token = NewRevokedToken { jti: "a".to_owned(), expires_at: None, playback_id, end_playback: true };
    let revoked = service.revoke_token(&mine, token.clone(), CommitOnly).await;
    assert!(matches!(revoked, Err(Error::PlaybackIdNotFound)), "{revoked:?}");
    assert!(!store.is_token_revoked(mine.workspace, "a").await.expect("readable"));
    service.revoke_token(&other, token, CommitOnly).await.expect("revoked");
    assert!(store.is_token_revoked(other.workspace, "a").await.expect("readable"));
    assert!(!store.is_token_revoked(mine.workspace, "a").await.expect("readable"));
}
