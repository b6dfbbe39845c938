use axum::extract::State;
use kinora_domain::{Media, Playlist};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::Data;
use kinora_web::envelope::RenderedResponse;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::idempotency::IdempotentRequest;

use super::request;
use super::view::PlaylistView;
use crate::ApiState;
use crate::commit::IdempotentCommit;

/// `POST /on-demand/playlists`: creates a manual playlist without media, or a smart one with the media that
/// its dates select.
///
/// 201 with the playlist; 409 when another one of the workspace has the reference, 400 when the workspace
/// has reached the limit of playlists; 422 names each wrong field.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: WriteCaller,
    idempotent_request: IdempotentRequest,
    JsonBody(body): JsonBody,
) -> Result<RenderedResponse, ApiError> {
    let new = request::parse_new(&body, caller.workspace)?;
    let state = app.clone();
    let render = move |(playlist, media): (Playlist, Vec<Media>)| {
        let view = PlaylistView::new(&playlist, &media, &state.base_urls);
        Data::created(view, Vec::new()).into_rendered()
    };
    app.service
        .create_playlist(&caller, new, IdempotentCommit::new(idempotent_request, &app.idempotency, render))
        .await
}
