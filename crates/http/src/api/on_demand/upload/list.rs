use axum::extract::State;
use kinora_store::Page;

use super::view::UploadView;
use crate::app::App;
use crate::auth::Reader;
use crate::envelope::{Data, Pagination};
use crate::error::ApiError;
use crate::extract::PageQuery;

/// `GET /on-demand/uploads`: one page of the workspace's uploads of which no whole file came, by creation time. Their
/// addresses are signed for read-write tokens only.
pub(super) async fn list(
    State(app): State<App>,
    caller: Reader,
    query: PageQuery,
) -> Result<Data<Vec<UploadView>>, ApiError> {
    let page = Page { limit: query.limit, number: query.offset, newest_first: query.is_newest_first };
    let found = app.store.upload_page(caller.workspace, page).await?;
    let view = if caller.may_write { UploadView::new } else { UploadView::without_signature };
    let views = found.uploads.iter().map(|upload| view(upload, &app)).collect();
    Ok(Data::page(views, Pagination::of(query, found.total)))
}
