use axum::extract::State;

use super::filter;
use crate::api::ApiState;
use crate::api::view::MediaView;
use crate::auth::Reader;
use crate::envelope::Data;
use crate::error::ApiError;
use crate::fields::Problems;
use crate::list_query::ListQuery;

/// `GET /on-demand`: one page of the workspace's media, by creation time, those that the filters let through.
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
