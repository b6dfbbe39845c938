use axum::extract::State;
use kinora_web::auth::Reader;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::pagination::ListQuery;

use super::view::ListedPlaylistView;
use crate::ApiState;

/// `GET /on-demand/playlists`: one page of the workspace's playlists, by creation time, without their media.
pub(super) async fn list(
    State(app): State<ApiState>,
    caller: Reader,
    query: ListQuery,
) -> Result<Data<Vec<ListedPlaylistView>>, ApiError> {
    let listing = query.of_list("playlists")?;
    let found = app.store.playlist_page(caller.workspace, listing.slice).await?;
    let views = found.items.iter().map(ListedPlaylistView::from).collect();
    Ok(listing.answer(&app.addresses, &found, views))
}
