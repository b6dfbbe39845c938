use axum::extract::State;
use kinora_domain::PlaylistId;

use super::request;
use super::view::PlaylistView;
use crate::app::App;
use crate::auth::Writer;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::extract::{JsonBody, PathId};

/// `PUT /on-demand/playlists/{playlistId}`: replaces name and description. Answers as `GET` does.
///
/// 404 unless it is in the caller's workspace, 422 names each wrong field. What is the same as before is not saved.
pub(super) async fn update(
    State(app): State<App>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
    JsonBody(body): JsonBody,
) -> Result<Data<PlaylistView>, ApiError> {
    let shown = request::shown(&body)?;
    let now = app.clock.now();
    let (playlist, media) = app
        .store
        .write(async move |tx| {
            let before = tx.playlist(caller.workspace, id).await?.ok_or_else(ApiError::playlist_not_found)?;
            let after = before.clone().rename(shown.name.clone(), shown.description.clone(), now);
            tx.save_playlist(&before, &after).await?;
            let media = tx.playlist_media(&after).await?;
            Ok::<_, ApiError>((after, media))
        })
        .await?;
    Ok(Data::ok(PlaylistView::new(&playlist, &media, &app.addresses)))
}
