use axum::extract::State;
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::pagination::ListQuery;

use super::view::ListedPlaylistView;
use crate::ApiState;

/// `GET /on-demand/playlists`: one page of the workspace's playlists, by creation time, without their media.
pub(super) async fn list(
    State(app): State<ApiState>,
    caller: ReadCaller,
    query: ListQuery,
) -> Result<Data<Vec<ListedPlaylistView>>, ApiError> {
    let page_request = query.into_page_request("playlists")?;
    let found = app.store.playlist_page(caller.workspace, page_request.list_page).await?;
    let views = found.items.iter().map(ListedPlaylistView::from).collect();
    Ok(page_request.respond(&app.base_urls, &found, views))
}
