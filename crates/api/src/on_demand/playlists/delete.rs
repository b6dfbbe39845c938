use axum::extract::State;
use kinora_domain::PlaylistId;
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::envelope::{Data, Done};
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;

use super::view::PlaylistView;
use crate::ApiState;
use crate::error;

/// `DELETE /on-demand/playlists/{playlistId}`: the playlist is gone with this answer, its media stay.
///
/// 404 unless it is in the caller's workspace, also the second time; 412 when it is not what `If-Match`
/// names.
pub(super) async fn delete(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
    conditions: Conditions,
) -> Result<Done, ApiError> {
    let here = app.clone();
    app.store
        .write(async move |tx| {
            let held = tx.playlist(caller.workspace, id).await?.ok_or_else(error::playlist_not_found)?;
            if !conditions.is_empty() {
                let media = tx.playlist_media(&held).await?;
                conditions.check(|| Data::ok(PlaylistView::new(&held, &media, &here.addresses)))?;
            }
            if tx.delete_playlist(caller.workspace, id).await? {
                Ok(())
            } else {
                Err(error::playlist_not_found())
            }
        })
        .await?;
    Ok(Done)
}
