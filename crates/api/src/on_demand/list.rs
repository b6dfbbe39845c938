use axum::extract::State;
use kinora_web::auth::Reader;
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
    caller: Reader,
    query: ListQuery,
) -> Result<Data<Vec<MediaView>>, ApiError> {
    let problems = Problems::default();
    let filter = filter::read(&query, &problems);
    let listing = query.filtered("media", problems, filter::is_filter)?;
    let found = app.store.media_list(caller.workspace, &filter, listing.slice).await?;
    let views = found.items.iter().map(|media| MediaView::new(media, &app.addresses)).collect();
    Ok(listing.answer(&app.addresses, &found, views))
}
