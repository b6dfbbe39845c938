use axum::extract::State;
use kinora_domain::PlaylistId;

use crate::app::App;
use crate::auth::Writer;
use crate::envelope::Done;
use crate::error::ApiError;
use crate::extract::PathId;

/// `DELETE /on-demand/playlists/{playlistId}`: the playlist is gone with this answer, its media stay.
///
/// 404 unless it is in the caller's workspace, also the second time.
pub(super) async fn delete(
    State(app): State<App>,
    caller: Writer,
    PathId(id): PathId<PlaylistId>,
) -> Result<Done, ApiError> {
    app.store
        .write(async move |tx| {
            if tx.delete_playlist(caller.workspace, id).await? {
                Ok(())
            } else {
                Err(ApiError::playlist_not_found())
            }
        })
        .await?;
    Ok(Done)
}
