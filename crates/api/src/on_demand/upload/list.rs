use axum::extract::State;
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::pagination::ListQuery;

use super::view::UploadView;
use crate::ApiState;

/// `GET /on-demand/uploads`: one page of the workspace's uploads without a complete file, by creation time.
/// Their addresses are signed for read-write tokens only.
pub(super) async fn list(
    State(app): State<ApiState>,
    caller: ReadCaller,
    query: ListQuery,
) -> Result<Data<Vec<UploadView>>, ApiError> {
    let page_request = query.into_page_request("uploads")?;
    let found = app.store.upload_page(caller.workspace, page_request.list_page).await?;
    let view = if caller.may_write { UploadView::new } else { UploadView::without_signature };
    let views = found.items.iter().map(|upload| view(upload, &app)).collect();
    Ok(page_request.respond(&app.base_urls, &found, views))
}
