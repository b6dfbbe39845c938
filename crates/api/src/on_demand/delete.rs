use axum::extract::State;
use kinora_domain::{Media, MediaId};
use kinora_web::auth::Writer;
use kinora_web::condition::Conditions;
use kinora_web::envelope::{Data, Done};
use kinora_web::error::ApiError;
use kinora_web::extract::PathId;

use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `DELETE /on-demand/{mediaId}`: the media is gone with this answer, its bytes soon after. It cannot be
/// taken back.
///
/// 404 unless it is in the caller's workspace, also the second time; 412 when it is not what `If-Match`
/// names.
pub(crate) async fn delete(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<MediaId>,
    conditions: Conditions,
) -> Result<Done, ApiError> {
    let here = app.clone();
    let condition = move |media: &Media| conditions.hold(|| Data::ok(MediaView::new(media, &here.addresses)));
    app.service.delete_media(&caller, id, condition).await.map_err(error::of_operation)?;
    Ok(Done)
}
