use axum::extract::State;
use kinora_domain::{Media, Playlist};
use kinora_web::auth::Writer;
use kinora_web::envelope::Answer;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::JsonBody;
use kinora_web::once::Once;

use super::request;
use super::view::PlaylistView;
use crate::ApiState;
use crate::commit::Respond;

/// `POST /on-demand/playlists`: a manual playlist without media yet, or a smart one with those that its dates
/// choose.
///
/// 201 with the playlist; 409 when another one of the workspace has the reference, 400 when there are as many
/// as there may be; 422 names each wrong field.
pub(super) async fn create(
    State(app): State<ApiState>,
    caller: Writer,
    once: Once,
    JsonBody(body): JsonBody,
) -> Result<Answer, ApiError> {
    let new = request::new_playlist(&body, caller.workspace)?;
    let here = app.clone();
    let created = move |(playlist, media): (Playlist, Vec<Media>)| {
        let view = PlaylistView::new(&playlist, &media, &here.addresses);
        Data::created(view, Vec::new()).into_answer()
    };
    app.service.create_playlist(&caller, new, Respond::with(once, &app.idempotency, created)).await
}
