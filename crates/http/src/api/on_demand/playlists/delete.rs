use axum::extract::State;
use kinora_domain::PlaylistId;

use super::view::PlaylistView;
use crate::api::ApiState;
use crate::auth::Writer;
use crate::condition::Conditions;
use crate::envelope::{Data, Done};
use crate::error::ApiError;
use crate::extract::PathId;

/// `DELETE /on-demand/playlists/{playlistId}`: the playlist is gone with this answer, its media stay.
///
/// 404 unless it is in the caller's workspace, also the second time; 412 when it is not what `If-Match` names.
pub(super) async fn delete(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
    conditions: Conditions,
) -> Result<Done, ApiError> {
    let here = app.clone();
    app.store
        .write(async move |tx| {
            let held = tx.playlist(caller.workspace, id).await?.ok_or_else(ApiError::playlist_not_found)?;
            if !conditions.is_empty() {
                let media = tx.playlist_media(&held).await?;
                conditions.check(|| Data::ok(PlaylistView::new(&held, &media, &here.addresses)))?;
            }
            if tx.delete_playlist(caller.workspace, id).await? {
                Ok(())
            } else {
                Err(ApiError::playlist_not_found())
            }
        })
        .await?;
    Ok(Done)
}
