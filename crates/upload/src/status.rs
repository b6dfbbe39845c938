//! What the page is told of its upload, and anybody else who holds the address.

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use kinora_domain::{Failure, Media, MediaState, Upload, UploadState, UploadTicket};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::failure::FailureView;
use serde::Serialize;

use crate::UploadRouterState;
use crate::error;

/// An upload, as it was last written down, and what came of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UploadStatus {
    upload_id: String,
    status: &'static str,
    /// Bytes from the start that are kept at least.
    kept_bytes: u64,
    /// Bytes of the whole file, once a client said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    /// Whether the media can be played, by those who may.
    is_ready: bool,
    /// The first playback ID of a ready media that everybody may watch.
    #[serde(skip_serializing_if = "Option::is_none")]
    playback_id: Option<String>,
    /// The page that plays it.
    #[serde(skip_serializing_if = "Option::is_none")]
    player_url: Option<String>,
    /// Why the upload failed, or its media.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureView>,
}

/// `GET` with `Accept: application/json`. Whoever sends is not disturbed: unlike the questions of the
/// protocols this one ends no request.
///
/// 404 once nothing is known of the upload, or its media was deleted.
pub(super) async fn tell(app: &UploadRouterState, ticket: &UploadTicket) -> Response {
    match look(app, ticket).await {
        Ok(status) => ([(header::CACHE_CONTROL, "no-store")], Data::ok(status)).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

async fn look(app: &UploadRouterState, ticket: &UploadTicket) -> Result<UploadStatus, ApiError> {
    let upload = app.store.upload(ticket.workspace, ticket.upload).await?;
    let upload = upload.ok_or_else(error::no_such_upload_address)?;
    // The upload first: a media that is there when its upload is complete was there before.
    let media = app.store.media(ticket.workspace, ticket.upload).await?;
    if media.is_none() && matches!(upload.state, UploadState::Completed { .. }) {
        return Err(error::no_such_upload_address());
    }
    Ok(of(&upload, media.as_ref(), &app.addresses.public))
}

fn of(upload: &Upload, media: Option<&Media>, public: &str) -> UploadStatus {
    let ready = media.filter(|media| matches!(media.state, MediaState::Ready { .. }));
    let everybody = ready.and_then(|media| media.playback.iter().find(|handle| handle.is_for_everybody()));
    UploadStatus {
        upload_id: upload.id.to_string(),
        status: upload.state.name(),
        kept_bytes: upload.kept(),
        size_bytes: upload.length,
        is_ready: ready.is_some(),
        playback_id: everybody.map(|handle| handle.id.to_string()),
        player_url: everybody.map(|handle| format!("{public}/embed/{}", handle.id)),
        error: failure(upload, media).map(FailureView::from),
    }
}

fn failure<'a>(upload: &'a Upload, media: Option<&'a Media>) -> Option<&'a Failure> {
    match (&upload.state, media.map(|media| &media.state)) {
        (UploadState::Failed { failure, .. }, _) | (_, Some(MediaState::Failed { failure, .. })) => {
            Some(failure)
        }
        _ => None,
    }
}
