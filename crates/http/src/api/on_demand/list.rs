use axum::extract::State;
use kinora_store::Page;

use crate::api::view::MediaView;
use crate::app::App;
use crate::auth::Reader;
use crate::envelope::{Data, Pagination};
use crate::error::ApiError;
use crate::extract::PageQuery;

/// `GET /on-demand`: one page of the workspace's media, by creation time.
pub(crate) async fn list(
    State(app): State<App>,
    caller: Reader,
    query: PageQuery,
) -> Result<Data<Vec<MediaView>>, ApiError> {
    let page = Page { limit: query.limit, number: query.offset, newest_first: query.is_newest_first };
    let found = app.store.media_page(caller.workspace, page).await?;
    let views = found.media.iter().map(|media| MediaView::new(media, &app.addresses)).collect();
    Ok(Data::page(views, Pagination::of(query, found.total)))
}
