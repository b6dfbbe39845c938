use axum::extract::State;
use axum::response::Response;
use kinora_domain::{Media, MediaId};
use kinora_web::auth::Writer;
use kinora_web::condition::{Conditions, Tagged};
use kinora_web::envelope::Data;
use kinora_web::error::ApiError;
use kinora_web::extract::{JsonBody, PathId};

use super::update_request;
use crate::ApiState;
use crate::error;
use crate::view::MediaView;

/// `PATCH /on-demand/{mediaId}`: changes title, creator and metadata of a media, in whatever state it is.
/// Answers as `GET` does.
///
/// 404 unless it is in the caller's workspace, 412 when it is not what `If-Match` names, 422 names each wrong
/// field. The change and its event are one commit; what changes nothing is not told.
pub(crate) async fn update(
    State(app): State<ApiState>,
    caller: Writer,
    PathId(id): PathId<MediaId>,
    conditions: Conditions,
    JsonBody(body): JsonBody,
) -> Result<Response, ApiError> {
    let change = update_request::parse(&body)?;
    let here = app.clone();
    let condition = move |media: &Media| conditions.hold(|| Data::ok(MediaView::new(media, &here.addresses)));
    let media =
        app.service.update_media(&caller, id, condition, change).await.map_err(error::of_operation)?;
    Ok(Tagged::of(&Data::ok(MediaView::new(&media, &app.addresses))).into_response())
}
