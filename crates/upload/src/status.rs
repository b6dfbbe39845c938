//! The status of an upload, for its page and any other client with the address.

use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use kinora_domain::{Failure, Media, MediaState, Upload, UploadClaims, UploadState};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::failure::FailureView;
use serde::Serialize;

use crate::UploadRouterState;
use crate::error;

/// An upload as it was last stored, and its media.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UploadStatus {
    upload_id: String,
    status: &'static str,
    /// Bytes from the start that are stored; there may be more.
    kept_bytes: u64,
    /// Length of the whole file in bytes, once a client has stated it.
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    /// Whether the media can be played by viewers with access.
    is_ready: bool,
    /// The first public playback ID of a ready media.
    #[serde(skip_serializing_if = "Option::is_none")]
    playback_id: Option<String>,
    /// The page that plays it.
    #[serde(skip_serializing_if = "Option::is_none")]
    player_url: Option<String>,
    /// The failure of the upload or of its media.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<FailureView>,
}

/// `GET` with `Accept: application/json`. Unlike the status requests of the protocols it does not end a
/// request that sends bytes.
///
/// 404 once the upload is unknown, or its media was deleted.
pub(super) async fn status(app: &UploadRouterState, claims: &UploadClaims) -> Response {
    match read(app, claims).await {
        Ok(status) => ([(header::CACHE_CONTROL, "no-store")], Data::ok(status)).into_response(),
        Err(rejection) => rejection.into_response(),
    }
}

async fn read(app: &UploadRouterState, claims: &UploadClaims) -> Result<UploadStatus, ApiError> {
    let upload = app.store.upload(claims.workspace, claims.upload).await?;
    let upload = upload.ok_or_else(error::upload_url_not_found)?;
    // Reads the upload first: if it is complete then, its media existed before.
    let media = app.store.media(claims.workspace, claims.upload).await?;
    if media.is_none() && matches!(upload.state, UploadState::Completed { .. }) {
        return Err(error::upload_url_not_found());
    }
    Ok(upload_status(&upload, media.as_ref(), &app.addresses.public))
}

fn upload_status(upload: &Upload, media: Option<&Media>, public: &str) -> UploadStatus {
    let ready = media.filter(|media| matches!(media.state, MediaState::Ready { .. }));
    let public_playback =
        ready.and_then(|media| media.playback_ids.iter().find(|handle| handle.is_unrestricted()));
    UploadStatus {
        upload_id: upload.id.to_string(),
        status: upload.state.name(),
        kept_bytes: upload.offset(),
        size_bytes: upload.length,
        is_ready: ready.is_some(),
        playback_id: public_playback.map(|handle| handle.id.to_string()),
        player_url: public_playback.map(|handle| format!("{public}/embed/{}", handle.id)),
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
