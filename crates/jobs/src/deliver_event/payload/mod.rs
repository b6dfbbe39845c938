//! The bodies of events, one struct each (C-4, C-5, C-6, C-7, C-8, C-31, C-35, C-184, C-185, C-186, C-187,
//! C-188).
//!
//! The spelling of the time field differs per type, as the specification defines it.

mod attempt;
mod media;
mod upload;

use kinora_domain::{Attempt, EventKind, EventSubject, MediaState, WebhookId};
use kinora_store::StoredEvent;
use serde::Serialize;
use serde_json::Value;

use attempt::AttemptItem;
use media::{CreatedData, DataWithoutTracks, FailedData, ReadyData};
use upload::UploadData;
pub(super) use upload::UploadUrlSigner;

/// The bytes that are signed and posted. `attempts` are the attempts listed in the body, oldest first. They
/// make the body differ from post to post; the event id stays the same.
pub(super) fn body(
    event: &StoredEvent,
    attempts: &[Attempt],
    webhook: WebhookId,
    images_url: &str,
    url_signer: &UploadUrlSigner<'_>,
) -> Vec<u8> {
    let attempts = attempts.iter().map(|attempt| AttemptItem::new(attempt, webhook)).collect();
    let envelope = envelope(event, attempts, images_url, Some(url_signer));
    serde_json::to_vec(&envelope).expect("wire types hold strings, numbers and lists of them")
}

/// The body of an event as webhooks get it first, for people who look at it. It lacks the signed URL of an
/// upload: others could upload with it.
pub fn event_body(event: &StoredEvent, images_url: &str) -> Value {
    serde_json::to_value(envelope(event, Vec::new(), images_url, None))
        .expect("wire types hold strings, numbers and lists of them")
}

fn envelope<'a>(
    event: &'a StoredEvent,
    attempts: Vec<AttemptItem>,
    images_url: &str,
    url_signer: Option<&UploadUrlSigner<'_>>,
) -> Envelope<'a> {
    let kind = &event.event.kind;
    let at = event.event.at.to_string();
    let (mut created_at, mut created_at_snake, mut updated_at_snake) = (None, None, None);
    // The specification has no status next to the data of the two upload events.
    let (status, data) = match kind {
        EventKind::MediaCreated(media) => {
            (Some("media_created"), Data::Created(Box::new(CreatedData::from(&**media))))
        }
        EventKind::MediaReady(media) => {
            (Some("ready"), Data::Ready(Box::new(ReadyData::new(media, images_url))))
        }
        // Events about changes of a playable media have the body of its first ready event (C-188).
        EventKind::SourceReady(media)
        | EventKind::SourceDeleted(media)
        | EventKind::Mp4Ready(media)
        | EventKind::EditReady(_, media)
        | EventKind::OptimizeAudioReady(media) => {
            (Some("ready"), Data::Ready(Box::new(ReadyData::new(media, images_url))))
        }
        EventKind::MediaFailed(media) => (Some("failed"), Data::Failed(Box::new(FailedData::from(&**media)))),
        EventKind::MediaUpdated(id) => {
            let data = Data::Updated { media_id: id.to_string(), is_named_entities_enabled: false };
            (Some("media_created"), data)
        }
        EventKind::MediaDeleted(_) => (Some("media_created"), Data::Deleted { success: true }),
        EventKind::UploadCompleted(media) => {
            (Some("media_created"), Data::Uploaded(Box::new(DataWithoutTracks::from(&**media))))
        }
        EventKind::UploadRegistered(upload) | EventKind::UploadCancelled(upload) => {
            (None, Data::Upload(Box::new(UploadData::new(upload, url_signer))))
        }
        // Track events have the status of the media and the data of a ready media (C-188, C-185).
        EventKind::Track(event) => {
            let status = match event.media.state {
                MediaState::Ready { .. } => "ready",
                MediaState::Failed { .. } => "failed",
                MediaState::Created | MediaState::Downloading { .. } => "media_created",
            };
            (Some(status), Data::Ready(Box::new(ReadyData::new(&event.media, images_url))))
        }
    };
    match kind {
        EventKind::MediaReady(media) => {
            created_at_snake = Some(at);
            updated_at_snake = Some(media.updated_at.to_string());
        }
        EventKind::UploadRegistered(_) | EventKind::UploadCompleted(_) => created_at_snake = Some(at),
        _ => created_at = Some(at),
    }
    Envelope {
        r#type: kind.name(),
        object: object(kind),
        id: event.id.to_string(),
        workspace: Workspace { name: &event.workspace.name, id: event.workspace.id.to_string() },
        status,
        data,
        created_at,
        created_at_snake,
        updated_at_snake,
        attempts,
    }
}

#[derive(Serialize)]
struct Envelope<'a> {
    r#type: &'static str,
    object: Object,
    id: String,
    workspace: Workspace<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    data: Data,
    #[serde(rename = "createdAt", skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(rename = "created_at", skip_serializing_if = "Option::is_none")]
    created_at_snake: Option<String>,
    #[serde(rename = "updated_at", skip_serializing_if = "Option::is_none")]
    updated_at_snake: Option<String>,
    attempts: Vec<AttemptItem>,
}

#[derive(Serialize)]
struct Object {
    r#type: &'static str,
    id: String,
}

#[derive(Serialize)]
struct Workspace<'a> {
    name: &'a str,
    id: String,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Data {
    Created(Box<CreatedData>),
    Ready(Box<ReadyData>),
    Failed(Box<FailedData>),
    #[serde(rename_all = "camelCase")]
    Updated {
        media_id: String,
        is_named_entities_enabled: bool,
    },
    Deleted {
        success: bool,
    },
    Uploaded(Box<DataWithoutTracks>),
    Upload(Box<UploadData>),
}

/// The subject of an event (C-5). The specification demands the media as the subject of a cancelled upload.
/// A track event has the id of its track: the id of the media would be ambiguous.
fn object(kind: &EventKind) -> Object {
    let EventSubject::Media(media) = kind.subject();
    match kind {
        EventKind::Track(event) => Object { r#type: "track", id: event.track.to_string() },
        EventKind::UploadRegistered(_) => Object { r#type: "upload", id: media.to_string() },
        _ => Object { r#type: "media", id: media.to_string() },
    }
}
