use axum::extract::State;
use kinora_domain::{Media, MediaId};
use kinora_web::auth::WriteCaller;
use kinora_web::envelope::{Data, Success};
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;
use kinora_web::preconditions::Preconditions;

use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `DELETE /on-demand/{mediaId}`: the media is deleted with this response, its bytes soon after. The
/// deletion cannot be undone.
///
/// 404 unless it is in the caller's workspace, also the second time; 412 when `If-Match` does not match it
/// (C-132).
pub(crate) async fn delete(
    State(app): State<ApiState>,
    caller: WriteCaller,
    PathId(id): PathId<MediaId>,
    conditions: Preconditions,
) -> Result<Success, ApiError> {
    let state = app.clone();
    let condition =
        move |media: &Media| conditions.is_met(|| Data::ok(MediaView::new(media, &state.base_urls)));
    app.service.delete_media(&caller, id, condition).await.map_err(error::from_operation)?;
    Ok(Success)
}
