use axum::extract::State;
use kinora_web::auth::ReadCaller;
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::fields::Problems;
use kinora_web::pagination::ListQuery;

use super::filter;
use crate::ApiState;
use crate::view::MediaView;

/// `GET /on-demand`: one page of the workspace's media that match the filters, by creation time.
pub(crate) async fn list(
    State(app): State<ApiState>,
    caller: ReadCaller,
    query: ListQuery,
) -> Result<Data<Vec<MediaView>>, ApiError> {
    let problems = Problems::default();
    let filter = filter::parse(&query, &problems);
    let page_request = query.into_filtered_page_request("media", problems, filter::is_filter)?;
    let found = app.store.media_list(caller.workspace, &filter, page_request.list_page).await?;
    let views = found.items.iter().map(|media| MediaView::new(media, &app.base_urls)).collect();
    Ok(page_request.respond(&app.base_urls, &found, views))
}
